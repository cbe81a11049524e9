import LogStorage
import RecordTables
import Records
import Replication
import Sodium
import Storage
import Testing
import Wire

/// A device of a test circle: a key, a log, and a store in memory.
final class Device {
  let name: String
  let key: SigningKey
  let store: Store
  let log: LogKey
  /// Every set that this device's store received, own and foreign, in order of arrival.
  private(set) var known: [VerifiedChangeSet] = []
  private var operations: UInt64 = 0
  private var seeds: UInt64 = 0

  static let circle = CircleID(Bytes32(1, 2, 3, 4))
  static let horizon = Clock(milliseconds: 1_000_000)

  init(_ name: String, _ store: Store? = nil, lane: Lane = .records) throws {
    self.name = name
    let seed = Array(repeating: name.utf8.first ?? 0, count: 32)
    key = try SigningKey(seed: seed)
    self.store = try store ?? Store.inMemory()
    let device = try #require(DeviceKey(bytes: key.publicKey))
    let incarnation = Incarnation(Bytes16(UInt64(seed[0]), 0))
    log = LogKey(device: device, incarnation: incarnation, lane: lane)
  }

  /// The sets that a transaction would commit.
  func draft(at wall: Moment, _ drafts: [EntryDraft]) throws -> [VerifiedChangeSet] {
    operations += 1
    var author = Author(
      position: try store.authorPosition(circle: Self.circle, log: log), key: key, seed: nextSeed)
    let operation = OperationDraft(
      id: OperationID(Bytes16(log.incarnation.raw.word0, operations)), verb: "test")
    return try author.write(drafts, operation: operation, wall: wall)
  }

  /// Another seed for the salts of a set, the same in each run.
  func nextSeed() -> Bytes16 {
    seeds += 1
    return Bytes16(log.incarnation.raw.word0, seeds)
  }

  /// Writes and stores one transaction.
  @discardableResult
  func write(at wall: Moment, _ drafts: EntryDraft...) throws -> [VerifiedChangeSet] {
    let sets = try draft(at: wall, drafts)
    try receive(sets)
    return sets
  }

  @discardableResult
  func receive(_ sets: [VerifiedChangeSet], horizon: Clock = Device.horizon) throws -> CommitReport {
    let report = try store.commit(sets, horizon: horizon)
    for (set, placement) in zip(sets, report.placements) {
      if case .place = placement { known.append(set) }
    }
    return report
  }

  /// Receives everything that another device has.
  func sync(from other: Device) throws { try receive(other.known) }
}

func id(_ number: UInt64) -> RecordID { RecordID(Bytes16(number << 56, number)) }

func trip(_ number: UInt64) -> RecordKey { RecordKey(kind: KindNumbers.trip, id: id(number)) }
func lodging(_ number: UInt64) -> RecordKey { RecordKey(kind: KindNumbers.lodging, id: id(number)) }
func attachment(_ number: UInt64) -> RecordKey { RecordKey(kind: KindNumbers.attachment, id: id(number)) }
func habit(_ number: UInt64) -> RecordKey { RecordKey(kind: KindNumbers.habit, id: id(number)) }
func log(_ number: UInt64) -> RecordKey { RecordKey(kind: KindNumbers.habitEntry, id: id(number)) }

/// The field with the parent of an attachment.
func owner(_ key: RecordKey) -> Value { .array([.integer(Int64(key.kind.rawValue)), .bytes(key.id.bytes)]) }

func insert(_ key: RecordKey, _ fields: [FieldNumber: Value]) -> EntryDraft {
  EntryDraft(.insert, key, fields.map { ($0.key, $0.value) })
}

func edit(_ key: RecordKey, _ fields: [FieldNumber: Value]) -> EntryDraft {
  EntryDraft(.put, key, fields.map { ($0.key, $0.value) })
}

func delete(_ key: RecordKey) -> EntryDraft { EntryDraft(.delete, key) }
func restore(_ key: RecordKey) -> EntryDraft { EntryDraft(.restore, key) }
func erase(_ key: RecordKey) -> EntryDraft { EntryDraft(.erase, key) }

func lodging(_ number: UInt64, of parent: RecordKey, _ fields: [FieldNumber: Value] = [:]) -> EntryDraft {
  insert(lodging(number), [1: .bytes(parent.id.bytes), 2: .text("Casa")].merging(fields) { $1 })
}

/// All records of a store, as text: equal if and only if two stores hold the same.
func dump(_ store: Store, kinds: [KindNumber] = Schema.builtIn.kinds.map(\.number)) throws -> [String] {
  var lines: [String] = []
  for kind in kinds {
    var query = RecordQuery(kind)
    query.visibleOnly = false
    for row in try store.records(query) {
      let origins = try store.origins(of: row).sorted { $0.key < $1.key }
      let fields = row.fields.merging(row.unread) { $1 }.sorted { $0.key < $1.key }
      lines.append(
        "\(kind.rawValue) \(row.key.id) \(row.life.map { "\($0)" } ?? "-") \(row.isVisible) "
          + fields.map { "\($0.key)=\($0.value)" }.joined(separator: " ")
          + origins.map { " \($0.key)@\($0.value.set)" }.joined())
    }
  }
  lines += Lane.allCases.map { "\($0) \(hexadecimal(store.digest($0).sum.bytes))" }
  lines += try store.conflicts().map {
    "\($0.id) \($0.reason) \($0.field ?? 0) \(text($0.winner)) \($0.losers.map(text))"
  }
  lines.append("conflicts \(try store.conflictCount())")
  lines += try store.visibleCounts().sorted { $0.key < $1.key }.map { "\($0.key.rawValue): \($0.value)" }
  return lines
}

private func text(_ side: Conflict.Side) -> String {
  let author = "\(side.stamp.clock.raw) \(side.stamp.device) \(side.stamp.set)"
  let fields: [FieldNumber: Value]
  switch side.content {
  case .fields(let all), .write(let all): fields = all
  case .value, .deletion: return "\(side.content) \(author)"
  }
  return fields.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: " ") + author
}

extension Store {
  /// A text field of a record; nil if it is absent.
  func text(_ key: RecordKey, _ field: FieldNumber) throws -> String? {
    guard case .text(let text)? = try record(key)?[field] else { return nil }
    return text
  }

  func isVisible(_ key: RecordKey) throws -> Bool { try record(key)?.isVisible ?? false }
}

extension Store {
  /// Every folded write to a record, in stamp order.
  func writes(of record: RecordKey) throws -> [RecordWrite] {
    try writeNumbers(of: record).compactMap { try intactWrite(of: record, in: $0) }
      .sorted { $0.place.origin.stamp < $1.place.origin.stamp }
  }
}
