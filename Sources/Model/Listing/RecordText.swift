package import JSONDocument
import Records
import Replication
package import Wire

/// Converts between ids and values in documents and as typed by users.
package enum RecordText {
  /// The typed form of a structured value in a document, such as `mon,wed,fri`; nil if the field has no such form.
  package static func typed(_ json: JSON, kind: String, field: String) -> String? {
    guard case .list(let shape) = Registry.kinds.first(where: { $0.name == kind })?.field(named: field)?.type
    else { return nil }
    return shape.value(json).map(shape.text)
  }

  /// An id as UUID or hexadecimal text, in either case.
  package static func id(_ text: String) -> RecordID? { RecordID(uuid: text) ?? RecordID(hex: text) }

  /// The digits of a possible beginning of an id; nil if the text can't be one.
  static func idPrefix(_ text: String) -> String? {
    let digits = text.lowercased().filter { $0 != "-" }
    guard !digits.isEmpty, digits.utf8.count <= 32, digits.allSatisfy({ $0.isASCII && $0.isHexDigit }) else {
      return nil
    }
    return digits
  }
}
