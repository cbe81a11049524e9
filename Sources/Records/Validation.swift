// Protocol/records.md, "Limits": for local writes only; merging accepts any value.

import JSONDocument
package import Reasons
import Replication
package import Wire

/// The error for a value that a local write must not give to a field.
package struct FieldError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The name of the field or part, as the user types it.
  package let field: String
  /// The rejected value as text; nil if a value is missing.
  package let value: String?
  /// A clause that completes the message by saying what is allowed: "from 1 to 3".
  package let allowed: LocalizableText

  package init(field: String, value: String?, allowed: LocalizableText) {
    self.field = field
    self.value = value
    self.allowed = allowed
  }

  package var description: String {
    guard let value else { return "\(field) is missing: \(allowed)" }
    let shown = value.count > 60 ? String(value.prefix(57)) + "..." : value
    return "\(field) cannot be \"\(shown)\": \(allowed)"
  }
}

extension Kind {
  /// Validates the fields of a draft.
  ///
  /// - Parameters:
  ///   - draft: the draft to validate.
  ///   - isNew: whether the draft creates a record, which must then have all required fields.
  package func validate(_ draft: RecordDraft, isNew: Bool) throws(FieldError) {
    for written in draft.fields {
      guard let field = field(written.number) else { continue }
      try field.validate(written.value)
    }
    guard isNew else { return }
    for field in fields where field.rule.isRequired && (draft[field.number] ?? .null).isEmpty {
      throw FieldError(field: field.typedName(part: 0), value: nil, allowed: "every \(name) needs one")
    }
  }
}

extension Field {
  /// Validates a value against the type and the rule of the field; null is always allowed.
  package func validate(_ value: Value) throws(FieldError) {
    guard value != .null else { return }
    // Bytes that are too long for the field are stored as a file before the field is written.
    if type == .blob, case .bytes(let bytes) = value, bytes.count <= Limits.fileBytesMax { return }
    guard type.accepts(value) else { throw refused(value, tooLong(value) ?? type.expectation) }
    switch value {
    case .text(let text): try validate(text)
    case .integer(let number):
      if let range = rule.integers, !range.contains(number) {
        throw refused(value, rangeText(range.lowerBound, range.upperBound))
      }
    case .float(let number):
      if let range = rule.numbers, !range.contains(number) {
        throw refused(value, rangeText(plainText(range.lowerBound), plainText(range.upperBound)))
      }
    case .array(let items): try validate(items, of: value)
    case .null, .bool, .bytes: break
    }
    if case .list(.frequency) = type, case .integer(let minutes) = value, minutes > 1_440 {
      throw refused(value, "oncePerDay, or everyEntry:MINUTES with MINUTES from 1 to 1440")
    }
  }

  private func validate(_ text: String) throws(FieldError) {
    if !rule.words.isEmpty, !rule.words.contains(text) {
      throw refused(.text(text), "one of \(rule.words.joined(separator: ", "))")
    }
    if rule.isColor, !isColor(text) { throw refused(.text(text), "a colour such as #2DA9E3") }
    if let max = rule.charactersMax, text.count > max || text.utf8.count > Limits.textBytesMax {
      throw refused(.text(text), "it must be at most \(max) characters; it has \(text.count)")
    }
  }

  /// Returns the clause about the limit if a value has the right type but is longer than any text may be; otherwise
  /// nil.
  private func tooLong(_ value: Value) -> LocalizableText? {
    guard case .text(let text) = value, type == .text, text.utf8.count > Limits.textBytesMax else {
      return nil
    }
    guard let max = rule.charactersMax else { return "it must be at most \(Limits.textBytesMax) bytes" }
    return "it must be at most \(max) characters; it has \(text.count)"
  }

  private func validate(_ items: [Value], of value: Value) throws(FieldError) {
    if let max = rule.itemsMax, items.count > max {
      throw FieldError(field: name, value: "\(items.count) items", allowed: "at most \(max)")
    }
    if type == .coordinate, case .float(let latitude) = items[0], case .float(let longitude) = items[1] {
      guard abs(latitude) <= 90 else {
        throw FieldError(field: typedName(part: 0), value: plainText(latitude), allowed: rangeText(-90, 90))
      }
      guard abs(longitude) <= 180 else {
        throw FieldError(
          field: typedName(part: 1), value: plainText(longitude), allowed: rangeText(-180, 180))
      }
    }
  }

  private func refused(_ value: Value, _ allowed: LocalizableText) -> FieldError {
    FieldError(field: typedName(part: 0), value: shown(value), allowed: allowed)
  }

  private func shown(_ value: Value) -> String {
    switch value {
    case .text(let text): text
    case .float(let number): plainText(number)
    case .bytes(let bytes): "\(bytes.count) bytes"
    default: value.columnJSON.text()
    }
  }
}

private func rangeText(_ low: some CustomStringConvertible, _ high: some CustomStringConvertible)
  -> LocalizableText
{
  "from \(low) to \(high)"
}

func plainText(_ number: Double) -> String { JSON.float(number).number ?? String(number) }

private func isColor(_ text: String) -> Bool {
  let bytes = Array(text.utf8)
  return bytes.count == 7 && bytes[0] == UInt8(ascii: "#")
    && bytesFromHexadecimal(String(decoding: bytes[1...], as: UTF8.self)) != nil
}

extension FieldType {
  /// A clause that says which values the type accepts.
  package var expectation: LocalizableText {
    switch self {
    case .bool: "true or false"
    case .integer: "a whole number"
    case .float: "a number"
    case .text, .keyReference: "text"
    case .uuid: "a UUID"
    case .timestamp: "use a day such as 2026-05-02, or a time such as 2026-05-02T15:00"
    case .instant, .datedInstant:
      "use a time such as 2026-05-03T15:00:00+02:00, or 2026-05-03T15:00 with a zone"
    case .money: "use an amount such as 120.50, with at most \(ExactDecimal.digitsMax) digits"
    case .coordinate: "latitude and longitude together, in degrees"
    case .reference: "the id of a record"
    case .owner: "activity, lodging or transportation, and an id"
    case .blob: "base64-encoded bytes"
    case .bytes: "at most \(Limits.blobBytesMax) bytes"
    case .list(let shape): shape.expectation
    case .any: "a value"
    }
  }
}

extension ListShape {
  package var expectation: LocalizableText {
    switch self {
    case .reminders: "times such as 08:00,20:30"
    case .schedule: "daily, or days such as mon,wed,fri"
    case .frequency: "oncePerDay, or everyEntry:MINUTES"
    case .weights: "names and weights such as openness:0.5,drive:1"
    case .zoneChanges: "changes such as Europe/Rome>Asia/Tokyo@2026-05-03T15:00:00Z"
    }
  }
}
