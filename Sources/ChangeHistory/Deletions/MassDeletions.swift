import JSONDocument
import LogStorage
import Model
package import RecordTables
import Records
import Replication
package import Storage
package import Wire

/// Counts deletions by other devices per operation, so that a large deletion is reported until the user acknowledges
/// it.
///
/// An operation may arrive in several batches, with restarts in between. The counts are therefore stored in the same
/// transaction as each batch.
package struct MassDeletions: Sendable {
  /// The records that one operation has removed from view so far.
  struct Tally: Hashable, Sendable {
    let operation: OperationID
    let device: DeviceKey
    let time: Moment
    /// The counts for each kind, by kind number.
    var counts: [KindNumber: Count] = [:]

    struct Count: Hashable, Sendable {
      var deleted: Int
      /// The number of visible records of the kind before the deletion.
      var before: Int

      var isLarge: Bool { MassRemoval.isMass(deleted, of: before) }
    }

    var isLarge: Bool { counts.values.contains(where: \.isLarge) }

    /// The kinds of which many records were deleted, with the largest number of deleted records first.
    var large: [(kind: KindNumber, count: Count)] {
      counts.filter(\.value.isLarge).map { (kind: $0.key, count: $0.value) }
        .sorted { ($1.count.deleted, $0.kind) < ($0.count.deleted, $1.kind) }
    }
  }

  private(set) var tallies: [Tally] = []

  /// The maximum number of operations with small deletions that are remembered in case a later batch continues them.
  private static let openMax = 32

  var large: [Tally] { tallies.filter(\.isLarge) }

  /// Adds the records that a batch removed from view.
  ///
  /// - Parameter visible: the number of records of each kind that are still visible.
  mutating func add(_ deletions: [DeletedRecords], visible: [KindNumber: Int]) {
    var lost: [KindNumber: Int] = [:]
    for deletion in deletions { lost.merge(deletion.records, uniquingKeysWith: +) }
    for deletion in deletions {
      var tally = take(deletion)
      for (kind, count) in deletion.records where count > 0 {
        let earlier = tally.counts[kind]?.deleted ?? 0
        tally.counts[kind] = Tally.Count(
          deleted: earlier + count, before: (visible[kind] ?? 0) + (lost[kind] ?? 0) + earlier)
      }
      tallies.append(tally)
    }
    trim()
  }

  private mutating func take(_ deletion: DeletedRecords) -> Tally {
    let index = tallies.firstIndex {
      $0.operation == deletion.operation.id && $0.device == deletion.operation.device
    }
    if let index { return tallies.remove(at: index) }
    return Tally(
      operation: deletion.operation.id, device: deletion.operation.device, time: deletion.clock.milliseconds)
  }

  private mutating func trim() {
    let open = tallies.count { !$0.isLarge }
    guard open > Self.openMax else { return }
    var surplus = open - Self.openMax
    tallies.removeAll { tally in
      guard surplus > 0, !tally.isLarge else { return false }
      surplus -= 1
      return true
    }
  }

  /// Removes the large deletions. Small ones are kept, because later batches may add to them.
  mutating func acknowledge() { tallies.removeAll(where: \.isLarge) }
}

// MARK: Storage

extension MassDeletions {
  init(_ store: Store) throws {
    guard let bytes = try store.meta(MetaKey.deletions), let json = try? JSON.parse(bytes) else { return }
    tallies = (json.array ?? []).compactMap(Tally.init)
  }

  func save(to store: Store) throws {
    let json = JSON.array(tallies.map(\.json))
    try store.setMeta(MetaKey.deletions, tallies.isEmpty ? nil : json.bytes())
  }
}

extension MassDeletions.Tally {
  fileprivate init?(_ json: JSON) {
    guard let operation = json["operation"]?.string.flatMap({ OperationID(hex: $0) }),
      let device = json["device"]?.string.flatMap({ DeviceKey(hex: $0) }), let time = json["time"]?.integer
    else { return nil }
    self.init(operation: operation, device: device, time: time)
    for item in json["counts"]?.array ?? [] {
      guard let number = item[0]?.integer.flatMap({ UInt64(exactly: $0) }), let kind = KindNumber(number),
        let deleted = item[1]?.integer, let before = item[2]?.integer
      else { continue }
      counts[kind] = Count(deleted: Int(deleted), before: Int(before))
    }
  }

  fileprivate var json: JSON {
    let items = counts.sorted { $0.key < $1.key }.map { kind, count -> JSON in
      [.integer(Int64(kind.rawValue)), .integer(count.deleted), .integer(count.before)]
    }
    return [
      "operation": .string(operation.description), "device": .string(device.description),
      "time": .integer(time), "counts": .array(items),
    ]
  }
}

extension MassDeletions {
  /// Counts the records that a batch of other devices' sets removed from view. Must run inside the batch's
  /// transaction.
  package static func note(
    _ report: CommitReport, in store: Store, exceptBy own: DeviceKey, seen: SyncedSets
  ) throws {
    let deletions = try store.deletions(report, exceptBy: own, seen: seen.newest)
    guard !deletions.isEmpty else { return }
    var deletes = try MassDeletions(store)
    deletes.add(deletions, visible: try store.visibleCounts())
    try deletes.save(to: store)
  }

  /// Removes the large deletions after the user has acknowledged them.
  package static func acknowledge(in store: Store) throws {
    var deletes = try MassDeletions(store)
    deletes.acknowledge()
    try deletes.save(to: store)
  }
}

extension HistoryReader {
  /// Returns the large deletions that have been neither undone nor acknowledged.
  package func massDeletions() throws -> [MassDeletion] {
    try MassDeletions(store).large.filter { try store.undos(of: $0.operation).isEmpty }
      .map { MassDeletion($0, deviceName: deviceName($0.device), store.schema) }
  }
}
