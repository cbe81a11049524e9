// Protocol/records.md, "Kinds of apps": what a store knows of several schemas.

import Replication
import Wire

/// A schema that a store knows.
package struct KnownApp: Hashable, Sendable {
  package let schema: AppSchema
  /// Whether an app on this device has opened the store with the schema. Otherwise it was learned from other devices.
  package let isGiven: Bool

  package init(_ schema: AppSchema, isGiven: Bool) { (self.schema, self.isGiven) = (schema, isGiven) }
}

extension Schema {
  /// Returns what of some schemas a store can hold together. Given schemas come before learned ones, so that what another
  /// device writes never displaces a kind of an app on this device. Left out are kinds whose number or name an earlier
  /// schema uses, kinds without a known parent, kinds with too many ancestors, and what exceeds the limits.
  package static func accepted(_ apps: [KnownApp]) -> [KnownApp] {
    var room = Room()
    return (apps.filter(\.isGiven) + apps.filter { !$0.isGiven }).prefix(Limits.appsMax).compactMap { app in
      let kinds = room.take(app.schema.kinds)
      return kinds.isEmpty ? nil : KnownApp(AppSchema(valid: app.schema.app, kinds), isGiven: app.isGiven)
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

    /// Accepts kinds in any order: a kind may follow the kind of its parent or come before it.
    mutating func take(_ offered: [AppKind]) -> [AppKind] {
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
    let accepted = apps.first { $0.schema.app == app }?.schema.kinds ?? []
    for kind in kinds where !accepted.contains(where: { $0.number == kind.number }) {
      let owner = apps.first { known in
        known.schema.app != app
          && known.schema.kinds.contains { $0.number == kind.number || $0.sharesName(with: kind) }
      }
      throw SchemaError(
        subject: kind.subject,
        rule: owner.map { "has a number or name that the app \($0.schema.app) uses in this store" }
          ?? "needs a parent of a kind that the store knows, with at most \(Limits.appParentsMax) kinds of apps in a row"
      )
    }
  }
}
