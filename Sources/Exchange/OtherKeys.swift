import JSONDocument
package import Records
package import Wire

/// The keys of a file's row that Waymark does not know, and those whose spelling it would lose: null, and lists whose items
/// have more than Waymark knows.
///
/// A record keeps them as the text of a JSON object, and an export in the same format writes them back. A key that Waymark
/// knows is written back as long as it has the record's value.
struct OtherKeys: Sendable {
  static let fieldName = "otherKeys"
  private static let layout = JSON.Layout(isPretty: false, sortsKeys: true)

  /// The key under which a record keeps the unknown keys of the file itself.
  static let ofFile = "file"
  /// The key under which the organization None keeps the id that it had in a file.
  static let idOfNone = "id"

  /// The keys that are kept, in ascending order of their bytes.
  private(set) var members: [JSON.Member]
  /// The keys that exceed the limit.
  private(set) var leftOut: [String] = []
  /// The length of the text.
  private var byteCount: Int

  /// The keys that a record has.
  init(of record: RecordDraft) {
    let text = record.kind.field(named: Self.fieldName).flatMap { record[$0.number]?.asText }
    self.init(text.flatMap { try? JSON.parse($0) }?.members ?? [])
  }

  init(_ members: [JSON.Member] = []) {
    self.members = members
    byteCount = 1 + members.reduce(0) { $0 + Self.byteCount($1) }
  }

  private static func byteCount(_ member: JSON.Member) -> Int {
    // Instead of the braces, a comma. The braces of the whole object need one byte more than there are commas.
    JSON.object([member]).bytes(layout).count - 1
  }

  /// Adds keys of a row, or of an object inside the row. Those of an object are left out if they exceed the limit.
  mutating func add(_ members: [JSON.Member], inside key: String?) {
    guard let key else {
      for member in members { add(member) }
      return
    }
    let held = inside(key) ?? []
    var kept = OtherKeys(self.members.filter { $0.key != key })
    let added = members.filter { member in !held.contains { $0.key == member.key } }
    kept.add(.init(key, .object(held + added)))
    if kept.leftOut.isEmpty {
      self = kept
    } else {
      leftOut += added.map(\.key)
    }
  }

  /// Adds a key, unless it would exceed the limit.
  mutating func add(_ member: JSON.Member) {
    guard !members.contains(where: { $0.key.utf8.elementsEqual(member.key.utf8) }) else { return }
    let more = Self.byteCount(member)
    guard more <= Limits.otherKeysBytesMax - byteCount else { return leftOut.append(member.key) }
    byteCount += more
    let index =
      members.firstIndex { member.key.utf8.lexicographicallyPrecedes($0.key.utf8) } ?? members.endIndex
    members.insert(member, at: index)
  }

  /// The value of a key; nil if it is not kept.
  subscript(key: String) -> JSON? { members.first { $0.key == key }?.value }

  /// The keys that are kept for an object inside the row; nil if there are none.
  func inside(_ key: String) -> [JSON.Member]? { self[key]?.members }

  /// The value of the record's field.
  var value: Value { members.isEmpty ? .null : .text(Self.text(.object(members))) }

  static func text(_ json: JSON) -> String { json.text(layout) }
}

extension RecordDraft {
  /// Whether a key's spelling can't be derived from the draft.
  fileprivate func loses(_ member: JSON.Member) -> Bool {
    guard let field = kind.field(named: member.key) else { return member.value.isNull }
    let value = self[field.number] ?? .null
    if member.value.isNull || member.value == "" && field.type != .blob {
      let part = field.parts.count > 1 ? field.parts.firstIndex(of: member.key).map(value.part) : value
      return part ?? .null == .null
    }
    if field.type == .instant || field.type == .money, value == .null {
      // A zone without a time, or a currency without an amount.
      return field.parts.firstIndex(of: member.key) == 1
    }
    guard case .list(let shape) = field.type, value != .null else { return false }
    return OtherKeys.text(shape.fileJSON(value)) != OtherKeys.text(member.value)
  }

  /// Keeps other keys. Without any, those that the record has remain.
  mutating func keep(_ keys: OtherKeys) {
    if !keys.members.isEmpty { self[kind.number(OtherKeys.fieldName)] = keys.value }
  }
}

// The organization None exists on every device, with the same id. Files of an application give it ids of their own.

