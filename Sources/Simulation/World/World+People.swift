import Membership
import Records
import Replication
import Sodium
import Storage
import Wire

/// What people do at their devices, among few records, so that they meet.
extension World {
  func letPeopleAct() {
    later(random.wait(options.peopleEvery), .people)
    let able = devices.filter { $0.process?.isServing == true }
    guard let device = random.pick(able) else { return }
    // A person may try on a full disk too, and is refused.
    guard device.process?.isDiskFull == false || random.happens(perThousand: 200) else { return }
    act(at: device)
  }

  private func act(at device: Device) {
    if random.happens(perThousand: options.large) { return writeMuch(device) }
    switch random.below(20) {
    case 0..<7: write(device, "edit", [edit(device)].compactMap { $0 })
    case 7..<10: write(device, "add", (0...random.below(3)).map { _ in insert() })
    case 10..<12: write(device, "delete", [EntryDraft(.delete, recordKey())])
    case 12: write(device, "restore", [EntryDraft(.restore, recordKey())])
    case 13: write(device, "settings", [setting()])
    case 14: writeProfile(device)
    case 15: random.happens(perThousand: 300) ? writeProfile(device) : importProfile(device)
    case 16 where random.happens(perThousand: 300): undo(device)
    case 16 where random.happens(perThousand: 50): rebuild(device)
    case 16: write(device, "mixed", [insert(), setting()])
    case 17: write(device, "many", (0..<1 + random.logarithmic(1, 1_500)).map { insert(number: 1_000 + $0) })
    case 18: write(device, "again", [insert(number: random.below(options.records))])
    default:
      write(device, "none", [EntryDraft(.put, FixedRecords.none, [(1, .text("X")), (2, .text(word()))])])
    }
  }

  /// More than is pushed to peers: they hear of it and ask.
  func writeMuch(_ device: Device) {
    let drafts = (0..<5).map { number in
      EntryDraft(
        .put, recordKey(number: 5_000 + number),
        [(0, .bool(true)), (1, .bytes((0..<40_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }))])
    }
    write(device, "much", drafts)
  }

  func writeLastWord(_ device: Device, alsoSettings: Bool = true) {
    write(device, "last", [insert()] + (alsoSettings ? [setting()] : []))
  }

  /// Names an operation that was written somewhere, here already or not.
  private func undo(_ device: Device) {
    guard let target = random.pick(operations.suffix(20)) else { return }
    write(device, "undo", [edit(device)].compactMap { $0 }, target: target)
  }

  /// Folds the log again into new tables, which are to be those that were there.
  private func rebuild(_ device: Device) {
    guard let process = device.process, !process.isEnded else { return }
    perhapsEndInside(device)
    do { try process.replicator.rebuild(now: device.time) } catch {
      return process.isEnded ? () : process.storeFailed(error)
    }
    tally.count("rebuilt")
    if !process.isEnded { judged { try $0.stepped(device) } }
  }

  /// Authors what the person wants, and takes it for done when the device says so.
  func write(
    _ device: Device, _ verb: String, _ drafts: [EntryDraft], leastClock: Clock = .zero,
    target: OperationID? = nil
  ) {
    guard let process = device.process, !process.isEnded, !drafts.isEmpty, !process.replicator.isSpent,
      // As the node does: who is out of the circle writes nothing more.
      process.isMember
    else { return }
    let operation = OperationDraft(id: OperationID(random16()), verb: verb, target: target)
    operations.append(operation.id)
    do {
      let sets = try process.replicator.write(
        operation, merged(drafts), leastClock: leastClock, now: device.time)
      guard !process.isEnded else { return }
      tally.count("writes")
      acknowledged(device, sets)
    } catch {
      guard !process.isEnded else { return }
      tally.count("refused writes")
      process.storeFailed(error)
    }
  }

  private func acknowledged(_ device: Device, _ sets: [ChangeSetID]) {
    guard device.isHonest else { return }
    judged { try $0.acknowledged(device, sets) }
  }

  /// A transaction writes a record once.
  private func merged(_ drafts: [EntryDraft]) -> [EntryDraft] {
    var seen: Set<RecordKey> = []
    return drafts.filter { seen.insert($0.key).inserted }
  }

  // MARK: Drafts

  private static let kinds = [
    KindNumbers.trip, KindNumbers.lodging, KindNumbers.habit, KindNumbers.log, newerKind,
    KindNumbers.attachment, KindNumbers.transportation,
  ]

  /// A kind that a newer version has added.
  private static let newerKind = KindNumber(2_000) ?? KindNumbers.trip

  private func recordKey(number: Int? = nil) -> RecordKey {
    let number = number ?? random.below(options.records)
    let kind = Self.kinds[number % Self.kinds.count]
    let high = UInt64(number) &* 0x9e37_79b9_7f4a_7c15
    return RecordKey(kind: kind, id: RecordID(Bytes16(high, UInt64(number))))
  }

  private func insert(number: Int? = nil) -> EntryDraft {
    let key = recordKey(number: number)
    let first = random.happens(perThousand: 900) ? typed(1, of: key.kind) : value()
    var fields: [(field: FieldNumber, value: Value)] = [(0, .bool(true)), (1, first), (2, .text(word()))]
    for field in 3...5 where random.happens(perThousand: 250) {
      fields.append((FieldNumber(field), typed(field, of: key.kind)))
    }
    return EntryDraft(.put, key, fields)
  }

