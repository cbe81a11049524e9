// Protocol/records.md, "Kinds of apps"

import Replication
package import Wire

// The kinds of a schema as a value: [kind, …], with
//
//     kind   [number, name, plural, parent or null, title or null, [order field, …], [field, …]]
//     field  [number, name, type, number of the kind that it refers to or null, is required,
//             greatest number of characters or null, [word, …]]
//
// Items that a newer version has added at the end of a list are ignored, and so are fields of a type that this version
// does not know.

extension AppSchema {
  /// The kinds in the form in which they are stored and synced.
  package var kindsValue: Value { .array(kinds.map(\.value)) }

  /// Reads a stored or received schema; nil if it breaks a rule.
  package init?(app: String, kinds value: Value) {
    guard case .array(let kinds) = value, kinds.count <= Limits.appKindsMax,
      let schema = try? AppSchema(app: app, kinds.compactMap { AppKind($0) }),
      schema.kinds.count == kinds.count
    else { return nil }
    self = schema
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
    self.init(
      number, name, plural: plural, parent: value.part(3).asField, title: value.part(4).asField,
      order: order.compactMap(\.asField), fields.compactMap { AppField($0) })
  }
}

extension AppField {
  fileprivate var value: Value? {
    guard let typeName = type.appName else { return nil }
    var target = Value.null
    if case .reference(let kind) = type { target = .integer(Int64(kind.rawValue)) }
    return .array([
      .integer(Int64(number)), .text(name), .text(typeName), target, .bool(isRequired),
      charactersMax.map { .integer(Int64($0)) } ?? .null, .array(words.map(Value.text)),
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
      charactersMax: value.part(5).asInteger.flatMap { Int(exactly: $0) }, words: words)
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
    case .blob: "blob"
    case .bytes: "bytes"
    case .any: "any"
    case .keyReference, .owner, .list: nil
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
      .bool, .integer, .float, .text, .uuid, .timestamp, .instant, .datedInstant, .money, .coordinate, .blob,
      .bytes, .any,
    ]
    guard let type = all.first(where: { $0.appName == appName }) else { return nil }
    self = type
  }
}
