// Protocol/records.md, "Command line": the fields as help explains them.

import Reasons
import Replication
import Wire

/// A field as a person types it: its name, what it takes, and an example.
package struct FieldGuide: Hashable, Sendable {
  package let name: String
  /// Other names that mean the same.
  package let others: [String]
  /// The type in one or two words: `text`, `yes or no`, `time zone`.
  package let type: String
  /// The values that are allowed.
  package let values: String
  /// The value of a new record; empty if it has none, and `required` if one must be given.
  package let initial: String
  /// An example of a value, quoted for a shell where necessary.
  package let example: String
}

extension Kind {
  /// The fields that a person can type for records of this kind, in the order of the help. Fields that the program itself
  /// maintains are left out. The parts of a record's address are typed as its own.
  package func fieldGuides(_ schema: Schema) -> [FieldGuide] {
    fields.filter { $0.type != .bytes && !$0.isInternal }.flatMap { field -> [FieldGuide] in
      switch field.type {
      case _ where field === addressField: Kind.address.fieldGuides(schema)
      case .owner: Kind.owners.map { FieldGuide(parent: $0) }
      default: (0..<field.typedPartCount).map { guide(field, part: $0, schema) }
      }
    }
  }

  /// The field names that `add` and `edit` accept, one for each field or part.
  package var assignableNames: [String] { fieldGuides(.builtIn).map(\.name) }

  private func guide(_ field: Field, part: Int, _ schema: Schema) -> FieldGuide {
    let given = field.parts[part]
    let aliases = field.aliases.filter { $0.value == given }.keys.sorted()
    let isFile = field.type == .blob && self == Kind.attachment
    let name = isFile ? "file" : field.typedName(part: part)
    let (type, values, example) = field.typed(part: part, schema)
    return FieldGuide(
      name: name, others: ([given] + aliases).filter { $0 != name && !isFile }, type: type, values: values,
      initial: field.rule.isRequired && part != 1 || isFile ? "required" : part == 0 ? field.initialText : "",
      example: listing?.example.value(of: name) ?? FieldGuide.samples[name] ?? example)
  }
}

extension FieldGuide {
  /// The item to which an attachment belongs.
  fileprivate init(parent: Kind) {
    self.init(
      name: parent.name, others: [], type: parent.name,
      values: "the item that the file belongs to: a name or id",
      initial: "one of them", example: parent.listing?.example.id ?? "")
  }

  /// Examples that say more than the type of the field would, and that suit every kind that has the field.
  fileprivate static let samples = [
    "name": "Ada", "unitLabel": "glasses",
    "phone": "'+39 06 5551234'",
    "email": "info@example.com", "website": "https://example.com", "logoURL": "https://example.com/logo.png",
    "confirmation": "X4T7", "reservation": "R5512", "customLocationName": "'By the river'",
    "street": "'Via Roma 1'",
    "city": "Rome", "state": "Lazio", "country": "Italy", "postalCode": "00184",
    "formattedAddress": "'Via Roma 1, Rome'",
    "displayName": "Health", "key": "health", "locationLabel": "Home", "fileName": "ticket.pdf",
    "originalFileName": "ticket.pdf", "fileDescription": "'Seat 12'", "displayTimezoneMode": "home",
    "trip": "Rome",
    "habit": "'Drink water'", "category": "Health", "value": "2",
    "dailyTarget": "8",
    "radius": "100",
  ]
}

extension Field {
  /// How many parts can be typed. The day of an entry follows from its time and zone.
  fileprivate var typedPartCount: Int { type == .datedInstant ? 2 : parts.count }

  /// The value of a new record as a person would type it.
  fileprivate var initialText: String {
    switch initial {
    case .now: "now"
    case .value(.text(let text)): text
    case .value(.bool(let flag)): flag ? "yes" : "no"
    case .value(.integer(let number)): "\(number)"
    default: ""
    }
  }

  /// Returns the type of a part in a word or two, the allowed values, and an example.
  fileprivate func typed(part: Int, _ schema: Schema) -> (type: String, values: String, example: String) {
    switch (type, part) {
    case (.bool, _): ("yes or no", "yes or no", "yes")
    case (.integer, _):
      ("number", "a whole number" + range(rule.integers), "\(max(1, rule.integers?.lowerBound ?? 1))")
    case (.float, _): ("number", "a number" + range(rule.numbers), "2")
    case (.text, _), (.any, _): text
    case (.uuid, _): ("id", type.expectation.description, "0196f0a2-7c31-7b4c-9e0f-3a5d2c8b1e60")
    case (.timestamp, _): ("day or time", "a day, or a time as in 2026-05-03T15:00", "2026-05-02")
    case (.instant, 0), (.datedInstant, 0):
      ("time", "a local time, or one with an offset", "2026-05-03T15:00")
    case (.instant, _), (.datedInstant, _): ("time zone", "the zone of the time", "Europe/Rome")
    case (.money, 0): ("amount", "a number, 0 or more", "120.50")
    case (.money, _): ("currency", "a code of ISO 4217", "EUR")
    case (.coordinate, 0): ("degrees", "from -90 to 90, together with \(parts[1])", "41.9")
    case (.coordinate, _): ("degrees", "from -180 to 180, together with \(parts[0])", "12.5")
    case (.reference(let number), _), (.keyReference(let number), _): reference(number, schema)
    case (.blob, _): ("file", "the path of a file", "photo.jpg")
    case (.list(let shape), _): ("list", shape.expectation.description, shape.sample)
    case (.owner, _), (.bytes, _): ("", type.expectation.description, "")
    }
  }

  private var text: (type: String, values: String, example: String) {
    if let first = rule.words.first { return ("word", rule.words.joined(separator: ", "), first) }
    if rule.isColor { return ("colour", "red, green and blue as in #2DA9E3", "'#2DA9E3'") }
    if rule.isZone { return ("time zone", "a name of the IANA", "Europe/Rome") }
    return ("text", rule.charactersMax.map { "at most \($0) characters" } ?? "any text", "text")
  }

  private func reference(
    _ number: KindNumber, _ schema: Schema
  ) -> (type: String, values: String, example: String) {
    let name = schema.kind(number)?.name ?? "record"
    return (name, "its name or id", "")
  }

  private func range(_ range: ClosedRange<Int64>?) -> String {
    range.map { " from \($0.lowerBound) to \($0.upperBound)" } ?? ""
  }

  private func range(_ range: ClosedRange<Double>?) -> String {
    range.map { " from \(plainText($0.lowerBound)) to \(plainText($0.upperBound))" } ?? ""
  }
}

extension ListShape {
  fileprivate var sample: String {
    switch self {
    case .reminders: "08:00,20:30"
    case .schedule: "mon,wed,fri"
    case .frequency: "everyEntry:30"
    case .weights: "openness:0.5,drive:1"
    case .zoneChanges: "'Europe/Rome>Asia/Tokyo@2026-05-03T15:00:00Z'"
    }
  }
}
