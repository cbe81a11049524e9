/// Decodes `Decodable` values from JSON, keeping the order of an object's keys and the digits of its numbers.
package struct JSONValueDecoder {
  /// Decodes types that have a special form in JSON, such as dates; returns nil for all other types.
  package typealias Substitution = (any Decodable.Type, JSON) throws -> (any Sendable)?

  private let userInfo: [CodingUserInfoKey: any Sendable]
  private let substitution: Substitution

  package init(
    userInfo: [CodingUserInfoKey: any Sendable] = [:],
    substitution: @escaping Substitution = { _, _ in nil }
  ) {
    self.userInfo = userInfo
    self.substitution = substitution
  }

  /// - Throws: `DecodingError`, or an error that the type throws.
  package func decode<Value: Decodable>(_ type: Value.Type, from json: JSON) throws -> Value {
    try Decoding(
      settings: Settings(userInfo: userInfo, substitution: substitution), path: [], json: json
    ).decode(type)
  }

  fileprivate struct Settings {
    let userInfo: [CodingUserInfoKey: any Sendable]
    let substitution: Substitution
  }
}

private struct Decoding: Decoder {
  let settings: JSONValueDecoder.Settings
  let path: [any CodingKey]
  let json: JSON

  var codingPath: [any CodingKey] { path }
  var userInfo: [CodingUserInfoKey: Any] { settings.userInfo }

  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    if type == JSON.self, let json = json as? Value { return json }
    if let value = try settings.substitution(type, json) as? Value { return value }
    return try Value(from: self)
  }

  func child(_ json: JSON, at key: any CodingKey) -> Decoding {
    Decoding(settings: settings, path: path + [key], json: json)
  }

  func mismatch<Wanted>(_ type: Wanted.Type) -> DecodingError {
    if json.isNull {
      return .valueNotFound(
        type, .init(codingPath: path, debugDescription: "null where \(type) was expected"))
    }
    return .typeMismatch(type, .init(codingPath: path, debugDescription: "not \(type)"))
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    guard let members = json.members else { throw mismatch([String: JSON].self) }
    return KeyedDecodingContainer(KeyedDecoding(decoding: self, members: members))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard let items = json.array else { throw mismatch([JSON].self) }
    return UnkeyedDecoding(decoding: self, items: items)
  }

  func singleValueContainer() -> any SingleValueDecodingContainer { SingleDecoding(decoding: self) }

  // MARK: Scalars

  func bool() throws -> Bool {
    guard let flag = json.boolean else { throw mismatch(Bool.self) }
    return flag
  }

  func string() throws -> String {
    guard let text = json.string else { throw mismatch(String.self) }
    return text
  }

  func double() throws -> Double {
    guard let number = json.float else { throw mismatch(Double.self) }
    return number
  }

  func integer<Number: FixedWidthInteger>() throws -> Number {
    guard let number = json.number.flatMap({ Number($0) }) else { throw mismatch(Number.self) }
    return number
  }
}

private struct KeyedDecoding<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let decoding: Decoding
  let members: [JSON.Member]

  var codingPath: [any CodingKey] { decoding.path }
  var allKeys: [Key] { members.compactMap { Key(stringValue: $0.key) } }

  private func find(_ key: Key) -> JSON? {
    let name = key.stringValue
    return members.first { isSameText($0.key, name) }?.value
  }

  private func at(_ key: Key) throws -> Decoding {
    guard let json = find(key) else {
      throw DecodingError.keyNotFound(
        key, .init(codingPath: decoding.path, debugDescription: "no key \(key.stringValue)"))
    }
    return decoding.child(json, at: key)
  }

  func contains(_ key: Key) -> Bool { find(key) != nil }
  func decodeNil(forKey key: Key) throws -> Bool { try at(key).json.isNull }
  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try at(key).bool() }
  func decode(_ type: String.Type, forKey key: Key) throws -> String { try at(key).string() }
  func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try at(key).double() }
  func decode(_ type: Float.Type, forKey key: Key) throws -> Float { Float(try at(key).double()) }
  func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try at(key).integer() }
  func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try at(key).integer() }
  func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try at(key).integer() }
  func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try at(key).integer() }
  func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try at(key).integer() }
  func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try at(key).integer() }
  func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try at(key).integer() }
  func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try at(key).integer() }
  func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try at(key).integer() }
  func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try at(key).integer() }
  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    try at(key).decode(type)
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> { try at(key).container(keyedBy: type) }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try at(key).unkeyedContainer()
  }

  func superDecoder() -> any Decoder {
    decoding.child(members.first { $0.key == "super" }?.value ?? .null, at: DocumentKey("super"))
  }

  func superDecoder(forKey key: Key) throws -> any Decoder { try at(key) }
}

