import Exchange
import JSONDocument
import Records
import SQLite
import Testing
import Wire

extension ImportPlan {
  func drafts(_ kind: Kind) -> [RecordDraft] { drafts.filter { $0.kind == kind } }

  /// Days and values of the logs, sorted by day.
  var days: [String: Value] {
    Dictionary(
      drafts(Kind.habitEntry).map { log in
        guard case .text(let day) = log[2]?.part(2) else { return ("", .null) }
        return (day, log[3] ?? .null)
      }
    ) { first, _ in first }
  }
}

private let newHeader =
  "Position,Name,Type,Question,Description,FrequencyNumerator,FrequencyDenominator,Color,Unit,Target Type,"
  + "Target Value,Archived?\n"

private func folder(_ habits: String, _ marks: [(String, String)]) throws -> ImportPlan {
  try Importer.plan(
    .folder(
      [ImportedFile(path: "Habits.csv", bytes: Array(habits.utf8))]
        + marks.map { ImportedFile(path: "\($0.0)/Checkmarks.csv", bytes: Array($0.1.utf8)) }))
}

struct LoopTests {
  @Test func `the words and thousandths of version 2_3_1 become logs`() throws {
    let plan = try folder(
      newHeader
        + "001,Wasser,NUMERICAL,,,1,1,#1976D2,l,AT_LEAST,12.0,false\n002,Lauf,YES_NO,q,d,1,1,#FF8F00,,,,true\n",
      [
        (
          "001 ",
          "Date,Value,Notes\n2026-07-04,12000,\n2026-07-03,NO,\n2026-07-02,UNKNOWN,\n2026-07-01,SKIP,\n"
        ),
        ("002 Lauf", "Date,Value,Notes\n2026-06-04,YES_MANUAL,\n2026-06-03,YES_AUTO,\n2026-06-02,NO,\n"),
      ])
    #expect(plan.days == ["2026-07-04": .float(12), "2026-07-03": .float(0), "2026-06-04": .float(1)])
    let habits = plan.drafts(Kind.habit).sorted { $0.text("name") ?? "" > $1.text("name") ?? "" }
    #expect(habits.map { $0[Kind.habit.number("kind")] } == [.text("numeric"), .text("binary")])
    #expect(habits[0][Kind.habit.number("dailyTarget")] == .float(12))
    #expect(habits[1][Kind.habit.number("isActive")] == .bool(false))
    #expect(plan.skipped.map(\.place) == ["001 /Checkmarks.csv, line 5"])
    #expect(plan.warnings.contains { $0.contains("that Loop computed") })
  }

  @Test func `the two older formats have no header of marks, and their numbers are recognised by size`()
    throws
  {
    let oldest = try folder(
      "Position,Name,Description,NumRepetitions,Interval,Color\n001,Lauf,d,3,7,#1976D2\n",
      [("001 Lauf", "2026-06-04,2\n2026-06-03,1\n2026-06-02,0\n2026-06-01,3\n")])
    #expect(oldest.days == ["2026-06-04": .float(1)])
    let older = try folder(
      "Position,Name,Question,Description,NumRepetitions,Interval,Color\n001,Wasser,q,d,1,1,#1976D2\n",
      [("001 ??", "2026-06-04,1500\n2026-06-03,-1\n2026-06-02,0\n")])
    #expect(older.days == ["2026-06-04": .float(1.5)])
    #expect(older.drafts(Kind.habit).first?.text("kind") == "numeric")
  }

  @Test func `the same folder gives the same records`() throws {
    let habits = newHeader + "001,A,YES_NO,,,1,1,#1976D2,,,,false\n002,A,YES_NO,,,1,1,#1976D2,,,,false\n"
    let marks = [("001 A", "Date,Value,Notes\n2026-07-04,YES_MANUAL,\n"), ("002 A", "Date,Value,Notes\n")]
    let plan = try folder(habits, marks)
    #expect(plan.drafts == (try folder(habits, marks)).drafts)
    #expect(plan.drafts(Kind.habit).count == 2)
  }

