import Records
import Replication
import Replication
import Testing
import Vectors
import Wire

/// Protocol/records.md, "Kinds of apps".
struct AppSchemaTests {
  private struct Document: Decodable { let schemas: [Row] }

  struct Row: Decodable, CustomTestStringConvertible {
    let name: String
    let app: String
    let kinds: String
    /// What a node learns; nil if it ignores the schema.
    let learned: [Learned]?

    var testDescription: String { name }
  }

  struct Learned: Decodable {
    let number: UInt64
    let name: String
    let plural: String
    let parent: UInt32?
    let fields: [LearnedField]
  }

  struct LearnedField: Decodable {
    let number: UInt32
    let name: String
    let type: String

    init(from decoder: any Decoder) throws {
      var items = try decoder.unkeyedContainer()
      (number, name) = (try items.decode(UInt32.self), try items.decode(String.self))
      type = try items.decode(String.self)
    }
  }

  private static func rows() throws -> [Row] { try vectors("schemas.json", as: Document.self).schemas }

  @Test(arguments: try rows()) func `a node learns from a schema what the vectors say`(_ row: Row) throws {
    let kinds = try Value(encoded: try #require(bytesFromHexadecimal(row.kinds))[...])
    let schema = AppSchema(app: row.app, kinds: kinds)
    guard let learned = row.learned else {
      #expect(schema == nil)
      return
    }
    let found = try #require(schema)
    #expect(found.kinds.map(\.number) == learned.map(\.number))
    #expect(found.kinds.map(\.name) == learned.map(\.name))
    #expect(found.kinds.map(\.plural) == learned.map(\.plural))
    #expect(found.kinds.map(\.parent) == learned.map(\.parent))
    for (kind, wanted) in zip(found.kinds, learned) {
      #expect(kind.fields.map(\.number) == wanted.fields.map(\.number))
      #expect(kind.fields.map(\.name) == wanted.fields.map(\.name))
      #expect(kind.fields.map(\.type.appName) == wanted.fields.map { Optional($0.type) })
    }
    // What was read is written as it was, without what this version does not know.
    #expect(AppSchema(app: row.app, kinds: found.kindsValue) == found)
  }

  // MARK: Several schemas

  private static func kind(
    _ number: UInt64, _ name: String, parent: UInt64? = nil, words: [String] = [], charactersMax: Int? = nil,
    more: [AppField] = []
  ) throws -> AppKind {
    let reference = try parent.map { AppField(9, "owner", .reference(try #require(KindNumber($0)))) }
    return AppKind(
      number, name, plural: name + "s", parent: parent == nil ? nil : 9,
      [AppField(1, "name", .text, charactersMax: charactersMax, words: words)]
        + [reference].compactMap(\.self)
        + more)
  }

  @Test func `two versions of an app give the union of both, and allow what either allows`() throws {
    let field = AppField(2, "isPacked", .bool)
    let old = try AppSchema(
      app: "com.a",
      [Self.kind(2048, "a-item", words: ["light"], charactersMax: 10), Self.kind(2049, "a-bag")])
    let new = try AppSchema(
      app: "com.a", [Self.kind(2048, "a-item", words: ["light", "heavy"], charactersMax: 80, more: [field])])
    let merged = new.merged(with: old)
    #expect(merged.kinds.map(\.number) == [2048, 2049])
    #expect(merged.kinds[0].fields.map(\.number) == [1, 2])
    #expect(merged.kinds[0].fields[0].words == ["light", "heavy"])
    #expect(merged.kinds[0].fields[0].charactersMax == 80)
    #expect(old.merged(with: new).merged(with: merged) == old.merged(with: new))
    #expect(merged.merged(with: old) == merged)
  }

  private static func known(_ apps: AppSchema..., given: Set<String> = []) -> [String] {
    let apps = apps.map { given.contains($0.app) ? KnownApp(given: $0) : KnownApp(learned: $0) }
    return Schema(apps).kinds.filter(\.isOfApp).map(\.name)
  }

  @Test func `of two apps with one number or name, the first is known, and that of this device before all`()
    throws
  {
    let first = try AppSchema(app: "com.a", [Self.kind(2048, "a-item")])
    let second = try AppSchema(
      app: "com.b", [Self.kind(2048, "b-item"), Self.kind(2049, "a-item"), Self.kind(2050, "b-bag")])
    #expect(Self.known(first, second) == ["a-item", "b-bag"])
    #expect(Self.known(second, first) == ["b-item", "a-item", "b-bag"])
    #expect(Self.known(second, first, given: ["com.a"]) == ["a-item", "b-bag"])
    let accepted = Schema.accepted([KnownApp(given: first), KnownApp(given: second)])
    try first.check(acceptedIn: accepted)
    let refused = #expect(throws: SchemaError.self) { try second.check(acceptedIn: accepted) }
    #expect(refused?.description.contains("com.a") == true)
  }

  @Test func `a kind whose ancestors are unknown, too many, or form a circle is left out`() throws {
    let schema = try AppSchema(
      app: "com.a",
      [
        Self.kind(2048, "a-circle", parent: 2049), Self.kind(2049, "b-circle", parent: 2048),
        Self.kind(2050, "below-circle", parent: 2049), Self.kind(2051, "below-unknown", parent: 3000),
        Self.kind(2052, "below-below-trip", parent: 2053), Self.kind(2053, "below-trip", parent: 1),
      ])
    #expect(Self.known(schema).sorted() == ["below-below-trip", "below-trip"])
    let chain = try AppSchema(
      app: "com.b", (0..<6).map { try Self.kind(3_000 + $0, "level-\($0)", parent: $0 == 0 ? 1 : 2_999 + $0) }
    )
    #expect(Self.known(chain) == ["level-0", "level-1", "level-2", "level-3"])
  }

  @Test func `what other devices write of an app never displaces what the app on this device defines`() throws
  {
    let own = try AppSchema(
      app: "com.a",
      (0..<20).map { try Self.kind(4_000 + $0, "own-\($0)", more: [AppField(2, "count", .integer)]) })
    let more = (10..<70).map { AppField($0, "f\($0)", .text) }
    let hostile = try AppSchema(
      app: "com.a",
      (0..<12).map { try Self.kind(2_048 + $0, "other-\($0)", more: more) }
        + (0..<20).map { try Self.kind(4_000 + $0, "changed-\($0)", more: more) })
    let known = KnownApp(learned: hostile).giving(own)
    let accepted = Schema.accepted([known])
    try own.check(acceptedIn: accepted)
    let schema = Schema(accepted)
    for kind in own.kinds {
      let held = try #require(KindNumber(kind.number).flatMap { schema.kind($0) })
      #expect(held.name == kind.name && held.fields.count >= kind.fields.count)
    }
    #expect(schema.kinds.filter(\.isOfApp).flatMap(\.fields).count <= Limits.knownFieldsMax)
    #expect(Schema.accepted(accepted) == accepted)
  }

  @Test func `the kinds and fields of all apps together are limited`() throws {
    let fields = (1...40).map { AppField($0, "f\($0)", .text) }
    let apps = try (0..<4).map { app in
      try AppSchema(
        app: "com.a\(app)",
        (0..<20).map { kind in
          let number = UInt64(2_048 + app * 100 + kind)
          return AppKind(number, "kind-\(number)", plural: "kinds-\(number)", fields)
        })
    }
    let accepted = Schema.accepted(apps.map { KnownApp(learned: $0) })
    let kinds = accepted.flatMap(\.schema.kinds)
    #expect(kinds.count <= Limits.knownKindsMax)
    #expect(kinds.flatMap(\.fields).count <= Limits.knownFieldsMax && kinds.count == 25)
  }

  @Test func `no built-in kind and no name of a table could be that of an app`() {
    for kind in Schema.builtIn.kinds {
      #expect(!kind.isOfApp && !kind.name.contains("-") && !kind.plural.contains("-"))
      #expect(!kind.table.hasPrefix("app_") && kind.view?.hasPrefix("app_") != true)
    }
  }
}
