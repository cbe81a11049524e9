import Home
import JSONDocument
import Model
import Records
package import Waymark
import WaymarkCare
import WaymarkFiles

/// A command that all listed kinds share, with a name for each: `trip list`, `habit list`.
package protocol KindCommand: NodeCommand {
  static var action: String { get }
  /// The name of the kind.
  var kind: String { get }
}

extension KindCommand {
  package static var name: String { "records.\(action)" }
  package var documentName: String { "\(kind).\(Self.action)" }

  /// - Throws: `WaymarkError` if there is no such kind.
  func listedKind(on node: isolated Node) throws -> Kind {
    guard let found = node.schema.listed.first(where: { $0.name == kind }) else {
      throw WaymarkError.usage("There are no commands for “\(kind)”.", next: .waymark("help"))
    }
    return found
  }
}

/// A field and its value as typed; `[name, value]` in requests.
package struct TypedField: Codable, Sendable {
  package let name: String
  package let value: String

  package init(from decoder: any Decoder) throws {
    var container = try decoder.unkeyedContainer()
    name = try container.decode(String.self)
    value = try container.decode(String.self)
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.unkeyedContainer()
    try container.encode(name)
    try container.encode(value)
  }
}

extension [TypedField]? {
  /// - Parameter repeated: the name of the field that may be given several times.
  /// - Throws: `WaymarkError` for another field that is given twice.
  func pairs(repeated: String? = nil) throws -> TypedRecords.Pairs {
    var pairs: TypedRecords.Pairs = []
    for field in self ?? [] {
      if field.name != repeated, pairs.contains(where: { $0.name == field.name }) {
        throw WaymarkError.usage("The field `\(field.name)` is given twice.")
      }
      pairs.append((field.name, field.value))
    }
    return pairs
  }
}

/// `KIND list`: the records of a kind, filtered and sorted, or what is in the trash.
package struct ListRecords: KindCommand, PromptCommand {
  package static let action = "list"
  package var isReadOnly: Bool { true }

  package let kind: String
  package let deleted: Bool
  /// The typed filters, by name; a filter without a value has the value `true`.
  package let filters: [String: String]
  /// The name of the user's time zone.
  private let zone: String?

  /// A record; if it is in the trash, also its deletion.
  package struct Item: Codable, Sendable {
    package let record: ShownRecord
    package let deletion: ShownDeletion?
  }

  package struct Answer: Codable, Sendable {
    /// The key of the list in the document.
    package let plural: String
    package let items: [Item]
    /// The number of records without the limit.
    package let total: Int
  }

  package func perform(on node: isolated Node) throws -> Answer {
    let kind = try listedKind(on: node)
    let records = node.typedRecords(zone: zone)
    guard !deleted else {
      let items = try records.deleted(kind).map { Item(record: $0.record, deletion: $0.deletion) }
      return Answer(plural: kind.plural, items: items, total: items.count)
    }
    let (found, total) = try records.list(kind) { filters[$0] }
    return Answer(
      plural: kind.plural, items: found.map { Item(record: $0, deletion: nil) }, total: total)
  }
}

extension ListRecords {
  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: DocumentKey.self)
    kind = try container.decode(String.self, forKey: DocumentKey("kind"))
    deleted = try container.decodeIfPresent(Bool.self, forKey: DocumentKey("deleted")) ?? false
    zone = try container.decodeIfPresent(String.self, forKey: DocumentKey("zone"))
    var filters: [String: String] = [:]
    for key in container.allKeys where !["kind", "deleted", "zone"].contains(key.stringValue) {
      if let isGiven = try? container.decode(Bool.self, forKey: key) {
        filters[key.stringValue] = isGiven ? "true" : nil
      } else {
        filters[key.stringValue] = try? container.decode(String.self, forKey: key)
      }
    }
    self.filters = filters
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: DocumentKey.self)
    try container.encode(kind, forKey: DocumentKey("kind"))
    try container.encode(deleted, forKey: DocumentKey("deleted"))
    try container.encodeIfPresent(zone, forKey: DocumentKey("zone"))
    for (name, text) in filters.sorted(by: { $0.key < $1.key }) {
      try container.encode(text, forKey: DocumentKey(name))
    }
  }
}

extension ListRecords {
  /// Whether each record is printed as a line of JSON.
  package var printsLines: Bool { filters.keys.contains("ndjson") }
  /// Whether only some of the records are listed.
  package func isFiltered(_ schema: Schema) -> Bool {
    schema.kind(named: kind).flatMap { parent(of: $0, schema) } != nil
      || !Set(["text", "upcoming", "date", "from", "to"]).isDisjoint(with: filters.keys)
  }

  /// Returns the kind of the record to which the list is limited; nil if it is not.
  package func parent(of kind: Kind, _ schema: Schema) -> Kind? {
    kind.parentKinds.compactMap { schema.kind($0) }.first { filters.keys.contains($0.name) }
  }
}

