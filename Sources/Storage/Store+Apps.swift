// Protocol/records.md, "Kinds of apps"

import LogStorage
import RecordTables
package import Records
import Replication
package import SQLite
import Wire

// The store keeps the schemas of apps in the table `meta`, so that every program that opens it knows the same kinds: a
// command, a backup, a verification. Schemas come from the app that opens the store, and from the records in which the
// devices of the circle share them. They only grow. If a kind or a field is added, the tables are filled again from the
// log.

extension Store {
  /// The schemas of apps that the store keeps.
  package var apps: [AppSchema] {
    get throws { try Self.apps(in: connection) }
  }

  /// Returns the schemas of apps that a store keeps; those that can't be read are left out.
  package static func apps(in connection: Connection) throws -> [AppSchema] {
    guard try hasMeta(connection), let bytes = try MetaTable.bytes(key, connection),
      case .array(let items)? = try? Value(encoded: bytes[...])
    else { return [] }
    return items.compactMap { item in
      item.part(0).asText.flatMap { AppSchema(app: $0, kinds: item.part(1)) }
    }
  }

  /// Returns the kinds of records that a store knows.
  package static func schema(in connection: Connection) throws -> Schema { Schema(try apps(in: connection)) }

  /// Returns the schemas of apps that the store in a file keeps, which another process may have open.
  package static func apps(ofStoreAt path: String) throws -> [AppSchema] {
    let connection = try Connection(.existingFileReadOnly(path))
    try connection.setUpReadOnly()
    return try apps(in: connection)
  }

  /// Adds schemas of apps to those that a store keeps, and returns the kinds that it then knows. What both define, the
  /// added ones define.
  static func keepApps(_ added: [AppSchema], _ connection: Connection) throws -> Schema {
    let stored = try apps(in: connection)
    let merged = added.map { new in stored.first { $0.app == new.app }.map(new.merged) ?? new }
    // If nothing is new, the order stays, so that opening the store writes nothing.
    guard merged.contains(where: { !stored.contains($0) }) else { return Schema(stored) }
    return try save(merged + stored.filter { old in !added.contains { $0.app == old.app } }, connection)
  }

  /// Adds what the records of schemas define beyond what a store keeps. Returns the kinds that it then knows; nil if
  /// nothing was added.
  static func learnApps(_ connection: Connection) throws -> Schema? {
    let stored = try apps(in: connection)
    let known = try sharedApps(connection, after: stored)
    return known == stored ? nil : try connection.transaction { try save(known, connection) }
  }

  /// The schemas that the records of the circle contain.
  package var sharedApps: [AppSchema] {
    get throws { try Self.sharedApps(connection) }
  }

  /// Returns the union of some schemas and those in the records of the circle, ordered by the ids of these records.
  private static func sharedApps(
    _ connection: Connection, after first: [AppSchema] = []
  ) throws -> [AppSchema] {
    try connection.with("SELECT app, kinds FROM \(Kind.schema.table) WHERE life = 1 ORDER BY id") { row in
      var found = first
      while try row.step() {
        guard let kinds = FieldType.any.value(from: row.value(1)),
          let app = AppSchema(app: row.text(0), kinds: kinds)
        else { continue }
        if let index = found.firstIndex(where: { $0.app == app.app }) {
          found[index] = found[index].merged(with: app)
        } else if found.count < Limits.appsMax {
          found.append(app)
        }
      }
      return found
    }
  }

  private static func save(_ apps: [AppSchema], _ connection: Connection) throws -> Schema {
    let items = apps.map { Value.array([.text($0.app), $0.kindsValue]) }
    try MetaTable.set(key, Value.array(items).encoded, connection)
    return Schema(apps)
  }

  /// The key in the form of `setMeta`, because restoring a backup writes the value by that method.
  private static let key = "node." + MetaKey.apps

  private static func hasMeta(_ connection: Connection) throws -> Bool {
    try connection.with("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1") { row in
      try row.bind(1, MetaTable.name)
      return try row.step()
    }
  }
}
