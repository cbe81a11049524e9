// Protocol/records.md, "JSON": a record as printed by the command line.

import FileFormat
package import JSONDocument
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
    if case .integer(let number) = value.part(0) { kind = Registry.kind(number: number) }
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
