package import JSONDocument
import Records
import Replication
package import Wire

/// Converts ids and values between the form that documents use and the form that users type.
package enum RecordText {
  /// Returns the form in which a user types a structured value from a document, such as `mon,wed,fri`; nil if the
  /// field does not have structured values or the value is invalid.
  package static func typed(_ json: JSON, kind: String, field: String) -> String? {
    guard case .list(let shape) = Registry.kinds.first(where: { $0.name == kind })?.field(named: field)?.type
    else { return nil }
    return shape.value(json).map(shape.text)
  }

  /// Parses an id that is written as a UUID or as plain hexadecimal digits, in upper or lower case.
  package static func id(_ text: String) -> RecordID? { RecordID(uuid: text) ?? RecordID(hex: text) }

  /// Returns the hexadecimal digits of a text that can be the beginning or the end of an id; nil if it can't be one.
  static func idDigits(_ text: String) -> String? {
    let digits = text.lowercased().filter { $0 != "-" }
    guard !digits.isEmpty, digits.utf8.count <= 32, digits.allSatisfy({ $0.isASCII && $0.isHexDigit }) else {
      return nil
    }
    return digits
  }
}
