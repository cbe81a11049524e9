import Engine
import JSONDocument
import Records
import Replication
import Storage
import Wire

/// Deletions by other devices, counted by operation, so that a large one is said until someone takes note.
///
/// An operation may come in several batches and across restarts, so the counts are kept in the store, in the
/// transaction of the batch.
struct MassDeletes: Sendable {
  /// What one operation took out of sight so far.
  struct Tally: Hashable, Sendable {
    let operation: OperationID
    let device: DeviceKey
    let time: Moment
    /// By number of kind.
    var counts: [KindNumber: Count] = [:]

    struct Count: Hashable, Sendable {
      var deleted: Int
      /// How many were visible before.
      var before: Int

      var isLarge: Bool { deleted >= MassDeletes.least && deleted * 4 > before }
    }

    var isLarge: Bool { counts.values.contains(where: \.isLarge) }

    /// The kinds that lost much, largest first.
    var large: [(kind: KindNumber, count: Count)] {
      counts.filter(\.value.isLarge).map { (kind: $0.key, count: $0.value) }
        .sorted { ($1.count.deleted, $0.kind) < ($0.count.deleted, $1.kind) }
    }
  }

  private(set) var tallies: [Tally] = []

  /// Fewer than these are never much.
  static let least = 20
  /// Operations that may go on in a later batch.
  private static let openMax = 32

  var large: [Tally] { tallies.filter(\.isLarge) }

  /// Adds what a batch took out of sight.
  ///
  /// - Parameter visible: how many records of each kind are left.
  mutating func add(_ losses: [Loss], visible: [KindNumber: Int]) {
    var lost: [KindNumber: Int] = [:]
    for loss in losses { lost.merge(loss.records, uniquingKeysWith: +) }
    for loss in losses {
      var tally = take(loss)
      for (kind, count) in loss.records where count > 0 {
        let earlier = tally.counts[kind]?.deleted ?? 0
        tally.counts[kind] = Tally.Count(
          deleted: earlier + count, before: (visible[kind] ?? 0) + (lost[kind] ?? 0) + earlier)
      }
      tallies.append(tally)
    }
    trim()
  }

  private mutating func take(_ loss: Loss) -> Tally {
    let index = tallies.firstIndex {
      $0.operation == loss.operation.id && $0.device == loss.operation.device
    }
    if let index { return tallies.remove(at: index) }
    return Tally(
      operation: loss.operation.id, device: loss.operation.device, time: loss.clock.milliseconds)
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

  /// Forgets those that were said; small ones may still grow.
  mutating func acknowledge() { tallies.removeAll(where: \.isLarge) }
}

// MARK: As it is kept

extension MassDeletes {
  init(_ store: Store) throws {
    guard let bytes = try store.meta(MetaKey.deletions), let json = try? JSON.parse(bytes) else { return }
    tallies = (json.array ?? []).compactMap(Tally.init)
  }

  func save(to store: Store) throws {
    let json = JSON.array(tallies.map(\.json))
    try store.setMeta(MetaKey.deletions, tallies.isEmpty ? nil : json.bytes())
  }
}

extension MassDeletes.Tally {
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

// MARK: In the node

extension Node {
  /// Counts what a batch of other devices' sets took out of sight, inside its transaction.
  func noteDeletions(_ report: CommitReport) throws {
    let losses = try store.losses(report, exceptBy: identity.device, seen: seenSets)
    guard !losses.isEmpty else { return }
    var deletes = try MassDeletes(store)
    deletes.add(losses, visible: try store.visibleCounts())
    try deletes.save(to: store)
  }

  /// Large deletions that nobody has undone or acknowledged.
  func largeDeletions() throws -> [MassDeletes.Tally] {
    try MassDeletes(store).large.filter { try store.undos(of: $0.operation).isEmpty }
  }

  func acknowledgeDeletions() throws {
    var deletes = try MassDeletes(store)
    deletes.acknowledge()
    try deletes.save(to: store)
    nodeChanged()
  }

  /// All that is here now is what everyone has: from here on, what disappears was there to be seen.
  ///
  /// While a device fetches the history of its circle, old deletions come after what they deleted, and nobody
  /// has lost anything.
  func noteSeen(with device: DeviceKey) {
    let newest = store.newestNumber
    let open = Lane.allCases.filter { replica.session(with: device)?[$0].isOpen ?? false }
    guard open.contains(where: { seenSets[$0] != newest }) else { return }
    for lane in open { seenSets[lane] = newest }
    remembered.isSeenNews = true
  }

  /// The sets have other numbers now: what was seen before, was here before.
  func renumberSeen() {
    for lane in seenSets.keys { seenSets[lane] = store.newestNumber }
    saveSeen()
  }

  private func saveSeen() {
    do { try rememberSeenSets() } catch { replicator.storeFailed(error) }
  }

  func rememberSeenSets() throws {
    try store.setMetaLines(
      MetaKey.seen, Lane.allCases.map { "\($0.rawValue) \(seenSets[$0] ?? 0)" })
    remembered.isSeenNews = false
  }

  static func seenSets(_ store: Store) throws -> [Lane: Int64] {
    var seen: [Lane: Int64] = [:]
    for line in try store.metaLines(MetaKey.seen) {
      let parts = line.split(separator: " ")
      guard parts.count == 2, let lane = UInt8(parts[0]).flatMap(Lane.init), let number = Int64(parts[1])
      else { continue }
      seen[lane] = number
    }
    return seen
  }

  /// What `status` says of a large deletion.
  func notice(of tally: MassDeletes.Tally) -> NodeStatus.Notice {
    let parts = tally.large.map { kind, count in
      let name = Registry.kind(kind).map { count.before == 1 ? $0.name : $0.plural } ?? "records"
      return "\(count.deleted) of \(count.before) \(name)"
    }
    let operation = tally.operation.description.prefix(8)
    return NodeStatus.Notice(
      .massDelete,
      text: "\(name(of: tally.device)) deleted \(parts.joined(separator: " and ")) at "
        + "\(CivilTime.text(tally.time)) (if that was meant: waymark status --acknowledge)",
      next: .waymark("undo \(operation)"),
      .massDelete(MassDelete(tally, deviceName: name(of: tally.device))))
  }
}
