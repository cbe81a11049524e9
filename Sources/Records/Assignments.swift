// Protocol/records.md, "Command line": converts `field=value` arguments to values.

import JSONDocument
package import Reasons
package import Replication
package import Wire

/// Finds the records that a user names on the command line by an id or a unique name.
package protocol ReferenceResolver {
  func record(_ kind: KindNumber, named name: String) throws -> RecordID
  /// Returns the text that identifies a record in exported files: its key, or else its id.
  func key(_ kind: KindNumber, named name: String) throws -> String
}

extension LocalizableText {
  /// The name of a kind as words of a sentence: `packing item`. It is translated by itself.
  package init(kind name: String) { self.init(word: name.replacing("-", with: " ")) }
}

extension Kind {
  /// The name as words of a sentence: `packing item`.
  package var noun: LocalizableText { LocalizableText(kind: name) }
}

/// The error for a field name that a kind does not have.
package struct UnknownField: Error, Hashable, Sendable, CustomStringConvertible {
  package let kind: String
  package let name: String
  package let allowed: [String]

  package init(kind: String, name: String, allowed: [String]) {
    (self.kind, self.name, self.allowed) = (kind, name, allowed)
  }

  /// What is wrong, as a clause without a final period.
  package var clause: LocalizableText {
    let kind = LocalizableText(kind: kind)
    let known = allowed.joined(separator: ", ")
    return "aeiou".contains(self.kind.prefix(1))
      ? "an \(kind) has no field \(name): it has \(known)" : "a \(kind) has no field \(name): it has \(known)"
  }

  package var description: String { clause.description }
}

/// Converts `field=value` assignments, as typed by a user, into field values. Assignments to parts of one field are
/// combined into one value; a part that is not assigned keeps the value that the record already holds.
package struct Assignments {
  private let kind: Kind
  private let zones: ZoneOffsets
  /// The time zone to use for a time that needs one when the user gives none.
  private let zone: String
  private let resolver: any ReferenceResolver

  package init(kind: Kind, zones: ZoneOffsets, zone: String, resolver: any ReferenceResolver) {
    self.kind = kind
    self.zones = zones
    self.zone = zone
    self.resolver = resolver
  }

  /// Returns the values of the assigned fields. Bytes of any length are returned as one value; the caller stores
  /// them as a file if they are too long for a field.
  ///
  /// - Throws: `UnknownField`, `FieldError`, or an error from the resolver.
  package func values(
    _ assignments: [(name: String, text: String)], held: (Field) -> Value?
  ) throws -> [FieldNumber: Value] {
    var texts: [FieldNumber: [String?]] = [:]
    for (name, text) in assignments {
      guard let field = kind.field(named: name), let part = field.part(named: name) else {
        throw UnknownField(kind: kind.name, name: name, allowed: kind.assignableNames)
      }
      var parts = texts[field.number] ?? Array(repeating: nil, count: field.parts.count)
      guard parts[part] == nil else {
        throw FieldError(field: name, value: text, allowed: "it is given twice")
      }
      parts[part] = text
      texts[field.number] = parts
    }
    var values: [FieldNumber: Value] = [:]
    for field in kind.fields {
      guard let parts = texts[field.number] else { continue }
      let value = try value(of: field, parts, held: held(field) ?? .null)
      if field.type != .blob { try field.validate(value) }
      try checkTyped(field, value)
      values[field.number] = value
    }
    return values
  }

  private func value(of field: Field, _ texts: [String?], held: Value) throws -> Value {
    if texts[0] == "" { return .null }
    let text = texts[0] ?? ""
    switch field.type {
    case .instant: return try instant(field, texts, held: held)
    case .datedInstant: return try datedInstant(field, texts, held: held)
    case .money: return try money(field, texts, held: held)
    case .coordinate: return try coordinate(field, texts, held: held)
    case .owner: return try owner(field, texts, held: held)
    case .timestamp where kind.number == KindNumbers.habit: return try habitTime(field, texts)
    case .reference(let number):
      return .bytes(try resolver.record(number, named: text).bytes)
    case .keyReference(let number):
      return .text(try resolver.key(number, named: text))
    default:
      guard let value = scalar(text, field.type) else {
        throw FieldError(
          field: field.typedName(part: 0), value: text, allowed: TypedText.hint(forTime: text, field.type))
      }
      return value
    }
  }

  /// Refuses texts that a field could store, but that a person can only have typed by mistake.
  private func checkTyped(_ field: Field, _ value: Value) throws {
    guard case .text(let text) = value else { return }
    if field.rule.isRequired, let refusal = TypedText.refusal(ofName: text) {
      throw refused(field, 0, text, refusal)
    }
    if field.rule.isZone, zones.seconds(0, text) == nil {
      throw refused(field, 0, text, TypedText.hint(forZone: text, zones))
    }
  }

  private func scalar(_ text: String, _ type: FieldType) -> Value? {
    switch type {
    case .bool: boolean(text).map(Value.bool)
    case .integer: Int64(text).map(Value.integer)
    case .float: float(text).map(Value.float)
    case .text: .text(text)
    case .uuid: RecordID(uuid: text).map { .bytes($0.bytes) }
    case .timestamp: WrittenTime(text).map { .integer($0.milliseconds ?? $0.wallMilliseconds) }
    case .blob: Base64.decode(text).map(Value.bytes)
    case .list(let shape): shape.value(text: text)
    case .any: (try? JSON.parse(text)).flatMap { Value(columnJSON: $0) } ?? .text(text)
    default: nil
    }
  }

  private func boolean(_ text: String) -> Bool? {
    switch text.lowercased() {
    case "true", "yes", "on", "1": true
    case "false", "no", "off", "0": false
    default: nil
    }
  }

  private func float(_ text: String) -> Double? {
    Double(text).flatMap { $0.isFinite ? wireFloat($0) : nil }
  }
}

