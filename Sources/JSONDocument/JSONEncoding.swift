/// Encodes `Encodable` values as JSON, keeping the order in which they encode their keys.
///
/// A nil optional becomes `null`, so that a document always has the same keys. A type that is to omit keys does so in
/// its own `encode(to:)`.
package struct JSONValueEncoder {
  /// Encodes values that have a special form in JSON, such as dates; returns nil for all other values.
  package typealias Substitution = (any Encodable) -> JSON?

  private let userInfo: [CodingUserInfoKey: any Sendable]
  private let substitution: Substitution

  package init(
    userInfo: [CodingUserInfoKey: any Sendable] = [:], substitution: @escaping Substitution = { _ in nil }
  ) {
    self.userInfo = userInfo
    self.substitution = substitution
  }

  /// - Throws: `EncodingError`, or an error that the value throws.
  package func encode(_ value: some Encodable) throws -> JSON {
    try Encoding(settings: Settings(userInfo: userInfo, substitution: substitution), path: []).encode(value)
  }

  fileprivate struct Settings {
    let userInfo: [CodingUserInfoKey: any Sendable]
    let substitution: Substitution
  }
}

/// The destination of one encoded value. Complete parts are stored as JSON; only parts that may still grow are nodes.
private final class Node {
  enum Content {
    case empty
    case value(JSON)
    case array([Part])
    case object([(key: String, part: Part)])
  }

  enum Part {
    case value(JSON)
    case node(Node)

    var json: JSON {
      switch self {
      case .value(let json): json
      case .node(let node): node.json
      }
    }
  }

  var content = Content.empty

  /// Turns the content into an array that can grow.
  func beginArray() {
    switch content {
    case .array: break
    case .value(.array(let items)): content = .array(items.map(Part.value))
    default: content = .array([])
    }
  }

  /// Turns the content into an object that can grow.
  func beginObject() {
    switch content {
    case .object: break
    case .value(.object(let members)): content = .object(members.map { ($0.key, .value($0.value)) })
    default: content = .object([])
    }
  }

  func append(_ part: Part) {
    guard case .array(var items) = content else { return }
    content = .empty
    items.append(part)
    content = .array(items)
  }

  /// Sets the value of a key. A key that is set twice keeps its position and gets the later value.
  func set(_ key: String, _ part: Part) {
    guard case .object(var members) = content else { return }
    content = .empty
    if let index = members.firstIndex(where: { $0.key == key }) {
      members[index].part = part
    } else {
      members.append((key, part))
    }
    content = .object(members)
  }

  /// Stores a whole document. If there is content already, the document's members or items are added to it.
  func take(_ json: JSON) {
    switch (content, json) {
    case (.empty, _): content = .value(json)
    case (_, .object(let members)):
      beginObject()
      for member in members { set(member.key, .value(member.value)) }
    case (_, .array(let items)):
      beginArray()
      for item in items { append(.value(item)) }
    default: content = .value(json)
    }
  }

  var json: JSON {
    switch content {
    case .empty: .object([])
    case .value(let json): json
    case .array(let parts): .array(parts.map(\.json))
    case .object(let members): .object(members.map { JSON.Member($0.key, $0.part.json) })
    }
  }
}

private struct Encoding: Encoder {
  let settings: JSONValueEncoder.Settings
  let path: [any CodingKey]
  let node = Node()

  var codingPath: [any CodingKey] { path }
  var userInfo: [CodingUserInfoKey: Any] { settings.userInfo }

  func encode(_ value: some Encodable) throws -> JSON {
    if let json = try plain(value) { return json }
    try value.encode(to: self)
    return node.json
  }

  /// Encodes a value that needs no container; returns nil for any other value.
  func plain(_ value: some Encodable) throws -> JSON? {
    switch value {
    case let json as JSON: json
    case let text as String: .string(text)
    case let flag as Bool: .bool(flag)
    case let number as Int: .integer(number)
    default: settings.substitution(value)
    }
  }

  /// Encodes the value of a key or an item.
  func part(_ value: some Encodable, at key: any CodingKey) throws -> Node.Part {
    if let json = try plain(value) { return .value(json) }
    let encoding = Encoding(settings: settings, path: path + [key])
    try value.encode(to: encoding)
    return .value(encoding.node.json)
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    // A type may ask for its container more than once, for example to encode another value's keys along with its own.
    node.beginObject()
    return KeyedEncodingContainer(KeyedEncoding<Key>(encoding: self))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    node.beginArray()
    return UnkeyedEncoding(encoding: self)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { SingleEncoding(encoding: self) }
}

private struct KeyedEncoding<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let encoding: Encoding

  var codingPath: [any CodingKey] { encoding.path }

  private func put(_ json: JSON, _ key: Key) {
    encoding.node.set(key.stringValue, .value(json))
  }

  private func put(_ value: (some Encodable)?, _ key: Key) throws {
    guard let value else { return put(.null, key) }
    encoding.node.set(key.stringValue, try encoding.part(value, at: key))
  }

  func encodeNil(forKey key: Key) { put(.null, key) }
  func encode(_ value: some Encodable, forKey key: Key) throws { try put(value, key) }

