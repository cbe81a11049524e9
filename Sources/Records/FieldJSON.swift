// Protocol/records.md, "JSON": a record as the command line prints it.

package import Wire

extension Kind {
  /// All fields of a record as members of a JSON object, in the order of the registry; what is absent is null.
  ///
  /// - Parameters:
  ///   - zones: gives times the offset of their own zone.
  ///   - value: what a field holds.
  package func members(zones: ZoneOffsets, value: (Field) -> Value?) -> [JSON.Member] {
    fields.flatMap { $0.members(of: value($0) ?? .null, zones: zones) }
  }
}

extension Field {
  /// The parts of a value as members of a JSON object.
  package func members(of value: Value, zones: ZoneOffsets) -> [JSON.Member] {
    switch type {
    case .money: [.init(name, value.moneyJSON)]
    case .instant: instant(value, zones)
    case .datedInstant: instant(value, zones) + [.init(parts[2], value.part(2).columnJSON)]
    case .coordinate:
      zip(parts, [value.part(0), value.part(1)]).map { .init($0, $1.plainJSON) }
    case .owner: owner(value)
    case .timestamp: [.init(name, time(value, zone: nil, zones))]
    case .uuid, .reference: [.init(name, identifier(value))]
    case .list(let shape): [.init(name, shape.json(value))]
    case .blob: [.init(name, blob(value))]
    case .any: [.init(name, value.columnJSON)]
    case .bool, .integer, .float, .text, .keyReference, .bytes: [.init(name, value.plainJSON)]
    }
  }

  private func instant(_ value: Value, _ zones: ZoneOffsets) -> [JSON.Member] {
    var zone: String?
    if case .text(let name) = value.part(1) { zone = name }
    return [.init(parts[0], time(value.part(0), zone: zone, zones)), .init(parts[1], .text(zone))]
  }

  private func time(_ value: Value, zone: String?, _ zones: ZoneOffsets) -> JSON {
    guard case .integer(let milliseconds) = value else { return .null }
    return .string(zones.text(milliseconds: milliseconds, zone: zone))
  }

  private func owner(_ value: Value) -> [JSON.Member] {
    var kind: Kind?
    if case .integer(let number) = value.part(0) { kind = Registry.kind(number: number) }
    return [.init(parts[0], .text(kind?.name)), .init(parts[1], identifier(value.part(1)))]
  }

  private func identifier(_ value: Value) -> JSON {
    guard case .bytes(let bytes) = value else { return .null }
    return .text(RecordID(bytes: bytes)?.uuid)
  }

  /// Bytes in the field as base64; bytes in Content records as the list of their ids.
  private func blob(_ value: Value) -> JSON {
    switch value {
    case .bytes(let bytes): .string(Base64.encode(bytes))
    case .array(let ids): .array(ids.map(identifier))
    default: .null
    }
  }
}

extension Value {
  /// `{"amount":"410.56","currency":"USD"}` for a value of type money.
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
