import Records
import Testing
import Wire

struct ColumnTests {
  private static let id: Value = .bytes(Array(1...16))
  private static let reference = Kind.lodging.fields[0].type

  static let held: [(FieldType, Value)] = [
    (.bool, .bool(true)), (.bool, .bool(false)), (.integer, .integer(.min)), (.integer, .integer(.max)),
    (.float, .float(0.1)), (.float, .float(0)), (.float, .float(-Double.leastNonzeroMagnitude)),
    (.float, .float(1e300)),
    (.text, .text("")), (.text, .text("a\u{0}é🐌")), (.uuid, id), (.timestamp, .integer(-1)),
    (.instant, .array([.integer(5), .null])), (.instant, .array([.integer(5), .text("Europe/Rome")])),
    (.datedInstant, .array([.integer(5), .text("UTC"), .text("1970-01-01")])),
    (.datedInstant, .array([.integer(5), .null, .text("2024-02-29")])),
    (.money, .array([.text("410.560"), .null])), (.money, .array([.text("-0.01"), .text("USD")])),
    (.coordinate, .array([.float(0), .float(-180)])), (reference, id), (.owner, .array([.integer(2), id])),
    (.blob, .bytes([])), (.blob, .bytes([0, 255])),
    (.blob, .array([.integer(70_000), .bytes([UInt8](repeating: 9, count: 32))])),
    (.bytes, .bytes([])), (.bytes, .bytes([7])), (.list(.reminders), .array([])),
    (.list(.reminders), .array([.array([.integer(23), .integer(59)])])), (.list(.schedule), .text("daily")),
    (.list(.schedule), .array([.integer(1), .integer(7)])), (.list(.frequency), .text("oncePerDay")),
    (.list(.frequency), .integer(30)), (.list(.weights), .array([.array([.text("a"), .float(1)])])),
    (.list(.zoneChanges), .array([.array([.text("UTC"), .text("Asia/Tokyo"), .integer(9)])])),
    (.any, .integer(1)), (.any, .float(1)), (.any, .bool(true)), (.any, .text("1")), (.any, .bytes([1])),
    (.any, .array([.null, .array([.float(1e300), .text("{")])])),
  ]

  @Test(arguments: held)
  func `a value is stored in columns and comes back with the same bytes`(type: FieldType, value: Value) throws
  {
    let columns = try #require(type.columns(of: value), "\(type) \(value)")
    #expect(columns.count == type.columnTypes.count)
    #expect(try #require(type.value(from: columns[...])).encoded == value.encoded)
  }

  @Test func `null is not a value of any type`() throws {
    for type in Set(Self.held.map(\.0)) {
      let columns = try #require(type.columns(of: .null))
      #expect(columns.allSatisfy { $0 == .null })
      #expect(type.value(from: columns[...]) == .null)
    }
  }

  static let refused: [(FieldType, Value)] = [
    (.bool, .integer(1)), (.integer, .float(1)), (.float, .integer(1)), (.text, .bytes([65])),
    (.uuid, .bytes([1])), (.timestamp, .text("2026")), (.instant, .array([.integer(5)])),
    (.instant, .integer(5)), (.instant, .array([.null, .null])),
    (.datedInstant, .array([.integer(5), .null, .text("2023-02-29")])),
    (.datedInstant, .array([.integer(5), .null, .null])), (.money, .array([.text("1,5"), .null])),
    (.money, .array([.text("01"), .null])), (.money, .array([.text("1"), .text("usd")])),
    (.money, .array([.float(1), .null])), (.coordinate, .array([.float(0)])),
    (.coordinate, .array([.float(0), .null])), (.owner, .array([.integer(-1), id])), (.owner, id),
    (.blob, .array([])), (.blob, .array([.bytes([1])])), (.blob, .array([id, id])),
    (.blob, .bytes([UInt8](repeating: 0, count: 32_769))),
    (.list(.schedule), .array([.integer(7), .integer(1)])), (.list(.schedule), .array([.integer(0)])),
    (.list(.schedule), .text("weekly")), (.list(.reminders), .array([.array([.integer(24), .integer(0)])])),
    (.list(.frequency), .integer(0)),
    (.list(.weights), .array([.array([.text("b"), .float(1)]), .array([.text("a"), .float(1)])])),
    (.list(.zoneChanges), .text("")), (.float, .float(.nan)), (.float, .float(-0.0)),
    (.coordinate, .array([.float(.nan), .float(0)])), (.coordinate, .array([.float(0), .float(-.infinity)])),
    (.list(.weights), .array([.array([.text("a"), .float(.infinity)])])),
    (.any, .array([.array([.float(.nan)])])),
  ]

  @Test(arguments: refused)
  func `a value of another type is not accepted`(type: FieldType, value: Value) {
    #expect(!type.accepts(value))
  }

  @Test func `bytes that are not a value are not accepted, and leave the columns unchanged`() {
    var columns: [ColumnValue] = [.integer(1)]
    for bytes: [UInt8] in [[], [0x82, 0x05], [0x05, 0x05], [0xff], [0x82, 0x05, 0x18, 0x05]] {
      #expect(!FieldType.instant.appendColumns(of: bytes, in: 0..<bytes.count, to: &columns))
      #expect(columns == [.integer(1)])
    }
  }
}
