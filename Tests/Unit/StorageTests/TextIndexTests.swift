import Foundation
import RecordTables
import Records
import Replication
import SQLite
import Testing
import Wire

@testable import Storage

/// The index of the text of records, by which searches find them.
@Suite struct TextIndexTests {
  private func inFolder(_ body: (_ path: String) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "text-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try body(folder.appending(path: "store.db").path)
  }

  /// Alice's store with trips named like cities.
  private func cities(_ store: Store? = nil) throws -> Device {
    let alice = try Device("alice", store ?? .inMemory())
    try alice.write(
      at: 10, insert(trip(1), [1: .text("Night train to São Paulo")]),
      insert(trip(2), [1: .text("Rome"), 2: .text("by \"night\" train")]),
      insert(trip(3), [1: .text("ΡΩΜΗ")]),
      insert(trip(4), [1: .text("a\0bc")]))
    return alice
  }

  private func found(_ texts: String..., in source: any RecordSource) throws -> [RecordKey] {
    var query = RecordQuery(KindNumbers.trip)
    query.conditions = [.text(texts)]
    return try source.records(query).map(\.key).sorted()
  }

  /// The terms in the index, whether or not a document has them.
  private func terms(_ store: Store) throws -> Set<String> {
    try store.connection.with("SELECT DISTINCT term FROM text_terms") { row in
      var terms: Set<String> = []
      while try row.step() { terms.insert(row.text(0)) }
      return terms
    }
  }

  @Test(
    arguments: [
      (["sao"], [1]), (["night", "TRAIN"], [1, 2]), (["train", "night", "rome"], [2]), (["ght tra"], [1]),
      (["\"night\""], [2]), (["ρωμη"], [3]), (["ow"], []), (["ro"], [2]), (["bc"], [4]), (["a\0bc"], [4]),
      (["name:rome OR ("], []), (["*"], []), (["'"], []), ([""], [1, 2, 3, 4]), (["xyz"], []),
    ] as [([String], [UInt64])])
  func `a search finds the records that contain all texts`(_ texts: [String], _ trips: [UInt64]) throws {
    let alice = try cities()
    var query = RecordQuery(KindNumbers.trip)
    query.conditions = [.text(texts)]
    let wanted = trips.map { trip($0) }
    #expect(try alice.store.records(query).map(\.key).sorted() == wanted)
    #expect(try alice.store.count(query) == wanted.count)
    query.conditions = [.not(.text(texts))]
    #expect(try alice.store.count(query) == 4 - wanted.count)
  }

  @Test func `the index follows edits, deletions and erases`() throws {
    let alice = try cities()
    try alice.write(at: 20, edit(trip(2), [1: .text("Milano")]))
    #expect(try found("rome", in: alice.store).isEmpty)
    #expect(try found("milan", in: alice.store) == [trip(2)])
    try alice.write(at: 30, delete(trip(2)))
    #expect(try found("milan", in: alice.store).isEmpty)
    try alice.write(at: 40, restore(trip(2)))
    #expect(try found("milan", in: alice.store) == [trip(2)])
    try alice.write(at: 50, erase(trip(2)))
    try alice.store.checkpoint()
    let left = try terms(alice.store)
    #expect(!left.contains("mil") && !left.contains("rom") && left.contains("sao"))
  }

  @Test func `a statement with a search reads only the candidates`() throws {
    let alice = try cities()
    var query = RecordQuery(KindNumbers.trip)
    query.conditions = [.text(["night"])]
    let (sql, arguments) = try #require(Select(query.kind, alice.store.schema).sql(query))
    let plan = try alice.store.connection.with("EXPLAIN QUERY PLAN " + sql) { row in
      for (index, argument) in arguments.enumerated() { try row.bind(index + 1, argument) }
      var lines: [String] = []
      while try row.step() { lines.append(row.text(3)) }
      return lines
    }
    #expect(plan.contains { $0.hasPrefix("SEARCH r USING PRIMARY KEY") }, "\(plan)")
    // A match is asked for once, and not again for each document of the kind.
    let index = try #require(plan.firstIndex { $0.contains("text_index VIRTUAL TABLE") }, "\(plan)")
    let document = try #require(plan.firstIndex { $0.hasPrefix("SEARCH d") }, "\(plan)")
    #expect(index < document, "\(plan)")
  }

