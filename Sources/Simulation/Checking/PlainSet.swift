// Protocol/change-set.md, "Header", "Id and signature", "Body", "Verifying"

/// A set of another log that the author had seen.
struct PlainDependency: Hashable {
  let device: Name32
  let incarnation: Name16
  let sequence: UInt64
  let id: Name32
}

/// One action of a change set on a record.
struct PlainEntry {
  enum Act: Int {
    case put, delete, restore
  }

  let act: Act
  let key: PlainKey
  /// The fields of a put in ascending order, with the ranges of their values in the body.
  let cells: [(field: Int, content: Range<Int>)]
}

/// A change set, verified from its bytes by the judge's own code.
struct PlainSet {
  let header: PlainHeader
  let id: Name32
  let body: [UInt8]
  let verb: [UInt8]
  let target: Name16?
  let entries: [PlainEntry]
  /// The size of header, signature and body together.
  let size: Int

  init(header: [UInt8], signature: [UInt8], body: [UInt8]) throws(PlainRefusal) {
    size = header.count + signature.count + body.count
    guard size <= 262_144 else { throw PlainRefusal("size", "more than 256 KiB") }
    guard signature.count == 64 else { throw PlainRefusal("signature", "not 64 bytes") }
    let parsed = try PlainHeader(header)
    guard parsed.bodyLength == UInt64(body.count), parsed.bodyHash == PlainSealing.bodyHash(body) else {
      throw PlainRefusal("body_hash", "the body does not match the header")
    }
    guard PlainSealing.isSet(header, signedBy: parsed.log.device, signature) else {
      throw PlainRefusal("signature", "not by the device")
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
      throw PlainRefusal("body", "not a list of 1 to 1,000 entries")
    }
    var entries: [PlainEntry] = []
    var lifeWriters: Set<PlainKey> = []
    for item in items {
      let entry = try PlainEntry(item, in: body, lane: lane)
      if let last = entries.last {
        guard (last.key, last.act.rawValue) < (entry.key, entry.act.rawValue) else {
          throw PlainRefusal("body", "entries not in ascending order")
        }
      }
      if entry.writesLife, !lifeWriters.insert(entry.key).inserted {
        throw PlainRefusal("body", "two entries that write the same life")
      }
      entries.append(entry)
    }
    return entries
  }

  /// The set's position in the total order of all sets.
  var stamp: PlainStamp { PlainStamp(clock: header.clock, device: header.log.device, id: id) }

  func content(_ range: Range<Int>) -> [UInt8] { Array(body[range]) }
}

extension PlainEntry {
  init(_ item: PlainItem, in body: [UInt8], lane: Int) throws(PlainRefusal) {
    guard let parts = item.array, parts.count >= 3, let number = parts[0].unsigned, number <= 2,
      let act = Act(rawValue: Int(number)), parts.count == (act == .put ? 4 : 3),
      let kind = parts[1].unsigned, let id = parts[2].name16(in: body)
    else { throw PlainRefusal("body", "a malformed entry") }
    guard PlainKinds.lane(kind) == lane else {
      throw PlainRefusal("body", "a kind of another lane or of none")
    }
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
      guard field <= 65_535 else { throw PlainRefusal("body", "a field number above 65,535") }
      do { try value.checkFieldValue() } catch { throw PlainRefusal("body", error.rule) }
      if field == 0 {
        guard value.bool == true else { throw PlainRefusal("body", "a put with a life other than true") }
      }
      cells.append((Int(field), value.range))
    }
    return cells
  }

  var isInsert: Bool { act == .put && cells.first?.field == 0 }
  var writesLife: Bool { act != .put || isInsert }
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
