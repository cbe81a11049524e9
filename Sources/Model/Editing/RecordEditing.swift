import Home
import Reasons
import Records
import Replication
import Storage
import Wire

/// Checks the fields that a user typed and turns them into the entries that create or change one record.
struct RecordEditing {
  let store: Store
  let kind: Kind
  /// The record to edit; nil for a new record.
  let held: RecordRow?
  let now: Moment
  let ownZone: String
  /// The files that the typed fields name, by path.
  let files: [String: AddedFile]

  /// A new version 7 UUID for a new record.
  private var newID: RecordID { RecordID(milliseconds: now, random: random16()) }

  init(
    store: Store, kind: Kind, held: RecordRow?, now: Moment, ownZone: String,
    files: [String: AddedFile] = [:]
  ) {
    self.files = files
    self.store = store
    self.kind = kind
    self.held = held
    self.now = now
    self.ownZone = ownZone
  }

  /// Returns the key of a new record and the entries that create it.
  func add(_ pairs: [(name: String, value: String)]) throws -> (RecordKey, [EntryDraft]) {
    var given = try split(pairs, into: nil)
    fillIn(&given.fields)
    let key = try newKey(&given.fields)
    let existing = try store.record(key)
    if let existing, existing.isAlive {
      throw WaymarkError.usage("Another \(kind.noun) already has this id.")
    }
    try checkTyped(given.fields, isNew: true)
    // An empty list is a valid value in exported files, and an attached file can be empty. Other empty values are not
    // written.
    let fields = given.fields.filter { !$0.value.isEmpty || [.array([]), .bytes([])].contains($0.value) }
    return (
      key, given.others + EntryDraft.putting(key, fields + left(of: existing, by: fields), on: existing)
    )
  }

  /// If there is a deleted record with the id of the new record, returns null for each of its fields that the new
  /// record does not write, so that the new record does not inherit the old values.
  private func left(
    of existing: RecordRow?, by fields: [(field: FieldNumber, value: Value)]
  ) -> [(field: FieldNumber, value: Value)] {
    let written = Set(fields.map(\.field))
    return (existing?.allFields.keys ?? [:].keys).filter { $0 != Fields.life && !written.contains($0) }
      .map { ($0, .null) }
  }

  /// Returns the entries that change the record; empty if the record already has these values.
  func edit(_ pairs: [(name: String, value: String)]) throws -> [EntryDraft] {
    guard let held else { return [] }
    let given = try split(pairs, into: held)
    let changed = try checked(given)
    return given.others + (changed.isEmpty ? [] : EntryDraft.putting(held.key, changed, on: held))
  }

  /// Returns the typed fields whose values differ from those that the record has.
  func changes(_ pairs: [(name: String, value: String)]) throws -> [(field: FieldNumber, value: Value)] {
    try checked(try split(pairs, into: held))
  }

  private func checked(_ given: Given) throws -> [(field: FieldNumber, value: Value)] {
    try checkTyped(given.fields, isNew: false)
    return differing(given.fields)
  }

  /// Returns the fields whose values differ from those that the record has; a new record has none.
  private func differing(
    _ fields: [(field: FieldNumber, value: Value)]
  ) -> [(field: FieldNumber, value: Value)] {
    fields.filter { !isSame($0.value, held?[$0.field]) }
  }

  /// The fields of the record itself, and the entries of other records that are written together with it.
  private struct Given {
    var fields: [(field: FieldNumber, value: Value)]
    var others: [EntryDraft] = []
  }

  // MARK: From text

  private func split(_ pairs: [(name: String, value: String)], into held: RecordRow?) throws -> Given {
    var own = pairs
    var given = Given(fields: [])
    var extra: [(field: FieldNumber, value: Value)] = []
    if kind.number == KindNumbers.attachment {
      own = AttachmentInput.expandingParent(own)
      if let index = own.firstIndex(where: { $0.name == "file" }) {
        let path = own.remove(at: index).value
        let file = files[path] ?? .unread(Files.name(of: path))
        extra = file.fields(now: now, isNew: held == nil)
        extra.append((AttachmentInput.dataField, file.value))
      }
    }
    if let reference = kind.addressField {
      let address = own.filter {
        Kind.address.field(named: $0.name) != nil && kind.field(named: $0.name) == nil
      }
      own.removeAll { pair in address.contains { $0.name == pair.name } }
      if !address.isEmpty { try self.address(address, reference, held, &extra, &given.others) }
    }
    // Values that the user typed take precedence over those that are determined by the file.
    let typed = try values(kind, held, own)
    given.fields = typed + extra.filter { pair in !typed.contains { $0.field == pair.field } }
    return given
  }