extension RecordDraft {
  /// Returns the draft of the organization None with the id that the store has kept for it. The id in a file counts only
  /// if there is none yet, so that importing files of several devices in turn changes nothing. A file without other keys
  /// leaves those in the store unchanged.
  ///
  /// - Parameter held: the other keys in the store.
  package func keepingIDOfNone(_ held: Value?) -> RecordDraft {
    var stored = RecordDraft(kind, id)
    stored[kind.number(OtherKeys.fieldName)] = held ?? .null
    let heldKeys = OtherKeys(of: stored)
    let ownKeys = OtherKeys(of: self)
    guard let given = ownKeys[OtherKeys.idOfNone] else { return self }
    var kept = OtherKeys(
      hasOnlyIDOfNone ? heldKeys.members : ownKeys.members.filter { $0.key != OtherKeys.idOfNone })
    kept.add(.init(OtherKeys.idOfNone, heldKeys[OtherKeys.idOfNone] ?? given))
    var draft = self
    draft.keep(kept)
    return draft
  }

  /// Whether the other keys of the organization None are only its id.
  private var hasOnlyIDOfNone: Bool { OtherKeys(of: self).members.map(\.key) == [OtherKeys.idOfNone] }

  /// Whether a file says of the organization None only which id it has there.
  package var namesOnlyNone: Bool {
    hasOnlyIDOfNone
      && fields.allSatisfy { $0.number == kind.number(OtherKeys.fieldName) || $0.value == .null }
  }
}

extension JSON {
  /// Adds the keys that Waymark does not know to a row, except for those that the row has.
  ///
  /// - Parameters:
  ///   - inner: keys of objects that are rows of their own, whose keys the record keeps with its own.
  mutating func addOtherKeys(of record: RecordDraft, besides inner: Set<String> = []) {
    add(
      OtherKeys(of: record).members.filter { !inner.contains($0.key) || $0.value.members == nil }, of: record)
  }

  /// Adds the keys that Waymark does not know to an object inside a row.
  mutating func addOtherKeys(of record: RecordDraft, inside key: String) {
    add(OtherKeys(of: record).inside(key) ?? [], of: record)
  }

  private mutating func add(_ members: [Member], of record: RecordDraft) {
    for member in members where self[member.key] == nil || isSpelled(by: member, of: record) {
      self[member.key] = member.value
    }
  }

  /// Whether a kept key of a row has the value that the record has, so that it is written as the file wrote it.
  private func isSpelled(by kept: Member, of record: RecordDraft) -> Bool {
    guard let field = record.kind.field(named: kept.key) else { return false }
    let value = record[field.number] ?? .null
    if kept.value.isNull {
      let isPlaceholder = self[AddedKeys.placeholders]?.array?.contains(.string(kept.key)) ?? false
      return value == .null && !isPlaceholder
    }
    guard case .list = field.type, let row = try? Row(.object([kept])), let read = try? row.value(field)
    else {
      return false
    }
    return read == value
  }
}

extension PlanBuilder {
  /// Keeps the keys of a row that the format does not have with its record, and reports them.
  ///
  /// - Parameters:
  ///   - inner: the key of the row inside the record's row; nil for the record's row itself.
  mutating func keepUnknownKeys(
    _ row: JSON, known: Set<String>, in section: String, inside inner: String? = nil,
    of draft: inout RecordDraft
  ) {
    let unknown = OtherKeys.unknown(row, known: known)
    guard !unknown.isEmpty else { return }
    var keys = OtherKeys(of: draft)
    keys.add(unknown, inside: inner)
    let leftOut = keys.leftOut
    draft.keep(keys)
    note(kept: unknown.map(\.key).filter { !leftOut.contains($0) }, leftOut: leftOut, in: section)
  }

  /// Keeps the known keys of a row whose values the draft does not have in full: null, an empty text in place of a value,
  /// and lists whose items have unknown keys.
  ///
  /// - Parameters:
  ///   - known: the keys that were read into the draft.
  ///   - written: the values that an export writes for missing ones.
  ///   - inner: the key of the row inside the record's row; nil for the record's row itself.
  func keepSpellings(
    _ row: JSON, known: Set<String>, written: [String: JSON] = [:], inside inner: String? = nil,
    of draft: inout RecordDraft
  ) {
    let placeholders = row[AddedKeys.placeholders]?.array ?? []
    let members = (row.members ?? []).filter { member in
      known.contains(member.key) && written[member.key] != member.value && draft.loses(member)
        && !placeholders.contains(.string(member.key))
    }
    guard !members.isEmpty else { return }
    var keys = OtherKeys(of: draft)
    keys.add(members, inside: inner)
    draft.keep(keys)
  }
}

extension OtherKeys {
  /// Returns the members of a row that the format does not have.
  static func unknown(_ row: JSON, known: Set<String>) -> [JSON.Member] {
    (row.members ?? []).filter { !known.contains($0.key) && !AddedKeys.contains($0.key, besides: known) }
  }
}

extension JSONText {
  /// Returns an object with the keys of the file other than these.
  func object(besides known: Set<String>) -> JSON {
    .object(keys.filter { !known.contains($0) }.compactMap { key in self[key].map { .init(key, $0) } })
  }
}