  @Test(arguments: [
    (newHeader + "001,A,YES_NO,,,1,1,#1976D2", "", "the last line"),
    (newHeader + "001,A,YES_NO\n", "", "Habits.csv, line 2"),
    (newHeader + "001,\"A,YES_NO,,,1,1,#1976D2,,,,false\n", "", "never closed"),
    (newHeader + "001,A,YES_NO,,,1,1,#1976D2,,,,false\n", "Date,Value,Notes\n2026-07-04\n", "line 2"),
    ("Name\nA\n", "", "not a Loop header"),
  ])
  func `a damaged folder is refused with the position of the damage`(
    habits: String, marks: String, place: String
  ) {
    do {
      _ = try folder(habits, [("001 A", marks)])
      Issue.record("it was read")
    } catch {
      #expect("\(error)".contains(place), "\(error)")
    }
  }

  @Test func `a single file of an archive, or a zip, is refused with a hint at what to import`() {
    #expect(throws: ExchangeError.isPartOfFolder) { try Importer.plan(Array(newHeader.utf8)) }
    #expect(throws: ExchangeError.isArchive) { try Importer.plan([0x50, 0x4b, 3, 4, 0]) }
  }

  @Test func `an export for Loop is imported as the same records`() throws {
    let habits =
      newHeader
      + "001,Wasser,NUMERICAL,,\"a, \"\"b\"\"\",1,30,#1976D2,+l,AT_MOST,12.5,false\n"
      + "002,=cmd|'/C calc'!A0,YES_NO,,\"''=x;@y\",3,7,#FF8F00,,,,true\n"
    let plan = try folder(
      habits,
      [
        ("001 Wasser", "Date,Value,Notes\n2026-07-04,12000,\n2026-07-03,NO,\n"),
        ("002 Lauf", "Date,Value,Notes\n2026-07-02,YES_MANUAL,\n"),
      ])
    let exported = Exporter.folder(.loopCSV, from: ExportSource(plan.drafts))
    let again = try Importer.plan(
      .folder(exported.files.map { ImportedFile(path: $0.path, bytes: $0.bytes) }))
    #expect(again.drafts == plan.drafts)
    let list = String(decoding: exported.files[0].bytes, as: UTF8.self)
    #expect(list.contains("1,30,#1976D2,'+l,AT_MOST,12.5,false"), "\(list)")
    // No cell contains a formula that a spreadsheet would run.
    #expect(list.contains("\r\n002,'=cmd|'/C calc'!A0,YES_NO,,''=x;'@y,3,7,"), "\(list)")
  }
}

struct LoopDatabaseTests {
  /// A backup created by the given SQL.
  private func backup(_ sql: String) throws -> [UInt8] {
    let path = TemporaryFile.make()
    defer { TemporaryFile.remove(path) }
    do {
      let connection = try Connection(.file(path))
      try connection.execute(sql)
    }
    return try TemporaryFile.read(path)
  }

  private let tables = """
    CREATE TABLE Habits (id INTEGER PRIMARY KEY, name TEXT, color INTEGER, type INTEGER, position INTEGER, uuid TEXT);
    CREATE TABLE Repetitions (id INTEGER PRIMARY KEY, habit INTEGER, timestamp INTEGER, value INTEGER, notes TEXT);
    INSERT INTO Habits VALUES (1, 'Wasser', 11, 1, 0, '00000000000040008000000000000001'), (2, 'Lauf', 3, 0, 1, NULL);
    INSERT INTO Repetitions VALUES (1, 1, 1783123200000, 12000, ''), (2, 2, 1783123200000, 2, 'x'),
      (3, 2, 1783036800000, 3, ''), (4, 9, 1783036800000, 2, '');
    """

  @Test func `a backup becomes habits and logs`() throws {
    let plan = try Importer.plan(try backup("PRAGMA user_version = 25;" + tables))
    #expect(plan.format == .loopDB)
    #expect(plan.drafts(Kind.habit).count == 2 && plan.drafts(Kind.habitEntry).count == 2)
    #expect(plan.drafts(Kind.habit).contains { $0.id.uuid == "00000000-0000-4000-8000-000000000001" })
    #expect(plan.drafts(Kind.habit).contains { $0.text("colorHex") == "#FF8F00" })
    #expect(plan.skipped.map(\.place) == ["Repetitions, id 3", "Repetitions, id 4"])
  }