  /// Adds the entries that write a record's address, which is a separate record but is typed as part of the one that
  /// refers to it.
  private func address(
    _ pairs: [(name: String, value: String)], _ reference: Field, _ held: RecordRow?,
    _ extra: inout [(field: FieldNumber, value: Value)], _ others: inout [EntryDraft]
  ) throws {
    let heldID = held.flatMap { $0[reference.number]?.asRecordID }
    let record = try heldID.flatMap { try store.visible(Kind.address, $0) }
    let editing = RecordEditing(store: store, kind: Kind.address, held: record, now: now, ownZone: ownZone)
    let typed = try values(Kind.address, record, pairs)
    try editing.check(typed, isNew: record == nil)
    let fields = editing.differing(typed).filter { record != nil || !$0.value.isEmpty }
    guard !fields.isEmpty else { return }
    if let record {
      others += EntryDraft.putting(record.key, fields, on: record)
    } else {
      let key = RecordKey(kind: KindNumbers.address, id: newID)
      others += EntryDraft.putting(key, fields, on: nil)
      extra.append((reference.number, .bytes(key.id.bytes)))
    }
  }

  private func values(
    _ kind: Kind, _ held: RecordRow?, _ pairs: [(name: String, value: String)]
  ) throws -> [(field: FieldNumber, value: Value)] {
    let assignments = Assignments(
      kind: kind, zones: CivilTime.offsets, zone: ownZone, resolver: NameResolver(store: store))
    let texts = zoned(pairs, kind, held).map { (name: $0.name, text: $0.value) }
    do {
      return try assignments.values(texts) { held?[$0.number] }
        .sorted { $0.key < $1.key }.map { (field: $0.key, value: $0.value) }
    } catch let error as UnknownField {
      throw WaymarkError(
        exitCode: ExitCode.usage, code: .unknownField, message: "\(sentence: error.clause).",
        next: kind.fieldHelp)
    } catch let error as FieldError {
      throw WaymarkError(refused: error, kind: kind)
    }
  }

  /// Adds the zone of the start to a local end time that has no zone, because most items end in the zone in which
  /// they began.
  private func zoned(
    _ pairs: [(name: String, value: String)], _ kind: Kind, _ held: RecordRow?
  ) -> [(name: String, value: String)] {
    guard let (start, end) = kind.span, end.type == .instant,
      let text = pairs.first(where: { $0.name == end.name })?.value, WrittenTime(text)?.offsetSeconds == nil,
      !pairs.contains(where: { end.part(named: $0.name) == 1 }), held?[end.number]?.part(1).asText == nil,
      let zone = pairs.first(where: { start.part(named: $0.name) == 1 })?.value
        ?? held?[start.number]?.part(1).asText
    else { return pairs }
    return pairs + [(end.parts[1], zone)]
  }

  /// Adds the default values of a new record for the fields that the user did not type.
  private func fillIn(_ fields: inout [(field: FieldNumber, value: Value)]) {
    let given = Dictionary(fields.map { ($0.field, $0.value) }, uniquingKeysWith: { first, _ in first })
    var defaults = kind.defaults(now: now, for: given)
    if kind.number == KindNumbers.habitEntry {
      defaults[kind.number("date")] = HabitDay.value(now, zone: ownZone)
    }
    for (number, value) in defaults.sorted(by: { $0.key < $1.key })
    where !fields.contains(where: { $0.field == number }) {
      fields.append((number, value))
    }
  }

  // MARK: Ids

  /// Returns the key of a new record. The id of a category is derived from the category's `key` field; all other
  /// records get a new id.
  private func newKey(_ fields: inout [(field: FieldNumber, value: Value)]) throws -> RecordKey {
    guard kind.number == KindNumbers.category, let keyField = kind.field(named: "key"),
      let nameField = kind.nameField
    else { return RecordKey(kind: kind.number, id: newID) }
    let typed = fields.first { $0.field == keyField.number }.flatMap { $0.value.asText } ?? ""
    let name = fields.first { $0.field == nameField }.flatMap { $0.value.asText } ?? ""
    let key = typed.isEmpty ? try store.categoryKey(named: name) ?? newID.uuid : typed
    fields.removeAll { $0.field == keyField.number }
    fields.append((keyField.number, .text(key)))
    return RecordKey(kind: kind.number, id: RecordID(kind: kind, key: key))
  }

  // MARK: Checks

  func check(_ fields: [(field: FieldNumber, value: Value)], isNew: Bool) throws {
    let values = Dictionary(fields.map { ($0.field, $0.value) }, uniquingKeysWith: { first, _ in first })
    let draft = RecordDraft(kind, held?.key.id ?? RecordID(.zero), values)
    do throws(FieldError) {
      try kind.validate(draft, isNew: isNew)
    } catch {
      throw WaymarkError(refused: error, kind: kind)
    }
    for field in kind.fields where !isNew && field.rule.isRequired {
      guard let value = values[field.number], value.isEmpty else { continue }
      throw WaymarkError.missingValue(
        field.parts[0], "Every \(kind.noun) needs `\(field.parts[0])`.", next: kind.fieldHelp)
    }
    if kind.number == FixedRecords.organization { try checkNone(fields) }
  }

