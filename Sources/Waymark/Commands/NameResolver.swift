import Records
import Replication
import Storage
import Wire

/// Finds the one record that a name or an id, or the beginning of one, means.
struct NameResolver {
  let store: Store

  /// Exact id, exact name, the same in other letters' case, then the beginning of an id or name.
  func resolve(_ kind: Kind, _ text: String) throws -> RecordRow {
    if let id = RecordText.id(text), let record = try store.visible(kind, id) { return record }
    guard !text.isEmpty else { throw CommandFailure.notFound(kind.name, text, next: listing(kind)) }
    guard kind.nameField != nil else { return try only(kind, text, beginningWith(kind, text)) }
    let records = try store.visible(kind)
    for matches in [exactly(text), ignoringCase(text)] {
      let found = records.filter { matches(kind.names(of: $0)) }
      if !found.isEmpty { return try only(kind, text, found) }
    }
    return try only(kind, text, records.filter { begins(with: text, kind, $0) })
  }

  private func exactly(_ text: String) -> ([String]) -> Bool {
    { names in names.contains { $0.utf8.elementsEqual(text.utf8) } }
  }

  private func ignoringCase(_ text: String) -> ([String]) -> Bool {
    let folded = text.lowercased()
    return { names in names.contains { $0.lowercased() == folded } }
  }

  private func begins(with text: String, _ kind: Kind, _ record: RecordRow) -> Bool {
    if let digits = RecordText.idPrefix(text), record.key.id.description.hasPrefix(digits) { return true }
    let folded = text.lowercased()
    return kind.names(of: record).contains { $0.lowercased().hasPrefix(folded) }
  }

  private func beginningWith(_ kind: Kind, _ text: String) throws -> [RecordRow] {
    guard let digits = RecordText.idPrefix(text) else { return [] }
    var query = RecordQuery(kind.number)
    query.idPrefix = digits
    query.limit = Self.candidatesMax + 1
    return try store.records(query)
  }

  private func only(_ kind: Kind, _ text: String, _ found: [RecordRow]) throws -> RecordRow {
    guard let first = found.first else {
      throw CommandFailure.notFound(kind.name, text, next: listing(kind))
    }
    guard found.count == 1 else {
      let shown = found.prefix(Self.candidatesMax).map { label(kind, $0) }
      let rest = found.count - shown.count
      throw CommandFailure.ambiguous(kind.name, text, shown + (rest > 0 ? ["and \(rest) more"] : []))
    }
    return first
  }

  private func label(_ kind: Kind, _ record: RecordRow) -> String {
    let id = record.key.id.uuid
    return kind.title(of: record).map { "\($0)  \(id)" } ?? id
  }

  private func listing(_ kind: Kind) -> String? {
    KindCommand.kinds.contains(kind.name) ? "waymark \(kind.name) list" : nil
  }

  private static let candidatesMax = 20
}

extension Kind {
  /// The field by which people name a record of this kind.
  var nameField: FieldNumber? { (field(named: "name") ?? field(named: "fileName"))?.number }

  /// What a record may be called.
  func names(of record: RecordRow) -> [String] {
    ["name", "fileName", "displayName", "key"].compactMap { name in
      field(named: name).flatMap { record.text($0.number) }
    }
  }

  /// What a record is called in messages and lists.
  func title(of record: RecordRow) -> String? {
    if number == KindNumbers.category, let field = field(named: "displayName"),
      let name = record.text(field.number), !name.isEmpty
    {
      return name
    }
    return nameField.flatMap { record.text($0) }
  }
}

extension NameResolver: ReferenceResolver {
  func record(_ kind: Kind, named name: String) throws -> RecordID { try resolve(kind, name).key.id }

  func key(_ kind: Kind, named name: String) throws -> String {
    let record = try resolve(kind, name)
    return kind.field(named: "key").flatMap { record.text($0.number) } ?? record.key.id.uuid
  }
}
