import JSONDocument
import Records
import Wire

/// The keys of a file's row that Waymark does not know.
///
/// A record keeps them as the text of a JSON object, and an export in the same format writes them back.
struct OtherKeys: Sendable {
  private static let fieldName = "otherKeys"
  private static let layout = JSON.Layout(isPretty: false, sortsKeys: true)

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

  /// The value of the record's field.
  var value: Value { members.isEmpty ? .null : .text(JSON.object(members).text(Self.layout)) }
}

extension RecordDraft {
  /// Keeps other keys. Without any, those that the record has remain.
  mutating func keep(_ keys: OtherKeys) {
    if !keys.members.isEmpty { self[kind.number("otherKeys")] = keys.value }
  }
}

extension JSON {
  /// Adds the keys that Waymark does not know to a row, except for those that the row has.
  ///
  /// - Parameters:
  ///   - inner: keys of objects that are rows of their own, whose keys the record keeps with its own.
  mutating func addOtherKeys(of record: RecordDraft, besides inner: Set<String> = []) {
    add(OtherKeys(of: record).members.filter { !inner.contains($0.key) })
  }

  /// Adds the keys that Waymark does not know to an object inside a row.
  mutating func addOtherKeys(of record: RecordDraft, inside key: String) {
    add(OtherKeys(of: record).members.first { $0.key == key }?.value.members ?? [])
  }

  private mutating func add(_ members: [Member]) {
    for member in members where self[member.key] == nil { self[member.key] = member.value }
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
    if let inner {
      keys.add(.init(inner, .object(unknown)))
      if !keys.leftOut.isEmpty { return note(kept: [], leftOut: unknown.map(\.key), in: section) }
    } else {
      for member in unknown { keys.add(member) }
    }
    let leftOut = keys.leftOut
    draft.keep(keys)
    note(kept: unknown.map(\.key).filter { !leftOut.contains($0) }, leftOut: leftOut, in: section)
  }

  /// Reports keys that the format does not have.
  mutating func note(kept: [String], leftOut: [String], in section: String) {
    for key in kept { count("\(section): the key \"\(key)\" is unknown and is kept with its record") }
    noteUnknownKeys(leftOut, in: section)
  }
}

extension OtherKeys {
  /// Returns the members of a row that the format does not have.
  static func unknown(_ row: JSON, known: Set<String>) -> [JSON.Member] {
    (row.members ?? []).filter { !known.contains($0.key) && !AddedKeys.contains($0.key, besides: known) }
  }
}
