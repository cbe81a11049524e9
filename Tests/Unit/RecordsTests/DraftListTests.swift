import Records
import Replication
import Testing
import Wire

private func trip(_ number: UInt64, _ fields: [FieldNumber: Value]) -> RecordDraft {
  RecordDraft(Kind.trip, RecordID(Bytes16(0, number)), fields)
}

@Suite struct DraftListTests {
  /// Values of every type, and of every length that is kept in another way.
  private static let values: [Value] = [
    .null, .bool(true), .integer(.min), .integer(.max), .float(1.5), .text(""), .text("Café \u{65}\u{301}"),
    .text(String(repeating: "x", count: 2_040)), .text(String(repeating: "x", count: 100_000)), .bytes([]),
    .bytes(Array(repeating: 7, count: 60_000)), .array([]),
    .array([.integer(1), .null, .text("Europe/Rome")]),
    .array([.array([.integer(1), .float(0.1)])]), .array([.array([.array([.array([])])])]),
    .array(Array(repeating: .integer(1 << 40), count: 3_000)),
    // These two can't be encoded.
    .float(-0.0), .float(.infinity),
  ]

  @Test func `a list returns the drafts that were put in`() {
    let drafts = Self.values.enumerated().map { number, value in
      trip(UInt64(number), [1: .text("Rome"), 2: value, 3: value])
    }
    let list = DraftList(drafts + [trip(99, [:])])
    #expect(Array(list) == drafts + [trip(99, [:])])
    for (found, draft) in zip(list, drafts.dropLast(2)) {
      #expect(found.fields.map(\.value.encoded) == draft.fields.map(\.value.encoded))
    }
    #expect(list.indices.allSatisfy { list.key(at: $0) == list[$0].key && list.kind(at: $0) == Kind.trip })
  }

  @Test func `a list that is appended to another one keeps its drafts`() {
    let drafts = Self.values.enumerated().map { number, value in trip(UInt64(number), [2: value]) }
    var list = DraftList(drafts.prefix(9))
    list.append(contentsOf: DraftList(drafts[9...]))
    list.append(trip(98, [:]))
    list.append(contentsOf: DraftList([trip(99, [1: .text("Rome")])]))
    #expect(Array(list) == drafts + [trip(98, [:]), trip(99, [1: .text("Rome")])])
  }

  @Test func `a list with more than a megabyte of short drafts returns each of them`() {
    let list = DraftList((0..<1_500).map { trip($0, [2: .text(String(repeating: "x", count: 1_000))]) })
    #expect(list.map(\.id) == (0..<1_500).map { RecordID(Bytes16(0, $0)) })
    #expect(list.allSatisfy { $0[2]?.asText?.utf8.count == 1_000 })
  }

  @Test func `of several drafts of a record, sorting keeps the first one and names the others`() {
    let habit = RecordDraft(Kind.habit, RecordID(Bytes16(0, 1)), [1: .text("Run")])
    var list = DraftList([
      trip(5, [1: .text("head")]), trip(9, [1: .text("c")]), habit, trip(3, [1: .text("a")]),
      trip(9, [1: .text("later")]), trip(3, [1: .text("later")]), trip(3, [1: .text("latest")]),
    ])
    let removed = list.sort(from: 1)
    #expect(removed.map(\.index) == [4, 5, 6])
    #expect(removed.map(\.id) == [9, 3, 3].map { RecordID(Bytes16(0, $0)) })
    let sorted = [trip(3, [1: .text("a")]), trip(9, [1: .text("c")]), habit].sorted()
    #expect(Array(list) == [trip(5, [1: .text("head")])] + sorted)
  }

  @Test func `long drafts can be changed, and a draft can be replaced by a shorter or longer one`() {
    let long = Value.bytes(Array(repeating: 1, count: 40_000))
    var list = DraftList([trip(1, [2: .text("short")]), trip(2, [2: long])])
    list.changeLong { $0[2] = .text("file") }
    #expect(Array(list) == [trip(1, [2: .text("short")]), trip(2, [2: .text("file")])])
    list.replace(at: 0, with: trip(1, [2: long]))
    list.replace(at: 1, with: trip(2, [2: .text("y")]))
    #expect(Array(list) == [trip(1, [2: long]), trip(2, [2: .text("y")])])
  }
}
