import Replication
import Wire

/// A connection between two devices. Messages arrive complete and in order, or the link breaks.
final class Link {
  enum Item {
    case opening([UInt8])
    case message([UInt8])
    /// The other end hung up.
    case end
  }

  /// Items in flight to one end.
  struct Lane {
    var items: [(at: Moment, item: Item)] = []
    var bytes = 0
    /// The arrival time of the last item.
    var last: Moment = 0
    /// Whether the sender was told that the link is congested.
    var isFull = false
  }

  let id: LinkID
  /// The address that was dialled.
  let address: String
  /// The numbers of the two devices: first the dialling one, then the dialled one.
  let devices: [Int]
  let generations: [Int]
  var towards = [Lane(), Lane()]
  var isOpen = [true, true]
  /// Whether each end has closed, and so neither sends nor receives any more.
  var hasHungUp = [false, false]
  /// Whether each end has received something that could not be decoded.
  var brokeRules = [false, false]
  var lastHeard: [Moment]

  init(_ id: LinkID, _ address: String, _ devices: [Int], _ generations: [Int], at now: Moment) {
    (self.id, self.address, self.devices, self.generations) = (id, address, devices, generations)
    lastHeard = [now, now]
  }

  /// Whether the direction in which an end sends is congested.
  func isCongested(_ end: Int) -> Bool {
    if towards[1 - end].bytes > Self.bytesMax { towards[1 - end].isFull = true }
    return towards[1 - end].isFull
  }

  static let bytesMax = Limits.sendBufferBytesMax / 8
}
