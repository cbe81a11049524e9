// Protocol/records.md

package import Replication
package import Wire

/// The number of a field and the field's new value.
package struct FieldValue: Hashable, Sendable {
  package let number: FieldNumber
  package let value: Value

  package init(_ number: FieldNumber, _ value: Value) {
    self.number = number
    self.value = value
  }
}

/// The desired content of a record. Importers and commands create drafts, and the node writes them.
///
/// A field that is null in the draft is emptied; a field that the draft lacks is left unchanged.
package struct RecordDraft: Hashable, Sendable {
  package let kind: Kind
  package let id: RecordID
  /// The fields to write, in ascending order of their numbers.
  package private(set) var fields: [FieldValue]

  package var key: RecordKey { RecordKey(kind: kind.number, id: id) }

  package init(_ kind: Kind, _ id: RecordID, _ fields: [FieldNumber: Value] = [:]) {
    self.kind = kind
    self.id = id
    self.fields = fields.map { FieldValue($0.key, $0.value) }.sorted { $0.number < $1.number }
  }

  /// - Parameter fields: the fields to write, in ascending order of their numbers.
  package init(_ kind: Kind, _ id: RecordID, ascending fields: [FieldValue]) {
    self.kind = kind
    self.id = id
    self.fields = fields
  }

  /// The desired value of a field; nil if the draft leaves it unchanged.
  package subscript(number: FieldNumber) -> Value? {
    get { fields.first { $0.number == number }?.value }
    set {
      let index = fields.firstIndex { $0.number >= number } ?? fields.endIndex
      let isHeld = index < fields.endIndex && fields[index].number == number
      switch (newValue, isHeld) {
      case (let value?, true): fields[index] = FieldValue(number, value)
      case (let value?, false): fields.insert(FieldValue(number, value), at: index)
      case (nil, true): fields.remove(at: index)
      case (nil, false): break
      }
    }
  }
}

extension RecordDraft: Comparable {
  /// Orders drafts as in change sets: by kind, then by id.
  package static func < (left: RecordDraft, right: RecordDraft) -> Bool { left.key < right.key }
}
