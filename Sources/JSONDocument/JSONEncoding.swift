/// Encodes `Encodable` values as JSON that keeps the order in which they encode their keys.
///
/// An optional that is nil becomes `null`: a document has the same keys whatever it says. A type that leaves a key out
/// encodes only what is there in its own `encode(to:)`.
package struct JSONValueEncoder {
  /// Gives the JSON of values that have a form of their own, as a date has; nil for all others.
  package typealias Substitution = (any Encodable) -> JSON?

  private let userInfo: [CodingUserInfoKey: any Sendable]
  private let substitution: Substitution

  package init(
    userInfo: [CodingUserInfoKey: any Sendable] = [:], substitution: @escaping Substitution = { _ in nil }
  ) {
    self.userInfo = userInfo
    self.substitution = substitution
  }

  /// - Throws: `EncodingError`, and what the value throws.
  package func encode(_ value: some Encodable) throws -> JSON {
    try Encoding(settings: Settings(userInfo: userInfo, substitution: substitution), path: []).encode(value)
  }

  fileprivate struct Settings {
    let userInfo: [CodingUserInfoKey: any Sendable]
    let substitution: Substitution
  }
}

/// Where one value is being encoded: a tree of these is the document while it grows.
private final class Node {
  enum Content {
    case empty
    case value(JSON)
    case array([Node])
    case object([(key: String, node: Node)])
  }

  var content = Content.empty

  func append(_ node: Node) {
    guard case .array(var items) = content else { return }
    content = .empty
    items.append(node)
    content = .array(items)
  }

  /// A key that is encoded twice keeps its place and has the later value.
  func set(_ key: String, _ node: Node) {
    guard case .object(var members) = content else { return }
    content = .empty
    if let index = members.firstIndex(where: { $0.key == key }) {
      members[index].node = node
    } else {
      members.append((key, node))
    }
    content = .object(members)
  }

  var json: JSON {
    switch content {
    case .empty: .object([])
    case .value(let json): json
    case .array(let nodes): .array(nodes.map(\.json))
    case .object(let members): .object(members.map { JSON.Member($0.key, $0.node.json) })
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

  /// What needs no container.
  func plain(_ value: some Encodable) throws -> JSON? {
    switch value {
    case let json as JSON: json
    case let text as String: .string(text)
    case let flag as Bool: .bool(flag)
    case let number as Int: .integer(number)
    default: settings.substitution(value)
    }
  }

  /// Puts a value into a node of its own.
  func child(_ value: some Encodable, at key: any CodingKey) throws -> Node {
    let encoding = Encoding(settings: settings, path: path + [key])
    if let json = try plain(value) {
      encoding.node.content = .value(json)
    } else {
      try value.encode(to: encoding)
    }
    return encoding.node
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    // A type may ask more than once, as one does that encodes another in its place.
    if case .object = node.content {} else { node.content = .object([]) }
    return KeyedEncodingContainer(KeyedEncoding<Key>(encoding: self))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    if case .array = node.content {} else { node.content = .array([]) }
    return UnkeyedEncoding(encoding: self)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { SingleEncoding(encoding: self) }
}

private struct KeyedEncoding<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let encoding: Encoding

  var codingPath: [any CodingKey] { encoding.path }

  private func put(_ json: JSON, _ key: Key) {
    let node = Node()
    node.content = .value(json)
    encoding.node.set(key.stringValue, node)
  }

  private func put(_ value: (some Encodable)?, _ key: Key) throws {
    guard let value else { return put(.null, key) }
    encoding.node.set(key.stringValue, try encoding.child(value, at: key))
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
    encoding.node.set(key.stringValue, nested.node)
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
    encoding.node.set("super", nested.node)
    return nested
  }

  func superEncoder(forKey key: Key) -> any Encoder { nested(key) }
}

private struct UnkeyedEncoding: UnkeyedEncodingContainer {
  let encoding: Encoding
  private(set) var count = 0

  init(encoding: Encoding) { self.encoding = encoding }

  var codingPath: [any CodingKey] { encoding.path }

  private mutating func add(_ node: Node) {
    encoding.node.append(node)
    count += 1
  }

  mutating func encodeNil() {
    let node = Node()
    node.content = .value(.null)
    add(node)
  }

  mutating func encode(_ value: some Encodable) throws {
    add(try encoding.child(value, at: Index(count)))
  }

  private mutating func nested() -> Encoding {
    let nested = Encoding(settings: encoding.settings, path: encoding.path + [Index(count)])
    add(nested.node)
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

/// A place in an array, in the path of an error.
struct Index: CodingKey {
  let index: Int

  init(_ index: Int) { self.index = index }
  init?(intValue: Int) { index = intValue }
  init?(stringValue: String) { nil }

  var intValue: Int? { index }
  var stringValue: String { "\(index)" }
}

extension JSON: Encodable {
  /// Any encoder takes a document; ours takes it as it is.
  package func encode(to encoder: any Encoder) throws {
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

/// A key that only the document knows.
package struct DocumentKey: CodingKey {
  package let stringValue: String

  package init(_ text: String) { stringValue = text }
  package init(stringValue: String) { self.stringValue = stringValue }
  package init?(intValue: Int) { nil }

  package var intValue: Int? { nil }
}
