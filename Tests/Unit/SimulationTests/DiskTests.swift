import SQLite
import Simulation
import Storage
import Testing
import VirtualDisk
import Wire

@Suite struct DiskTests {
  private func connect(_ disk: Disk) throws -> Connection {
    let connection = try Connection(on: Volume(disk), "rows.db")
    try connection.setUp()
    return connection
  }

  private func count(_ connection: Connection) throws -> Int64 {
    try connection.with("SELECT count(*) FROM rows") { try $0.step() ? $0.integer(0) : -1 }
  }

  private func expectBusy(_ connection: Connection) throws {
    #expect(throws: SQLiteError.self) { try connection.execute("INSERT INTO rows VALUES (2)") }
  }

  @Test func `a store works on a disk in memory`() throws {
    let disk = Disk()
    do {
      let store = try Store(on: Volume(disk), path: "store.db")
      try store.setMeta("word", [1, 2, 3])
    }
    #expect(disk.names == ["store.db"])
    let store = try Store(on: Volume(disk), path: "store.db")
    #expect(try store.meta("word") == [1, 2, 3])
  }

  @Test func `a killed process loses nothing that it has written`() throws {
    let disk = Disk()
    let volume = try Volume(disk)
    do {
      let store = try Store(on: volume, path: "store.db")
      try store.setMeta("word", [1, 2, 3])
      volume.cut()
    }
    #expect(disk.names == ["store.db", "store.db-wal"])
    let store = try Store(on: Volume(disk), path: "store.db")
    #expect(try store.meta("word") == [1, 2, 3])
  }

  @Test(arguments: Survival.variants)
  func `committed data survives a power loss`(_ survival: Survival) throws {
    let disk = Disk()
    let volume = try Volume(disk)
    let store = try Store(on: volume, path: "store.db")
    try store.setMeta("word", [1, 2, 3])
    volume.cut()
    var random = SplitMix(seed: 1)
    disk.powerLoss(survival, &random)
    #expect(try Store(on: Volume(disk), path: "store.db").meta("word") == [1, 2, 3])
  }

  /// A transaction whose process is killed between its last write and its sync is visible at the next start: from
  /// then on it may be sent to others, so a power loss must not remove it again.
  @Test func `data visible after a kill and restart survives a power loss`() throws {
    var shown = 0
    for changes in 0..<12 {
      let disk = Disk()
      let isRefused: Bool
      do {
        let store = try Store(on: Volume(disk), path: "store.db")
        try store.setMeta("word", [1])
        disk.faults.changesUntilStop = changes
        isRefused = (try? store.setMeta("word", [2])) == nil
        disk.faults.changesUntilStop = -1
      }
      disk.restart()
      let volume = try Volume(disk)
      let store = try Store(on: volume, path: "store.db")
      let word = try store.meta("word")
      // A clean close would make everything durable.
      withExtendedLifetime(store) { volume.cut() }
      if isRefused, word == [2] { shown += 1 }
      var random = SplitMix(seed: 1)
      disk.powerLoss(Survival(.nothing), &random)
      #expect(try Store(on: Volume(disk), path: "store.db").meta("word") == word, "\(changes) changes")
    }
    #expect(shown > 0)
  }

  /// The system marks pages as clean that it failed to write, so the next sync succeeds without them: everything
  /// behind such a hole in the log would be lost with it.
  @Test(arguments: Survival.variants)
  func `data committed after a failed sync survives a power loss`(_ survival: Survival) throws {
    let disk = Disk()
    do {
      let volume = try Volume(disk)
      let store = try Store(on: volume, path: "store.db")
      try store.setMeta("word", [1])
      disk.faults.failure = DiskFaults.Failure(.inputOutput, at: [.sync], after: 0, lasts: false)
      #expect(throws: SQLiteError.self) { try store.setMeta("word", [2]) }
      volume.cut()
    }
    let volume = try Volume(disk)
    let store = try Store(on: volume, path: "store.db")
    try store.rewriteLog()
    try store.setMeta("next", [3])
    withExtendedLifetime(store) { volume.cut() }
    var random = SplitMix(seed: 1)
    disk.powerLoss(survival, &random)
    let after = try Store(on: Volume(disk), path: "store.db")
    #expect(try after.meta("next") == [3])
    #expect(try after.meta("word") == [2])
  }

  /// SQLite ignores a failed sync of a directory; the log with all later commits would vanish with its name.
  @Test(arguments: [false, true])
  func `a start that cannot make its log's name durable is refused`(_ isNew: Bool) throws {
    var refused = 0
    var felt = true
    for after in 0..<20 where felt {
      let disk = Disk()
      if !isNew { try Store(on: Volume(disk), path: "store.db").setMeta("word", [1]) }
      disk.faults.failure = DiskFaults.Failure(.inputOutput, at: [.syncDirectory], after: after, lasts: false)
      do {
        let volume = try Volume(disk)
        let store = try Store(on: volume, path: "store.db")
        try store.setMeta("word", [2])
        withExtendedLifetime(store) { volume.cut() }
        var random = SplitMix(seed: 1)
        disk.powerLoss(Survival(.nothing), &random)
        felt = disk.counters.syncErrors > 0
        disk.faults = DiskFaults()
        #expect(try Store(on: Volume(disk), path: "store.db").meta("word") == [2], "fault after \(after)")
      } catch {
        #expect(isLostWrite(error))
        refused += 1
      }
    }
    #expect(refused > 0)
    #expect(!felt)
  }

