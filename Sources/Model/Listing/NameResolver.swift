import Platform
import Home
import LogStorage
import Reasons
package import Records
package import Replication
package import Storage
package import Wire

/// Finds the record that a user means by a name or an id, or by a part of either.
package struct NameResolver {
  let store: Store
  var scope = Scope.visible
  /// Whether a text may also occur in the middle of a name. Commands that delete don't accept that.
  var matchesInside = true

  package init(store: Store, scope: Scope = .visible) { (self.store, self.scope) = (store, scope) }

  /// The records among which a name is looked up.
  package enum Scope {
    case visible
    /// Records that are deleted, or hidden because a record that they belong to is deleted.
    case gone
    /// All records, including those whose insert has not arrived yet, although some of their fields have.
    case all

    func holds(_ record: RecordRow) -> Bool {
      switch self {
      case .visible: record.isVisible
      case .gone: !record.isVisible && record.life != nil
      case .all: true
      }
    }
  }

  /// What a text can be, in the order in which the interpretations are tried.
  private enum Match: Int, Comparable {
    case id
    case name
    case nameIgnoringCase
    /// The beginning of a name, or the beginning or the end of an id.
    case beginning
    /// A part of a name, regardless of case and accents.
    case inside

    static func < (left: Match, right: Match) -> Bool { left.rawValue < right.rawValue }
  }

  /// Returns the only record that a text can mean. Tries the text as an exact id, an exact name, a name regardless of
  /// case, then as the beginning of a name or the beginning or end of an id, and then as a part of a name.
  package func resolve(_ kind: Kind, _ text: String) throws -> RecordRow {
    try only(kind, text, try find(kind, text))
  }

  /// Returns all records that a text can mean. The interpretations are tried in the same order as in `resolve`, and
  /// the first one that finds any records decides.
  package func find(_ kind: Kind, _ text: String) throws -> [RecordRow] { try matches(kind, text).records }

  private func matches(_ kind: Kind, _ text: String) throws -> (match: Match, records: [RecordRow]) {
    if let id = RecordText.id(text), let record = try store.record(RecordKey(kind: kind.number, id: id)),
      scope.holds(record)
    {
      return (.id, [record])
    }
    guard !text.isEmpty else { return (.inside, []) }
    guard kind.hasNames else { return (.beginning, try havingDigits(kind, text)) }
    return try named(kind, text)
  }

  private func named(_ kind: Kind, _ text: String) throws -> (match: Match, records: [RecordRow]) {
    var records: [RecordRow] = []
    try forEach(kind) { records.append($0) }
    let (lower, folded) = (text.lowercased(), FoldedText.of(text))
    let tests: [(match: Match, test: (RecordRow) -> Bool)] = [
      (.name, { kind.names(of: $0).contains { $0.utf8.elementsEqual(text.utf8) } }),
      (.nameIgnoringCase, { kind.names(of: $0).contains { $0.lowercased() == lower } }),
      (.beginning, { begins(with: lower, kind, $0) }),
      (.inside, { kind.names(of: $0).contains { FoldedText.contains($0, folded) } }),
    ]
    for (match, test) in tests where match != .inside || matchesInside {
      let found = records.filter(test)
      if !found.isEmpty { return (match, found) }
    }
    return (.inside, [])
  }

  /// Calls the body with each record of a kind that is in scope, ordered by id.
  package func forEach(_ kind: Kind, _ body: (RecordRow) throws -> Void) throws {
    var query = RecordQuery(kind.number)
    query.visibleOnly = scope == .visible
    try store.forEach(query) { if scope.holds($0) { try body($0) } }
  }

  private func begins(with lower: String, _ kind: Kind, _ record: RecordRow) -> Bool {
    if let digits = RecordText.idDigits(lower) {
      let id = record.key.id.description
      if id.hasPrefix(digits) || digits.utf8.count >= ShortID.digitsMin && id.hasSuffix(digits) {
        return true
      }
    }
    return kind.names(of: record).contains { $0.lowercased().hasPrefix(lower) }
  }

  private func havingDigits(_ kind: Kind, _ text: String) throws -> [RecordRow] {
    guard let digits = RecordText.idDigits(text) else { return [] }
    var query = RecordQuery(kind.number)
    query.idDigits = digits
    query.visibleOnly = scope == .visible
    return try store.records(query).filter(scope.holds)
  }

  private func only(_ kind: Kind, _ text: String, _ found: [RecordRow]) throws -> RecordRow {
    guard let first = found.first else {
      throw try inTrash(kind, text) ?? .notFound(kind.noun, text, next: listing(kind))
    }
    guard found.count == 1 else {
      throw WaymarkError.ambiguous(kind.noun, text, Self.shown(found.map { label(kind, $0) }))
    }
    return first
  }

  /// Returns the error for a text that means a record in the trash; nil if it means none.
  private func inTrash(_ kind: Kind, _ text: String) throws -> WaymarkError? {
    guard scope == .visible, kind.listing != nil,
      let record = try NameResolver(store: store, scope: .gone).find(kind, text).first(where: {
        try store.completeErasure(of: $0) == nil
      }), let deletion = try store.deletion(hiding: record)
    else { return nil }
    let time = CivilTime.offsets.text(
      milliseconds: deletion.author.origin.stamp.clock.milliseconds, zone: CivilTime.ownZoneName)
    let above = store.schema.kind(deletion.record.kind) ?? kind
    let name = try store.title(deletion.record) ?? deletion.record.id.uuid
    let with: LocalizableText =
      deletion.record == record.key ? "" : " with the \(above.noun) “\(shortened(name))”"
    return .missing(
      "“\(shortened(kind.title(of: record) ?? text))” is in the trash\(with) since "
        + "\(time.prefix(16).replacing("T", with: " ")).",
      next: .waymark("\(above.name) restore \(shellWord(name))"))
  }

  /// Returns the first 20 candidates, followed by the number of the remaining ones if there are more.
  package static func shown(_ candidates: [String]) -> [String] {
    let rest = candidates.count - candidatesMax
    return candidates.prefix(candidatesMax) + (rest > 0 ? ["and \(rest) more"] : [])
  }

  package func label(_ kind: Kind, _ record: RecordRow) -> String {
    let id = record.key.id.uuid
    return kind.title(of: record).map { "\($0)  \(id)" } ?? id
  }

  private func listing(_ kind: Kind) -> Step? {
    guard kind.listing != nil else { return nil }
    return .waymark("\(kind.name) list" + (scope == .gone ? " --deleted" : ""))
  }

  private static let candidatesMax = 20
}

