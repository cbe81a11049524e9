// Protocol/channel.md, "Frames".

import Wire

/// A buffer that collects received bytes and splits them into frames, regardless of the pieces in which the network
/// delivers them.
///
/// The storage grows as bytes are received, up to `capacity`, which stays small until the other end is authenticated.
/// This way, no memory is held for bytes that the other end has only announced. The shell reads from its socket into
/// `storage[makeRoom()]` and then calls `filled`.
package struct FrameReader: Sendable {
  /// The two bytes of a frame's length.
  static let lengthBytes = 2

  /// The smallest size to which the storage grows.
  private static let firstBytes = 256

  package var storage: [UInt8] = []
  /// The maximum size of the storage.
  private var capacity: Int
  /// The range of the bytes that have been received but not yet taken.
  package private(set) var unread: Range<Int> = 0..<0

  package init(capacity: Int) { self.capacity = capacity }

  /// Whether all received bytes have been taken.
  package var isEmpty: Bool { unread.isEmpty }

  var bytes: ArraySlice<UInt8> { storage[unread] }

  /// Returns the free range at the end of the storage. Before that, moves unread bytes to the start if little room is
  /// free, and grows the storage if an incomplete frame needs more room.
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

  /// Records that `count` bytes were written at the start of the free range.
  package mutating func filled(_ count: Int) {
    precondition(count >= 0 && count <= storage.count - unread.upperBound, "no room for \(count) bytes")
    unread = unread.lowerBound..<unread.upperBound + count
  }

  /// Copies as many of the bytes into the buffer as fit, and returns how many these were.
  package mutating func append(_ bytes: ArraySlice<UInt8>) -> Int {
    let room = makeRoom(for: bytes.count)
    let count = min(room.count, bytes.count)
    storage.replaceSubrange(
      room.lowerBound..<room.lowerBound + count, with: bytes.prefix(count))
    filled(count)
    return count
  }

  /// Raises the capacity. This is called once the other end is authenticated.
  mutating func grow(to capacity: Int) { self.capacity = max(self.capacity, capacity) }

  /// Takes `count` bytes that do not belong to a frame.
  mutating func skip(_ count: Int) {
    precondition(count <= unread.count, "fewer than \(count) unread bytes")
    unread = unread.lowerBound + count..<unread.upperBound
  }

  /// The length of the next frame; nil until the length has been received. Reading it does not take the frame.
  var nextLength: Int? {
    guard unread.count >= Self.lengthBytes else { return nil }
    return Int(storage[unread.lowerBound]) << 8 | Int(storage[unread.lowerBound + 1])
  }

  /// Takes the next frame and returns the range of its content in the storage. Returns nil if the frame is incomplete.
  package mutating func next() -> Range<Int>? {
    guard let length = nextLength, unread.count >= Self.lengthBytes + length else { return nil }
    let start = unread.lowerBound + Self.lengthBytes
    unread = start + length..<unread.upperBound
    return start..<start + length
  }
}

func appendFrameLength(_ length: Int, to bytes: inout [UInt8]) {
  precondition(length <= Limits.frameBytesMax, "frame too large: \(length) bytes")
  bytes.append(UInt8(truncatingIfNeeded: length >> 8))
  bytes.append(UInt8(truncatingIfNeeded: length))
}