  /// Checks what a person typed: in addition, values that can only be mistakes. Programs may write such values.
  private func checkTyped(_ fields: [(field: FieldNumber, value: Value)], isNew: Bool) throws {
    try check(fields, isNew: isNew)
    let values = Dictionary(fields.map { ($0.field, $0.value) }, uniquingKeysWith: { first, _ in first })
    try checkOrder(values)
    if kind == Kind.habitEntry { try checkPast(values) }
  }

  private func checkNone(_ fields: [(field: FieldNumber, value: Value)]) throws {
    if held?.key == FixedRecords.none {
      throw WaymarkError.usage("The organization None means “no organization” and can't be changed.")
    }
    guard fields.contains(where: { $0.field == FixedRecords.organizationName && $0.value == .text("None") })
    else { return }
    throw WaymarkError.badValue("name", "None", allowed: "that name is reserved for “no organization”")
  }

  // MARK: Times

  /// Refuses an end that is before its start, if a person typed one of the two. Files and other devices may contain
  /// such records.
  private func checkOrder(_ values: [FieldNumber: Value]) throws {
    guard let (start, end) = kind.span, values[start.number] != nil || values[end.number] != nil,
      let begin = time(values, start), let finish = time(values, end),
      finish.milliseconds < begin.milliseconds
    else { return }
    let (typed, value, other, limit, word) =
      values[end.number] == nil
      ? (start.name, begin, end.name, finish, "after") : (end.name, finish, start.name, begin, "before")
    throw WaymarkError.badValue(
      typed, text(value), allowed: "it is \(word) \(other), which is \(text(limit))", next: kind.fieldHelp)
  }

  /// Refuses a typed entry that is dated more than a day ahead: nothing can have been done then. A day is allowed for
  /// places that are already in tomorrow.
  private func checkPast(_ values: [FieldNumber: Value]) throws {
    let day: Int64 = 86_400_000
    guard let field = kind.field(named: "date"), values[field.number] != nil, let date = time(values, field),
      date.milliseconds > now + day
    else { return }
    throw WaymarkError.badValue(
      "date", text(date), allowed: "it is in the future; an entry is for what has been done",
      next: kind.fieldHelp)
  }

  private typealias ZonedTime = (milliseconds: Int64, zone: String?)

  /// Returns the time that a field will have, with its zone; nil if it has none.
  private func time(_ values: [FieldNumber: Value], _ field: Field) -> ZonedTime? {
    guard let value = values[field.number] ?? held?[field.number],
      let milliseconds = value.asInteger ?? value.part(0).asInteger
    else { return nil }
    return (milliseconds, value.part(1).asText)
  }

  private func text(_ time: ZonedTime) -> String {
    let text = CivilTime.offsets.text(milliseconds: time.milliseconds, zone: time.zone)
    return text.hasSuffix("T00:00:00Z") ? String(text.prefix(10)) : text
  }
}

extension Store {
  /// Returns a `key` for a new category, derived from its name so that every device derives the same one. A derived
  /// key can be used if no live category has it, or if the category that has it has the same name. The result is nil
  /// if no derived key can be used.
  func categoryKey(named name: String) throws -> String? {
    let slug = name.lowercased().split { !$0.isASCII || !($0.isLetter || $0.isNumber) }.joined(separator: "-")
    // Categories whose names differ only in punctuation get different keys.
    return try [slug, name.lowercased()].first { key in
      guard !key.isEmpty else { return false }
      let id = RecordID(kind: Kind.category, key: key)
      guard let held = try record(RecordKey(kind: KindNumbers.category, id: id)), held.isAlive else {
        return true
      }
      return held.text(Kind.category.number("name"))?.lowercased() == name.lowercased()
    }
  }
}

extension Kind {
  /// The help page that explains the fields of this kind; nil for a kind whose fields can't be typed.
  var fieldHelp: Step? {
    if self == Kind.address { return Kind.organization.fieldHelp }
    return listing != nil || self == Kind.profile ? .waymark("help fields \(name)") : nil
  }
}

extension WaymarkError {
  /// Creates the error for a value that the rules of a field reject, or for a missing value.
  init(refused error: FieldError, kind: Kind) {
    if let value = error.value {
      self = .badValue(error.field, value, allowed: error.allowed, next: kind.fieldHelp)
    } else if kind.number == KindNumbers.attachment && error.field == "parentType" {
      self = .missingValue(
        error.field, "An attachment needs a lodging, a transportation or an activity that it belongs to.",
        next: "name it: lodging=…, transportation=… or activity=…")
    } else if kind.number == KindNumbers.attachment {
      self = .missingValue(error.field, "An attachment needs a file.", next: "name it: file=PATH")
    } else {
      self = .missingValue(
        error.field, "Every \(kind.noun) needs `\(error.field)`.", next: kind.fieldHelp)
    }
  }
}