extension Kind {
  /// The field that contains the name of a record; nil if records of this kind have no name.
  var nameField: FieldNumber? { title ?? (field(named: "name") ?? field(named: "fileName"))?.number }

  /// Returns all names by which a record can be found.
  package func names(of record: RecordRow) -> [String] {
    namingFields.compactMap { record.text($0) }
  }

  /// Whether a text is the whole id or a whole name of a record, regardless of case.
  func isWhole(_ text: String, of record: RecordRow) -> Bool {
    if let id = RecordText.id(text) { return id == record.key.id }
    // A short id was copied from a list.
    if let digits = RecordText.idDigits(text), digits.utf8.count >= ShortID.digits,
      record.key.id.description.hasSuffix(digits)
    {
      return true
    }
    return names(of: record).contains { $0.lowercased() == text.lowercased() }
  }

  /// Whether records of this kind have names; habit entries, for example, have none.
  var hasNames: Bool { !namingFields.isEmpty }

  /// Returns the name under which messages and lists show a record.
  package func title(of record: RecordRow) -> String? {
    if number == KindNumbers.category, let field = field(named: "displayName"),
      let name = record.text(field.number), !name.isEmpty
    {
      return name
    }
    let name = nameField.flatMap { record.text($0) }
    return number == KindNumbers.leg && name?.isEmpty != false ? route(of: record) : name
  }

  /// Returns the places of a leg, for one without a service number: `Rome – Milan`, or one of them if the other is
  /// not known.
  private func route(of leg: RecordRow) -> String? {
    let places = ["departureLocationName", "arrivalLocationName"].compactMap { leg.text(number($0)) }
      .filter { !$0.isEmpty }
    return places.isEmpty ? nil : places.joined(separator: " – ")
  }
}

extension NameResolver: ReferenceResolver {
  package func record(_ kind: KindNumber, named name: String) throws -> RecordID {
    try resolve(try known(kind), name).key.id
  }

  package func key(_ kind: KindNumber, named name: String) throws -> String {
    let kind = try known(kind)
    let record = try resolve(kind, name)
    return kind.field(named: "key").flatMap { record.text($0.number) } ?? record.key.id.uuid
  }

  private func known(_ number: KindNumber) throws -> Kind {
    guard let kind = store.schema.kind(number) else {
      throw WaymarkError.notFound("kind of record", "\(number.rawValue)")
    }
    return kind
  }
}

extension NameResolver {
  /// Returns the record of any kind that a name or id means, visible or not; the word `profile` means the profile.
  package func anyRecord(_ text: String) throws -> RecordRow {
    if text.lowercased() == Kind.profile.name, let profile = try store.record(FixedRecords.profile) {
      return profile
    }
    var resolver = self
    resolver.scope = .all
    let matches = try store.schema.kinds.map { kind in (kind, try resolver.matches(kind, text)) }
    // A whole name of one kind takes precedence over a part of a name of another.
    let best = matches.filter { !$0.1.records.isEmpty }.map(\.1.match).min()
    let found = matches.filter { $0.1.match == best }.flatMap { kind, matches in
      matches.records.map { (kind, $0) }
    }
    // Visible records take precedence over records that are not visible.
    let visible = found.filter { $0.1.isVisible }
    let meant = visible.isEmpty ? found : visible
    guard let first = meant.first else {
      throw WaymarkError.notFound("record", text, next: .waymark("history"))
    }
    guard meant.count == 1 else {
      let labels = meant.map { "\($0.0.name) \(label($0.0, $0.1))" }
      throw WaymarkError.ambiguous("record", text, Self.shown(labels))
    }
    return first.1
  }

  /// Returns the label of the record that a text means, of whatever kind. If it can mean several records, returns
  /// their labels; if it means none, returns an empty list.
  package func anyRecordLabels(_ text: String) throws -> [String] {
    do {
      let record = try anyRecord(text)
      let kind = store.schema.kind(record.key.kind)
      return ["\(kind?.name ?? "record") \(kind.map { label($0, record) } ?? record.key.id.uuid)"]
    } catch let failure as WaymarkError {
      return failure.candidates
    }
  }

  /// Returns the record that a reference means, visible or not.
  package func record(_ reference: RecordReference) throws -> RecordRow {
    let kind = reference.kind.rawValue
    guard let known = store.schema.kind(named: kind) else {
      throw WaymarkError.notFound("kind of record", kind)
    }
    let id = RecordID(reference.id)
    guard let row = try store.record(RecordKey(kind: known.number, id: id)) else {
      throw WaymarkError.notFound(known.noun, id.uuid)
    }
    return row
  }
}