  @Test func `an entry in a database without values means done`() throws {
    let plan = try Importer.plan(
      try backup(
        """
        PRAGMA user_version = 9; CREATE TABLE Habits (id INTEGER PRIMARY KEY, name TEXT);
        CREATE TABLE Repetitions (id INTEGER PRIMARY KEY, habit INTEGER, timestamp INTEGER);
        INSERT INTO Habits VALUES (1, 'Lauf'); INSERT INTO Repetitions VALUES (1, 1, 1783123200000);
        """))
    #expect(plan.days == ["2026-07-04": .float(1)])
  }

  @Test(arguments: [
    "PRAGMA user_version = 26; CREATE TABLE Habits (id); CREATE TABLE Repetitions (id)",
    "PRAGMA user_version = -1; CREATE TABLE Habits (id); CREATE TABLE Repetitions (id)",
    "CREATE TABLE Habits (id)", "CREATE TABLE Repetitions (id); CREATE VIEW Habits AS SELECT 1 AS id",
  ])
  func `other databases are refused`(sql: String) throws {
    let bytes = try backup(sql)
    #expect(throws: ExchangeError.self) { try Importer.plan(bytes) }
  }

  @Test func `a damaged backup is refused, or read within the rules`() throws {
    let bytes = try backup("PRAGMA user_version = 25;" + tables)
    #expect(throws: ExchangeError.self) { try Importer.plan(Array(bytes.prefix(bytes.count / 2))) }
    for position in stride(from: 16, to: bytes.count, by: 61) {
      var damaged = bytes
      damaged[position] ^= 1 << UInt8(position % 8)
      guard let plan = try? Importer.plan(damaged) else { continue }
      for draft in plan.drafts { try draft.kind.validate(draft, isNew: true) }
    }
  }

  @Test(
    arguments: [
      (
        "PRAGMA ignore_check_constraints = 1; CREATE TABLE Habits (id INTEGER PRIMARY KEY, name TEXT, "
          + "CHECK (length(hex(zeroblob(2000 + id))) > 0));", "has a CHECK"
      ),
      (
        "CREATE TABLE Habits (id INTEGER PRIMARY KEY, name AS (hex(zeroblob(2000 + id))));",
        "computed columns"
      ),
      (
        "CREATE TABLE Habits (id INTEGER PRIMARY KEY, name AS (hex(zeroblob(1))) STORED);", "computed columns"
      ),
      (
        "CREATE TABLE Habits (id INTEGER PRIMARY KEY, name TEXT); CREATE INDEX i ON Habits (lower(name));",
        "index on expressions"
      ),
      (
        "CREATE TABLE Habits (id INTEGER PRIMARY KEY, name TEXT); CREATE INDEX i ON Habits (id) WHERE name > '';",
        "index on expressions"
      ),
      (
        "CREATE TABLE Habits (id INTEGER PRIMARY KEY, name TEXT); "
          + "CREATE TRIGGER t AFTER INSERT ON Habits BEGIN SELECT 1; END;", "trigger"
      ),
      ("CREATE VIEW Habits AS SELECT 1 AS id;", "no ordinary table Habits"),
      ("CREATE VIRTUAL TABLE Habits USING fts5(id, name);", "no ordinary table Habits"),
    ])
  func `a table with expressions of its own is refused before it is read`(
    sql: String, reason: String
  ) throws {
    let rows = """
      WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 200)
        INSERT INTO Habits(id) SELECT x FROM n;
      """
    let isWritable = !sql.contains("VIEW") && !sql.contains("VIRTUAL")
    let bytes = try backup(
      "PRAGMA user_version = 25; \(sql) CREATE TABLE Repetitions (id INTEGER PRIMARY KEY, habit, timestamp);"
        + (isWritable ? rows : ""))
    let error = #expect(throws: ExchangeError.self) { try Importer.plan(bytes) }
    guard case .unsuitable(let said)? = error else {
      return #expect(Bool(false), "\(String(describing: error))")
    }
    #expect(said.contains(reason), "\(said)")
  }
}
