// Protocol/change-set.md, "Header", "Id and signature", "Body", "Verifying"

/// A set of another log that an author had seen.
struct PlainDependency: Hashable {
  let device: Name32
  let incarnation: Name16
  let sequence: UInt64
  let id: Name32
}

/// One thing that a change set does to a record.
struct PlainEntry {
  enum Act: Int {
    case put, delete, restore
  }

  let act: Act
  let key: PlainKey
  /// The fields of a put, ascending, and where their values lie in the body.
  let cells: [(field: Int, content: Range<Int>)]
}

/// A change set, verified from its bytes by code that is the checkers' own.
struct PlainSet {
  let header: PlainHeader
  let id: Name32
  let body: [UInt8]
  let verb: [UInt8]
  let target: Name16?
  let entries: [PlainEntry]
  /// How many bytes header, signature and body have together.
  let size: Int

  init(header: [UInt8], signature: [UInt8], body: [UInt8]) throws(PlainRefusal) {
    size = header.count + signature.count + body.count
    guard size <= 262_144 else { throw PlainRefusal("size", "more than 256 KiB") }
    guard signature.count == 64 else { throw PlainRefusal("signature", "not of 64 bytes") }
    let parsed = try PlainHeader(header)
    guard parsed.bodyLength == UInt64(body.count), parsed.bodyHash == PlainSealing.bodyHash(body) else {
      throw PlainRefusal("body_hash", "the header names another body")
    }
    guard PlainSealing.isSet(header, signedBy: parsed.log.device, signature) else {
      throw PlainRefusal("signature", "not the device's")
    }
    self.header = parsed
    self.body = body
    id = PlainSealing.setID(header)
    var map = try PlainMap(body, stage: "body")
    verb = try map.text(0, 1...32)
    target = try map.has(1) ? map.name16(1) : nil
    entries = try Self.entries(map.take(2), in: body, lane: parsed.log.lane)
    try map.end()
  }

  private static func entries(
    _ list: PlainItem?, in body: [UInt8], lane: Int
  ) throws(PlainRefusal) -> [PlainEntry] {
    guard let list else { return [] }
    guard let items = list.array, (1...1_000).contains(items.count) else {
      throw PlainRefusal("body", "no list of 1 to 1,000 entries")
    }
    var entries: [PlainEntry] = []
    var lifeWriters: Set<PlainKey> = []
    for item in items {
      let entry = try PlainEntry(item, in: body, lane: lane)
      if let last = entries.last {
        guard (last.key, last.act.rawValue) < (entry.key, entry.act.rawValue) else {
          throw PlainRefusal("body", "entries that do not ascend")
        }
      }
      if entry.writesLife, !lifeWriters.insert(entry.key).inserted {
        throw PlainRefusal("body", "two entries that write one life")
      }
      entries.append(entry)
    }
    return entries
  }

  /// Where the set stands in the order of all sets.
  var stamp: PlainStamp { PlainStamp(clock: header.clock, device: header.log.device, id: id) }

  func content(_ range: Range<Int>) -> [UInt8] { Array(body[range]) }
}

extension PlainEntry {
  init(_ item: PlainItem, in body: [UInt8], lane: Int) throws(PlainRefusal) {
    guard let parts = item.array, parts.count >= 3, let number = parts[0].unsigned, number <= 2,
      let act = Act(rawValue: Int(number)), parts.count == (act == .put ? 4 : 3),
      let kind = parts[1].unsigned, let id = parts[2].name16(in: body)
    else { throw PlainRefusal("body", "an entry of no known form") }
    guard PlainKinds.lane(kind) == lane else { throw PlainRefusal("body", "a kind of no or another lane") }
    self.act = act
    key = PlainKey(kind: Int(kind), id: id)
    cells = act == .put ? try Self.cells(parts[3], in: body) : []
  }

  private static func cells(
    _ fields: PlainItem, in body: [UInt8]
  ) throws(PlainRefusal) -> [(field: Int, content: Range<Int>)] {
    guard case .map(let pairs) = fields.form, !pairs.isEmpty else {
      throw PlainRefusal("body", "a put without fields")
    }
    var cells: [(field: Int, content: Range<Int>)] = []
    for (field, value) in pairs {
      guard field <= 65_535 else { throw PlainRefusal("body", "a field beyond 65,535") }
      do { try value.checkFieldValue() } catch { throw PlainRefusal("body", error.rule) }
      if field == 0 {
        guard value.bool == true else { throw PlainRefusal("body", "a life in a put that is not true") }
      }
      cells.append((Int(field), value.range))
    }
    return cells
  }

  var isInsert: Bool { act == .put && cells.first?.field == 0 }
  var writesLife: Bool { act != .put || isInsert }
}

/// (clock, device, id), compared in that order.
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
