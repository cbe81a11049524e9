import Backups
import Foundation
import LogStorage
import Platform
import RecordTables
import Records
import Replication
import SQLite
import Storage
import Synchronization
import Testing
import Wire

@Suite struct FileTests {
  private func inFolder(_ body: (String) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "store-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try body(folder.path + "/store.db")
  }

  @Test func `a store that is opened again has the same content`() throws {
    try inFolder { path in
      let rome = trip(1)
      let before: [String]
      do {
        let alice = try Device("alice", Store(path: path))
        try alice.write(at: 10, insert(rome, [1: .text("Rome")]), lodging(1, of: rome))
        try alice.write(at: 20, delete(rome))
        try alice.store.setMeta("name", [1, 2, 3])
        before = try dump(alice.store)
      }
      let store = try Store(path: path)
      #expect(try dump(store) == before)
      #expect(try store.meta("name") == [1, 2, 3])
      #expect(store.heads(.records).map(\.sequence) == [2])
      let alice = try Device("alice", store)
      try alice.write(at: 30, restore(rome))
      #expect(try store.isVisible(lodging(1)))
    }
  }

  @Test func `an open store reports the process that holds it`() throws {
    try inFolder { path in
      let store = try Store(path: path)
      #expect(throws: StoreError.storeIsHeld(by: ProcessInfo.processInfo.processIdentifier)) {
        try Store(path: path)
      }
      _ = store
    }
  }

  /// It closed its file twice: the second time this could be a file that another thread had opened in between.
  @Test func `a refused lock closes no file of another thread`() throws {
    try inFolder { path in
      let store = try Store(path: path)
      let isOver = Atomic(false)
      let losses = Atomic(0)
      let threads = (0..<2).map { _ in
        let thread = Thread {
          while !isOver.load(ordering: .relaxed) {
            if close(open("/dev/null", O_RDONLY | O_CLOEXEC)) != 0 { losses.add(1, ordering: .relaxed) }
          }
        }
        thread.start()
        return thread
      }
      let end = ContinuousClock.now + .milliseconds(500)
      while ContinuousClock.now < end {
        if (try? StoreLock(store: path)) != nil { Issue.record("the lock was granted twice") }
      }
      isOver.store(true, ordering: .relaxed)
      while !threads.allSatisfy(\.isFinished) { usleep(1_000) }
      #expect(losses.load(ordering: .relaxed) == 0)
      _ = store
    }
  }

  @Test func `a closed store can be opened by another`() throws {
    try inFolder { path in
      do { _ = try Store(path: path) }
      _ = try Store(path: path)
    }
  }

  @Test func `a store of a newer version is refused and left unchanged`() throws {
    try inFolder { path in
      do { _ = try Store(path: path) }
      do {
        let other = try Connection(.file(path))
        try other.execute("UPDATE meta SET value = 99 WHERE key = 'schema'")
      }
      let known: Int64 = 5
      #expect(throws: StoreError.newerSchema(found: 99, known: known)) { try Store(path: path) }
    }
  }

  /// The tables of a store of format 1 that matter here, with one change set.
  private static let formerTables = """
    CREATE TABLE meta(key TEXT PRIMARY KEY NOT NULL, value NOT NULL) WITHOUT ROWID;
    INSERT INTO meta VALUES ('schema', 4), ('derived', 'fold 3');
    CREATE TABLE statements(id BLOB PRIMARY KEY NOT NULL, bytes BLOB NOT NULL) WITHOUT ROWID;
    CREATE TABLE branches(
      branch INTEGER PRIMARY KEY, device BLOB NOT NULL, incarnation BLOB NOT NULL, lane INTEGER NOT NULL,
      first_sequence INTEGER NOT NULL, first_id BLOB NOT NULL, parent INTEGER
    );
    CREATE TABLE change_sets(
      number INTEGER PRIMARY KEY, id BLOB NOT NULL, branch INTEGER NOT NULL, sequence INTEGER NOT NULL,
      clock INTEGER NOT NULL, operation BLOB NOT NULL, folded INTEGER NOT NULL, header BLOB NOT NULL,
      signature BLOB NOT NULL, body BLOB NOT NULL
    );
    INSERT INTO branches VALUES (1, zeroblob(32), zeroblob(16), 1, 1, zeroblob(32), NULL);
    INSERT INTO change_sets VALUES (1, zeroblob(32), 1, 1, 1, zeroblob(16), 1, x'a0', zeroblob(64), x'a0')
    """

  @Test func `a store of format 1 is refused and left unchanged`() throws {
    try inFolder { path in
      do {
        let former = try Connection(.file(path))
        try former.setUp()
        try former.execute(Self.formerTables)
      }
      #expect(throws: StoreError.formerFormat) { try Store(path: path) }
      #expect(throws: StoreError.formerFormat) { try Store(path: path, refolds: true) }
      let about = BackupAbout(created: 0, program: "test", device: DeviceKey(.zero), name: "alice", kept: [:])
      #expect(throws: StoreError.formerFormat) {
        try Store.backup(storeAt: path, to: path + ".waymark", about: about)
      }
      #expect(!FileManager.default.fileExists(atPath: path + ".waymark"))
      let reader = try Connection(.file(path))
      let tables = try reader.with("SELECT count(*) FROM sqlite_schema WHERE type = 'table'") { row in
        try row.step() ? row.integer(0) : 0
      }
      #expect(tables == 4)
      let body = try reader.with("SELECT body FROM change_sets") { row in
        try row.step() ? row.bytes(0) : []
      }
      #expect(body == [0xa0])
    }
  }

  @Test func `tables of another registry are folded again`() throws {
    try inFolder { path in
      let before: [String]
      do {
        let alice = try Device("alice", Store(path: path))
        try alice.write(at: 10, insert(trip(1), [1: .text("Rome"), 800: .text("new")]))
        before = try dump(alice.store)
      }
      do {
        let other = try Connection(.file(path))
        try other.execute(
          """
          UPDATE meta SET value = 'older' WHERE key = 'derived';
          DROP VIEW trips; DROP TABLE trip_rows; CREATE TABLE trip_rows(id)
          """)
      }
      #expect(try dump(Store(path: path)) == before)
    }
  }

  @Test func `a batch that cannot be stored completely leaves nothing behind`() throws {
    try inFolder { path in
      let alice = try Device("alice", Store(path: path))
      let rome = trip(1)
      try alice.write(at: 10, insert(rome, [1: .text("Rome")]))
      let before = try dump(alice.store)
      let heads = alice.store.heads(.records)
      let sets = try alice.draft(at: 20, [edit(rome, [1: .text("Roma")]), lodging(1, of: rome)])
      // The digest is written last: everything else of the batch is done by then.
      let other = try Connection(.file(path))
      try other.execute(
        "CREATE TRIGGER stop BEFORE INSERT ON digests BEGIN SELECT RAISE(ABORT, 'stopped'); END")
      #expect(throws: SQLiteError.self) { try alice.store.commit(sets, horizon: Device.horizon) }
      try other.execute("DROP TRIGGER stop")
      #expect(try dump(alice.store) == before)
      #expect(alice.store.heads(.records) == heads)
      try alice.receive(sets)
      #expect(try alice.store.text(rome, 1) == "Roma")
      #expect(try alice.store.tripSummary(rome.id).lodgings == 1)
    }
  }

  @Test func `statements are stored unchanged, once`() throws {
    let store = try Store.inMemory()
    let first = StatementID(Bytes32(1, 0, 0, 0))
    let second = StatementID(Bytes32(2, 0, 0, 0))
    try store.saveStatements([(second, [2]), (first, [1])])
    try store.saveStatements([(first, [9])])
    #expect(try store.statements() == [[1], [2]])
    try store.saveStatements([], removed: [first])
    #expect(try store.statements() == [[2]])
  }

  @Test func `visible records can be read with any SQLite tool`() throws {
    try inFolder { path in
      let alice = try Device("alice", Store(path: path))
      let rome = trip(1)
      try alice.write(
        at: 10, insert(rome, [1: .text("Rome"), 4: .integer(1_777_806_000_000)]),
        insert(trip(2), [1: .text("Oslo")]),
        lodging(1, of: rome, [5: .array([.text("120.50"), .text("USD")])]),
        lodging(2, of: trip(2)))
      try alice.write(at: 20, delete(trip(2)))
      let reader = try Connection(.existingFileReadOnly(path))
      try reader.setUpReadOnly()
      let trips = try reader.with("SELECT id, name, start_date, lodgings, totals FROM trips") { row in
        var lines: [String] = []
        while try row.step() { lines.append((0..<5).map { row.text($0) }.joined(separator: " ")) }
        return lines
      }
      #expect(
        trips == [
          "01000000-0000-0000-0000-000000000001 Rome 2026-05-03T11:00:00.000Z 1 "
            + #"[{"amount":"120.50","currency":"USD"}]"#
        ])
      let lodgings = try reader.with("SELECT trip_id, starts FROM lodgings") { row in
        var lines: [String] = []
        while try row.step() { lines.append("\(row.text(0)) \(row.isNull(1))") }
        return lines
      }
      #expect(lodgings == ["01000000-0000-0000-0000-000000000001 true"])
    }
  }
}
