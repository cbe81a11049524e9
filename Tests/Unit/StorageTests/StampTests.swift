import LogStorage
import Replication
import Testing
import Vectors

@testable import RecordTables

/// Which set wrote each field of a record, as the row of the record holds it.
struct StampTests {
  /// On both sides of the number from which on fields are listed one by one.
  private static let fields: [FieldNumber] = [0, 1, 2, 61, 62, 63, 64, 65_535]
  private static let numbers: [Int64] = [0, 1, 7, 300, .max]

  @Test(arguments: UInt64(1)...20)
  func `each field has the number of the set that wrote it last, also after it was stored`(
    seed: UInt64
  ) throws {
    var random = SeededRandom(seed: seed)
    var stamps = Stamps(common: Self.numbers[random.below(Self.numbers.count)])
    var expected: [FieldNumber: Int64] = [:]
    #expect(stamps.isEmpty && stamps.writers.isEmpty)
    for _ in 0..<40 {
      let field = Self.fields[random.below(Self.fields.count)]
      let number = Self.numbers[random.below(Self.numbers.count)]
      stamps.set(field, number)
      expected[field] = number
      let ascending = expected.sorted { $0.key < $1.key }
      #expect(stamps.cells.map(\.field) == ascending.map(\.key))
      #expect(stamps.cells.map(\.number) == ascending.map(\.value))
      for field in Self.fields { #expect(stamps[field] == expected[field], "\(field)") }
      #expect(stamps.writers == Set(expected.values).sorted())
      let stored = try Stamps(packed: stamps.packed)
      #expect(stored == stamps)
    }
  }

  /// The set 300 wrote field 1, and set 7 wrote field 64.
  @Test(
    arguments: [
      [], [0xac], [0xac, 2], [0xac, 2, 2, 64], [0xac, 2, 2, 0xc0], [UInt8](repeating: 0x80, count: 11),
      [UInt8](repeating: 0xff, count: 40),
    ] as [[UInt8]])
  func `stamps that end too early, or whose numbers don't end, are damage`(bytes: [UInt8]) throws {
    let whole = try Stamps(packed: [0xac, 2, 2, 64, 7])
    #expect(whole[1] == 300 && whole[64] == 7 && whole.cells.count == 2)
    #expect(throws: StoreError.self) { _ = try Stamps(packed: bytes) }
  }
}
