/// Messages received over a link and not taken yet, in order.
///
/// A link stops reading while its inbox is full, so a slow consumer slows the sender down.
package struct Inbox<Message: Sendable>: Sendable {
  /// A message, and the number of bytes that it counts for.
  package typealias Item = (message: Message, bytes: Int)

  private var items: [Item] = []
  package private(set) var bytes = 0
  private let bytesMax: Int

  package init(_ limits: LinkLimits) { bytesMax = limits.receiveBufferBytesMax }

  package var isFull: Bool { bytes > bytesMax }

  package var count: Int { items.count }

  /// Adds messages. True if the inbox was empty: then the owner has to be told to take them.
  package mutating func add(_ batch: [Item]) -> Bool {
    let wasEmpty = items.isEmpty
    items += batch
    bytes += batch.reduce(0) { $0 + $1.bytes }
    return wasEmpty
  }

  /// Takes the oldest messages, at least one, up to `most` bytes. `isMore`: messages are left; `hasRoomAgain`: the
  /// inbox was full and no longer is.
  package mutating func take(atMost most: Int) -> (messages: [Message], isMore: Bool, hasRoomAgain: Bool) {
    let wasFull = isFull
    var taken = 0
    var count = 0
    while count < items.count, taken < most {
      taken += items[count].bytes
      count += 1
    }
    // A closure, because a key path of a generic type would be resolved again on each call.
    let messages = items.prefix(count).map { $0.message }
    items.removeFirst(count)
    bytes -= taken
    return (messages, !items.isEmpty, wasFull && !isFull)
  }
}
