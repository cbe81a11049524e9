// Protocol/change-set.md, "Header", "Id and signature", "Plan", "Verifying"

/// A set of another log that the author had seen.
struct PlainDependency: Hashable {
  let device: Name32
  let incarnation: Name16
  let sequence: UInt64
  let id: Name32
}

/// The bytes of a change set, not verified yet.
struct PlainRawSet {
  let header: [UInt8]
  let signature: [UInt8]
  let plan: [UInt8]
  let values: [UInt8]
}

/// One action of a change set on a record.
struct PlainEntry {
  enum Act: Int {
    case put, delete, restore, insert, erase
  }

  /// The rank that an entry states for a whole record.
  struct StatedRank: Equatable {
    let time: Int64
    let filled: Int
  }

  let act: Act
  let key: PlainKey
  /// The written fields in ascending order, without the life.
  let fields: [Int]
  /// The rank of a whole record; nil for other kinds, and for entries without fields.
  let stated: StatedRank?
  /// The slot that has the values of the fields; nil if there are no fields.
  fileprivate(set) var slot: Int?
  /// The life that the entry writes; nil if it writes none.
  fileprivate(set) var life: Bool?
}

/// A change set without its values, verified from its bytes by the judge's own code. All copies of a set have the same
/// header and plan, but some copies lack values.
struct PlainSet {
  let header: PlainHeader
  let id: Name32
  let verb: [UInt8]
  let target: Name16?
  let entries: [PlainEntry]
  /// For each slot, the index of the entry that it belongs to.
  let slots: [Int]

  /// Verifies everything except the values, for which only the size is checked.
  init(_ raw: PlainRawSet) throws(PlainRefusal) {
    guard raw.header.count + raw.signature.count + raw.plan.count <= 262_144, raw.values.count <= 298_144
    else {
      throw PlainRefusal("size", "more bytes than any set has")
    }
    let parsed = try PlainHeader(raw.header)
    guard parsed.planLength == raw.plan.count, parsed.planHash == PlainSealing.planHash(raw.plan) else {
      throw PlainRefusal("plan_hash", "the plan does not match the header")
    }
    guard raw.signature.count == 64,
      PlainSealing.isSet(raw.header, signedBy: parsed.log.device, raw.signature)
    else { throw PlainRefusal("signature", "not by the device") }
    header = parsed
    id = PlainSealing.setID(raw.header)
    var map = try PlainMap(raw.plan, stage: "plan")
    verb = try map.text(0, 1...32)
    target = try map.has(1) ? map.name16(1) : nil
    let entries = try Self.entries(map.take(2), in: raw.plan, lane: parsed.log.lane)
    self.entries = entries
    slots = entries.indices.filter { entries[$0].slot != nil }
    try map.end()
  }

  private static func entries(
    _ list: PlainItem?, in plan: [UInt8], lane: Int
  ) throws(PlainRefusal) -> [PlainEntry] {
    guard let list else { return [] }
    guard let items = list.array, (1...1_000).contains(items.count) else {
      throw PlainRefusal("plan", "not a list of 1 to 1,000 entries")
    }
    var entries: [PlainEntry] = []
    var slots = 0
    for item in items {
      var entry = try PlainEntry(item, in: plan, lane: lane)
      if let last = entries.last {
        guard (last.key, last.act.rawValue) < (entry.key, entry.act.rawValue) else {
          throw PlainRefusal("plan", "entries not in ascending order")
        }
      }
      let others = Set(entries.reversed().prefix { $0.key == entry.key }.map(\.act))
      guard others.isEmpty || areTogether(others.union([entry.act])) else {
        throw PlainRefusal("plan", "entries that may not be together for one record")
      }
      if !entry.fields.isEmpty {
        entry.slot = slots
        slots += 1
      }
      // The insert decides the life of a record that the same set erases.
      if entry.act == .erase, others.contains(.insert) { entry.life = nil }
      entries.append(entry)
    }
    return entries
  }

  /// Whether one record may have these entries, of which there are at least two.
  private static func areTogether(_ acts: Set<PlainEntry.Act>) -> Bool {
    let combinations: [Set<PlainEntry.Act>] = [
      [.put, .delete], [.put, .restore], [.put, .erase], [.insert, .erase],
    ]
    return combinations.contains(acts)
  }

  /// The set's position in the total order of all sets.
  var stamp: PlainStamp { PlainStamp(clock: header.clock, device: header.log.device, id: id) }
}

extension PlainEntry {
  init(_ item: PlainItem, in plan: [UInt8], lane: Int) throws(PlainRefusal) {
    guard let parts = item.array, parts.count >= 3, let number = parts[0].unsigned, number <= 4,
      let act = Act(rawValue: Int(number)), let kind = parts[1].unsigned, let id = parts[2].name16(in: plan)
    else { throw PlainRefusal("plan", "a malformed entry") }
    guard PlainKinds.lane(kind) == lane else {
      throw PlainRefusal("plan", "a kind of another lane or of none")
    }
    let writesFields = act == .put || act == .insert
    let isRanked = writesFields && PlainKinds.isWhole(Int(kind))
    guard parts.count == (isRanked ? 6 : writesFields ? 4 : 3) else {
      throw PlainRefusal("plan", "an entry with \(parts.count) parts")
    }
    self.act = act
    key = PlainKey(kind: Int(kind), id: id)
    fields = writesFields ? try Self.fields(parts[3], mayBeEmpty: act == .insert) : []
    stated = isRanked ? try Self.stated(parts[4], parts[5]) : nil
    slot = nil
    life =
      switch act {
      case .put: nil
      case .restore, .insert: true
      case .delete, .erase: false
      }
  }

  private static func fields(_ item: PlainItem, mayBeEmpty: Bool) throws(PlainRefusal) -> [Int] {
    guard let items = item.array, mayBeEmpty || !items.isEmpty else {
      throw PlainRefusal("plan", "a put without fields")
    }
    var fields: [Int] = []
    for item in items {
      guard let field = item.unsigned, field >= 1, field <= 65_535, (fields.last ?? 0) < Int(field) else {
        throw PlainRefusal("plan", "field numbers that do not ascend from 1 to 65,535")
      }
      fields.append(Int(field))
    }
    return fields
  }

  private static func stated(_ time: PlainItem, _ filled: PlainItem) throws(PlainRefusal) -> StatedRank {
    guard let time = time.integer, let filled = filled.unsigned, filled <= 65_535 else {
      throw PlainRefusal("plan", "a malformed rank")
    }
    return StatedRank(time: time, filled: Int(filled))
  }
}

/// A set's place in the total order of all sets: clock, device and id, compared in that order.
struct PlainStamp: Hashable, Comparable, CustomStringConvertible {
  let clock: UInt64
  let device: Name32
  let id: Name32

  static func < (left: PlainStamp, right: PlainStamp) -> Bool {
    if left.clock != right.clock { return left.clock < right.clock }
    return left.device == right.device ? left.id < right.id : left.device < right.device
  }

  var description: String { "set \(id)" }
}
