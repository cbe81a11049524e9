public import Platform
import Home
import Reasons
public import Records
import Replication
package import Storage
import Wire

/// The records that contain a text, as ``Node/find(_:kind:limit:)`` returns them.
public struct SearchResult: Hashable, Sendable, Codable {
  /// The text that was searched for.
  public let text: String
  /// The number of records that contain the text.
  public let total: Int
  /// The records, at most as many as were asked for: by kind, in the order of each kind's list.
  public let matches: [Match]

  /// A record that contains the text.
  public struct Match: Hashable, Sendable, Codable, Identifiable {
    /// The kind of the record.
    public let kind: RecordKind
    public let id: UUID
    /// The last digits of the id, as many as tell it apart from every other record.
    public let shortID: String
    /// The name of the record.
    public let name: String?
    /// The record that it belongs to: the trip of an item, the item of an attachment.
    public let parent: RecordReference?
    /// The first field that contains the text.
    public let field: String
    /// The part of the field's value around the text, on one line.
    public let excerpt: String

    /// Returns the id as that of a record of a kind; nil if the record is of another kind.
    public func id<Owner: Record>(as type: Owner.Type) -> Owner.ID? { Identifier(id, kind) }

    private enum CodingKeys: String, CodingKey {
      case kind
      case id
      case shortID = "shortId"
      case name
      case parent
      case field
      case excerpt
    }
  }

  private enum CodingKeys: String, CodingKey {
    case text
    case total
    case matches = "items"
  }
}

/// Searches the text of all visible records, regardless of case and accents.
package struct Search {
  let store: Store
  let text: String
  /// The kind to search; nil for all kinds.
  var kind: Kind?
  let limit: Int

  package init(store: Store, text: String, kind: Kind? = nil, limit: Int) {
    (self.store, self.text, self.kind, self.limit) = (store, text, kind, limit)
  }

  /// Returns the records that contain the text. The store finds them in its text index, or in one pass over each kind if
  /// the text is too short for that.
  package func result() throws -> SearchResult {
    guard !text.isEmpty else { throw WaymarkError.usage("The text to find is empty.") }
    var total = 0
    var rows: [(kind: Kind, row: RecordRow)] = []
    for kind in store.schema.searched where self.kind == nil || self.kind == kind {
      var query = RecordQuery(listing: kind)
      guard let condition = try condition(kind) else { continue }
      query.conditions = [condition]
      let count = try store.count(query)
      total += count
      guard count > 0, rows.count < limit else { continue }
      query.limit = limit - rows.count
      try store.forEach(query) { rows.append((kind, $0)) }
    }
    let shortIDs = try store.shortIDs(of: rows.map(\.row.key.id))
    let matches = try rows.map { try match($0.kind, $0.row, shortIDs[$0.row.key.id] ?? "") }
    return SearchResult(text: text, total: total, matches: matches)
  }

  /// Returns the condition that a searched field contains the text. An organization also matches with its address,
  /// which is not shown as a record of its own.
  private func condition(_ kind: Kind) throws -> RecordQuery.Condition? {
    var terms = kind.searchedFields.isEmpty ? [] : [RecordQuery.Condition.text([text])]
    if let reference = kind.addressField {
      let addresses = try addresses().map { ColumnValue.blob($0.key.id.bytes) }
      if !addresses.isEmpty { terms.append(.init(reference.number, .isOne(of: addresses))) }
    }
    return terms.isEmpty ? nil : .any(terms)
  }

  private func addresses() throws -> [RecordRow] {
    var query = RecordQuery(Kind.address.number)
    query.conditions = [.text([text])]
    return try store.records(query)
  }

  private func match(_ kind: Kind, _ row: RecordRow, _ shortID: String) throws -> SearchResult.Match {
    let (field, value) = try found(kind, row)
    return SearchResult.Match(
      kind: store.schema.name(kind.number), id: UUID(row.key.id), shortID: shortID, name: kind.title(of: row),
      parent: try store.parent(of: row).map { try store.reference($0) }, field: field,
      excerpt: Excerpt(of: value, around: text).text)
  }

  /// Returns the first field that contains the text, and its value.
  private func found(_ kind: Kind, _ row: RecordRow) throws -> (field: String, value: String) {
    let folded = FoldedText.of(text)
    for field in kind.searchedFields {
      if let value = row.text(field.number), FoldedText.contains(value, folded) { return (field.name, value) }
    }
    guard let reference = kind.addressField, let id = row[reference.number]?.asRecordID,
      let address = try store.visible(Kind.address, id)
    else { return ("", "") }
    return ("address", try found(Kind.address, address).value)
  }
}

extension Schema {
  /// The kinds whose records are searched.
  fileprivate var searched: [Kind] {
    kinds.filter {
      $0.lane == .records && $0 != Kind.address && !$0.searchedFields.isEmpty
    }
  }
}

/// The part of a text around the place where it contains another text.
struct Excerpt {
  private(set) var text: String

  private static let lead = 20
  private static let countMax = 60

  init(of text: String, around part: String) {
    let line = Array(text.map { $0.isNewline || $0 == "\t" ? " " : $0 })
    let place = Self.place(of: FoldedText.of(part), in: line)
    var start = max(0, min(place - Self.lead, line.count - Self.countMax))
    // An excerpt begins with a whole word, unless the word is very long.
    if start > 0, let space = line[start..<place].firstIndex(of: " ") { start = space + 1 }
    let end = min(line.count, start + Self.countMax)
    self.text = (start > 0 ? "…" : "") + String(line[start..<end]) + (end < line.count ? "…" : "")
  }

  /// Returns the index of the first character of the folded text; 0 if there is none.
  private static func place(of part: String, in line: [Character]) -> Int {
    let folded = line.map { FoldedText.of(String($0)) }
    return line.indices.first { start in
      var rest = part[...]
      for piece in folded[start...] {
        if piece.hasPrefix(rest) { return true }
        guard rest.hasPrefix(piece) else { return false }
        rest = rest.dropFirst(piece.count)
      }
      return false
    } ?? 0
  }
}
