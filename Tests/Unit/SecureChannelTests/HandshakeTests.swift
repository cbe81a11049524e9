import Sodium
import Testing
import Wire

@testable import SecureChannel

@Suite struct `The Noise handshake` {
  @Test(arguments: NoiseVectors.ours.vectors)
  func `reproduces our vectors byte for byte`(vector: HandshakeVector) throws {
    try replay(vector)
  }

  @Test(
    .enabled(if: !NoiseVectors.published.isEmpty, "the published vectors are not next to the package"),
    arguments: NoiseVectors.published)
  func `reproduces the published vectors byte for byte`(vector: HandshakeVector) throws {
    try replay(vector)
  }

  @Test(arguments: NoiseVectors.ours.refused)
  func `refuses invalid messages`(vector: HandshakeVector) throws {
    let number = try #require(vector.refused)
    let message = bytes(try #require(vector.ciphertext))
    var initiator = try vector.initiator()
    var responder = try vector.responder()
    if number == 1 {
      _ = try initiator.write()
      expectRefused(&initiator, message)
    } else {
      if number == 2 {
        _ = try responder.read(bytes(vector.messages[0].ciphertext)[...])
        _ = try responder.write()
      }
      expectRefused(&responder, message)
    }
  }

  @Test func `finishes only after three messages`() throws {
    let vector = try #require(NoiseVectors.ours.vectors.first)
    var initiator = try vector.initiator()
    _ = try initiator.write()
    let (key, isComplete) = (initiator.remoteKey, initiator.isComplete)
    #expect(key == nil && !isComplete)
    var thrown: ChannelError?
    do throws(ChannelError) {
      _ = try initiator.finish()
    } catch {
      thrown = error
    }
    #expect(thrown == .handshakeFailed)
  }

  /// The responder may detect an invalid point only when it uses it, in its own message.
  private func expectRefused(_ handshake: inout Handshake, _ message: [UInt8]) {
    var thrown: ChannelError?
    do throws(ChannelError) {
      _ = try handshake.read(message[...])
      if !handshake.isComplete { _ = try handshake.write() }
    } catch {
      thrown = error
    }
    let isComplete = handshake.isComplete
    #expect(thrown == .handshakeFailed && !isComplete)
  }

  private func replay(_ vector: HandshakeVector) throws {
    var initiator = try vector.initiator()
    var responder = try vector.responder()
    for (index, message) in vector.messages.prefix(3).enumerated() {
      let payload = bytes(message.payload)
      let text = index == 1 ? try responder.write(payload: payload) : try initiator.write(payload: payload)
      #expect(hexadecimal(text) == message.ciphertext)
      let read = index == 1 ? try initiator.read(text[...]) : try responder.read(text[...])
      #expect(read == payload)
    }
    let (atInitiator, atResponder) = (initiator.remoteKey, responder.remoteKey)
    #expect(try atInitiator?.bytes == publicKey(vector.resp_static))
    #expect(try atResponder?.bytes == publicKey(vector.init_static))
    try expectTransport(initiator.finish(), responder.finish(), vector)
  }

  private func publicKey(_ secret: String) throws -> [UInt8] {
    try AgreementKey(secret: bytes(secret)).publicKey
  }

  /// After the handshake, messages alternate beginning with the responder. They have no fragment header.
  private func expectTransport(
    _ initiator: consuming SealedChannel, _ responder: consuming SealedChannel, _ vector: HandshakeVector
  ) throws {
    let (hash, other) = (initiator.handshakeHash, responder.handshakeHash)
    #expect(hash == other)
    if let expected = vector.handshake_hash { #expect(hexadecimal(hash.bytes) == expected) }
    for (index, message) in vector.messages.dropFirst(3).enumerated() {
      var text = bytes(message.payload)
      let counter = UInt64(index / 2)
      if index.isMultiple(of: 2) {
        responder.sealer.key.seal(&text, from: 0, counter: counter)
      } else {
        initiator.sealer.key.seal(&text, from: 0, counter: counter)
      }
      #expect(hexadecimal(text) == message.ciphertext)
    }
  }
}
