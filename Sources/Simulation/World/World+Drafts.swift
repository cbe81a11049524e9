import Engine
import Records
import Replication
import Storage
import VirtualDisk
import Wire

/// The changes that users write: related records of every kind, with values of every type and some invalid ones.
extension World {
  /// The kinds to which record numbers map. Kinds that belong together appear more often.
  private static let kinds = [
    KindNumbers.trip, KindNumbers.lodging, KindNumbers.habit, KindNumbers.habitEntry, newerKind,
    KindNumbers.attachment, KindNumbers.transportation, KindNumbers.category, KindNumbers.trip,
    KindNumbers.lodging, KindNumbers.activity, KindNumbers.habitEntry, organization, KindNumbers.habit,
    KindNumbers.address, KindNumbers.transportation,
  ]

  /// A kind that only a newer version knows.
  private static let newerKind = KindNumber(2_000) ?? KindNumbers.trip
  private static let organization = FixedRecords.none.kind

  func recordKey(number: Int? = nil) -> RecordKey {
    let number = number ?? random.below(options.records)
    let kind = Self.kinds[number % Self.kinds.count]
    let high = UInt64(number) &* 0x9e37_79b9_7f4a_7c15
    return RecordKey(kind: kind, id: RecordID(Bytes16(high, UInt64(number))))
  }

  func insert(number: Int? = nil) -> EntryDraft {
    let key = recordKey(number: number)
    let first = random.happens(perThousand: 900) ? typed(1, of: key.kind) : value()
    var fields: [(field: FieldNumber, value: Value)] = [(1, first), (2, typed(2, of: key.kind))]
    for field in 3...5 where random.happens(perThousand: 250) {
      fields.append((FieldNumber(field), typed(field, of: key.kind)))
    }
    return EntryDraft(.insert, key, fields + anotherField(of: key.kind, perThousand: 500))
  }

  func edit(_ device: Device) -> EntryDraft? {
    let key = recordKey()
    // Commands edit only existing records, but a program that embeds the node may also edit others.
    guard random.happens(perThousand: 100) || (try? device.process?.replicator.store.record(key)) != nil
    else {
      return insert()
    }
    var fields: [(field: FieldNumber, value: Value)] = []
    for field in 1...5 where random.happens(perThousand: 350) {
      let value = random.happens(perThousand: 500) ? typed(field, of: key.kind) : value()
      fields.append((FieldNumber(field), value))
    }
    fields += anotherField(of: key.kind, perThousand: 300)
    return fields.isEmpty ? nil : EntryDraft(.put, key, fields)
  }

  /// Sometimes returns a field beyond the first five, or one that only a newer version knows.
  private func anotherField(of kind: KindNumber, perThousand: Int) -> [(field: FieldNumber, value: Value)] {
    guard random.happens(perThousand: perThousand) else { return [] }
    let number = random.pick(Schema.builtIn.kind(kind)?.fields.map(\.number).filter { $0 > 5 } ?? [])
    let field = random.happens(perThousand: 900) ? number ?? 6 : 40
    let value = random.happens(perThousand: 800) ? typed(Int(field), of: kind) : value()
    return [(field, value)]
  }

  func setting() -> EntryDraft {
    let number = UInt64(random.below(4))
    let key = RecordKey(kind: KindNumbers.setting, id: RecordID(Bytes16(number << 60, number)))
    if random.happens(perThousand: 150) {
      return EntryDraft(random.happens(perThousand: 300) ? .erase : .delete, key)
    }
    let value = random.happens(perThousand: 500) ? Value.text(word()) : value()
    return EntryDraft(.insert, key, [(1, .text("key\(number)")), (2, value)])
  }

  // MARK: Erases

