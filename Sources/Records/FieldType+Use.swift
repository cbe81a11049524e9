// Protocol/records.md, "Kinds"

package import Replication
package import Wire

// Records use organizations and categories: they refer to them, but are not part of them. (A record that is part of
// another one has a parent instead.)

extension FieldType {
  /// For a field that refers to an organization or a category, the kind of that record; nil for other fields.
  package var usedKind: KindNumber? {
    switch self {
    case .reference(FixedRecords.organization): FixedRecords.organization
    case .keyReference(let kind): kind
    default: nil
    }
  }

  /// Returns the organization or category that a value of this type refers to.
  package func used(in value: Value?) -> RecordKey? {
    switch self {
    case .reference(let kind): value?.asRecordID.map { RecordKey(kind: kind, id: $0) }
    case .keyReference(let number):
      value?.asText.flatMap { key in
        Schema.builtIn.kind(number).map { RecordKey(kind: number, id: RecordID(kind: $0, key: key)) }
      }
    default: nil
    }
  }
}
