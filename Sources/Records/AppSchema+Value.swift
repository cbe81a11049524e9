// Protocol/records.md, "Kinds of apps"

import Replication
package import Wire

// The kinds of a schema as a value: [kind, …], with
//
//     kind   [number, name, plural, parent or null, title or null, [order field, …], [field, …]]
//     field  [number, name, type, number of the kind that it refers to or null, is required,
//             greatest number of characters or null, [word, …], initial value or null]
//
// Items that a newer version has added at the end of a list are ignored, and so are fields of a type that this version
// does not know.

extension AppSchema {
  /// The verb of the operations that share schemas.
  package static let verb = "schema"

  /// The kinds in the form in which they are stored and synced.
  package var kindsValue: Value { .array(kinds.map(\.value)) }

  /// Reads a stored or received schema, without kinds that break a rule; nil if none is left.
  package init?(app: String, kinds value: Value) {
    guard case .array(let items) = value, Self.isAppName(app) else { return nil }
    var kinds: [AppKind] = []
    for kind in items.prefix(Limits.appKindsMax).compactMap({ AppKind($0) }) where kind.isValid {
      let isTaken = kinds.contains { $0.number == kind.number || $0.sharesName(with: kind) }
      if !isTaken { kinds.append(kind) }
    }
    guard !kinds.isEmpty else { return nil }
    self.init(valid: app, kinds)
  }
}

extension AppKind {
  fileprivate var value: Value {
    .array([
      .integer(Int64(number)), .text(name), .text(plural), .field(parent), .field(title),
      .array(order.map { .integer(Int64($0)) }), .array(fields.compactMap(\.value)),
    ])
  }

  fileprivate init?(_ value: Value) {
    guard let number = value.part(0).asInteger.flatMap({ UInt64(exactly: $0) }),
      let name = value.part(1).asText, let plural = value.part(2).asText,
      case .array(let order) = value.part(5), case .array(let fields) = value.part(6)
    else { return nil }
    let known = fields.compactMap { AppField($0) }
    let numbers = Set(known.map(\.number))
    // What names a field that this version does not know is left out, except for the parent, without which the records
    // would be shown wrongly.
    self.init(
      number, name, plural: plural, parent: value.part(3) == .null ? nil : value.part(3).asField ?? 0,
      title: value.part(4).asField.flatMap { numbers.contains($0) ? $0 : nil },
      order: order.compactMap(\.asField).filter(numbers.contains), known)
  }
}

extension AppField {
  fileprivate var value: Value? {
    guard let typeName = type.appName else { return nil }
    var target = Value.null
    if case .reference(let kind) = type { target = .integer(Int64(kind.rawValue)) }
    return .array([
      .integer(Int64(number)), .text(name), .text(typeName), target, .bool(isRequired),
      charactersMax.map { .integer(Int64($0)) } ?? .null, .array(words.map(Value.text)), initial,
    ])
  }

  fileprivate init?(_ value: Value) {
    guard let number = value.part(0).asField, let name = value.part(1).asText,
      let type = value.part(2).asText.flatMap({ FieldType(appName: $0, kind: value.part(3)) })
    else { return nil }
    var words: [String] = []
    if case .array(let items) = value.part(6) { words = items.compactMap(\.asText) }
    self.init(
      number, name, type, isRequired: value.part(4).asBool ?? false,
      charactersMax: value.part(5).asInteger.flatMap { Int(exactly: $0) }, words: words,
      initial: type.accepts(value.part(7)) ? value.part(7) : .null)
  }
}

extension Value {
  fileprivate static func field(_ number: FieldNumber?) -> Value {
    number.map { .integer(Int64($0)) } ?? .null
  }

  fileprivate var asField: FieldNumber? { asInteger.flatMap { FieldNumber(exactly: $0) } }
}

extension FieldType {
  /// The name of the type in schemas of apps; nil for a type that only built-in kinds have.
  package var appName: String? {
    switch self {
    case .bool: "bool"
    case .integer: "integer"
    case .float: "float"
    case .text: "text"
    case .uuid: "uuid"
    case .timestamp: "timestamp"
    case .instant: "instant"
    case .datedInstant: "dated instant"
    case .money: "money"
    case .coordinate: "coordinate"
    case .reference: "reference"
    case .bytes: "bytes"
    case .any: "any"
    case .blob, .keyReference, .owner, .list: nil
    }
  }

  fileprivate init?(appName: String, kind: Value) {
    if appName == "reference" {
      guard let number = kind.asInteger.flatMap({ UInt64(exactly: $0) }).flatMap({ KindNumber($0) }) else {
        return nil
      }
      self = .reference(number)
      return
    }
    let all: [FieldType] = [
      .bool, .integer, .float, .text, .uuid, .timestamp, .instant, .datedInstant, .money, .coordinate, .bytes,
      .any,
    ]
    guard let type = all.first(where: { $0.appName == appName }) else { return nil }
    self = type
  }
}
