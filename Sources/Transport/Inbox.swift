/// What has come over a link and nobody has taken yet, in order.
///
/// A link reads no further while it is full, so that who takes slowly slows the other end down.
package struct Inbox<Message: Sendable>: Sendable {
  /// A message with what it counts for.
  package typealias Item = (message: Message, bytes: Int)

  private var items: [Item] = []
  package private(set) var bytes = 0
  private let bytesMax: Int

  package init(_ limits: LinkLimits) { bytesMax = limits.receiveBufferBytesMax }

  package var isFull: Bool { bytes > bytesMax }

  package var count: Int { items.count }

  /// True if there was nothing: then somebody has to come for it.
  package mutating func add(_ batch: [Item]) -> Bool {
    let wasEmpty = items.isEmpty
    items += batch
    bytes += batch.reduce(0) { $0 + $1.bytes }
    return wasEmpty
  }

  /// The oldest messages, one at least, up to so many bytes; whether more are left, and whether it is full no longer.
  package mutating func take(atMost most: Int) -> (messages: [Message], isMore: Bool, hasRoomAgain: Bool) {
    let wasFull = isFull
    var taken = 0
    var count = 0
    while count < items.count, taken < most {
      taken += items[count].bytes
      count += 1
    }
    // A key path of a generic type would be resolved anew each time.
    let messages = items.prefix(count).map { $0.message }
    items.removeFirst(count)
    bytes -= taken
    return (messages, !items.isEmpty, wasFull && !isFull)
  }
}
