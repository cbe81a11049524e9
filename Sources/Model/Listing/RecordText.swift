import Records
import Replication
package import Wire

/// Parses ids in the forms in which users type them.
package enum RecordText {
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