private struct UnkeyedDecoding: UnkeyedDecodingContainer {
  let decoding: Decoding
  let items: [JSON]
  private(set) var currentIndex = 0

  init(decoding: Decoding, items: [JSON]) {
    self.decoding = decoding
    self.items = items
  }

  var codingPath: [any CodingKey] { decoding.path }
  var count: Int? { items.count }
  var isAtEnd: Bool { currentIndex >= items.count }

  /// Reads the next item. Advances only after success, because an item that can't be decoded as one type may still be
  /// decoded as another.
  private mutating func next<Value>(_ read: (Decoding) throws -> Value) throws -> Value {
    guard !isAtEnd else {
      throw DecodingError.valueNotFound(
        JSON.self, .init(codingPath: decoding.path, debugDescription: "the list has ended"))
    }
    let value = try read(decoding.child(items[currentIndex], at: Index(currentIndex)))
    currentIndex += 1
    return value
  }

  mutating func decodeNil() throws -> Bool {
    guard !isAtEnd, items[currentIndex].isNull else { return false }
    currentIndex += 1
    return true
  }

  mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    try next { try $0.decode(type) }
  }

  mutating func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type
  ) throws -> KeyedDecodingContainer<Nested> { try next { try $0.container(keyedBy: type) } }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try next { try $0.unkeyedContainer() }
  }

  mutating func superDecoder() throws -> any Decoder { try next { $0 } }
}

private struct SingleDecoding: SingleValueDecodingContainer {
  let decoding: Decoding

  var codingPath: [any CodingKey] { decoding.path }

  func decodeNil() -> Bool { decoding.json.isNull }
  func decode(_ type: Bool.Type) throws -> Bool { try decoding.bool() }
  func decode(_ type: String.Type) throws -> String { try decoding.string() }
  func decode(_ type: Double.Type) throws -> Double { try decoding.double() }
  func decode(_ type: Float.Type) throws -> Float { Float(try decoding.double()) }
  func decode(_ type: Int.Type) throws -> Int { try decoding.integer() }
  func decode(_ type: Int8.Type) throws -> Int8 { try decoding.integer() }
  func decode(_ type: Int16.Type) throws -> Int16 { try decoding.integer() }
  func decode(_ type: Int32.Type) throws -> Int32 { try decoding.integer() }
  func decode(_ type: Int64.Type) throws -> Int64 { try decoding.integer() }
  func decode(_ type: UInt.Type) throws -> UInt { try decoding.integer() }
  func decode(_ type: UInt8.Type) throws -> UInt8 { try decoding.integer() }
  func decode(_ type: UInt16.Type) throws -> UInt16 { try decoding.integer() }
  func decode(_ type: UInt32.Type) throws -> UInt32 { try decoding.integer() }
  func decode(_ type: UInt64.Type) throws -> UInt64 { try decoding.integer() }

  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    try decoding.decode(type)
  }
}

extension JSON: Decodable {
  /// Decodes a document from any decoder. If the decoder is that of `JSONValueDecoder`, takes its document as it is.
  package init(from decoder: any Decoder) throws {
    if let decoding = decoder as? Decoding {
      self = decoding.json
    } else if let container = try? decoder.container(keyedBy: DocumentKey.self) {
      self = .object(
        try container.allKeys.map { Member($0.stringValue, try container.decode(JSON.self, forKey: $0)) })
    } else if var container = try? decoder.unkeyedContainer() {
      var items: [JSON] = []
      while !container.isAtEnd { items.append(try container.decode(JSON.self)) }
      self = .array(items)
    } else {
      let container = try decoder.singleValueContainer()
      if container.decodeNil() {
        self = .null
      } else if let flag = try? container.decode(Bool.self) {
        self = .bool(flag)
      } else if let integer = try? container.decode(Int64.self) {
        self = .integer(integer)
      } else if let number = try? container.decode(Double.self) {
        self = .float(number)
      } else {
        self = .string(try container.decode(String.self))
      }
    }
  }
}
