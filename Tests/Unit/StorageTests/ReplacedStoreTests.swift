import Backups
import Foundation
import LogStorage
import Replication
import SQLite
import Storage
import Testing
import Wire

/// What is read of a store that a backup replaces or that can't be opened any more.
@Suite final class ReplacedStoreTests {
  private let folder = FileManager.default.temporaryDirectory.appending(path: "replaced-\(UUID().uuidString)")
    .path

  init() throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  private var path: String { "\(folder)/store.db" }

  /// Writes to a store and closes it.
  private func write(_ body: (Device) throws -> Void) throws {
    let alice = try Device("alice", Store(path: path))
    try body(alice)
  }

  private func change(_ sql: String) throws { try Connection(.file(path)).execute(sql) }

  @Test func `what the store had erased is known, without the erases that were held`() throws {
    var sets: [VerifiedChangeSet] = []
    try write { alice in
      try alice.write(
        at: 10, insert(trip(1), [1: .text("Rome")]), insert(trip(2), [1: .text("Oslo")]),
        insert(trip(3), [1: .text("Bern")]))
      for (wall, number) in [(20, 2), (30, 1), (40, 3)] as [(Moment, UInt64)] {
        sets += try alice.write(at: wall, erase(trip(number)))
      }
      try alice.store.holdErases([sets[2].id], until: 1_000)
      try alice.store.setMeta("word", [1, 2])
      try alice.store.saveStatements([(StatementID(Bytes32(1, 0, 0, 0)), [7])])
    }
    let found = try StoreDiagnostics(path: path)
    #expect(found.erasures.map { $0.record } == [trip(1), trip(2)])
    #expect(found.erasures.map { $0.by } == [sets[1].id, sets[0].id])
    #expect(found.changeSetIDs.count == 4 && found.changeSetIDs.isSuperset(of: sets.map(\.id)))
    #expect(found.statements == [[7]])
    #expect(found.meta("word") == [1, 2])
    #expect(found.meta("node.word") == nil && found.meta("schema") == nil)
  }

  @Test func `a store without its list of erases is read all the same, and one without its log is not`()
    throws
  {
    try write { alice in
      try alice.write(at: 10, insert(trip(1), [1: .text("Rome")]))
      try alice.write(at: 20, erase(trip(1)))
    }
    #expect(try StoreDiagnostics(path: path).erasures.count == 1)
    try change("DROP TABLE erasures")
    let found = try StoreDiagnostics(path: path)
    #expect(found.erasures.isEmpty && found.changeSetIDs.count == 2)
    try change("DROP TABLE change_sets")
    #expect(throws: SQLiteError.self) { try StoreDiagnostics(path: path) }
  }

  // MARK: The signed part

  @Test(arguments: [
    ("trip_rows", true), ("siblings", true), ("meta", true), ("statements", false), ("change_sets", false),
  ])
  func `only the tables with signed data count for whether a backup can be made`(
    table: String, isReadable: Bool
  ) throws {
    #expect(!Store.isSignedPartReadable(path), "there is no store")
    try write { alice in try alice.write(at: 10, insert(trip(1), [1: .text("Rome")])) }
    #expect(Store.isSignedPartReadable(path))
    try change("DROP TABLE \(table)")
    #expect(Store.isSignedPartReadable(path) == isReadable)
  }

  @Test func `values that continue on a page that is lost can't be read`() throws {
    let long = Value.text(String(repeating: "x", count: 9_900))
    try write { alice in try alice.write(at: 10, insert(trip(1), [1: .text("Rome"), 2: long])) }
    #expect(Store.isSignedPartReadable(path))
    var bytes = [UInt8](try Data(contentsOf: URL(filePath: path)))
    let pageBytes = 4_096
    // An overflow page begins with the number of the next one. All pages that are full of the text lose it, in
    // whatever table they are.
    var cut = 0
    for page in stride(from: 0, to: bytes.count - pageBytes + 1, by: pageBytes) {
      guard bytes[(page + 4)..<(page + pageBytes)].allSatisfy({ $0 == UInt8(ascii: "x") }) else { continue }
      bytes.replaceSubrange(page..<(page + 4), with: [0, 0, 0, 0])
      cut += 1
    }
    try #require(cut > 0, "no overflow page was found")
    try Data(bytes).write(to: URL(filePath: path))
    #expect(!Store.isSignedPartReadable(path))
  }

  // MARK: Unfinished backups

  @Test(arguments: [
    ("a.waymark", false), ("a.waymark.new", false), ("a.waymark.0123456789abcdef.new", true),
    ("a.b.waymark.0123456789abcdef.new", true), ("a.waymark.0123456789abcde.new", false),
    ("a.waymark.0123456789abcdeg.new", false), ("a.waymark.0123456789abcdef.old", false),
    ("a.backup.0123456789abcdef.new", false), ("waymark.0123456789abcdef.new", false),
    ("a.waymark.0123456789abcdef", false),
  ])
  func `only the temporary file of a backup is taken for one`(name: String, isPartial: Bool) {
    #expect(Store.isPartialBackup(name) == isPartial)
    let own = Store.partialBackup(of: "before-\(name).waymark")
    #expect(Store.isPartialBackup(own))
  }
}