  @Test func `after an erase no file contains the sequences of the erased text, folded or not`() throws {
    try inFolder { path in
      let alice = try cities(Store(path: path))
      try alice.write(at: 20, insert(trip(5), [1: .text("ЖЩЮ ԱԲԳ")]))
      try alice.store.checkpoint()
      func occurs(_ text: String) throws -> Bool {
        try ["", "-wal"].contains { ending in
          let bytes = try Data(contentsOf: URL(filePath: path + ending))
          return bytes.range(of: Data(text.utf8)) != nil
        }
      }
      #expect(try occurs("жщю") && occurs("աբգ"), "the index has the folded text")
      try alice.write(at: 30, erase(trip(5)))
      try alice.store.checkpoint()
      for text in ["ЖЩЮ", "жщю", "ԱԲԳ", "աբգ"] { #expect(try !occurs(text)) }
      #expect(try terms(alice.store).allSatisfy { !$0.contains("ж") && !$0.contains("ա") })
      #expect(try found("sao", in: alice.store) == [trip(1)])
    }
  }

  @Test func `a transaction that fails leaves the index as it was`() throws {
    let alice = try cities()
    // The digests are written after the index.
    try alice.store.connection.execute(
      "CREATE TEMP TRIGGER failing BEFORE INSERT ON digests BEGIN SELECT RAISE(ABORT, 'failed'); END")
    #expect(throws: SQLiteError.self) { try alice.write(at: 20, edit(trip(2), [1: .text("Milano")])) }
    try alice.store.connection.execute("DROP TRIGGER failing")
    #expect(try found("rome", in: alice.store) == [trip(2)])
    #expect(try found("milano", in: alice.store).isEmpty)
    try alice.write(at: 30, edit(trip(2), [1: .text("Torino")]))
    #expect(try found("torino", in: alice.store) == [trip(2)])
    #expect(try !terms(alice.store).contains("mil"))
    #expect(!alice.store.lacksIndex)
  }

  static let damages = [
    "DELETE FROM text_index_data", "UPDATE text_index_data SET block = x'00'",
    "UPDATE text_index_data SET block = x'ffffffffffffffffffff' WHERE id > 10",
    "DELETE FROM text_index_config",
    "DROP TABLE text_index_config", "DROP TABLE text_index_data", "DROP TABLE text_index_idx",
    "DROP TABLE text_index", "DROP TABLE text_documents",
  ]

  @Test(arguments: damages)
  func `a damaged index stops nothing and is built again`(_ damage: String) throws {
    try inFolder { path in
      do {
        let alice = try cities(Store(path: path))
        try alice.store.checkpoint()
      }
      var database: Connection? = try Connection(.file(path))
      try database?.execute(damage)
      database = nil
      let alice = try Device("alice", Store(path: path))
      #expect(try alice.store.count(RecordQuery(KindNumbers.trip)) == 4)
      let isEmpty = damage.hasSuffix("x'00'")
      if !isEmpty { #expect(try found("rome", in: alice.store) == [trip(2)], "it is read without the index") }
      try alice.write(at: 100, edit(trip(2), [1: .text("Milano")]))
      #expect(try found("milano", in: alice.store) == [trip(2)])
      #expect(alice.store.lacksIndex)
      try alice.store.rest()
      #expect(!alice.store.lacksIndex)
      #expect(try found("milano", in: alice.store) == [trip(2)])
      #expect(try terms(alice.store).contains("mil"))
    }
  }

  @Test func `the index is built when the store is idle if very many records arrive`() throws {
    let alice = try cities()
    let many = (100..<8_400).map { insert(trip($0), [1: .text("Bergen \($0)")]) }
    try alice.receive(try alice.draft(at: 20, many))
    #expect(alice.store.lacksIndex)
    #expect(try found("bergen 8399", in: alice.store) == [trip(8_399)], "it is read without the index")
    #expect(try !terms(alice.store).contains("ber"))
    try alice.store.rest()
    #expect(!alice.store.lacksIndex)
    #expect(try terms(alice.store).contains("ber"))
    #expect(try found("bergen 8399", in: alice.store) == [trip(8_399)])
    try alice.write(at: 30, edit(trip(8_399), [1: .text("Oslo")]))
    #expect(try found("bergen 8399", in: alice.store).isEmpty)
    #expect(!alice.store.lacksIndex)
  }

  @Test func `an erase of text in a damaged index removes it from the file`() throws {
    try inFolder { path in
      let alice = try cities(Store(path: path))
      try alice.write(at: 20, insert(trip(5), [1: .text("ЖЩЮ")]))
      try alice.store.connection.execute("DELETE FROM text_documents")
      try alice.write(at: 30, erase(trip(5)))
      try alice.store.checkpoint()
      #expect(try !alice.store.isErasePending)
      #expect(try Data(contentsOf: URL(filePath: path)).range(of: Data("жщю".utf8)) == nil)
      #expect(try found("sao", in: alice.store) == [trip(1)])
    }
  }

  @Test func `a second process searches with the index, and without a damaged one`() throws {
    try inFolder { path in
      let alice = try cities(Store(path: path))
      #expect(try Store.reading(path: path) { try found("sao", in: $0) } == [trip(1)])
      let reader = try RecordReader(path: path)
      #expect(try reader.snapshot { try found("sao", in: $0) } == [trip(1)])
      do { try Connection(.file(path)).execute("DELETE FROM text_index_config") }
      #expect(try Store.reading(path: path) { try found("sao", in: $0) } == [trip(1)])
      #expect(try found("sao", in: alice.store) == [trip(1)])
    }
  }

  @Test func `the None organization is found by its name`() throws {
    let alice = try Device("alice")
    var query = RecordQuery(FixedRecords.none.kind)
    query.conditions = [.text(["none"])]
    #expect(try alice.store.records(query).map(\.key) == [FixedRecords.none])
  }
}
