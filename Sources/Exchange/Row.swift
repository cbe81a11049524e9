import JSONDocument
import Reasons
import Records
import Wire

/// One object in a file, which is read field by field.
struct Row {
  let json: JSON
  /// Whether empty text means that there is no value.
  let emptyTextIsNull: Bool

  init(_ json: JSON, emptyTextIsNull: Bool = false) throws(RowError) {
    guard json.members != nil else { throw RowError("it is not an object") }
    self.json = json
    self.emptyTextIsNull = emptyTextIsNull
  }

  /// Returns the value of a key; nil if it is missing or null.
  func present(_ key: String) -> JSON? {
    guard let value = json[key], !value.isNull else { return nil }
    return value
  }

  func refused(_ key: String, _ found: JSON, _ expected: String) -> RowError {
    let text = found.text()
    let shown = text.count > 60 ? String(text.prefix(57)) + "..." : text
    return RowError("\(key) should be \(expected), but is \(shown)")
  }

  // MARK: Values by key

  func text(_ key: String) throws(RowError) -> String? {
    guard let value = present(key) else { return nil }
    guard let text = value.string else { throw refused(key, value, "text") }
    return text.isEmpty && emptyTextIsNull ? nil : text
  }

  func bool(_ key: String) throws(RowError) -> Bool? {
    guard let value = present(key) else { return nil }
    guard let flag = value.boolean else { throw refused(key, value, "true or false") }
    return flag
  }

  func float(_ key: String) throws(RowError) -> Double? {
    guard let value = present(key) else { return nil }
    guard let number = value.float else { throw refused(key, value, "a number") }
    return wireFloat(number)
  }

  func time(_ key: String) throws(RowError) -> Int64? {
    guard let value = present(key), value.string != "" || !emptyTextIsNull else { return nil }
    guard let time = value.string.flatMap({ WrittenTime($0) })?.milliseconds else {
      throw refused(key, value, "a time such as 2026-05-03T15:00:00Z")
    }
    return exactTime(key, of: time) ?? time
  }

  /// Returns the exact form of a time, from a key of its own; nil if it differs from the time by a second or more, because
  /// another program may have changed the time alone.
  private func exactTime(_ key: String, of time: Int64) -> Int64? {
    guard let exact = present(AddedKeys.exact(key))?.string.flatMap({ WrittenTime($0) })?.milliseconds,
      wholeSecond(exact) == time
    else { return nil }
    return exact
  }

  /// Parses the UUID under a key; nil if it is missing, or if it is empty and `emptyTextIsNull` is true.
  func identifier(_ key: String) throws(RowError) -> RecordID? {
    guard let value = present(key), value.string != "" || !emptyTextIsNull else { return nil }
    guard let id = value.string.flatMap({ RecordID(uuid: $0) }) else {
      throw refused(key, value, "a UUID")
    }
    return id
  }

  /// The id of the row itself.
  func id() throws(RowError) -> RecordID {
    guard let id = try identifier("id") else { throw RowError("it has no id") }
    return id
  }

  // MARK: Fields

  /// Returns the value of a field with a single part; null if it is missing. The key is the field's name by default.
  func value(_ field: Field, key: String? = nil) throws(RowError) -> Value {
    let key = key ?? field.name
    switch field.type {
    case .text, .keyReference: return try text(key).map(Value.text) ?? .null
    case .bool: return try bool(key).map(Value.bool) ?? .null
    case .float: return try float(key).map(Value.float) ?? .null
    case .timestamp: return try time(key).map(Value.integer) ?? .null
    case .uuid, .reference: return try identifier(key).map { .bytes($0.bytes) } ?? .null
    case .integer:
      guard let value = present(key) else { return .null }
      guard let number = value.integer else { throw refused(key, value, "a whole number") }
      return .integer(number)
    case .list(let shape):
      guard let value = present(key) else { return .null }
      guard let list = shape.value(try exactTimes(value, of: shape)) else {
        throw refused(key, value, shape.expectation.description)
      }
      return list
    case .instant, .datedInstant, .money, .coordinate, .owner, .blob, .bytes, .any:
      preconditionFailure("\(key) is read by a function of its own")
    }
  }

