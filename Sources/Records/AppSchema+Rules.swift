// Protocol/records.md, "Kinds of apps": the rules that a schema follows.

import Replication
import Wire

extension AppSchema {
  func validate() throws(SchemaError) {
    let subject = "the app “\(app)”"
    guard Self.isAppName(app) else {
      throw SchemaError(
        subject: subject, rule: "needs a name in reverse domain form, such as com.example.packing")
    }
    guard (1...Limits.appKindsMax).contains(kinds.count) else {
      throw SchemaError(subject: subject, rule: "can have from 1 to \(Limits.appKindsMax) kinds")
    }
    for (index, kind) in kinds.enumerated() {
      try kind.validate()
      for other in kinds[..<index] {
        guard kind.number != other.number else {
          throw SchemaError(subject: kind.subject, rule: "has the number of another kind, \(kind.number)")
        }
        guard !kind.sharesName(with: other) else {
          throw SchemaError(subject: kind.subject, rule: "has a name of the kind “\(other.name)”")
        }
      }
    }
  }

  static func isAppName(_ name: String) -> Bool {
    let parts = name.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count >= 2 && name.utf8.count <= Limits.appNameBytesMax
      && parts.allSatisfy { isWord($0, mayBeginWithDigit: true) }
  }

  /// Whether a text consists of lower-case letters and digits of ASCII, with single hyphens between them.
  static func isWord(_ text: Substring, mayBeginWithDigit: Bool = false) -> Bool {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    guard let first = text.utf8.first, mayBeginWithDigit || isLetter(first) else { return false }
    return parts.allSatisfy { part in !part.isEmpty && part.utf8.allSatisfy { isLetter($0) || isDigit($0) } }
  }

  fileprivate static func isLetter(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
  }
  fileprivate static func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }
}

extension AppKind {
  /// The numbers for kinds of apps.
  package static let numbers: ClosedRange<UInt64> = 2_048...4_095

  var subject: String { "the kind “\(name)”" }

  var isValid: Bool { (try? validate()) != nil }

  func validate() throws(SchemaError) {
    guard Self.numbers.contains(number) else {
      throw SchemaError(
        subject: subject,
        rule: "needs a number from \(Self.numbers.lowerBound) to \(Self.numbers.upperBound), not \(number)")
    }
    // No built-in kind and no command has a hyphen in its name.
    for name in [name, plural] {
      guard name.contains("-"), name.utf8.count <= Limits.schemaNameBytesMax, AppSchema.isWord(name[...])
      else {
        throw SchemaError(
          subject: subject,
          rule: "needs names of lower-case words joined by hyphens, such as packing-item and packing-items")
      }
    }
    guard name != plural else {
      throw SchemaError(subject: subject, rule: "needs a plural that differs from its name")
    }
    guard (1...Limits.appFieldsMax).contains(fields.count) else {
      throw SchemaError(subject: subject, rule: "can have from 1 to \(Limits.appFieldsMax) fields")
    }
    var numbers: Set<FieldNumber> = []
    var names: Set<String> = Self.reservedNames
    for field in fields {
      let subject = "the field “\(field.name)” of \(subject)"
      guard (1...Fields.max).contains(field.number), numbers.insert(field.number).inserted else {
        throw SchemaError(
          subject: subject, rule: "needs a number of its own, from 1 to \(Fields.max), not \(field.number)")
      }
      guard field.hasValidName else {
        throw SchemaError(subject: subject, rule: "needs a name of letters and digits such as isPacked")
      }
      for name in field.documentNames {
        guard names.insert(name).inserted else {
          throw SchemaError(subject: subject, rule: "needs another name, because \(name) is used already")
        }
      }
      guard field.type.appName != nil else {
        throw SchemaError(subject: subject, rule: "has a type that only built-in kinds have")
      }
      guard field.words.count <= Limits.appWordsMax, field.words.allSatisfy(AppField.isWord) else {
        throw SchemaError(
          subject: subject,
          rule: "can have \(Limits.appWordsMax) words of at most \(Limits.schemaNameBytesMax) bytes")
      }
    }
    try validateReferences()
  }

  private func validateReferences() throws(SchemaError) {
    for number in order + [title, parent].compactMap(\.self) {
      guard fields.contains(where: { $0.number == number }) else {
        throw SchemaError(subject: subject, rule: "refers to a field \(number) that it does not have")
      }
    }
    if let title, fields.first(where: { $0.number == title })?.type != .text {
      throw SchemaError(subject: subject, rule: "needs a title that is a text")
    }
    guard let parent, let field = fields.first(where: { $0.number == parent }) else { return }
    guard case .reference(let kind) = field.type, kind.rawValue != number else {
      throw SchemaError(
        subject: subject, rule: "needs a parent that is a reference to a record of another kind")
    }
  }

  /// The names that documents use for other things next to the fields of a record.
  static let reservedNames: Set<String> = [
    "id", "shortId", "kind", "fields", "conflicts", "deleted", "deletedAt", "deletedBy", "deletedByName",
    "hiddenBy", "output",
  ]
}

extension AppField {
  /// Whether a text can be a word of a field. Control characters could confuse a terminal.
  static func isWord(_ text: String) -> Bool {
    (1...Limits.schemaNameBytesMax).contains(text.utf8.count)
      && !text.unicodeScalars.contains { $0.properties.generalCategory == .control }
  }

  fileprivate var hasValidName: Bool {
    guard let first = name.utf8.first, AppSchema.isLetter(first), name.utf8.count <= Limits.schemaNameBytesMax
    else {
      return false
    }
    return name.utf8.allSatisfy { byte in
      AppSchema.isLetter(byte) || AppSchema.isDigit(byte)
        || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
    }
  }

  /// All names that documents and the command line use for the field.
  var documentNames: [String] {
    if case .reference = type { return [name, Field.nameKey(name)] }
    var names = parts + aliases.keys + (parts.contains(name) ? [] : [name])
    // Documents repeat times in UTC.
    if [.timestamp, .instant, .datedInstant].contains(type) { names.append(name + "UTC") }
    return names
  }

  /// The names of the field's components in documents.
  var parts: [String] {
    switch type {
    case .instant: [name, name + "TZId"]
    case .datedInstant: [name, name + "TZId", name + "Day"]
    case .money: [name, name + "Currency"]
    case .coordinate: [name + "Latitude", name + "Longitude"]
    default: [name]
    }
  }

  var aliases: [String: String] {
    switch type {
    case .instant, .datedInstant: [name + "TZ": name + "TZId"]
    default: [:]
    }
  }
}
