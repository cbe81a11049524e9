package import Records
package import Replication
import Wire

extension Kind {
  /// The columns that hold the reference to the parent; nil for a kind without a parent.
  package var parentColumns: (kind: String?, id: String)? {
    guard let parent, let field = field(parent) else { return nil }
    switch field.columns.count {
    case 1: return (nil, field.columns[0].name)
    case 2: return (field.columns[0].name, field.columns[1].name)
    default: return nil
    }
  }

  /// Returns an SQL condition that holds if the row's parent is the record of kind `parent` with the id in parameter 1.
  /// Returns nil if records of this kind can't belong to a record of that kind.
  package func belongs(to parent: KindNumber) -> String? {
    guard parentKinds.contains(parent), let columns = parentColumns else { return nil }
    return "\(columns.id) = ?1" + (columns.kind.map { " AND \($0) = \(parent.rawValue)" } ?? "")
  }

  /// Returns the parent that a cell's content refers to; nil if it refers to none, or to a record that can't be a
  /// parent.
  package func parentKey(_ content: ArraySlice<UInt8>) -> RecordKey? {
    guard let parent, let type = field(parent)?.type else { return nil }
    if case .reference(let kind) = type {
      // The common case, handled without decoding a value: the id is the 16 bytes after a one-byte head.
      guard content.first == 0x50 else { return nil }
      return RecordID(bytes: content.dropFirst()).map { RecordKey(kind: kind, id: $0) }
    }
    guard let value = try? Value(encoded: content) else { return nil }
    switch (type, value) {
    case (.owner, .array(let parts)):
      guard parts.count == 2, case .integer(let number) = parts[0], case .bytes(let bytes) = parts[1],
        let kind = Kind.owners.first(where: { Int64($0.number.rawValue) == number })?.number,
        let id = RecordID(bytes: bytes)
      else { return nil }
      return RecordKey(kind: kind, id: id)
    default: return nil
    }
  }

  /// Returns the parent of a stored record; nil if it has none.
  package func parent(of row: StoredRow) -> RecordKey? {
    parent.flatMap { row.contents[$0] }.flatMap { parentKey($0[...]) }
  }
}

extension Schema {
  /// Returns an SQL condition that holds if the row of a kind, named `alias`, is alive and its parent is visible.
  package func isVisible(_ kind: Kind, _ alias: String) -> String {
    let lives = "\(alias).life = 1"
    guard let columns = kind.parentColumns else { return lives }
    let parents = kind.parentKinds.compactMap { number in
      self.kind(number).map { parent in
        let inner = "\(alias)p"
        let ofKind = columns.kind.map { "\(alias).\($0) = \(number.rawValue) AND " } ?? ""
        return "\(ofKind)EXISTS (SELECT 1 FROM \(parent.table) \(inner)"
          + " WHERE \(inner).id = \(alias).\(columns.id) AND \(isVisible(parent, inner)))"
      }
    }
    return "\(lives) AND (\(parents.isEmpty ? "0" : parents.joined(separator: " OR ")))"
  }
}