  private func edit(_ device: Device) -> EntryDraft? {
    let key = recordKey()
    // A command edits what is there; a program that embeds the node may do otherwise.
    guard random.happens(perThousand: 100) || (try? device.process?.replicator.store.record(key)) != nil
    else {
      return insert()
    }
    var fields: [(field: FieldNumber, value: Value)] = []
    for field in 1...5 where random.happens(perThousand: 350) {
      let value = random.happens(perThousand: 500) ? typed(field, of: key.kind) : value()
      fields.append((FieldNumber(field), value))
    }
    return fields.isEmpty ? nil : EntryDraft(.put, key, fields)
  }

  /// What a person would write there: what a record belongs to, when, for how much; text in all other fields.
  private func typed(_ field: Int, of kind: KindNumber) -> Value {
    switch (field, kind) {
    case (1, KindNumbers.lodging), (1, KindNumbers.transportation): id(of: KindNumbers.trip)
    case (1, KindNumbers.log): id(of: KindNumbers.habit)
    case (1, KindNumbers.attachment):
      .array([.integer(Int64(KindNumbers.lodging.rawValue)), id(of: KindNumbers.lodging)])
    case (3...4, KindNumbers.lodging), (3...4, KindNumbers.transportation):
      .array([.integer(Self.start + Int64(random.below(1_000))), .null])
    case (5, KindNumbers.lodging), (5, KindNumbers.transportation): cost()
    default: .text(word())
    }
  }

  /// The id of a record that people write about, whether it is there already or not.
  private func id(of kind: KindNumber) -> Value {
    let first = Self.kinds.firstIndex(of: kind) ?? 0
    let count = max(1, (options.records - first + Self.kinds.count - 1) / Self.kinds.count)
    return .bytes(recordKey(number: first + random.below(count) * Self.kinds.count).id.raw.bytes)
  }

  private func cost() -> Value {
    let amount = ["12.50", "-3", "0", "99.9", "100000.01"][random.below(5)]
    return .array([.text(amount), random.happens(perThousand: 300) ? .null : .text("EUR")])
  }

  private func value() -> Value {
    switch random.below(8) {
    case 0: .null
    case 1: .text("")
    case 2: .integer(Int64(random.below(100)))
    case 3: .bytes((0..<random.below(20)).map { _ in UInt8(random.below(256)) })
    case 4: .array([.text(word()), .integer(7)])
    default: .text(word())
    }
  }

  private func setting() -> EntryDraft {
    let number = UInt64(random.below(4))
    let key = RecordKey(kind: KindNumbers.setting, id: RecordID(Bytes16(number << 60, number)))
    if random.happens(perThousand: 150) { return EntryDraft(.delete, key) }
    return EntryDraft(.put, key, [(0, .bool(true)), (1, .text("key\(number)")), (2, .text(word()))])
  }

  private func word() -> String {
    let words = ["Rome", "Oslo", "Lima", "é", "e\u{301}", "", "Paris", "Bonn"]
    return words[random.below(words.count)]
      + (random.happens(perThousand: 500) ? "\(random.below(1_000))" : "")
  }

  /// The profile is one value: every put carries all its fields.
  private func writeProfile(_ device: Device) {
    guard let process = device.process else { return }
    let key = FixedRecords.profile
    let held = (try? process.replicator.store.record(key))??[Fields.wholeRecordUpdatedAt]
    var updated = device.wall
    if case .integer(let before)? = held { updated = max(updated, before &+ 1) }
    // An import keeps the time of its file, and may be older than what is here.
    if random.happens(perThousand: 150) { updated -= Moment(random.below(100_000)) }
    var fields: [(field: FieldNumber, value: Value)] = [
      (Fields.life, .bool(true)), (Fields.wholeRecordUpdatedAt, .integer(updated)),
    ]
    for field in 2...4 {
      fields.append((FieldNumber(field), random.happens(perThousand: 300) ? .null : .text(word())))
    }
    write(
      device, "profile", [EntryDraft(.put, key, fields)],
      leastClock: Clock(milliseconds: min(max(updated, 0), Limits.timeMillisecondsMax)))
  }

  /// A file keeps its time of change, which may be far from any clock and the same in two files. Somebody imports it on
  /// two devices, or one that differs in its time alone.
  private func importProfile(_ device: Device) {
    let values = [Value.null, .text(""), .text("A"), .text("A"), .array([]), .bytes([])]
    let isCommon = random.happens(perThousand: 600)
    let content = (2...4).map { field in
      (field: FieldNumber(field), value: isCommon ? .text("A") : values[random.below(values.count)])
    }
    var readers = [device]
    let others = devices.filter { $0 !== device && $0.process?.isServing == true }
    if random.happens(perThousand: 400), let other = random.pick(others) { readers.append(other) }
    for reader in readers {
      let times = [Self.start - 1_000, Self.start, Self.start + 30_000, reader.wall + 40 * 86_400_000]
      let fields: [(field: FieldNumber, value: Value)] = [
        (Fields.life, .bool(true)), (Fields.wholeRecordUpdatedAt, .integer(times[random.below(4)])),
      ]
      write(reader, "import", [EntryDraft(.put, FixedRecords.profile, fields + content)])
    }
  }
}
