import Records
import Replication
import Testing
import Wire

/// The rules that the kinds of an app follow, and what two versions of an app allow together.
struct AppRuleTests {
  private static func kind(
    _ number: UInt64 = 2_048, _ name: String = "pack-item", plural: String = "pack-items",
    parent: FieldNumber? = nil, title: FieldNumber? = nil, order: [FieldNumber] = [],
    fields: [AppField] = [AppField(1, "name", .text)]
  ) -> AppKind {
    AppKind(number, name, plural: plural, parent: parent, title: title, order: order, fields)
  }

  private static func fields(_ count: Int) -> [AppField] {
    (1...count).map { AppField(FieldNumber($0), "f\($0)", .bool) }
  }

  private static func words(_ count: Int) -> [AppField] {
    [AppField(1, "name", .text, words: (0..<count).map { "w\($0)" })]
  }

  static let refusedApps: [(String, [AppKind], String)] = [
    ("packing", [kind()], "needs a name in reverse domain form"), ("", [kind()], "needs a name in reverse"),
    ("com.Example", [kind()], "needs a name in reverse"), ("com..a", [kind()], "needs a name in reverse"),
    ("com.a_b", [kind()], "needs a name in reverse"), ("com.a-", [kind()], "needs a name in reverse"),
    ("com.a", [], "can have from 1 to"),
    ("com.a", [kind(2_047)], "needs a number from 2048 to 4095, not 2047"),
    ("com.a", [kind(4_096)], "needs a number from 2048 to 4095, not 4096"),
    (
      "com.a", [kind(2_048), kind(2_048, "b-item", plural: "b-items")], "has the number of another kind, 2048"
    ),
    (
      "com.a", [kind(2_048), kind(2_049, "b-item", plural: "pack-item")], "has a name of the kind “pack-item”"
    ),
  ]

  static let refusedKinds: [(AppKind, String)] = [
    (kind(2_048, "item", plural: "items"), "needs names of lower-case words joined by hyphens"),
    (kind(2_048, "pack-item", plural: "items"), "needs names of lower-case words"),
    (kind(2_048, "Pack-item"), "needs names of lower-case words"),
    (kind(2_048, "1-item"), "needs names of lower-case words"),
    (kind(2_048, "pack--item"), "needs names of lower-case words"),
    (kind(2_048, "pack-item", plural: "pack-item"), "needs a plural that differs"),
    (kind(fields: []), "can have from 1 to 64 fields"),
    (kind(fields: fields(65)), "can have from 1 to 64 fields"),
    (kind(parent: 7), "refers to a field 7 that it does not have"),
    (kind(title: 7), "refers to a field 7 that it does not have"),
    (kind(order: [1, 7]), "refers to a field 7 that it does not have"),
    (kind(title: 1, fields: [AppField(1, "count", .integer)]), "needs a title that is a text"),
    (kind(parent: 1), "needs a parent that is a reference"),
  ]

  static let refusedFields: [([AppField], String)] = [
    ([AppField(0, "name", .text)], "needs a number of its own, from 1 to 65535, not 0"),
    ([AppField(65_536, "name", .text)], "needs a number of its own"),
    ([AppField(1, "a", .text), AppField(1, "b", .text)], "needs a number of its own"),
    ([AppField(1, "Name", .text)], "needs a name of letters and digits"),
    ([AppField(1, "is packed", .bool)], "needs a name of letters and digits"),
    ([AppField(1, "größe", .float)], "needs a name of letters and digits"),
    ([AppField(1, "", .text)], "needs a name of letters and digits"),
    ([AppField(1, "id", .text)], "because id is used already"),
    ([AppField(1, "a", .text), AppField(2, "a", .bool)], "because a is used already"),
    (
      [AppField(1, "price", .money), AppField(2, "priceCurrency", .text)],
      "because priceCurrency is used already"
    ),
    ([AppField(1, "due", .timestamp), AppField(2, "dueUTC", .text)], "because dueUTC is used already"),
    (
      [AppField(1, "bagName", .text), AppField(2, "bagID", .reference(KindNumbers.trip))],
      "because bagName is used already"
    ),
    ([AppField(1, "photo", .blob)], "has a type that only built-in kinds have"),
    ([AppField(1, "days", .list(.schedule))], "has a type that only built-in kinds have"),
    (words(65), "can have 64 words"), ([AppField(1, "size", .text, words: ["a", ""])], "can have 64 words"),
    ([AppField(1, "size", .text, words: ["a\u{1b}[31m"])], "can have 64 words"),
  ]

  private func refusal(_ app: String, _ kinds: [AppKind]) -> SchemaError? {
    do throws(SchemaError) {
      _ = try AppSchema(app: app, kinds)
      return nil
    } catch {
      return error
    }
  }

