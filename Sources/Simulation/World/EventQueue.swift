import Replication

/// A priority queue of events, ordered by time. Events at the same time come out in the order in which they were added.
struct EventQueue<Event> {
  private struct Item {
    let at: Moment
    let order: UInt64
    let event: Event

    static func < (left: Item, right: Item) -> Bool { (left.at, left.order) < (right.at, right.order) }
  }

  /// A binary heap with the earliest item at index 0.
  private var items: [Item] = []
  private var order: UInt64 = 0

  var isEmpty: Bool { items.isEmpty }
  var next: Moment? { items.first?.at }

  mutating func add(_ event: Event, at moment: Moment) {
    order += 1
    items.append(Item(at: moment, order: order, event: event))
    var child = items.count - 1
    while child > 0, items[child] < items[(child - 1) / 2] {
      items.swapAt(child, (child - 1) / 2)
      child = (child - 1) / 2
    }
  }

  mutating func take() -> (at: Moment, event: Event)? {
    guard let first = items.first else { return nil }
    let last = items.removeLast()
    guard !items.isEmpty else { return (first.at, first.event) }
    items[0] = last
    var parent = 0
    while true {
      var least = parent
      for child in [2 * parent + 1, 2 * parent + 2] where child < items.count && items[child] < items[least] {
        least = child
      }
      guard least != parent else { break }
      items.swapAt(parent, least)
      parent = least
    }
    return (first.at, first.event)
  }
}
