// Sources/store.md, "Rows"

package import Replication
package import Wire

/// A record in the form that the fold modifies: its life, its stamps, and the canonical content of each field.
package struct StoredRow {
  package internal(set) var life: Bool?
  package internal(set) var stamps: Stamps
  package internal(set) var contents: [FieldNumber: [UInt8]] = [:]

  /// Returns the content of a cell, which may be the life; nil if the cell was never written.
  package func content(_ field: FieldNumber) -> [UInt8]? {
    field == Fields.life ? life.map { $0 ? Self.alive : Self.dead } : contents[field]
  }

  mutating func set(_ field: FieldNumber, _ content: [UInt8]) {
    if field == Fields.life { life = content == Self.alive } else { contents[field] = content }
  }

  /// Whether a field has a value other than null. The life does not count.
  func holdsValue(_ field: FieldNumber) -> Bool {
    field != Fields.life && contents[field].map { $0 != Self.null } ?? false
  }

  /// Returns what a cell of a record shows, in the form in which it is compared with siblings.
  func shown(_ field: FieldNumber, of key: RecordKey) -> [UInt8]? {
    key.kind.mergeClass == .wholeRecord ? whole : content(field)
  }

  /// All fields encoded as one value, as stored for a whole record.
  package var whole: [UInt8] { encodedFields(contents) }

  package static let alive = ChangeSetBody.alive
  static let dead = ChangeSetBody.dead
  /// The content of an emptied field. The tables hold it for an absent value too.
  package static let null: [UInt8] = [0xf6]
}

/// Encodes fields as one CBOR map from number to content.
func encodedFields(_ contents: [FieldNumber: [UInt8]]) -> [UInt8] {
  var writer = CBORWriter()
  writer.map(contents.count)
  for (field, content) in contents.sorted(by: { $0.key < $1.key }) {
    writer.unsigned(UInt64(field))
    writer.raw(content)
  }
  return writer.bytes
}

package func decodedFields(_ bytes: [UInt8]) throws(WireError) -> [FieldNumber: [UInt8]] {
  var reader = CBORReader(bytes)
  var contents: [FieldNumber: [UInt8]] = [:]
  let count = try reader.map(max: Limits.setItemsMax)
  var key: UInt64?
  for _ in 0..<count {
    let next = try reader.nextKey(after: key)
    key = next
    contents[FieldNumber(truncatingIfNeeded: next)] = Array(bytes[try reader.skipValue()])
  }
  try reader.end()
  return contents
}