  @Test(arguments: refusedApps)
  func `an app needs a name and kinds of its own`(app: String, kinds: [AppKind], rule: String) {
    let error = refusal(app, kinds)
    #expect(error?.rule.contains(rule) == true, "\(String(describing: error))")
  }

  @Test(arguments: refusedKinds)
  func `a kind of an app needs names, fields, and a parent and a title among them`(
    kind: AppKind, rule: String
  ) {
    let error = refusal("com.a", [kind])
    #expect(error?.rule.contains(rule) == true, "\(String(describing: error))")
    #expect(error?.subject == "the kind “\(kind.name)”")
  }

  @Test func `no record of an app is the parent of one of its own kind`() throws {
    let number = try #require(KindNumber(2_048))
    func kind(_ parent: KindNumber) -> AppKind {
      Self.kind(parent: 1, fields: [AppField(1, "upID", .reference(parent))])
    }
    let rule = "needs a parent that is a reference to a record of another kind"
    #expect(refusal("com.a", [kind(number)])?.rule == rule)
    #expect(refusal("com.a", [kind(KindNumbers.trip)]) == nil)
  }

  @Test(arguments: refusedFields)
  func `a field of an app needs a number, a name and a type that others can have`(
    fields: [AppField], rule: String
  ) {
    let error = refusal("com.a", [Self.kind(fields: fields)])
    #expect(error?.rule.contains(rule) == true, "\(String(describing: error))")
    #expect(error?.subject.hasPrefix("the field “\(fields.last?.name ?? "")” of the kind") == true)
  }

  @Test func `everything at its limit is accepted`() {
    let reference = AppField(64, "tripID", .reference(KindNumbers.trip))
    let kinds = [
      Self.kind(
        2_048, parent: 64, title: 63, fields: Self.fields(62) + [AppField(63, "title", .text), reference]),
      Self.kind(4_095, "b-1", plural: "b-2", order: [1], fields: Self.words(64)),
      Self.kind(3_000, "c-item", plural: "c-items", fields: [AppField(65_535, "x", .any)]),
    ]
    #expect(refusal("com.1a.b-c", kinds) == nil)
  }

  // MARK: Two versions

  private func merged(_ own: [AppField], _ other: [AppField]) throws -> [AppField] {
    let schemas = try [own, other].map { try AppSchema(app: "com.a", [Self.kind(fields: $0)]) }
    return schemas[0].merged(with: schemas[1]).kinds[0].fields
  }

  @Test func `a rule that one of two versions does not have does not hold`() throws {
    let strict = AppField(1, "name", .text, isRequired: true, charactersMax: 10, words: ["a"])
    let free = AppField(1, "name", .text)
    #expect(try merged([strict], [free]) == [free])
    #expect(try merged([free], [strict]) == [free])
    #expect(try merged([strict], [strict]) == [strict])
    // More words than a field can have are any text.
    let many = AppField(
      1, "name", .text, isRequired: true, charactersMax: 5, words: (0..<64).map { "w\($0)" })
    let both = AppField(1, "name", .text, isRequired: true, charactersMax: 10)
    #expect(try merged([strict], [many]) == [both])
  }

  @Test func `what does not fit beside the own definitions is left out`() throws {
    let own = [AppField(1, "count", .integer, isRequired: true), AppField(2, "bagName", .text)]
    let other = [
      AppField(1, "count", .text), AppField(3, "bagID", .reference(KindNumbers.trip)),
      AppField(4, "more", .bool),
    ]
    #expect(try merged(own, other) == own + [AppField(4, "more", .bool)])
    let first = try AppSchema(app: "com.a", [Self.kind(2_048)])
    let second = try AppSchema(
      app: "com.a", [Self.kind(2_049), Self.kind(2_050, "b-item", plural: "b-items")])
    #expect(first.merged(with: second).kinds.map(\.number) == [2_048, 2_050])
    // The same the other way round, where the kind without a rival comes first.
    #expect(second.merged(with: first).kinds.map(\.number) == [2_049, 2_050])
  }

  @Test func `a schema without the kinds that others have keeps the rest`() throws {
    let schema = try AppSchema(
      app: "com.a",
      [
        Self.kind(2_048), Self.kind(2_049, "b-item", plural: "b-items"),
        Self.kind(2_050, "c-item", plural: "c-items"),
      ])
    let others = [
      Self.kind(2_048, "x-item", plural: "x-items"), Self.kind(3_000, "y-item", plural: "c-item"),
    ]
    #expect(schema.without(kindsLike: others).kinds.map(\.number) == [2_049])
    #expect(schema.without(kindsLike: []) == schema)
    #expect(schema.without(kindsLike: schema.kinds).kinds.isEmpty)
  }
}