// MARK: Fields with several parts

extension Assignments {
  private func refused(_ field: Field, _ part: Int, _ text: String, _ allowed: LocalizableText) -> FieldError
  {
    FieldError(field: field.typedName(part: part), value: text, allowed: allowed)
  }

  /// Returns the assigned zone, or else the zone of the value that the record holds. Only an assigned zone is
  /// validated.
  private func zone(_ field: Field, _ texts: [String?], held: Value) throws -> String? {
    guard let text = texts[1] else {
      guard case .text(let zone) = held.part(1) else { return nil }
      return zone
    }
    if text.isEmpty { return nil }
    guard zones.seconds(0, text) != nil else {
      throw refused(field, 1, text, TypedText.hint(forZone: text, zones))
    }
    return text
  }

  private func time(_ field: Field, _ texts: [String?], zone: String?, held: Value) throws -> Int64 {
    guard let text = texts[0] else {
      guard case .integer(let time) = held.part(0) else {
        throw refused(field, 1, texts[1] ?? "", "\(field.typedName(part: 0)) must be given as well")
      }
      return time
    }
    guard let written = WrittenTime(text) else {
      throw refused(field, 0, text, TypedText.hint(forTime: text, field.type))
    }
    if let time = written.milliseconds {
      try checkOffset(field, text, written, time, zone: zone)
      return time
    }
    guard let zone else {
      throw refused(
        field, 0, text, "give the time with an offset, or give \(field.typedName(part: 1)) as well")
    }
    guard let time = zones.milliseconds(wall: written.wallMilliseconds, zone: zone) else {
      throw refused(field, 0, text, "its zone \(zone) is unknown; give the time with an offset")
    }
    let shown = zones.text(milliseconds: time, zone: zone).prefix(16)
    guard shown == timeText(milliseconds: written.wallMilliseconds).prefix(16) else {
      throw refused(
        field, 0, text, "that time is skipped in \(zone), where clocks go forward then; use \(shown)")
    }
    return time
  }

  /// Refuses a time whose offset contradicts its zone, because it would be shown at another hour than it was typed with.
  /// A time in UTC is allowed with every zone, because programs write times so.
  private func checkOffset(
    _ field: Field, _ text: String, _ written: WrittenTime, _ time: Int64, zone: String?
  ) throws {
    guard let zone, let offset = written.offsetSeconds, offset != 0, let own = zones.seconds(time, zone),
      own != offset
    else { return }
    throw refused(
      field, 0, text,
      "\(zone) has another offset; use \(zones.text(milliseconds: time, zone: zone)), or another zone"
    )
  }

  private func instant(_ field: Field, _ texts: [String?], held: Value) throws -> Value {
    let zone = try zone(field, texts, held: held)
    let time = try time(field, texts, zone: zone, held: held)
    return .array([.integer(time), zone.map(Value.text) ?? .null])
  }

