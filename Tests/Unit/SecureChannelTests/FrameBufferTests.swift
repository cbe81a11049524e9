import SecureChannel
import Testing
import Wire

/// The buffer from which frames are taken, as a link fills it.
struct FrameBufferTests {
  private static let capacity = 300

  /// The contents of frames, of which the longest just fit into the buffer.
  private static let contents: [[UInt8]] = [0, 1, 298, 5, 297, 150, 149, 298, 0, 0, 298, 255, 256, 41, 298]
    .enumerated().map { [UInt8](repeating: UInt8($0.offset + 1), count: $0.element) }

  @Test(arguments: [1, 2, 3, 7, 100, 149, 256, 299, 300])
  func `frames come out whole and in order, however large they are and in whatever pieces they come`(
    piece: Int
  ) throws {
    var rest = Self.contents.flatMap { content in
      [UInt8(content.count >> 8), UInt8(truncatingIfNeeded: content.count)] + content
    }[...]
    var frames = FrameReader(capacity: Self.capacity)
    var found: [[UInt8]] = []
    while !rest.isEmpty {
      let room = frames.makeRoom()
      let count = min(room.count, piece, rest.count)
      try #require(count > 0, "no room after \(found.count) frames")
      frames.storage.replaceSubrange(room.lowerBound..<room.lowerBound + count, with: rest.prefix(count))
      frames.filled(count)
      rest = rest.dropFirst(count)
      while let range = frames.next() { found.append(Array(frames.storage[range])) }
    }
    #expect(found == Self.contents)
    #expect(frames.isEmpty && frames.storage.count <= Self.capacity)
  }
}

/// Ends of a channel that get no keys.
struct MissingKeyTests {
  private struct Missing: Error {}

  @Test func `a device that has no keys does not begin, and answers nothing`() throws {
    let access = try Pair.session()
    var thrown: ChannelError?
    do throws(ChannelError) {
      _ = try Channel(.initiator(access) { _ in [] }) { throw Missing() }
    } catch {
      thrown = error
    }
    #expect(thrown == .noKeys)
    let alice = try Channel(.initiator(access) { _ in [] }) { try keys(1) }
    var bob = try Channel(.responder { _ in access }) { throw Missing() }
    _ = bob.frames.append(alice.output[...])
    thrown = nil
    do throws(ChannelError) { while try bob.next() != nil {} } catch { thrown = error }
    let (output, event) = (bob.output, try bob.next())
    #expect(thrown == .noKeys && output.isEmpty && event == nil)
  }
}