  @Test func `without syncs a power loss removes committed data`() throws {
    let disk = Disk()
    let volume = try Volume(disk)
    let store = try Store(on: volume, path: "store.db")
    disk.faults.liesAboutSyncs = true
    try store.setMeta("word", [1, 2, 3])
    volume.cut()
    var random = SplitMix(seed: 1)
    disk.powerLoss(Survival(.nothing), &random)
    #expect(disk.counters.syncsLiedAbout > 0)
    disk.faults.liesAboutSyncs = false
    #expect(try Store(on: Volume(disk), path: "store.db").meta("word") == nil)
  }

  @Test func `two connections share one file`() throws {
    let disk = Disk()
    let volume = try Volume(disk)
    let writer = try Connection(on: volume, "rows.db")
    try writer.setUp()
    try writer.execute("CREATE TABLE rows(value)")
    let reader = try Connection(on: volume, "rows.db", isReadOnly: true)
    try reader.setUpReadOnly()
    try reader.snapshot {
      #expect(try count(reader) == 0)
      try writer.execute("INSERT INTO rows VALUES (1)")
      #expect(try count(reader) == 0)
    }
    #expect(try count(reader) == 1)
    let other = try Connection(on: volume, "rows.db")
    try other.setUp()
    try writer.transaction {
      try expectBusy(other)
    }
    try other.execute("INSERT INTO rows VALUES (2)")
    #expect(try count(writer) == 2)
  }

  @Test func `a full disk is refused, and works again when there is room`() throws {
    let disk = Disk()
    let connection = try connect(disk)
    try connection.execute("CREATE TABLE rows(value)")
    disk.faults.capacity = disk.used + 10_000
    let error = try #require(throws: SQLiteError.self) {
      try connection.execute("INSERT INTO rows VALUES (zeroblob(100000))")
    }
    #expect(error.isFull)
    #expect(disk.counters.outOfRoom > 0)
    disk.faults.capacity = nil
    try connection.execute("INSERT INTO rows VALUES (zeroblob(100000))")
    #expect(try count(connection) == 1)
  }

  @Test(arguments: [DiskOperation.write, .sync])
  func `a fault occurs at the planned operation`(_ operation: DiskOperation) throws {
    let disk = Disk()
    let connection = try connect(disk)
    try connection.execute("CREATE TABLE rows(value)")
    disk.faults.failure = DiskFaults.Failure(.inputOutput, at: [operation], after: 0, lasts: false)
    let error = try #require(throws: SQLiteError.self) {
      try connection.execute("INSERT INTO rows VALUES (1)")
    }
    #expect(error.isInputOutput)
    #expect(disk.counters.inputOutputErrors + disk.counters.syncErrors == 1)
    try connection.execute("INSERT INTO rows VALUES (2)")
    #expect(try count(connection) == 1)
  }

  @Test func `a process can be ended in the middle of a transaction`() throws {
    let disk = Disk()
    do {
      let connection = try connect(disk)
      try connection.execute("CREATE TABLE rows(value)")
      disk.faults.changesUntilStop = 1
      #expect(throws: SQLiteError.self) { try connection.execute("INSERT INTO rows VALUES (1)") }
      #expect(disk.hasStopped)
      disk.restart()
      // The connection belongs to a process that has ended.
      #expect(throws: SQLiteError.self) { try connection.execute("INSERT INTO rows VALUES (1)") }
    }
    #expect(try count(connect(disk)) == 0)
  }

  @Test func `a name that was not synced may be lost`() throws {
    let disk = Disk()
    try disk.write("a", [1], synced: false)
    try disk.write("b", [2], synced: true)
    var random = SplitMix(seed: 1)
    let image = disk.afterPowerLoss(Survival(.nothing), &random)
    #expect(image.names == ["b"])
    #expect(image.content(of: "b") == [2])
    #expect(image.counters.namesLost == 1)
    #expect(disk.copy().names == ["a", "b"])
  }

  @Test func `a copy of a disk is independent`() throws {
    let disk = Disk()
    let store = try Store(on: Volume(disk), path: "store.db")
    try store.setMeta("word", [1])
    let copy = disk.copy()
    try store.setMeta("word", [2])
    #expect(try Store(on: Volume(copy), path: "store.db").meta("word") == [1])
    #expect(try store.meta("word") == [2])
  }
}
