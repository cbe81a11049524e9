import Records
import Replication
import Storage
import Testing
import Wire

/// The values of a new record are stored straight from the bytes of its set, and those of an existing one are decoded
/// first. Both accept and keep the same values.
struct InsertedValueTests {
  private struct Case {
    let key: RecordKey
    let field: FieldNumber
    let value: Value
    /// A text in every other field for texts, so that a value in a wrong column is noticed.
    let others: [FieldNumber: Value]
  }

  private static func bytes(_ count: Int) -> Value { .bytes([UInt8](repeating: 7, count: count)) }

  private static func text(_ count: Int) -> Value { .text(String(repeating: "x", count: count)) }

  private static func plainValues() -> [Value] {
    var values: [Value] = [.null, .bool(true), .bool(false), .float(1.5), .float(0)]
    values += ["Rome", "daily"].map { Value.text($0) }
    let numbers: [Int64] = [0, 23, 24, 255, 256, 65_536, -1, -24, -25, -257, .max, .min]
    values += numbers.map { Value.integer($0) }
    values += [0, 23, 24, 255, 256].map { text($0) }
    values += [0, 15, 16, 17, 32].map { bytes($0) }
    return values
  }

  private static func lists() -> [Value] {
    let time = Value.integer(1_777_734_000_000)
    let texts = ["2026-05-02", "2026-02-30", "2026-5-002", "2026-05-2", "2026/05/02", "２026-05-0"]
    let days = texts.map { Value.text($0) }
    var values: [Value] = [.array([]), .array([time]), .array([time, .null])]
    values.append(.array([time, .text("Europe/Rome")]))
    values += [.array([.integer(-1), text(30)]), .array([time, .integer(1)]), .array([.text("1"), .null])]
    values += [.array([.text("120.50"), .text("EUR")]), .array([.text("12"), .text("eur")])]
    values += [.array([.float(41.5), .float(-12.25)]), .array([.float(41.5), .null])]
    values += [.array([.integer(2), bytes(16)]), .array([.integer(2), bytes(15)])]
    values += [.array([.integer(100_000), bytes(32)]), .array([.integer(-1), bytes(32)])]
    values += days.flatMap { day -> [Value] in
      [.array([time, .text("Europe/Rome"), day]), .array([time, .null, day])]
    }
    values += [.array([time, .null, .null]), .array([time, .integer(1), days[0]])]
    values.append(.array([.null, .null, days[0]]))
    return values
  }

  /// For each type of field, one field of that type with each value.
  private static func cases() -> [Case] {
    let values = plainValues() + lists()
    var seen: Set<FieldType> = []
    var cases: [Case] = []
    for kind in Schema.builtIn.kinds where kind.lane == .records && kind.mergeClass == .fieldByField {
      for field in kind.fields where seen.insert(field.type).inserted {
        var others: [FieldNumber: Value] = [:]
        for other in kind.fields where other.type == .text && other.number != field.number {
          others[other.number] = .text("text \(other.number)")
        }
        for value in values {
          let key = RecordKey(kind: kind.number, id: id(UInt64(cases.count + 1)))
          cases.append(Case(key: key, field: field.number, value: value, others: others))
        }
      }
    }
    return cases
  }

  @Test
  func `a new record has the values that were written, whatever their types, and so has an existing one`()
    throws
  {
    let cases = Self.cases()
    let inserts = cases.map { insert($0.key, $0.others.merging([$0.field: $0.value]) { $1 }) }
    let alice = try Device("alice")
    try alice.receive(try alice.draft(at: 20, inserts))
    let bob = try Device("bob")
    try bob.receive(try bob.draft(at: 10, cases.map { edit($0.key, [$0.field: .null]) }))
    try bob.receive(try bob.draft(at: 20, inserts))
    for item in cases {
      let new = try #require(try alice.store.record(item.key))
      let existing = try #require(try bob.store.record(item.key))
      let note: Comment = "field \(item.field) of kind \(item.key.kind.rawValue): \(item.value)"
      #expect(new.life == true && existing.life == true, note)
      #expect(new.fields == existing.fields && new.unread == existing.unread, note)
      let values = new.fields.merging(new.unread) { $1 }
      #expect(values == item.others.merging([item.field: item.value]) { $1 }, note)
    }
  }
}