  private func datedInstant(_ field: Field, _ texts: [String?], held: Value) throws -> Value {
    if let day = texts[2] {
      throw refused(
        field, 2, day, "it is derived from \(field.typedName(part: 0)) and \(field.typedName(part: 1))")
    }
    let given = try zone(field, texts, held: held)
    let zone = given ?? zone
    // The user's own zone, which was not typed, does not contradict the offset that was.
    let hasOffset = texts[0].flatMap { WrittenTime($0) }?.offsetSeconds != nil
    let time = try time(field, texts, zone: hasOffset ? given : zone, held: held)
    return .datedInstant(milliseconds: time, zone: zone, zones: zones)
  }

  /// Parses a time field of a habit. A day without a time means noon of that day in the user's zone, because that
  /// instant falls on the same day in nearly every other zone.
  private func habitTime(_ field: Field, _ texts: [String?]) throws -> Value {
    let text = texts[0] ?? ""
    guard let written = WrittenTime(text) else {
      throw refused(field, 0, text, TypedText.hint(forTime: text, field.type))
    }
    if let time = written.milliseconds { return .integer(time) }
    let wall = written.wallMilliseconds + (written.isDay ? 12 * 3_600_000 : 0)
    return .integer(zones.milliseconds(wall: wall, zone: zone) ?? wall)
  }

  private func money(_ field: Field, _ texts: [String?], held: Value) throws -> Value {
    var amount = held.part(0)
    if let text = texts[0] {
      guard let exact = ExactDecimal(text) else {
        throw refused(field, 0, text, TypedText.hint(forAmount: text))
      }
      guard !exact.description.hasPrefix("-") else {
        throw refused(field, 0, text, "use an amount of 0 or more")
      }
      amount = .text(exact.description)
    }
    guard amount != .null else {
      throw refused(field, 1, texts[1] ?? "", "\(field.typedName(part: 0)) must be given as well")
    }
    guard let currency = texts[1] else { return .array([amount, held.part(1)]) }
    if currency.isEmpty { return .array([amount, .null]) }
    guard Currencies.isKnown(currency.uppercased()) else {
      throw refused(field, 1, currency, "use a code of ISO 4217, such as EUR")
    }
    return .array([amount, .text(currency.uppercased())])
  }

  private func coordinate(_ field: Field, _ texts: [String?], held: Value) throws -> Value {
    let numbers: [Value] = try [0, 1].map { part in
      guard let text = texts[part] else {
        guard case .float = held.part(part) else {
          throw FieldError(field: field.typedName(part: part), value: nil, allowed: field.type.expectation)
        }
        return held.part(part)
      }
      guard let number = float(text) else { throw refused(field, part, text, "a number of degrees") }
      return .float(number)
    }
    return .array(numbers)
  }

  private func owner(_ field: Field, _ texts: [String?], held: Value) throws -> Value {
    guard let word = texts[0], let name = texts[1] else {
      throw FieldError(
        field: field.parts[texts[0] == nil ? 0 : 1], value: nil,
        allowed: "\(field.parts[0]) and \(field.parts[1]) together")
    }
    guard let kind = Kind.owners.first(where: { $0.name == word }) else {
      throw refused(field, 0, word, "one of \(Kind.owners.map(\.name).joined(separator: ", "))")
    }
    let id = try resolver.record(kind.number, named: name)
    return .owner(kind, id)
  }
}

extension Value {
  /// Creates a value of type `owner`, which refers to a record of one of several kinds.
  package static func owner(_ kind: Kind, _ id: RecordID) -> Value {
    .array([.integer(Int64(kind.number.rawValue)), .bytes(id.bytes)])
  }

  /// Creates a value of type `datedInstant`, which includes the calendar day of the instant in the zone.
  package static func datedInstant(milliseconds: Int64, zone: String?, zones: ZoneOffsets) -> Value {
    let day = zones.day(milliseconds: milliseconds, zone: zone)
    return .array([.integer(milliseconds), zone.map(Value.text) ?? .null, .text(day.description)])
  }
}

extension Kind {
  /// The kinds that an attachment can belong to.
  package static let owners = [activity, lodging, transportation]
  static let ownerNumbers = owners.map(\.number).sorted()
}
