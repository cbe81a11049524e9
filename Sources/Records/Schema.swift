// Protocol/records.md, "Kinds" and "Kinds of apps"

package import Replication
import Wire

/// The kinds of records that a store knows: the built-in ones and those of apps. Records of other kinds are stored,
/// counted and forwarded, but not shown.
package final class Schema: Sendable {
  /// The built-in kinds in the order in which people see them, then the kinds of apps.
  package let kinds: [Kind]
  /// The kinds whose records can have children.
  package let parents: Set<KindNumber>
  /// The fields that can name a file. Kinds without such a field are missing.
  package let fileFields: [KindNumber: [FieldNumber]]
  private let byNumber: [KindNumber: Kind]
  private let byName: [String: Kind]
  private let children: [KindNumber: [Kind]]

  init(_ kinds: [Kind]) {
    self.kinds = kinds
    byNumber = Dictionary(kinds.map { ($0.number, $0) }, uniquingKeysWith: { first, _ in first })
    byName = Dictionary(
      kinds.flatMap { kind in [(kind.name, kind), (kind.plural, kind)] },
      uniquingKeysWith: { first, _ in first })
    var children: [KindNumber: [Kind]] = [:]
    for kind in kinds {
      for parent in kind.parentKinds { children[parent, default: []].append(kind) }
    }
    self.children = children
    parents = Set(children.keys)
    fileFields = kinds.reduce(into: [:]) { found, kind in
      let fields = kind.fields.filter { $0.type == .blob }.map(\.number)
      if !fields.isEmpty { found[kind.number] = fields }
    }
  }

  /// The built-in kinds alone.
  package static let builtIn = Schema([
    .trip, .lodging, .transportation, .leg, .activity, .organization, .address, .attachment, .habit,
    .category, .habitEntry, .profile, .setting, .schema,
  ])

  /// Returns the kind with a number; nil for a kind of a newer version or of an app that the store does not know.
  package func kind(_ number: KindNumber) -> Kind? { byNumber[number] }

  /// Returns the kind with a number that is stored in a value; nil if the number is invalid or the kind is not known.
  package func kind(number: Int64) -> Kind? {
    UInt64(exactly: number).flatMap { KindNumber($0) }.flatMap { kind($0) }
  }

  /// Returns the kind that has this singular or plural name on the command line.
  package func kind(named name: String) -> Kind? { byName[name] }

  /// Returns the name of the kind with a number; a kind that is not known is named by its number, as in `kind 77`.
  package func name(_ number: KindNumber) -> RecordKind {
    RecordKind(rawValue: kind(number)?.name ?? "kind \(number.rawValue)")
  }

  /// Returns the kinds whose records can be children of records of a kind.
  package func children(of kind: KindNumber) -> [Kind] { children[kind] ?? [] }

  /// Reports whether records of a kind can have children.
  package func canHaveChildren(_ kind: KindNumber) -> Bool { parents.contains(kind) }

  /// The kinds that have their own commands, in the order in which the help lists them: kinds whose records can
  /// belong to records of several kinds come last.
  package var listed: [Kind] {
    let listed = kinds.filter { $0.listing != nil }
    return listed.filter { $0.parentKinds.count < 2 } + listed.filter { $0.parentKinds.count >= 2 }
  }
}