extension ListRecords.Answer {
  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: DocumentKey.self)
    guard let key = container.allKeys.last else {
      throw DecodingError.dataCorrupted(
        .init(codingPath: decoder.codingPath, debugDescription: "no list of records"))
    }
    plural = key.stringValue
    items = try container.decode([ListRecords.Item].self, forKey: key)
    // A node of an earlier version does not say the number.
    total = try container.decodeIfPresent(Int.self, forKey: DocumentKey("total")) ?? items.count
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: DocumentKey.self)
    try container.encode(total, forKey: DocumentKey("total"))
    try container.encode(items, forKey: DocumentKey(plural))
  }
}

extension ListRecords.Item {
  private enum CodingKeys: CodingKey { case deletedAt }

  package init(from decoder: any Decoder) throws {
    let all = try ShownRecord(from: decoder)
    guard let mark = all.members.firstIndex(where: { $0.key == CodingKeys.deletedAt.stringValue }) else {
      self.init(record: all, deletion: nil)
      return
    }
    // The deletion's members follow the record's. They begin one member before `deletedAt`, with `deleted`.
    self.init(
      record: ShownRecord(Array(all.members.prefix(max(0, mark - 1)))),
      deletion: try ShownDeletion(from: decoder))
  }

  package func encode(to encoder: any Encoder) throws {
    try record.encode(to: encoder)
    try deletion?.encode(to: encoder)
  }
}

/// `KIND show`: one record with all fields. With an output file, an attachment's content is fetched if it is not here.
package struct ShowRecord: KindCommand, PromptCommand, ConfirmableCommand {
  package static let action = "show"
  package typealias Answer = ShownRecord
  package var isReadOnly: Bool { output == nil }
  package var isPrompt: Bool { output == nil }
  package var needsNoWriting: Bool { true }

  package var kind: String
  package var id: String
  package var output: String?
  package var yes: Bool?

  package func perform(on node: isolated Node) throws -> ShownRecord {
    try node.typedRecords(zone: nil).show(listedKind(on: node), id)
  }

  /// Writes the content of an attachment to a file. If it is not on this device, it is fetched first.
  package func perform(on node: isolated Node, _ call: CommandCall) async throws -> ShownRecord {
    let (kind, records) = (try listedKind(on: node), node.typedRecords(zone: nil))
    let shown = try records.show(kind, id)
    guard let output, let content = try records.content(kind, id) else { return shown }
    // This checks the path before the person waits for the file.
    let attachment = try records.attachment(id)
    let path = try OutputFile.path(output, naturally: attachment.name)
    let file = try OutputFile(path, in: node.home, overwrites: yes ?? false)
    if let named = attachment.file {
      try await FileContents(node.core).fetch(
        named, named: attachment.name, tell: call.tellFetching(attachment.name))
    }
    try await FileContents(node.core).copy(content, named: attachment.name, to: file) {
      call.tell(.progress($0, file: path))
    }
    return shown.written(to: path)
  }
}

/// `KIND add`: adds a record.
package struct AddRecord: KindCommand, PromptCommand {
  package static let action = "add"

  package var kind: String
  package var fields: [TypedField]?
  package var zone: String?

  package struct Answer: Codable, Sendable {
    package let id: String
    /// The ids of all added records; nil if there is only one.
    package let ids: [String]?
    /// The name of the first record.
    package var name: String?
  }

  package var isPrompt: Bool { namesNoFile(fields, kind) }

  package func perform(on node: isolated Node) throws -> Answer {
    let (answer, change) = try prepare(on: node, [:])
    try node.core.write(change)
    return try named(answer, on: node)
  }

  /// Adds a file as an attachment, or several files as one attachment each.
  package func perform(on node: isolated Node, _ call: CommandCall) async throws -> Answer {
    let paths = TypedRecords.paths(in: try pairs(), of: try listedKind(on: node))
    let answer = try await FileChanges(node.core).write(adding: paths, { call.tell(.progress($0)) }) {
      try prepare(on: node, $0)
    }
    return try named(answer, on: node)
  }

  private func named(_ answer: Answer, on node: isolated Node) throws -> Answer {
    var answer = answer
    answer.name = try node.typedRecords(zone: zone).title(listedKind(on: node), answer.id)
    return answer
  }

  private func pairs() throws -> TypedRecords.Pairs {
    try fields.pairs(repeated: kind == Kind.attachment.name ? "file" : nil)
  }

  private func prepare(
    on node: isolated Node, _ files: [String: AddedFile]
  ) throws -> (Answer, PreparedChange) {
    let (ids, change) = try node.typedRecords(zone: zone).adding(listedKind(on: node), pairs(), files)
    return (Answer(id: ids[0], ids: ids.count > 1 ? ids : nil), change)
  }
}

