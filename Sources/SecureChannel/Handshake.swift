// Protocol/channel.md, "Handshake".

package import Sodium
package import Wire

/// A handshake of three messages: Noise_XX_25519_ChaChaPoly_SHA256, or Noise_XXpsk3_… with a pre-shared key.
///
/// Once a step has failed, every later step fails too.
package struct Handshake: ~Copyable {
  package enum Role: Hashable, Sendable {
    case initiator, responder
  }

  private let role: Role
  private let staticKey: AgreementKey
  private let ephemeral: AgreementKey
  private let presharedKey: SymmetricKey?
  private var symmetric: SymmetricState
  private var remoteEphemeral: [UInt8] = []
  private var remoteStatic: [UInt8] = []
  /// The number of the next message, from 1 to 3; 4 once the handshake is complete, and 0 once it has failed.
  private var step = 1

  /// Begins a handshake. `ephemeral` must be a new key each time.
  package init(
    role: Role, staticKey: AgreementKey, ephemeral: AgreementKey, presharedKey: SymmetricKey?,
    prologue: [UInt8]
  ) {
    self.role = role
    self.staticKey = staticKey
    self.ephemeral = ephemeral
    self.presharedKey = presharedKey
    symmetric = SymmetricState(
      protocolName: presharedKey == nil
        ? "Noise_XX_25519_ChaChaPoly_SHA256" : "Noise_XXpsk3_25519_ChaChaPoly_SHA256")
    symmetric.mixHash(prologue)
  }

  /// The other end's static key. It is nil until the initiator has read message 2, or the responder message 3.
  package var remoteKey: TransportKey? { TransportKey(bytes: remoteStatic) }

  package var isComplete: Bool { step == 4 }

  // MARK: Messages

  /// Writes the next message. It must be this end's turn.
  package mutating func write(payload: [UInt8] = []) throws(ChannelError) -> [UInt8] {
    let number = try begin(writing: true)
    var message: [UInt8] = []
    switch number {
    case 1: writeEphemeral(to: &message)
    case 2:
      writeEphemeral(to: &message)
      try mixAgreement(ephemeral, remoteEphemeral)
      try writeStatic(to: &message)
      try mixAgreement(staticKey, remoteEphemeral)
    default:
      try writeStatic(to: &message)
      try mixAgreement(staticKey, remoteEphemeral)
      mixPresharedKey()
    }
    message += try symmetric.encryptAndHash(payload)
    step = number + 1
    return message
  }

  /// Reads the next message and returns its payload. It must be the other end's turn.
  package mutating func read(_ message: ArraySlice<UInt8>) throws(ChannelError) -> [UInt8] {
    let number = try begin(writing: false)
    var rest = message
    switch number {
    case 1: try readEphemeral(from: &rest)
    case 2:
      try readEphemeral(from: &rest)
      try mixAgreement(ephemeral, remoteEphemeral)
      try readStatic(from: &rest)
      try mixAgreement(ephemeral, remoteStatic)
    default:
      try readStatic(from: &rest)
      try mixAgreement(ephemeral, remoteStatic)
      mixPresharedKey()
    }
    let payload = try symmetric.decryptAndHash(rest)
    step = number + 1
    return payload
  }

  /// Returns the channel. Throws unless all three messages have been exchanged.
  package consuming func finish() throws(ChannelError) -> SealedChannel {
    guard step == 4, let remote = remoteKey, let hash = Bytes32(symmetric.hash) else {
      throw .handshakeFailed
    }
    let (first, second) = symmetric.split()
    let (sending, receiving) = role == .initiator ? (first, second) : (second, first)
    return SealedChannel(
      remoteKey: remote, handshakeHash: hash, sealer: Sealer(key: sending.guarded()),
      opener: Opener(key: receiving.guarded()))
  }

  // MARK: Tokens

  /// Returns the number of the next message, and marks the handshake as failed until that message has been written or
  /// read successfully.
  private mutating func begin(writing: Bool) throws(ChannelError) -> Int {
    let number = step
    step = 0
    guard (1...3).contains(number) else { throw .handshakeFailed }
    let initiatorWrites = number != 2
    precondition(
      writing == (initiatorWrites == (role == .initiator)),
      "message \(number) is not the \(role)'s to \(writing ? "write" : "read")")
    return number
  }

  private mutating func writeEphemeral(to message: inout [UInt8]) {
    message += ephemeral.publicKey
    mixEphemeral(ephemeral.publicKey)
  }

  private mutating func readEphemeral(from message: inout ArraySlice<UInt8>) throws(ChannelError) {
    remoteEphemeral = try taken(SymmetricKey.count, from: &message)
    mixEphemeral(remoteEphemeral)
  }

  /// With a pre-shared key, the ephemeral key is also mixed into the cipher key (Noise specification, section 9.2).
  private mutating func mixEphemeral(_ publicKey: [UInt8]) {
    symmetric.mixHash(publicKey)
    guard presharedKey != nil, let key = try? SymmetricKey(publicKey) else { return }
    symmetric.mixKey(key)
  }

  private mutating func writeStatic(to message: inout [UInt8]) throws(ChannelError) {
    message += try symmetric.encryptAndHash(staticKey.publicKey)
  }

  private mutating func readStatic(from message: inout ArraySlice<UInt8>) throws(ChannelError) {
    let sealed = try taken(SymmetricKey.count + SymmetricKey.tagBytes, from: &message)
    remoteStatic = try symmetric.decryptAndHash(sealed[...])
  }

  private mutating func mixAgreement(_ key: AgreementKey, _ point: [UInt8]) throws(ChannelError) {
    guard let secret = try? key.sharedSecret(with: point) else { throw .handshakeFailed }
    symmetric.mixKey(secret)
  }

  private mutating func mixPresharedKey() {
    if let presharedKey { symmetric.mixKeyAndHash(presharedKey) }
  }
}

private func taken(_ count: Int, from message: inout ArraySlice<UInt8>) throws(ChannelError) -> [UInt8] {
  guard message.count >= count else { throw .handshakeFailed }
  defer { message = message.dropFirst(count) }
  return Array(message.prefix(count))
}