  /// Reads the fields with these names into a draft.
  func read(_ names: [String], of kind: Kind, into draft: inout RecordDraft) throws(RowError) {
    for name in names {
      guard let field = kind.field(named: name) else { preconditionFailure("no field \(name)") }
      draft[field.number] = unlessPlaceholder(try value(field), field, of: draft)
    }
  }

  /// Returns a value as read; null if it is the placeholder of its field, and the row says so.
  ///
  /// - Parameters:
  ///   - draft: the fields of the row that precede this one.
  ///   - key: the key of the value; nil for the name of the field.
  func unlessPlaceholder(_ value: Value, _ field: Field, of draft: RecordDraft, key: String? = nil) -> Value {
    let isPlaceholder = value == Placeholders.value(field, of: draft) && namesPlaceholder(key ?? field.name)
    return isPlaceholder ? .null : value
  }

  /// Whether the row says that the value of a key is a placeholder.
  func namesPlaceholder(_ key: String) -> Bool {
    present(AddedKeys.placeholders)?.array?.contains { $0.string == key } ?? false
  }

  /// Returns a list with the exact times of its items, for a shape whose items have times.
  private func exactTimes(_ list: JSON, of shape: ListShape) throws(RowError) -> JSON {
    guard shape == .zoneChanges, let items = list.array else { return list }
    var exact: [JSON] = []
    for item in items {
      guard item[AddedKeys.exact("changedAt")] != nil, let time = try Row(item).time("changedAt") else {
        exact.append(item)
        continue
      }
      var item = item
      item["changedAt"] = .string(timeText(milliseconds: time))
      exact.append(item)
    }
    return .array(exact)
  }

  /// Returns a time and its zone; null if the time is missing or a placeholder.
  func instant(_ key: String, zone: String) throws(RowError) -> Value {
    guard let time = try time(key), time != Placeholders.distantPast else { return .null }
    return .array([.integer(time), try text(zone).map(Value.text) ?? .null])
  }

  /// Returns the coordinates; null if the latitude or longitude is missing.
  func coordinate() throws(RowError) -> Value {
    guard let latitude = try float("latitude"), let longitude = try float("longitude") else {
      return .null
    }
    return .array([.float(latitude), .float(longitude)])
  }

  /// Returns a price, with its exact digits and, if the file has one, its currency.
  ///
  /// - Parameter exact: the key under which our own exports write the digits that a JSON number would lose.
  func money(_ key: String, exact: String? = nil, currency: String) throws(RowError) -> Value {
    guard let value = present(key) else { return .null }
    let stated = exact.flatMap { self.exact($0, of: value) }
    guard let amount = stated ?? value.number.flatMap({ ExactDecimal(jsonNumber: $0) }) else {
      throw refused(key, value, "an amount of at most \(ExactDecimal.digitsMax) digits")
    }
    return .array([.text(amount.description), try text(currency).map(Value.text) ?? .null])
  }

  /// Returns the exact form of a number, from a key of its own; nil if it differs from the number, because another
  /// program may have changed the number alone.
  private func exact(_ key: String, of number: JSON) -> ExactDecimal? {
    guard let amount = present(key)?.string.flatMap({ ExactDecimal($0) }), let stated = number.float,
      Double(amount.description) == stated
    else { return nil }
    return amount
  }

  /// Returns the bytes in a base64 text; nil if the text is missing.
  func bytes(_ key: String) throws(RowError) -> [UInt8]? {
    guard let value = present(key) else { return nil }
    guard let bytes = value.string.flatMap(Base64.decode) else {
      throw RowError("\(key) is not base64")
    }
    guard bytes.count <= Limits.attachmentBytesMax else {
      throw RowError("\(key) has \(bytes.count) bytes; the limit is \(Limits.attachmentBytesMax)")
    }
    return bytes
  }
}
