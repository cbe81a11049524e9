package import JSONDocument
import Records
import Replication
package import Wire

/// Ids as documents write them and people type them, and typed access to values.
package enum RecordText {
  /// What a person types for a structured value of a document: `mon,wed,fri`; nil if the field has no such form.
  package static func typed(_ json: JSON, kind: String, field: String) -> String? {
    guard case .list(let shape) = Registry.kinds.first(where: { $0.name == kind })?.field(named: field)?.type
    else { return nil }
    return shape.value(json).map(shape.text)
  }

  /// The id in UUID text or hexadecimal, in either case.
  package static func id(_ text: String) -> RecordID? { RecordID(uuid: text) ?? RecordID(hex: text) }

  /// The digits of what may be the beginning of an id; nil if it can't be one.
  static func idPrefix(_ text: String) -> String? {
    let digits = text.lowercased().filter { $0 != "-" }
    guard !digits.isEmpty, digits.utf8.count <= 32, digits.allSatisfy({ $0.isASCII && $0.isHexDigit }) else {
      return nil
    }
    return digits
  }
}