  func encodeIfPresent(_ value: Bool?, forKey key: Key) { put(value.map(JSON.bool) ?? .null, key) }
  func encodeIfPresent(_ value: String?, forKey key: Key) { put(.text(value), key) }
  func encodeIfPresent(_ value: Double?, forKey key: Key) { put(value.map(JSON.float) ?? .null, key) }
  func encodeIfPresent(_ value: Float?, forKey key: Key) throws { try put(value, key) }
  func encodeIfPresent(_ value: Int?, forKey key: Key) throws { try put(value, key) }
  func encodeIfPresent(_ value: Int8?, forKey key: Key) throws { try put(value, key) }
  func encodeIfPresent(_ value: Int16?, forKey key: Key) throws { try put(value, key) }
  func encodeIfPresent(_ value: Int32?, forKey key: Key) throws { try put(value, key) }
  func encodeIfPresent(_ value: Int64?, forKey key: Key) throws { try put(value, key) }
  func encodeIfPresent(_ value: UInt?, forKey key: Key) throws { try put(value, key) }
  func encodeIfPresent(_ value: UInt8?, forKey key: Key) throws { try put(value, key) }
  func encodeIfPresent(_ value: UInt16?, forKey key: Key) throws { try put(value, key) }
  func encodeIfPresent(_ value: UInt32?, forKey key: Key) throws { try put(value, key) }
  func encodeIfPresent(_ value: UInt64?, forKey key: Key) throws { try put(value, key) }
  func encodeIfPresent(_ value: (some Encodable)?, forKey key: Key) throws { try put(value, key) }

  private func nested(_ key: Key) -> Encoding {
    let nested = Encoding(settings: encoding.settings, path: encoding.path + [key])
    encoding.node.set(key.stringValue, .node(nested.node))
    return nested
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) -> KeyedEncodingContainer<Nested> { nested(key).container(keyedBy: type) }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    nested(key).unkeyedContainer()
  }

  func superEncoder() -> any Encoder {
    let nested = Encoding(settings: encoding.settings, path: encoding.path)
    encoding.node.set("super", .node(nested.node))
    return nested
  }

  func superEncoder(forKey key: Key) -> any Encoder { nested(key) }
}

private struct UnkeyedEncoding: UnkeyedEncodingContainer {
  let encoding: Encoding
  private(set) var count = 0

  init(encoding: Encoding) { self.encoding = encoding }

  var codingPath: [any CodingKey] { encoding.path }

  private mutating func add(_ part: Node.Part) {
    encoding.node.append(part)
    count += 1
  }

  mutating func encodeNil() { add(.value(.null)) }

  mutating func encode(_ value: some Encodable) throws {
    add(try encoding.part(value, at: Index(count)))
  }

  private mutating func nested() -> Encoding {
    let nested = Encoding(settings: encoding.settings, path: encoding.path + [Index(count)])
    add(.node(nested.node))
    return nested
  }

  mutating func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type
  ) -> KeyedEncodingContainer<Nested> { nested().container(keyedBy: type) }

  mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { nested().unkeyedContainer() }
  mutating func superEncoder() -> any Encoder { nested() }
}

private struct SingleEncoding: SingleValueEncodingContainer {
  let encoding: Encoding

  var codingPath: [any CodingKey] { encoding.path }

  private func put(_ json: JSON) { encoding.node.content = .value(json) }

  func encodeNil() { put(.null) }
  func encode(_ value: Bool) { put(.bool(value)) }
  func encode(_ value: String) { put(.string(value)) }
  func encode(_ value: Double) { put(.float(value)) }
  func encode(_ value: Float) { put(.float(Double(value))) }
  func encode(_ value: Int) { put(.integer(value)) }
  func encode(_ value: Int8) { put(.integer(value)) }
  func encode(_ value: Int16) { put(.integer(value)) }
  func encode(_ value: Int32) { put(.integer(value)) }
  func encode(_ value: Int64) { put(.integer(value)) }
  func encode(_ value: UInt) { put(.integer(value)) }
  func encode(_ value: UInt8) { put(.integer(value)) }
  func encode(_ value: UInt16) { put(.integer(value)) }
  func encode(_ value: UInt32) { put(.integer(value)) }
  func encode(_ value: UInt64) { put(.integer(value)) }

  func encode(_ value: some Encodable) throws {
    if let json = try encoding.plain(value) { return put(json) }
    try value.encode(to: encoding)
  }
}

/// A coding key for a position in an array, used in the coding paths of errors.
struct Index: CodingKey {
  let index: Int

  init(_ index: Int) { self.index = index }
  init?(intValue: Int) { index = intValue }
  init?(stringValue: String) { nil }

  var intValue: Int? { index }
  var stringValue: String { "\(index)" }
}

extension JSON: Encodable {
  /// Encodes a document to any encoder. If the encoder is that of `JSONValueEncoder`, passes it the document as it is.
  package func encode(to encoder: any Encoder) throws {
    if let encoding = encoder as? Encoding { return encoding.node.take(self) }
    switch self {
    case .null:
      var container = encoder.singleValueContainer()
      try container.encodeNil()
    case .bool(let flag):
      var container = encoder.singleValueContainer()
      try container.encode(flag)
    case .number(let digits):
      var container = encoder.singleValueContainer()
      if let integer { try container.encode(integer) } else { try container.encode(Double(digits) ?? .nan) }
    case .string(let text):
      var container = encoder.singleValueContainer()
      try container.encode(text)
    case .array(let items):
      var container = encoder.unkeyedContainer()
      for item in items { try container.encode(item) }
    case .object(let members):
      var container = encoder.container(keyedBy: DocumentKey.self)
      for member in members { try container.encode(member.value, forKey: DocumentKey(member.key)) }
    }
  }
}

/// A coding key that no type declares, made from a key in a document.
package struct DocumentKey: CodingKey {
  package let stringValue: String

  package init(_ text: String) { stringValue = text }
  package init(stringValue: String) { self.stringValue = stringValue }
  package init?(intValue: Int) { nil }

  package var intValue: Int? { nil }
}
