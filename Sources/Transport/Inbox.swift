/// The messages that a link has received and its owner has not taken yet, in order.
///
/// A link stops reading while its inbox is full, so a slow consumer slows the sender down.
package struct Inbox<Message: Sendable>: Sendable {
  /// A message, and the number of bytes that it counts as towards the limit.
  package typealias Item = (message: Message, bytes: Int)

  private var items: [Item] = []
  package private(set) var bytes = 0
  private let bytesMax: Int

  package init(_ limits: LinkLimits) { bytesMax = limits.receiveBufferBytesMax }

  package var isFull: Bool { bytes > bytesMax }

  package var count: Int { items.count }

  /// Adds messages. Returns true if the inbox was empty, in which case the owner has to be told to take them.
  package mutating func add(_ batch: [Item]) -> Bool {
    let wasEmpty = items.isEmpty
    items += batch
    bytes += batch.reduce(0) { $0 + $1.bytes }
    return wasEmpty
  }

  /// Takes the oldest messages, at least one, until they amount to `most` bytes.
  ///
  /// In the result, `isMore` tells whether messages are left, and `hasRoomAgain` whether the inbox was full and no
  /// longer is.
  package mutating func take(atMost most: Int) -> (messages: [Message], isMore: Bool, hasRoomAgain: Bool) {
    let wasFull = isFull
    var taken = 0
    var count = 0
    while count < items.count, taken < most {
      taken += items[count].bytes
      count += 1
    }
    // This is a closure, because a key path of a generic type would be resolved again on each call.
    let messages = items.prefix(count).map { $0.message }
    items.removeFirst(count)
    bytes -= taken
    return (messages, !items.isEmpty, wasFull && !isFull)
  }
}
