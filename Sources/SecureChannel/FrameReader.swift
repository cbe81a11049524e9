// Protocol/channel.md, "Frames".

import Wire

/// Received bytes, cut into frames wherever the network cut them.
///
/// The storage grows with what comes, up to a size that is what an end without a name may make us hold: nobody gets
/// memory for bytes that it only might send. The shell reads from its socket straight into `storage[makeRoom()]`
/// and then says how much came.
package struct FrameReader: Sendable {
  /// The two bytes of a frame's length.
  static let lengthBytes = 2

  /// How much is kept of a reader that has nothing to keep.
  private static let firstBytes = 256

  package var storage: [UInt8] = []
  /// The most bytes that are held.
  private var capacity: Int
  /// What has come and is not taken.
  package private(set) var unread: Range<Int> = 0..<0

  package init(capacity: Int) { self.capacity = capacity }

  /// Whether a part of something is here.
  package var isEmpty: Bool { unread.isEmpty }

  var bytes: ArraySlice<UInt8> { storage[unread] }

  /// The free end of the storage, after moving what is unread to its start if the end is short, and growing if
  /// what is half here needs it.
  package mutating func makeRoom() -> Range<Int> { makeRoom(for: 1) }

  private mutating func makeRoom(for count: Int) -> Range<Int> {
    moveUnread()
    let wanted = min(capacity, max(unread.count + count, Self.lengthBytes + (nextLength ?? 0)))
    if storage.count - unread.lowerBound < wanted {
      let size = min(capacity, unread.lowerBound + max(wanted, 2 * storage.count, Self.firstBytes))
      if size > storage.count {
        storage.append(contentsOf: repeatElement(0, count: size - storage.count))
      }
    }
    return unread.upperBound..<storage.count
  }

  private mutating func moveUnread() {
    if unread.isEmpty {
      unread = 0..<0
    } else if unread.lowerBound > 0, storage.count - unread.upperBound < storage.count / 2 {
      storage.replaceSubrange(0..<unread.count, with: Array(storage[unread]))
      unread = 0..<unread.count
    }
  }

  /// So many bytes now stand behind the unread ones.
  package mutating func filled(_ count: Int) {
    precondition(count >= 0 && count <= storage.count - unread.upperBound, "\(count) bytes were not free")
    unread = unread.lowerBound..<unread.upperBound + count
  }

  /// Copies bytes in: all of them, or as many as fit. Returns how many.
  package mutating func append(_ bytes: ArraySlice<UInt8>) -> Int {
    let room = makeRoom(for: bytes.count)
    let count = min(room.count, bytes.count)
    storage.replaceSubrange(
      room.lowerBound..<room.lowerBound + count, with: bytes.prefix(count))
    filled(count)
    return count
  }

  /// Allows more, once the other end has a name.
  mutating func grow(to capacity: Int) { self.capacity = max(self.capacity, capacity) }

  /// Takes bytes that are no frame.
  mutating func skip(_ count: Int) {
    precondition(count <= unread.count, "\(count) bytes have not come")
    unread = unread.lowerBound + count..<unread.upperBound
  }

  /// The length of the next frame, without taking it; nil if it has not come.
  var nextLength: Int? {
    guard unread.count >= Self.lengthBytes else { return nil }
    return Int(storage[unread.lowerBound]) << 8 | Int(storage[unread.lowerBound + 1])
  }

  /// Takes the next frame and gives the place of its content in the storage; nil if more must come.
  package mutating func next() -> Range<Int>? {
    guard let length = nextLength, unread.count >= Self.lengthBytes + length else { return nil }
    let start = unread.lowerBound + Self.lengthBytes
    unread = start + length..<unread.upperBound
    return start..<start + length
  }
}

func appendFrameLength(_ length: Int, to bytes: inout [UInt8]) {
  precondition(length <= Limits.frameBytesMax, "a frame of \(length) bytes")
  bytes.append(UInt8(truncatingIfNeeded: length >> 8))
  bytes.append(UInt8(truncatingIfNeeded: length))
}
