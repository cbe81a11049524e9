import Backups
import Foundation
import JSONDocument
import Membership
import Records
import Replication
import SQLite
import Storage
import Waymark
import WaymarkCare
import WaymarkTesting
import Wire

/// Backup files, which may come from anywhere: arbitrary bytes, and well-formed databases with arbitrary content. A
/// restore succeeds or refuses, and leaves a consistent store.
@Sendable func fuzzBackup(_ input: [UInt8]) async throws {
  let folder = FileManager.default.temporaryDirectory.appending(path: "fuzz-\(UUID().uuidString)")
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: folder) }
  let path = folder.appending(path: "file.waymark").path
  var choices = Choices(input)
  let foundsCircle = choices.below(4) == 3
  if choices.flag() {
    guard FileManager.default.createFile(atPath: path, contents: Data(choices.rest())) else { return }
  } else {
    try ForgedBackup(&choices).write(to: path)
  }
  guard isReadable(path) else { return }
  try await restore(path, foundsCircle)
}

/// Reads everything in a backup, without restoring it.
private func isReadable(_ path: String) -> Bool {
  do {
    let file = try BackupFile(path: path)
    _ = try file.statements()
    let ids = try file.changeSetIDs()
    var count = 0
    try file.forEachPart(of: 3) { count += $0.count }
    return ids.count <= count
  } catch {
    return false
  }
}

private func restore(_ path: String, _ foundsCircle: Bool) async throws {
  let ground = try TestHome()
  var request = RestoreOperation.Request(file: path, name: "eve")
  request.foundsCircle = foundsCircle
  let restoring = RestoreOperation(home: ground.home, request: request, wall: { Cast.noon })
  guard (try? await restoring.restore(isConfirmed: true)) != nil else { return }
  let node: Node
  do { node = try Node(home: ground.home, wall: { Cast.noon }) } catch {
    throw BrokenRule("a restored home does not open: \(error)")
  }
  do { _ = try await node.status() } catch {
    throw BrokenRule("a restored node does not answer: \(error)")
  }
  await node.close()
}

/// A database that looks like a backup, with statements and sets by any author.
struct ForgedBackup {
  private var statements: [[UInt8]] = []
  private var sets: [RawChangeSet] = []
  private var about: [(key: String, value: ColumnValue)] = []
  private var tables = ForgedBackup.schemas[0]
  private var application: Int64 = 0x574d_424b
  private var version: Int64 = 2

  init(_ choices: inout Choices) throws {
    if choices.below(16) == 15 { application = Int64(choices.byte()) }
    if choices.below(16) == 15 { version = Int64(bitPattern: choices.number()) }
    if choices.below(8) == 7 { tables = choices.pick(Self.schemas) }
    writeStatements(&choices)
    writeSets(&choices)
    writeAbout(&choices)
  }

  private static let schemas = [
    """
    CREATE TABLE about(key TEXT PRIMARY KEY NOT NULL, value NOT NULL) WITHOUT ROWID;
    CREATE TABLE statements(id BLOB PRIMARY KEY NOT NULL, bytes BLOB NOT NULL) WITHOUT ROWID;
    CREATE TABLE change_sets(
      number INTEGER PRIMARY KEY, header BLOB NOT NULL, signature BLOB NOT NULL, plan BLOB NOT NULL,
      field_values BLOB NOT NULL);
    """,
    """
    CREATE TABLE about(key, value);
    CREATE TABLE statements(id, bytes);
    CREATE TABLE change_sets(number, header, signature, plan, field_values);
    """,
    """
    CREATE TABLE rows(id, bytes);
    CREATE TABLE about(key, value, other AS (value || key));
    CREATE VIEW statements AS SELECT * FROM rows;
    CREATE TRIGGER add_row INSTEAD OF INSERT ON statements BEGIN INSERT INTO rows VALUES (new.id, new.bytes); END;
    CREATE TABLE change_sets(number, header, signature, plan, field_values);
    """,
  ]

  private mutating func writeStatements(_ choices: inout Choices) {
    var notary = Notary()
    if choices.below(16) < 15 { statements.append(Cast.genesis.bytes) }
    statements.append(Cast.certificate(Cast.bob, Cast.bobTransport, "bob", .admin).bytes)
    for _ in 0..<choices.below(6) {
      if choices.below(16) == 15 {
        statements.append(choices.bytes(max: 200))
      } else if let statement = try? notary.statement(&choices) {
        statements.append(statement.bytes)
      }
    }
  }

  private mutating func writeSets(_ choices: inout Choices) {
    var scribe = Scribe()
    for _ in 0..<choices.below(12) { _ = scribe.write(&choices, as: [Cast.alice, Cast.bob, Cast.mallory]) }
    sets = scribe.written.map(\.raw)
    guard choices.below(8) == 7, !sets.isEmpty else { return }
    let set = sets.remove(at: choices.below(sets.count))
    if choices.flag() {
      sets.append(
        RawChangeSet(
          header: set.header, signature: choices.bytes(max: 64), plan: set.plan, values: set.values))
    }
  }

  private mutating func writeAbout(_ choices: inout Choices) {
    about = [
      ("created", .integer(Cast.noon)), ("program", .text("0.1.0")),
      ("device", .blob(DeviceKey(Cast.bob).bytes)), ("name", .text("bob")),
      ("change_sets", .integer(Int64(sets.count))), ("statements", .integer(Int64(statements.count))),
    ]
    for key in [
      "sync-preference", "peer-addresses", "paused-peers", "completed-onboarding", "awaited-admission",
    ]
    where choices.below(4) == 3 {
      about.append(("node." + key, .blob(choices.bytes(max: 60))))
    }
    guard choices.below(4) == 3 else { return }
    about[choices.below(about.count)].value = odd(&choices)
  }

  private func odd(_ choices: inout Choices) -> ColumnValue {
    switch choices.below(4) {
    case 0: .integer(Int64(bitPattern: choices.number()))
    case 1: .text(String(decoding: choices.bytes(max: 100), as: UTF8.self))
    case 2: .blob(choices.bytes(max: 100))
    default: .null
    }
  }

  func write(to path: String) throws {
    let connection = try Connection(.file(path))
    try connection.execute("PRAGMA journal_mode = OFF")
    try connection.execute("PRAGMA synchronous = OFF")
    try connection.execute("PRAGMA application_id = \(application)")
    try connection.execute("PRAGMA user_version = \(Int32(truncatingIfNeeded: version))")
    try connection.execute(tables)
    try? connection.with("INSERT INTO about(key, value) VALUES (?1, ?2)") { row in
      for item in about {
        try row.bind(1, item.key)
        switch item.value {
        case .integer(let number): try row.bind(2, number)
        case .text(let text): try row.bind(2, text)
        case .blob(let bytes): try row.bind(2, bytes)
        case .real(let number): try row.bind(2, number)
        case .null: try row.bindNull(2)
        }
        try row.run()
      }
    }
    try? connection.with("INSERT INTO statements(id, bytes) VALUES (?1, ?2)") { row in
      for (number, bytes) in statements.enumerated() {
        try row.bind(1, [UInt8(truncatingIfNeeded: number)])
        try row.bind(2, bytes)
        try row.run()
      }
    }
    try? connection.with("INSERT INTO change_sets VALUES (?1, ?2, ?3, ?4, ?5)") { row in
      for (number, set) in sets.enumerated() {
        try row.bind(1, Int64(number + 1))
        try row.bind(2, set.header)
        try row.bind(3, set.signature)
        try row.bind(4, set.plan)
        try row.bind(5, set.values)
        try row.run()
      }
    }
  }
}
