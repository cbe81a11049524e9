// Protocol/records.md, "Kinds of apps": what a store knows of several schemas.

import Replication
import Wire

/// What a store knows of an app's kinds.
package struct KnownApp: Hashable, Sendable {
  /// The name of the app.
  package let app: String
  /// What an app on this device has given when it opened the store; nil if there is no such app.
  package let given: AppSchema?
  /// What was learned from the records of the circle; nil if nothing was.
  package let learned: AppSchema?

  /// Creates an entry for a schema that an app on this device has given.
  package init(given schema: AppSchema) { self.init(schema.app, given: schema, learned: nil) }

  /// Creates an entry for a schema that was learned from other devices.
  package init(learned schema: AppSchema) { self.init(schema.app, given: nil, learned: schema) }

  package init(_ app: String, given: AppSchema?, learned: AppSchema?) {
    (self.app, self.given, self.learned) = (app, given, learned)
  }

  /// All that is known, in which the given definitions come first.
  package var schema: AppSchema {
    let schemas = [given, learned].compactMap(\.self)
    return schemas.dropFirst().reduce(schemas.first ?? AppSchema(valid: app, [])) { $0.merged(with: $1) }
  }

  /// Returns the entry with a schema that an app on this device gives, perhaps of another version.
  package func giving(_ schema: AppSchema) -> KnownApp {
    KnownApp(app, given: given.map(schema.merged) ?? schema, learned: learned)
  }

  /// Returns the entry with a schema that was learned.
  package func learning(_ schema: AppSchema) -> KnownApp {
    KnownApp(app, given: given, learned: learned.map { $0.merged(with: schema) } ?? schema)
  }
}

extension Schema {
  /// Returns what of some schemas a store can hold together. What apps on this device have given comes before all that was
  /// learned, so that what another device writes displaces no kind of an app on this device. Left out are kinds whose
  /// number or name an earlier schema uses, kinds without a known parent, kinds with too many ancestors, and what exceeds
  /// the limits.
  package static func accepted(_ apps: [KnownApp]) -> [KnownApp] {
    var room = Room()
    let apps = (apps.filter { $0.given != nil } + apps.filter { $0.given == nil }).prefix(Limits.appsMax)
    let given = apps.map { $0.given.flatMap { room.accepted($0, besides: nil) } }
    return zip(apps, given).compactMap { app, given in
      let learned = app.learned.flatMap { room.accepted($0, besides: given) }
      return given == nil && learned == nil ? nil : KnownApp(app.app, given: given, learned: learned)
    }
  }

  /// The built-in kinds and those of apps.
  package convenience init(_ apps: [KnownApp]) {
    self.init(Schema.builtIn.kinds + Self.accepted(apps).flatMap { $0.schema.kinds.compactMap { Kind($0) } })
  }

  /// What the kinds that were accepted so far leave to others.
  private struct Room {
    private var depths = Dictionary(
      uniqueKeysWithValues: Schema.builtIn.kinds.map { (UInt64($0.number.rawValue), 0) })
    private var names = Set(Schema.builtIn.kinds.flatMap { [$0.name, $0.plural] })
    private var kinds = 0
    private var fields = 0

    /// Returns the part of a schema that there is room for; nil if there is none.
    ///
    /// - Parameter given: the accepted kinds of the same app, to which the schema can add fields.
    mutating func accepted(_ schema: AppSchema, besides given: AppSchema?) -> AppSchema? {
      var taken: [AppKind] = []
      var others: [AppKind] = []
      for kind in schema.kinds {
        guard let own = given?.kinds.first(where: { $0.number == kind.number }) else {
          others.append(kind)
          continue
        }
        let more = kind.fields.count { field in !own.fields.contains { $0.number == field.number } }
        // The definitions of known fields stay, because they can allow more; of new fields there are all or none.
        guard fields + more <= Limits.knownFieldsMax else { continue }
        fields += more
        taken.append(kind)
      }
      taken += take(others)
      return taken.isEmpty ? nil : AppSchema(valid: schema.app, taken)
    }

    /// Accepts kinds in any order: a kind may follow the kind of its parent or come before it.
    private mutating func take(_ offered: [AppKind]) -> [AppKind] {
      var waiting = offered.filter {
        depths[$0.number] == nil && names.isDisjoint(with: [$0.name, $0.plural])
      }
      var taken: [AppKind] = []
      while let index = waiting.firstIndex(where: { depth(of: $0) != nil }) {
        let kind = waiting.remove(at: index)
        guard let depth = depth(of: kind), depth <= Limits.appParentsMax, kinds < Limits.knownKindsMax,
          fields + kind.fields.count <= Limits.knownFieldsMax
        else { continue }
        depths[kind.number] = depth
        names.formUnion([kind.name, kind.plural])
        (kinds, fields) = (kinds + 1, fields + kind.fields.count)
        taken.append(kind)
      }
      return taken
    }

    /// The number of kinds of apps from a kind up to a built-in kind; nil if the kind of its parent is not known.
    private func depth(of kind: AppKind) -> Int? {
      guard let parent = kind.parentKind else { return 1 }
      return depths[parent].map { $0 + 1 }
    }
  }
}

extension AppKind {
  /// The kind of the records that are parents of records of this kind; nil for a kind without a parent.
  fileprivate var parentKind: UInt64? {
    guard let parent, case .reference(let kind)? = fields.first(where: { $0.number == parent })?.type else {
      return nil
    }
    return UInt64(kind.rawValue)
  }
}

extension AppSchema {
  /// Checks that all kinds of a given schema were accepted.
  ///
  /// - Throws: `SchemaError` for a kind that the store can't hold.
  package func check(acceptedIn apps: [KnownApp]) throws(SchemaError) {
    let accepted = apps.first { $0.app == app }?.given?.kinds ?? []
    for kind in kinds where !accepted.contains(where: { $0.number == kind.number }) {
      let owner = apps.first { known in
        known.app != app
          && known.schema.kinds.contains { $0.number == kind.number || $0.sharesName(with: kind) }
      }
      throw SchemaError(
        subject: kind.subject,
        rule: owner.map { "has a number or name that the app \($0.app) uses in this store" }
          ?? "needs a parent of a kind that the store knows, with at most \(Limits.appParentsMax) kinds of apps in a row"
      )
    }
  }
}
