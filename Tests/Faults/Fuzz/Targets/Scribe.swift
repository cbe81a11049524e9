import JSONDocument
import Membership
import Records
import Replication
import Sodium
import Wire

/// Writes valid and invalid change sets in any device's name: the choices determine what follows what.
struct Scribe {
  /// Every set written so far.
  private(set) var written: [VerifiedChangeSet] = []

  /// The next set; nil if the choices describe an invalid one.
  mutating func write(_ choices: inout Choices, as authors: [SigningKey]) -> VerifiedChangeSet? {
    let key = choices.pick(authors)
    let lane: Lane = choices.below(3) == 0 ? .settings : .records
    let incarnation = choices.below(8) == 0 ? 1 : 0
    let log = LogKey(device: DeviceKey(key), incarnation: Self.incarnations[incarnation], lane: lane)
    var position = AuthorPosition(
      circle: choices.below(64) == 63 ? CircleID(.zero) : Cast.circle, log: log,
      sequence: 0, id: nil, clock: .zero, logBytes: 0, unseen: dependencies(&choices, of: log))
    if let before = predecessor(&choices, in: log) {
      position.sequence = before.header.sequence
      position.id = before.id
      position.clock = before.header.clock
      position.logBytes = before.logBytes
    }
    // Now and then, a set contradicts its predecessor.
    switch choices.below(64) {
    case 63: position.logBytes = choices.number()
    default: break
    }
    let sets = try? write(&choices, position, key)
    written += sets ?? []
    return sets?.last
  }

  /// Sets of other authors, on which new ones may depend.
  mutating func note(_ sets: [VerifiedChangeSet]) { written += sets }

  static let incarnations = [1, 2].map { Incarnation(random: Bytes16(7, UInt64($0)), number: $0) }

  /// Mostly the newest of the log, sometimes an older one: then the log forks.
  private func predecessor(_ choices: inout Choices, in log: LogKey) -> VerifiedChangeSet? {
    let before = written.filter { $0.header.log == log }
    guard !before.isEmpty else { return nil }
    let back = choices.byte()
    if back < 230 { return before.last }
    return back == 255 ? nil : before[Int(back) % before.count]
  }

  private func dependencies(_ choices: inout Choices, of log: LogKey) -> [Dependency] {
    guard !written.isEmpty else { return [] }
    var chosen: Set<Dependency> = []
    for _ in 0..<choices.below(4) {
      let header = choices.pick(written)
      let seen = header.header
      guard (seen.log.device, seen.log.incarnation) != (log.device, log.incarnation) else { continue }
      chosen.insert(
        Dependency(
          device: seen.log.device, incarnation: seen.log.incarnation, sequence: seen.sequence,
          id: choices.below(32) == 31 ? ChangeSetID(.zero) : header.id))
    }
    return chosen.sorted()
  }

  private func write(
    _ choices: inout Choices, _ position: AuthorPosition, _ key: SigningKey
  ) throws -> [VerifiedChangeSet] {
    let operation = OperationDraft(
      id: OperationID(Bytes16(8, UInt64(choices.below(8)))), verb: choices.below(8) == 0 ? "undo" : "test",
      target: choices.below(8) == 0 ? OperationID(Bytes16(8, UInt64(choices.below(8)))) : nil)
    let seed = Bytes16(6, UInt64(written.count))
    var author = Author(position: position, key: key, seed: { seed })
    return try author.write(
      Self.drafts(&choices, position.log.lane), operation: operation, wall: wall(&choices))
  }

  /// Around noon, far enough ahead to be parked, long ago, or at either end of time.
  private func wall(_ choices: inout Choices) -> Moment {
    switch choices.below(16) {
    case 0: Cast.noon + Limits.clockDriftMilliseconds + Moment(choices.byte())
    case 1: Moment(choices.byte())
    case 2: Moment(clamping: choices.number())
    default: Cast.noon + Moment(choices.byte())
    }
  }

  // MARK: Entries

  static func drafts(_ choices: inout Choices, _ lane: Lane) -> [EntryDraft] {
    (0..<1 + choices.below(5)).flatMap { _ -> [EntryDraft] in
      let key = Self.key(&choices, lane)
      switch choices.below(12) {
      case 0: return [EntryDraft(.delete, key)]
      case 1: return [EntryDraft(.restore, key)]
      case 2...4: return [EntryDraft(.insert, key, fields(&choices))]
      case 5: return [EntryDraft(.erase, key)]
      case 6: return [EntryDraft(.erase, key), EntryDraft(.put, key, fields(&choices))]
      case 7: return [EntryDraft(.erase, key), EntryDraft(.insert, key, fields(&choices))]
      case 8: return [EntryDraft(.insert, key)]
      default: return [EntryDraft(.put, key, fields(&choices))]
      }
    }
  }

  /// One of few records of each kind, so that writes collide.
  static func key(_ choices: inout Choices, _ lane: Lane) -> RecordKey {
    let number = choices.pick(lane == .settings ? settingKinds : recordKinds)
    guard let kind = KindNumber(number) else { preconditionFailure("\(number) is not a kind") }
    return RecordKey(kind: kind, id: id(&choices))
  }

  private static let recordKinds =
    Schema.builtIn.kinds.map { UInt64($0.number.rawValue) }.filter { $0 <= 8_191 } + [
      777, 5_000,
    ]
  private static let settingKinds =
    Schema.builtIn.kinds.map { UInt64($0.number.rawValue) }.filter { $0 > 8_191 } + [
      9_000
    ]

  private static func id(_ choices: inout Choices) -> RecordID {
    let number = choices.below(8)
    switch number {
    case 6: return FixedRecords.none.id
    case 7: return FixedRecords.profile.id
    default: return RecordID(Bytes16(UInt64(number % 3) << 62 | 5, UInt64(number)))
    }
  }

  private static func fields(_ choices: inout Choices) -> [(field: FieldNumber, value: Value)] {
    var fields: [FieldNumber: Value] = [:]
    for _ in 0..<1 + choices.below(5) {
      let number = FieldNumber(choices.below(64) == 63 ? 65_535 : 1 + choices.below(28))
      fields[number] = value(&choices)
    }
    return fields.map { (field: $0.key, value: $0.value) }
  }

  /// A value of any type, sometimes of the right one.
  static func value(_ choices: inout Choices, depth: Int = 1) -> Value {
    switch choices.below(depth < 4 ? 14 : 10) {
    case 0: return .null
    case 1: return .bool(choices.flag())
    case 2, 3: return .integer(Int64(bitPattern: choices.number()))
    case 4: return .float(float(&choices))
    case 5, 6: return .text(String(decoding: choices.bytes(max: 40), as: UTF8.self))
    case 7: return .bytes(choices.bytes(max: 40))
    case 8: return .bytes(id(&choices).bytes)
    case 9: return .text(choices.pick(["12.50", "-0.1", "EUR", "Europe/Rome", "2026-05-03", "1e9", "None"]))
    case 10: return .array([.text("12.50"), .text("EUR")])
    case 11: return .array([.integer(Int64(bitPattern: choices.number())), .text("Europe/Rome")])
    default: return .array((0..<choices.below(4)).map { _ in value(&choices, depth: depth + 1) })
    }
  }

  private static func float(_ choices: inout Choices) -> Double {
    let float = Double(bitPattern: choices.word())
    return Value.float(float).isWritable ? float : 1.5
  }
}
