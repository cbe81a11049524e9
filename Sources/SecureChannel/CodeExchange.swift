// Protocol/pairing-code.md, "The run".

package import Sodium
package import Wire

/// How one end of a pairing by code makes the pre-shared key of the handshake: by a run of CPace between the preamble
/// and message 1.
package struct CodeExchange: Sendable {
  /// This end's part of a run, and how many tries are left if it fails.
  package struct Run: Sendable {
    let pace: CPace
    let triesLeft: UInt8

    package init(_ pace: CPace, triesLeft: UInt8) {
      self.pace = pace
      self.triesLeft = triesLeft
    }
  }

  /// Begins a run. A responder counts it as a failed try before it answers, so that breaking off gains nothing; it
  /// returns nil if no try is left.
  package let begin: @Sendable (_ session: Bytes16) -> Run?
  /// Called on the initiator's side when the responder has answered, with how many tries the responder says are left
  /// if this one fails.
  package let answered: @Sendable (_ triesLeft: UInt8) -> Void

  package init(
    begin: @escaping @Sendable (_ session: Bytes16) -> Run?,
    answered: @escaping @Sendable (_ triesLeft: UInt8) -> Void = { _ in }
  ) {
    self.begin = begin
    self.answered = answered
  }

  /// `CI` of CPace.
  package static let channel = Array("waymark/pairing-code/v1".utf8)
  private static let preamblePrefix = Array("waymark/code-preamble/v1\0".utf8)
  private static let keyPrefix = Array("waymark/code-psk/v1\0".utf8)
  private static let confirmationPrefix = Array("waymark/code-confirmation/v1\0".utf8)

  /// The length of the responder's frame: its share, and how many tries are left.
  static var answerBytes: Int { Ristretto.pointBytes + 1 }

  /// The preamble key of every pairing by code. It is no secret: a device that knows nothing but six digits uses it.
  package static let preambleKey = SymmetricKey.hash(preamblePrefix, [])
}

/// What the handshake of a connection begins with.
struct HandshakeStart {
  let prologue: [UInt8]
  let presharedKey: SymmetricKey?

  init(_ preamble: Preamble, _ access: ChannelAccess) {
    prologue = preamble.bytes
    presharedKey = access.presharedKey
  }

  /// Derives the start from a run of CPace. The prologue contains a value that only an end with the right code has.
  /// Noise verifies that the prologues are equal before either end sends its static key, so neither sends it to someone
  /// who does not know the code.
  init(
    _ preamble: Preamble, _ run: CodeExchange.Run, joiner: [UInt8], answer: [UInt8], isInitiator: Bool
  ) throws(ChannelError) {
    let count = Ristretto.pointBytes
    let first = CPace.Message(share: joiner)
    let second = CPace.Message(
      share: Array(answer.prefix(count)), associatedData: Array(answer.dropFirst(count)))
    guard var key = try? run.pace.key(first, second, isInitiator: isInitiator) else { throw .handshakeFailed }
    defer { wipe(&key) }
    (presharedKey, prologue) = CodeExchange.derive(key, preamble, first.share + answer)
  }
}

extension CodeExchange {
  fileprivate static func derive(
    _ key: [UInt8], _ preamble: Preamble, _ shares: [UInt8]
  ) -> (SymmetricKey, prologue: [UInt8]) {
    let confirmation = Blake2b256.hashBytes(prefix: confirmationPrefix, parts: [key])
    return (SymmetricKey.hash(keyPrefix, key), preamble.bytes + shares + confirmation)
  }
}

extension SymmetricKey {
  fileprivate static func hash(_ prefix: [UInt8], _ part: [UInt8]) -> SymmetricKey {
    var bytes = Blake2b256.hashBytes(prefix: prefix, parts: [part])
    defer { wipe(&bytes) }
    guard let key = try? SymmetricKey(bytes) else { preconditionFailure("a hash has 32 bytes") }
    return key
  }
}
