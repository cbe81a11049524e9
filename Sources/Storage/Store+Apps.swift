// Protocol/records.md, "Kinds of apps"

import LogStorage
import RecordTables
package import Records
package import SQLite
import Wire

// The store keeps the schemas of apps in the table `meta`, so that every program that opens it knows the same kinds: a
// command, a backup, a verification. Schemas come from the app that opens the store, and from the records in which the
// devices of the circle share them. They only grow. When a kind or a field is added, the tables are rebuilt from the
// log, in the transaction that keeps the schema.

extension Store {
  /// The schemas of apps that the store keeps.
  package var apps: [KnownApp] {
    get throws { try Self.apps(in: connection) }
  }

  /// Returns the schemas of apps that a store keeps; those that can't be read are left out.
  package static func apps(in connection: Connection) throws -> [KnownApp] {
    guard try hasMeta(connection), let bytes = try MetaTable.bytes(key, connection),
      case .array(let items)? = try? Value(encoded: bytes[...])
    else { return [] }
    return items.compactMap { item in
      guard let app = item.part(0).asText else { return nil }
      let given = AppSchema(app: app, kinds: item.part(1))
      let learned = AppSchema(app: app, kinds: item.part(2))
      return given == nil && learned == nil ? nil : KnownApp(app, given: given, learned: learned)
    }
  }

  /// Returns the schemas of apps that the store in a file keeps, which another process may have open.
  package static func apps(ofStoreAt path: String) throws -> [KnownApp] {
    let connection = try Connection(.existingFileReadOnly(path))
    try connection.setUpReadOnly()
    return try apps(in: connection)
  }

  /// Returns the kinds of records that a store knows.
  package static func schema(in connection: Connection) throws -> Schema { Schema(try apps(in: connection)) }

  /// Returns the schemas that a store is to keep when some are added.
  ///
  /// - Throws: `SchemaError` if a given schema has a kind that the store can't hold.
  static func adding(_ added: [KnownApp], to stored: [KnownApp]) throws -> [KnownApp] {
    var apps = stored
    for new in added {
      if let index = apps.firstIndex(where: { $0.app == new.app }) {
        if let given = new.given { apps[index] = apps[index].giving(given) }
        if let learned = new.learned { apps[index] = apps[index].learning(learned) }
      } else {
        apps.append(new)
      }
    }
    let accepted = Schema.accepted(apps)
    for new in added { try new.given?.check(acceptedIn: accepted) }
    return accepted
  }

  /// Returns the schemas that a store is to keep with those in the records of its circle. A kind of an app that it knows
  /// stays as it is, whatever the records of other apps say.
  static func learning(_ stored: [KnownApp], _ connection: Connection) throws -> [KnownApp] {
    var apps = stored
    for learned in try sharedSchemas(connection) {
      let others = apps.filter { $0.app != learned.app }.flatMap(\.schema.kinds)
      let new = learned.without(kindsLike: others)
      guard !new.kinds.isEmpty else { continue }
      if let index = apps.firstIndex(where: { $0.app == new.app }) {
        apps[index] = apps[index].learning(new)
      } else {
        apps.append(KnownApp(learned: new))
      }
    }
    return Schema.accepted(apps)
  }

  /// Returns whether the records of the circle contain all of a schema.
  package func isShared(_ app: AppSchema) throws -> Bool {
    // This device may have written the very schema, even if others have written too many to read.
    let own = FieldType.any.columns(of: app.kindsValue)?.first
    let isWritten = try connection.with(
      "SELECT 1 FROM \(Kind.schema.table) WHERE life = 1 AND app = ?1 AND kinds = ?2"
    ) { row in
      try row.bind(1, app.app)
      try row.bind(2, own ?? .null)
      return try row.step()
    }
    if isWritten { return true }
    let shared = try Self.sharedSchemas(connection).filter { $0.app == app.app }
    guard let first = shared.first else { return false }
    let union = shared.dropFirst().reduce(first) { $0.merged(with: $1) }
    return union.merged(with: app) == union
  }

  /// Returns the schemas in the records of the circle, ordered by the ids of these records.
  private static func sharedSchemas(_ connection: Connection) throws -> [AppSchema] {
    let sql = "SELECT app, kinds FROM \(Kind.schema.table) WHERE life = 1 ORDER BY id LIMIT ?1"
    return try connection.with(sql) { row in
      try row.bind(1, Limits.schemasReadMax)
      var found: [AppSchema] = []
      while try row.step() {
        guard let kinds = FieldType.any.value(from: row.value(1)) else { continue }
        if let app = AppSchema(app: row.text(0), kinds: kinds) { found.append(app) }
      }
      return found
    }
  }

  /// Keeps schemas, in the transaction that makes the tables for them.
  static func keep(_ apps: [KnownApp], _ connection: Connection) throws {
    guard try self.apps(in: connection) != apps else { return }
    let items = apps.map { app in
      Value.array([
        .text(app.app), app.given?.kindsValue ?? .null, app.learned?.kindsValue ?? .null,
      ])
    }
    try MetaTable.set(key, Value.array(items).encoded, connection)
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
