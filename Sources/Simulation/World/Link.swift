import Replication
import Wire

/// A connection between two devices: what each of its ends sends arrives at the other whole and in order, or the
/// link breaks.
final class Link {
  enum Item {
    case opening([UInt8])
    case message([UInt8])
    /// The other end has hung up.
    case end
  }

  /// What is on its way to one end.
  struct Lane {
    var items: [(at: Moment, item: Item)] = []
    var bytes = 0
    /// When the last of it arrives.
    var last: Moment = 0
    /// The sender was told that its link is full.
    var isFull = false
  }

  let id: LinkID
  /// What the dialler dialled.
  let address: String
  /// The dialler's device and the dialled one's, as numbers.
  let devices: [Int]
  let generations: [Int]
  var towards = [Lane(), Lane()]
  var isOpen = [true, true]
  /// This end takes nothing more in, and nothing that it sends goes out.
  var hasHungUp = [false, false]
  /// What the peer sent could not be read.
  var brokeRules = [false, false]
  var lastHeard: [Moment]

  init(_ id: LinkID, _ address: String, _ devices: [Int], _ generations: [Int], at now: Moment) {
    (self.id, self.address, self.devices, self.generations) = (id, address, devices, generations)
    lastHeard = [now, now]
  }

  /// Whether what an end sends fills the link.
  func isCongested(_ end: Int) -> Bool {
    if towards[1 - end].bytes > Self.bytesMax { towards[1 - end].isFull = true }
    return towards[1 - end].isFull
  }

  static let bytesMax = Limits.sendBufferBytesMax / 8
}