  /// Returns the entries that erase something on a device: a record with everything that belongs to it, all values of a
  /// record except some that are written again, the profile, or what can be erased of the organization None.
  func erase(_ device: Device) -> [EntryDraft] {
    guard let store = device.process?.replicator.store else { return [] }
    let key = recordKey()
    switch random.below(20) {
    case 0: return [EntryDraft(.erase, FixedRecords.none)]
    case 1, 2:
      let empty = EntryDraft(
        .put, FixedRecords.profile, [(Fields.wholeRecordUpdatedAt, .integer(device.wall))])
      return [empty, EntryDraft(.erase, FixedRecords.profile)]
    case 3..<7:
      // The values that are kept are written again by the same set.
      let kept: [(field: FieldNumber, value: Value)] = [(2, typed(2, of: key.kind))]
      let type: EntryType = random.happens(perThousand: 700) ? .insert : .put
      return [EntryDraft(type, key, kept), EntryDraft(.erase, key)]
    default: return family(of: key, store).map { EntryDraft(.erase, $0) }
    }
  }

  /// Returns a record and its living descendants. Limits the depth, because records may belong to each other in a
  /// circle.
  private func family(of key: RecordKey, _ store: Store, depth: Int = 4) -> [RecordKey] {
    guard depth > 0, let children = try? store.livingChildren(of: key) else { return [key] }
    return [key] + children.sorted().flatMap { family(of: $0, store, depth: depth - 1) }
  }

  func word() -> String {
    let words = ["Rome", "Oslo", "Lima", "é", "e\u{301}", "", "Paris", "Bonn", "Ulm\u{0}"]
    return words[random.below(words.count)]
      + (random.happens(perThousand: 500) ? "\(random.below(1_000))" : "")
  }

  // MARK: Values

  /// Returns a value of the field's type or, rarely, a malformed one.
  private func typed(_ field: Int, of kind: KindNumber) -> Value {
    guard let type = Schema.builtIn.kind(kind)?.field(FieldNumber(field))?.type else { return .text(word()) }
    let value = value(of: type)
    return random.happens(perThousand: 30) ? nearly(value) : value
  }

  /// Returns the value with its last part replaced by an invalid one, if the value has parts.
  private func nearly(_ value: Value) -> Value {
    guard case .array(let parts) = value, !parts.isEmpty else { return value }
    let last: [Value] = [.integer(5), .text("eur"), .bytes([1, 2, 3]), .array([])]
    return .array(parts.dropLast() + [last[random.below(4)]])
  }

  private func value(of type: FieldType) -> Value {
    switch type {
    case .bool: .bool(random.happens(perThousand: 500))
    case .integer: .integer(number())
    case .float: .float(half())
    case .text, .keyReference: .text(word())
    case .uuid: .bytes(random16().bytes)
    case .reference(let kind): id(of: kind)
    case .timestamp: .integer(time())
    case .instant: .array([.integer(time()), zone()])
    case .datedInstant:
      .array([.integer(time()), zone(), .text(["2027-01-15", "2028-02-29", "1999-12-31"][random.below(3)])])
    case .money: cost()
    case .coordinate: .array([.float(half()), .float(half())])
    case .owner: owner()
    case .bytes: bytes()
    case .blob: random.happens(perThousand: 500) ? bytes() : file()
    case .list(let shape): list(shape)
    case .any: value()
    }
  }

  private func list(_ shape: ListShape) -> Value {
    switch shape {
    case .reminders: .array((0..<random.below(3)).map { .array([.integer(Int64(7 + $0)), .integer(30)]) })
    case .schedule:
      random.happens(perThousand: 500)
        ? .text("daily") : .array([.integer(1), .integer(Int64(2 + random.below(6)))])
    case .frequency: random.happens(perThousand: 500) ? .text("oncePerDay") : .integer(60)
    case .weights:
      .array(["calm", "order"].prefix(random.below(3)).map { .array([.text($0), .float(half())]) })
    case .zoneChanges: .array([.array([.text("Europe/Rome"), .text("Asia/Tokyo"), .integer(time())])])
    }
  }

  /// Returns a value of any type, regardless of the field's type, as a program that embeds the node might write.
  private func value() -> Value {
    switch random.below(10) {
    case 0: .null
    case 1: .text("")
    case 2: .integer(number())
    case 3: bytes()
    case 4: .array([.text(word()), .integer(7)])
    case 5: .float(half())
    case 6: .bool(random.happens(perThousand: 500))
    default: .text(word())
    }
  }

