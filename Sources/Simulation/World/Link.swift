import Replication
import Wire

/// A connection between two devices. Messages arrive complete and in order, or the link breaks; ordinary messages
/// overtake parts of files.
final class Link {
  enum Item {
    case opening([UInt8])
    case message([UInt8])
    /// The other end hung up.
    case end

    var bytes: Int {
      switch self {
      case .opening(let bytes), .message(let bytes): bytes.count
      case .end: 0
      }
    }
  }

  /// Items in flight to one end.
  struct Lane {
    private(set) var items: [(at: Moment, item: Item, sendClass: SendClass)] = []
    private(set) var bytes = 0
    private var fileBytes = 0
    /// The arrival time of the last item of each class.
    private var last: [SendClass: Moment] = [:]
    /// The classes whose sender was told that the link is congested.
    private var full: Set<SendClass> = []

    /// Puts an item in flight.
    ///
    /// - Parameters:
    ///   - earliest: when the first byte arrives.
    ///   - duration: how long the bytes take at the bandwidth of the link.
    /// - Returns: when the item arrives.
    mutating func put(
      _ item: Item, _ sendClass: SendClass, bytes: Int, earliest: Moment, duration: Moment
    ) -> Moment {
      var at = max(last[.ordinary] ?? 0, earliest + duration)
      if sendClass == .file { at = max(at, (last[.file] ?? 0) + duration) }
      last[sendClass] = at
      self.bytes += bytes
      if sendClass == .file { fileBytes += bytes }
      items.insert((at, item, sendClass), at: items.firstIndex { $0.at > at } ?? items.count)
      return at
    }

    mutating func takeFirst() -> Item {
      let (_, item, sendClass) = items.removeFirst()
      let count = item.bytes
      bytes -= count
      if sendClass == .file { fileBytes -= count }
      return item
    }

    mutating func isCongested(for sendClass: SendClass) -> Bool {
      if level(sendClass) > Link.bytesMax { full.insert(sendClass) }
      return full.contains(sendClass)
    }

    /// Returns whether a class that was congested has room again.
    mutating func drained() -> Bool {
      let drained = full.filter { level($0) * 2 < Link.bytesMax }
      full.subtract(drained)
      return !drained.isEmpty
    }

    private func level(_ sendClass: SendClass) -> Int { sendClass == .file ? bytes : bytes - fileBytes }
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
  func isCongested(_ end: Int, for sendClass: SendClass) -> Bool {
    towards[1 - end].isCongested(for: sendClass)
  }

  static let bytesMax = Limits.sendBufferBytesMax / 8
}