/// `KIND edit`: changes fields of a record.
package struct EditRecord: KindCommand, PromptCommand {
  package static let action = "edit"

  package var kind: String
  package var id: String
  package var fields: [TypedField]?
  package var zone: String?

  package struct Answer: Codable, Sendable {
    package let id: String
    package let changed: Bool
  }

  package var isPrompt: Bool { namesNoFile(fields, kind) }

  package func perform(on node: isolated Node) throws -> Answer {
    let (answer, change) = try prepare(on: node, [:])
    try node.core.write(change)
    return answer
  }

  /// Replaces the file of an attachment.
  package func perform(on node: isolated Node, _ call: CommandCall) async throws -> Answer {
    let paths = TypedRecords.paths(in: try fields.pairs(), of: try listedKind(on: node))
    return try await FileChanges(node.core).write(adding: paths, { call.tell(.progress($0)) }) {
      try prepare(on: node, $0)
    }
  }

  private func prepare(
    on node: isolated Node, _ files: [String: AddedFile]
  ) throws -> (Answer, PreparedChange) {
    let (id, change) = try node.typedRecords(zone: zone).editing(
      listedKind(on: node), id, fields.pairs(), files)
    return (Answer(id: id, changed: !change.isEmpty), change)
  }
}

/// Whether typed fields name no file that would have to be read first.
private func namesNoFile(_ fields: [TypedField]?, _ kind: String) -> Bool {
  kind != Kind.attachment.name || fields?.contains { $0.name == "file" } != true
}

/// `KIND delete`: moves a record to the trash, with everything in it.
package struct DeleteRecord: KindCommand, PromptCommand, ConfirmableCommand {
  package static let action = "delete"

  package var kind: String
  package var id: String
  package var force: Bool?
  package var yes: Bool?

  package struct Answer: Codable, Sendable {
    package let id: String
    package let name: String?
    /// The records that are hidden with it.
    package let contents: [ContentCount]
    /// The operation, for `undo`.
    package let operation: OperationID?
  }

  package func perform(on node: isolated Node) throws -> Answer {
    let (record, contents, change) = try node.typedRecords(zone: nil)
      .deleting(listedKind(on: node), id, force: force ?? false, isConfirmed: yes ?? false)
    let operation = try node.core.write(change)
    return Answer(id: record.id, name: record.name, contents: contents, operation: operation)
  }
}

/// `KIND restore`: restores a deleted record.
package struct RestoreRecord: KindCommand, PromptCommand {
  package static let action = "restore"

  package var kind: String
  package var id: String

  package struct Answer: Codable, Sendable {
    package let id: String
    package let name: String?
    package let visible: Bool
    /// The record's parent, if the parent is deleted and so hides the record.
    package let hiddenBy: ShownReference?
  }

  package func perform(on node: isolated Node) throws -> Answer {
    let kind = try listedKind(on: node)
    let records = node.typedRecords(zone: nil)
    let (record, change) = try records.restoring(kind, id)
    try node.core.write(change)
    let (isVisible, hiddenBy) = try records.visibility(kind, record.id)
    return Answer(id: record.id, name: record.name, visible: isVisible, hiddenBy: hiddenBy)
  }
}

/// `trip timeline`: everything in a trip in chronological order.
package struct ShowTimeline: PromptCommand {
  package static let name = "trip.timeline"
  package var isReadOnly: Bool { true }

  package var id: String

  package struct Answer: Codable, Sendable {
    package let id: String
    package let name: String?
    package let items: [Item]
  }

  package struct Item: Codable, Sendable {
    package let kind: String
    package let record: ShownRecord

    package var name: String? { record.text(Kind.itemName) }
    package var start: String? { record.text(Kind.itemStart) }
    package var startZone: String? { record.text(Kind.itemStart, part: 1) }
    package var end: String? { record.text(Kind.itemEnd) }
    /// The zone of the end; nil if there is no end.
    package var endZone: String? { end.flatMap { _ in record.text(Kind.itemEnd, part: 1) ?? startZone } }
    package var cost: ShownMoney? { record.money(Kind.itemCost) }

    private enum CodingKeys: CodingKey { case kind }

    package init(from decoder: any Decoder) throws {
      kind = try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .kind)
      record = ShownRecord(Array(try ShownRecord(from: decoder).members.dropFirst()))
    }

    package init(kind: String, record: ShownRecord) { (self.kind, self.record) = (kind, record) }

    package func encode(to encoder: any Encoder) throws {
      try ShownRecord([.init("kind", .string(kind))] + record.members).encode(to: encoder)
    }
  }

  package func perform(on node: isolated Node) throws -> Answer {
    let (trip, items) = try node.typedRecords(zone: nil).timeline(id)
    return Answer(
      id: trip.id, name: trip.name, items: items.map { Item(kind: $0.kind, record: $0.record) })
  }
}
