// Sources/store.md, "A damaged change set"

package import Replication
package import SQLite
package import Wire

/// A stored change set whose bytes no longer match its signature. It keeps its position in the log, so that the sets
/// that follow it stay valid.
package struct DamagedSet: Hashable, Sendable {
  package let id: ChangeSetID
  package let log: LogKey
  package let sequence: UInt64
  /// Whether the writes of the set are missing from the record tables.
  package var isUnfolded = false

  package init(id: ChangeSetID, log: LogKey, sequence: UInt64, isUnfolded: Bool = false) {
    (self.id, self.log, self.sequence) = (id, log, sequence)
    self.isUnfolded = isUnfolded
  }

  /// The set's head, with which the set is requested from a peer.
  package var head: LogHead { LogHead(log: log, sequence: sequence, id: id, foldedSequence: 0) }
}

extension DamagedSet {
  package init(_ place: SetPosition, isUnfolded: Bool) {
    self.init(
      id: place.origin.stamp.set, log: place.log, sequence: UInt64(bitPattern: place.sequence),
      isUnfolded: isUnfolded)
  }
}

/// The known damaged sets, persisted in the store. Each stays listed until its bytes are replaced, or until a rebuild
/// leaves it without a position in the logs.
package struct DamagedSets: Equatable {
  private static let key = "damaged"
  private(set) var byID: [ChangeSetID: DamagedSet] = [:]
  private var isSaved = true

  init() {}

  /// Reads the stored list. An unreadable line is skipped, because the next read of its set finds the damage again.
  package init(_ connection: Connection) throws {
    let bytes = try MetaTable.bytes(Self.key, connection) ?? []
    for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
      let words = line.split(separator: " ").map(String.init)
      guard words.count == 6, let id = ChangeSetID(hex: words[0]), let device = DeviceKey(hex: words[1]),
        let incarnation = Incarnation(hex: words[2]),
        let lane = UInt8(words[3]).flatMap(Lane.init(rawValue:)),
        let sequence = UInt64(words[4])
      else { continue }
      byID[id] = DamagedSet(
        id: id, log: LogKey(device: device, incarnation: incarnation, lane: lane), sequence: sequence,
        isUnfolded: words[5] == "unfolded")
    }
  }

  /// The sets, sorted by log.
  package var sorted: [DamagedSet] {
    byID.values.sorted { ($0.log, $0.sequence, $0.id) < ($1.log, $1.sequence, $1.id) }
  }

  package subscript(id: ChangeSetID) -> DamagedSet? { byID[id] }

  /// Adds a damaged set. Once marked unfolded, a set stays marked until its bytes are replaced.
  package mutating func add(_ set: DamagedSet) {
    var set = set
    if let known = byID[set.id] { set.isUnfolded = set.isUnfolded || known.isUnfolded }
    guard byID[set.id] != set else { return }
    byID[set.id] = set
    isSaved = false
  }

  package mutating func remove(_ id: ChangeSetID) {
    if byID.removeValue(forKey: id) != nil { isSaved = false }
  }

  /// Saves the list if it has changed.
  package mutating func save(_ connection: Connection) throws {
    guard !isSaved else { return }
    let lines = sorted.map { set in
      "\(set.id) \(set.log.device) \(set.log.incarnation) \(set.log.lane.rawValue) \(set.sequence) "
        + (set.isUnfolded ? "unfolded\n" : "folded\n")
    }
    try MetaTable.set(Self.key, Array(lines.joined().utf8), connection)
    isSaved = true
  }
}
