// Protocol/records.md, "Kinds of apps"

package import Replication
package import Wire

/// The kinds of records that one app defines.
public struct AppSchema: Hashable, Sendable {
  /// The name of the app in reverse domain form: `com.example.packing`.
  public let app: String
  /// The kinds in ascending order of their numbers.
  package let kinds: [AppKind]

  /// - Throws: `SchemaError` if a name or number is not allowed, or is used twice.
  package init(app: String, _ kinds: [AppKind]) throws(SchemaError) {
    self.app = app
    self.kinds = kinds.sorted { $0.number < $1.number }
    try validate()
  }

  /// Creates a schema from kinds that follow the rules.
  init(valid app: String, _ kinds: [AppKind]) {
    self.app = app
    self.kinds = kinds.sorted { $0.number < $1.number }
  }

  /// Returns the schema without kinds that have a number or a name of some other kinds; it can be empty.
  package func without(kindsLike others: [AppKind]) -> AppSchema {
    AppSchema(
      valid: app,
      kinds.filter { kind in
        !others.contains { $0.number == kind.number || $0.sharesName(with: kind) }
      })
  }

  /// Returns these kinds, and those of another version of the same app. If both define a kind or a field, its names and
  /// its type are those of this version, and a local write may do what either version allows. A kind or field of the
  /// other version that does not fit is left out.
  package func merged(with other: AppSchema) -> AppSchema {
    var merged = kinds
    for kind in other.kinds {
      if let index = merged.firstIndex(where: { $0.number == kind.number }) {
        merged[index].addFields(of: kind)
      } else if merged.count < Limits.appKindsMax, !merged.contains(where: { $0.sharesName(with: kind) }) {
        merged.append(kind)
      }
    }
    return AppSchema(valid: app, merged)
  }
}

/// A kind of records as an app defines it.
package struct AppKind: Hashable, Sendable {
  /// The number, in the range for kinds of apps.
  package let number: UInt64
  /// The singular name: `packing-item`.
  package let name: String
  /// The plural name: `packing-items`.
  package let plural: String
  /// The field that refers to a record's parent; nil if records of this kind have no parent.
  package let parent: FieldNumber?
  /// The field that names a record in lists; nil if none does.
  package let title: FieldNumber?
  /// The fields by which lists are sorted, in ascending order.
  package let order: [FieldNumber]
  /// The fields in ascending order of their numbers.
  package private(set) var fields: [AppField]

  package init(
    _ number: UInt64, _ name: String, plural: String, parent: FieldNumber? = nil, title: FieldNumber? = nil,
    order: [FieldNumber] = [], _ fields: [AppField]
  ) {
    (self.number, self.name, self.plural) = (number, name, plural)
    (self.parent, self.title, self.order) = (parent, title, order)
    self.fields = fields.sorted { $0.number < $1.number }
  }

  fileprivate mutating func addFields(of other: AppKind) {
    var names = fields.reduce(into: Self.reservedNames) { $0.formUnion($1.documentNames) }
    for field in other.fields {
      if let index = fields.firstIndex(where: { $0.number == field.number }) {
        fields[index] = fields[index].loosened(by: field)
      } else if fields.count < Limits.appFieldsMax, names.isDisjoint(with: field.documentNames) {
        names.formUnion(field.documentNames)
        fields.append(field)
      }
    }
    fields.sort { $0.number < $1.number }
  }

  func sharesName(with other: AppKind) -> Bool {
    !Set([name, plural]).isDisjoint(with: [other.name, other.plural])
  }
}

/// A field of a kind as an app defines it.
package struct AppField: Hashable, Sendable {
  package let number: FieldNumber
  /// The name in documents and on the command line: `isPacked`.
  package let name: String
  package let type: FieldType
  /// Whether a new record must have a value that is not empty.
  package let isRequired: Bool
  /// The greatest number of characters of a text; nil if only the protocol limits it.
  package let charactersMax: Int?
  /// The words that a text can be; empty if it can be any text.
  package let words: [String]
  /// The value that the field gets in a new record if the author sets none; null to leave it empty.
  package let initial: Value

  package init(
    _ number: FieldNumber, _ name: String, _ type: FieldType, isRequired: Bool = false,
    charactersMax: Int? = nil, words: [String] = [], initial: Value = .null
  ) {
    (self.number, self.name, self.type, self.initial) = (number, name, type, initial)
    (self.isRequired, self.charactersMax, self.words) = (isRequired, charactersMax, words)
  }
}

extension AppField {
  /// Returns the field with rules that allow what either definition allows.
  fileprivate func loosened(by other: AppField) -> AppField {
    guard type == other.type else { return self }
    let longest = charactersMax.flatMap { own in other.charactersMax.map { max(own, $0) } }
    let known = Set(words)
    let all = words + other.words.filter { !known.contains($0) }
    let isFree = words.isEmpty || other.words.isEmpty || all.count > Limits.appWordsMax
    return AppField(
      number, name, type, isRequired: isRequired && other.isRequired, charactersMax: longest,
      words: isFree ? [] : all, initial: initial)
  }
}

/// The error for a schema that breaks a rule of records.md.
package struct SchemaError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What breaks the rule: `the kind “item”`.
  package let subject: String
  /// The rule, as a clause that completes the sentence: `needs a name such as packing-item`.
  package let rule: String

  package init(subject: String, rule: String) { (self.subject, self.rule) = (subject, rule) }

  package var description: String { "\(subject.prefix(1).uppercased() + subject.dropFirst()) \(rule)." }
}