  /// Returns a float that is a whole number in about half of the cases. It must nevertheless remain a float.
  private func half() -> Double { Double(random.below(9) - 4) / 2 }

  private func number() -> Int64 {
    random.happens(perThousand: 900) ? Int64(random.below(100)) - 10 : [.min, .max, 1 << 53][random.below(3)]
  }

  private func time() -> Int64 { Self.start + Int64(random.below(1_000)) }

  private func zone() -> Value { random.happens(perThousand: 700) ? .null : .text("Europe/Rome") }

  private func file() -> Value {
    .array([.integer(Int64(random.below(1_000_000))), .bytes(random16().bytes + random16().bytes)])
  }

  private func bytes() -> Value { .bytes((0..<random.below(20)).map { _ in UInt8(random.below(256)) }) }

  private func cost() -> Value {
    let amount = ["12.50", "-3", "0", "99.9", "100000.01"][random.below(5)]
    return .array([.text(amount), random.happens(perThousand: 300) ? .null : .text("EUR")])
  }

  private func owner() -> Value {
    let kind = [KindNumbers.lodging, KindNumbers.transportation, KindNumbers.activity][random.below(3)]
    return .array([.integer(Int64(kind.rawValue)), id(of: kind)])
  }

  /// Returns the id of a record of the kind. The record may not exist yet.
  private func id(of kind: KindNumber) -> Value {
    let known = (0..<options.records).filter { Self.kinds[$0 % Self.kinds.count] == kind }
    let number = random.pick(known) ?? Self.kinds.firstIndex(of: kind) ?? 0
    return .bytes(recordKey(number: number).id.raw.bytes)
  }

  // MARK: The profile

  /// Writes the profile. A profile merges as a whole record, so fields that are left out become absent.
  func writeProfile(_ device: Device) {
    guard let process = device.process else { return }
    let key = FixedRecords.profile
    let held = (try? process.replicator.store.record(key))??[Fields.wholeRecordUpdatedAt]
    var updated = device.wall
    if case .integer(let before)? = held { updated = max(updated, before &+ 1) }
    // An import keeps the modification time of its file, which may be older than the current one.
    if random.happens(perThousand: 150) { updated -= Moment(random.below(100_000)) }
    var fields: [(field: FieldNumber, value: Value)] = [(Fields.wholeRecordUpdatedAt, .integer(updated))]
    for field in 2...4 where random.happens(perThousand: 850) {
      fields.append((FieldNumber(field), random.happens(perThousand: 300) ? .null : .text(word())))
    }
    fields += anotherField(of: key.kind, perThousand: 300)
    write(
      device, "profile", [EntryDraft(.put, key, fields)],
      leastClock: Clock(milliseconds: min(max(updated, 0), Limits.timeMillisecondsMax)))
  }

  /// Imports a profile from a file on one device, or from one file on each of two devices. The modification time in a
  /// file may be far from any clock. Two files may have the same time, or differ only in their times.
  func importProfile(_ device: Device) {
    let values = [Value.null, .text(""), .text("A"), .text("A"), .array([]), .bytes([])]
    let isCommon = random.happens(perThousand: 600)
    let content = (2...4).filter { _ in random.happens(perThousand: 900) }.map { field in
      (field: FieldNumber(field), value: isCommon ? .text("A") : values[random.below(values.count)])
    }
    var readers = [device]
    let others = devices.filter { $0 !== device && $0.process?.isServing == true }
    if random.happens(perThousand: 400), let other = random.pick(others) { readers.append(other) }
    for reader in readers {
      let times = [Self.start - 1_000, Self.start, Self.start + 30_000, reader.wall + 40 * 86_400_000]
      let fields: [(field: FieldNumber, value: Value)] = [
        (Fields.wholeRecordUpdatedAt, .integer(times[random.below(4)]))
      ]
      write(reader, "import", [EntryDraft(.put, FixedRecords.profile, fields + content)])
    }
  }
}
