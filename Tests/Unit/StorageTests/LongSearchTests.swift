import Records
import Replication
import Storage
import Testing
import Wire

/// Searches for texts of any length, of which the index compares only some parts.
struct LongSearchTests {
  @Test func `a text of any length is found where it occurs, and not where one letter differs`() throws {
    let alice = try Device("alice")
    let notes = (0..<60).map { "w\($0)x" }.joined(separator: " ")
    let other = notes.replacing("w30x", with: "w30y")
    try alice.write(
      at: 10, insert(trip(1), [1: .text("Rome"), 2: .text(notes)]),
      insert(trip(2), [1: .text("Oslo"), 2: .text(other)]))
    let lengths = Array(1...60) + [100, 149, 150, 151, 200, notes.count]
    for text in lengths.flatMap({ [String(notes.prefix($0)), String(other.suffix($0))] }) {
      var query = RecordQuery(KindNumbers.trip)
      query.conditions = [.text([text])]
      let expected = [(trip(1), notes), (trip(2), other)].filter { $0.1.contains(text) }.map(\.0)
      #expect(
        try alice.store.records(query).map(\.key) == expected, "\(text.count) letters: \(text.prefix(20))")
      #expect(try alice.store.count(query) == expected.count)
    }
  }
}
