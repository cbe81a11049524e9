import Sodium
import Testing
import Wire

@testable import SecureChannel

@Suite struct `Sealed frames` {
  private func message(_ length: Int) -> [UInt8] {
    (0..<length).map { UInt8(($0 * 7 + length) % 251) }
  }

  private func opened(
    _ wire: [UInt8], key: String, counter: UInt64 = 0
  ) throws -> [Opener.Opened] {
    var opener = Opener(key: try SymmetricKey(bytes(key)), counter: counter)
    var frames = FrameReader(capacity: wire.count + 1)
    #expect(frames.append(wire[...]) == wire.count)
    var results: [Opener.Opened] = []
    while let range = frames.next() { results.append(try opener.open(&frames.storage, range)) }
    #expect(frames.isEmpty)
    return results
  }

  @Test(arguments: NoiseVectors.ours.records.messages.indices)
  func `of a message of any length match the vectors, and open`(index: Int) throws {
    let vector = NoiseVectors.ours.records.messages[index]
    let text = message(vector.length)
    #expect(hexadecimal(SHA256.hash(text)) == vector.message_sha256)
    var sealer = Sealer(key: try SymmetricKey(bytes(vector.key)))
    var wire: [UInt8] = []
    try sealer.seal(text, into: &wire)
    #expect(wire.count == vector.wire_bytes)
    #expect(hexadecimal(SHA256.hash(wire)) == vector.wire_sha256)
    #expect(try opened(wire, key: vector.key).last == .message(text))
  }

  @Test func `open only at the counter at which they were sealed`() throws {
    let vector = NoiseVectors.ours.records.short
    let counter = try #require(UInt64(vector.counter))
    let results = try opened(bytes(vector.wire), key: vector.key, counter: counter)
    #expect(results == [.message(bytes(try #require(vector.message)))])
    #expect(throws: ChannelError.violation) {
      try opened(bytes(vector.wire), key: vector.key, counter: counter + 1)
    }
  }

  @Test func `of a close open as a close`() throws {
    let vector = NoiseVectors.ours.records.close
    #expect(try opened(bytes(vector.wire), key: vector.key) == [.closed])
    var sealer = Sealer(key: try SymmetricKey(bytes(vector.key)))
    var wire: [UInt8] = []
    try sealer.sealClose(into: &wire)
    #expect(wire == bytes(vector.wire))
  }

  @Test(arguments: NoiseVectors.ours.records.refused)
  func `that no honest end sends are refused`(vector: RecordVectors.Refused) {
    #expect(throws: ChannelError.violation) { try opened(bytes(vector.wire), key: vector.key) }
  }

  @Test func `carry a message at the limit and none beyond`() throws {
    let key = try SymmetricKey(randomBytes(32))
    var sealer = Sealer(key: key)
    var wire: [UInt8] = []
    try sealer.seal(message(Limits.messageBytesMax), into: &wire)
    var thrown: ChannelError?
    do throws(ChannelError) {
      try sealer.seal(message(Limits.messageBytesMax + 1), into: &wire)
    } catch {
      thrown = error
    }
    #expect(thrown == .messageTooLarge)
    #expect(try results(Opener(key: key), wire).last == .message(message(Limits.messageBytesMax)))
  }

  @Test func `whose fragments add up to more than a message are refused`() throws {
    let key = try SymmetricKey(randomBytes(32))
    var wire: [UInt8] = []
    // Seventeen full fragments that all announce another one.
    for counter in 0..<17 {
      var frame: [UInt8] = [FragmentHeader.more.rawValue]
      frame += [UInt8](repeating: 1, count: FragmentHeader.contentBytesMax)
      key.seal(&frame, from: 0, counter: UInt64(counter))
      appendFrameLength(frame.count, to: &wire)
      wire += frame
    }
    #expect(throws: ChannelError.violation) { try results(Opener(key: key), wire) }
  }

  @Test func `are refused at the last counter, in both directions`() throws {
    let key = try SymmetricKey(randomBytes(32))
    var sealer = Sealer(key: key, counter: .max - 1)
    var wire: [UInt8] = []
    try sealer.seal([1], into: &wire)
    var thrown: ChannelError?
    do throws(ChannelError) { try sealer.seal([2], into: &wire) } catch { thrown = error }
    #expect(thrown == .exhausted)
    #expect(throws: ChannelError.exhausted) {
      try results(Opener(key: key, counter: .max - 1), wire + wire)
    }
  }

  private func results(_ opener: consuming Opener, _ wire: [UInt8]) throws -> [Opener.Opened] {
    var opener = opener
    var frames = FrameReader(capacity: wire.count)
    _ = frames.append(wire[...])
    var results: [Opener.Opened] = []
    while let range = frames.next() { results.append(try opener.open(&frames.storage, range)) }
    return results
  }
}

@Suite struct `The preamble` {
  private static let vectors = NoiseVectors.ours.preambles

  private func keys() throws -> [SymmetricKey] {
    [try key(Self.vectors.session_key), try key(Self.vectors.pairing_key)]
  }

  private func key(_ hex: String) throws -> SymmetricKey { try SymmetricKey(bytes(hex)) }

  @Test(arguments: vectors.accepted.indices)
  func `is authentic under its key and no other, once all of it has arrived`(index: Int) throws {
    let vector = Self.vectors.accepted[index]
    let wire = bytes(vector.bytes)
    for count in 0..<wire.count { #expect(Preamble(receiving: wire[..<count]) == nil) }
    let preamble = try #require(Preamble(receiving: (wire + [1, 2, 3])[...]))
    #expect(preamble.bytes == wire && preamble.version == Preamble.currentVersion)
    for hex in [Self.vectors.session_key, Self.vectors.pairing_key] {
      #expect(preamble.isAuthentic(under: try key(hex)) == (hex == vector.key))
    }
    let nonce = try #require(Bytes16(bytes(vector.nonce)))
    #expect(Preamble(nonce: nonce, key: try key(vector.key)) == preamble)
  }

  @Test(arguments: vectors.refused) func `with other bytes is not authentic`(
    vector: PreambleVectors.Refused
  ) throws {
    let preamble = try #require(Preamble(receiving: bytes(vector.bytes)[...]))
    for key in try keys() { #expect(!preamble.isAuthentic(under: key)) }
  }

  @Test(arguments: vectors.other_version.indices)
  func `of another version is authentic too, and gets an answer`(index: Int) throws {
    let vector = Self.vectors.other_version[index]
    let preamble = try #require(Preamble(receiving: bytes(vector.bytes)[...]))
    let key = try key(vector.key)
    #expect(preamble.version == vector.version && preamble.isAuthentic(under: key))
    #expect(hexadecimal(preamble.answer(under: key).bytes) == vector.answer)
  }
}
