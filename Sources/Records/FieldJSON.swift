// Protocol/records.md, "JSON": a record as printed by the command line.

import FileFormat
package import JSONDocument
import Replication
package import Wire

extension Field {
  /// Returns the parts of a value as members of a JSON object.
  package func members(of value: Value, zones: ZoneOffsets) -> [JSON.Member] {
    var members: [JSON.Member] = []
    append(value, zones: zones, to: &members)
    return members
  }

  /// Appends the parts of a value as members of a JSON object.
  ///
  /// - Parameter zones: the table of time zones, from which the offsets of times in a zone are taken.
  package func append(_ value: Value, zones: ZoneOffsets, to members: inout [JSON.Member]) {
    func add(_ json: JSON) { members.append(.init(name, json)) }
    switch type {
    case .money: add(value.moneyJSON)
    case .instant: appendInstant(value, zones, to: &members)
    case .datedInstant:
      appendInstant(value, zones, to: &members)
      members.append(.init(parts[2], value.part(2).columnJSON))
    case .coordinate:
      for part in 0..<2 { members.append(.init(parts[part], value.part(part).plainJSON)) }
    case .owner: appendOwner(value, to: &members)
    case .timestamp: add(time(value, zone: nil, zones))
    case .uuid, .reference: add(identifier(value))
    case .list(let shape): add(shape.json(value))
    case .blob: add(blob(value))
    case .any: add(value.columnJSON)
    case .bool, .integer, .float, .text, .keyReference, .bytes: add(value.plainJSON)
    }
  }

  private func appendInstant(_ value: Value, _ zones: ZoneOffsets, to members: inout [JSON.Member]) {
    var zone: String?
    if case .text(let name) = value.part(1) { zone = name }
    members.append(.init(parts[0], time(value.part(0), zone: zone, zones)))
    members.append(.init(parts[1], .text(zone)))
  }

  private func time(_ value: Value, zone: String?, _ zones: ZoneOffsets) -> JSON {
    guard case .integer(let milliseconds) = value else { return .null }
    return .string(zones.text(milliseconds: milliseconds, zone: zone))
  }

  private func appendOwner(_ value: Value, to members: inout [JSON.Member]) {
    var kind: Kind?
    if case .integer(let number) = value.part(0) { kind = Schema.builtIn.kind(number: number) }
    members.append(.init(parts[0], .text(kind?.name)))
    members.append(.init(parts[1], identifier(value.part(1))))
  }

  private func identifier(_ value: Value) -> JSON {
    guard case .bytes(let bytes) = value else { return .null }
    return .text(RecordID(bytes: bytes)?.uuid)
  }

  /// Returns base64 text if the field itself holds the bytes, or the size and the id of the file.
  private func blob(_ value: Value) -> JSON {
    switch Blob(value) {
    case .inline(let bytes): .string(Base64.encode(bytes))
    case .file(let file): ["bytes": .integer(Int64(file.size)), "file": .string(file.id.description)]
    case nil: .null
    }
  }
}

// MARK: Reading

extension Field {
  /// Returns the value that a JSON object has for this field, as `members(of:zones:)` writes it; nil if the object has
  /// no member for the field. A field of type `blob` is read by the caller, which knows where files are.
  package func value(in row: JSON) throws(FieldError) -> Value? {
    let members = parts.map { row[$0] }
    guard members.contains(where: { $0 != nil }) else { return nil }
    guard members.contains(where: { $0?.isNull == false }) else { return .null }
    guard let value = value(members.map { $0 ?? .null }) else {
      throw FieldError(
        field: parts[0], value: members.compactMap { $0?.text() }.joined(separator: ", "),
        allowed: type.expectation)
    }
    return value
  }

  private func value(_ members: [JSON]) -> Value? {
    let json = members[0]
    switch type {
    case .bool: return json.boolean.map(Value.bool)
    case .integer: return json.integer.map(Value.integer)
    case .float: return json.float.map { .float(wireFloat($0)) }
    case .text, .keyReference: return json.string.map(Value.text)
    case .bytes: return json.string.flatMap { Base64.decode($0) }.map(Value.bytes)
    case .uuid, .reference: return Self.identifier(json)
    case .timestamp: return Self.time(json)
    case .instant, .datedInstant: return Self.instant(members)
    case .money: return Self.money(json)
    case .coordinate:
      guard let latitude = members[0].float, let longitude = members[1].float else { return nil }
      return .array([.float(wireFloat(latitude)), .float(wireFloat(longitude))])
    case .owner:
      guard let kind = json.string.flatMap({ Schema.builtIn.kind(named: $0) }),
        let id = Self.identifier(members[1])
      else { return nil }
      return .array([.integer(Int64(kind.number.rawValue)), id])
    case .list(let shape): return shape.value(json)
    case .any: return Value(columnJSON: json)
    case .blob: return nil
    }
  }

  private static func identifier(_ json: JSON) -> Value? {
    json.string.flatMap { RecordID(uuid: $0) }.map { .bytes($0.bytes) }
  }

  private static func time(_ json: JSON) -> Value? {
    json.string.flatMap { WrittenTime($0) }?.milliseconds.map(Value.integer)
  }

  /// Reads a time, its zone and, for a dated instant, its day.
  private static func instant(_ members: [JSON]) -> Value? {
    guard let time = time(members[0]) else { return nil }
    let rest = members.dropFirst().map { $0.string.map(Value.text) ?? .null }
    guard zip(members.dropFirst(), rest).allSatisfy({ $0.isNull || $1 != .null }) else { return nil }
    return .array([time] + rest)
  }

  private static func money(_ json: JSON) -> Value? {
    guard let amount = json["amount"]?.string else { return nil }
    let currency = json["currency"] ?? .null
    guard currency.isNull || currency.string != nil else { return nil }
    return .array([.text(amount), currency.string.map(Value.text) ?? .null])
  }
}

extension Value {
  /// The JSON form of a value of type money, such as `{"amount":"410.56","currency":"USD"}`.
  package var moneyJSON: JSON {
    guard case .text = part(0) else { return .null }
    return ["amount": part(0).columnJSON, "currency": part(1).columnJSON]
  }

  fileprivate var plainJSON: JSON {
    switch self {
    case .float(let number): .float(number)
    case .bytes(let bytes): .string(Base64.encode(bytes))
    default: columnJSON
    }
  }
}

extension Value {
  /// The value of a setting in the form that JSON documents use.
  package var documentJSON: JSON {
    switch self {
    case .null: .null
    case .bool(let flag): .bool(flag)
    case .integer(let number): .integer(number)
    case .float(let number): .float(number)
    case .text(let text): .string(text)
    case .bytes(let bytes): .string(Base64.encode(bytes))
    case .array(let items): .array(items.map(\.documentJSON))
    }
  }

  /// Creates a setting's value from a JSON document; nil if no setting can have this value.
  package init?(documentJSON json: JSON) {
    if let text = json.string {
      self = .text(text)
    } else if let flag = json.boolean {
      self = .bool(flag)
    } else if let integer = json.integer {
      self = .integer(integer)
    } else if let number = json.float {
      self = .float(number == 0 ? 0 : number)
    } else {
      return nil
    }
  }
}
