package import JSONDocument
package import Records

/// A record in the form of its JSON document: all its fields and, depending on the kind, values computed from other
/// records. The members keep their order.
///
/// The document does not say of which kind the record is, so code that shows its values asks for them by a column of
/// the kind, by one of its fields, or for the kind as a whole.
package struct ShownRecord: Hashable, Sendable {
  package let members: [JSON.Member]

  package init(_ members: [JSON.Member]) { self.members = members }

  /// The id as written in the document; empty for a record that is shown without an id, such as the profile.
  package var id: String { self["id"]?.string ?? "" }
  /// The short form of the id; nil for a record that is not shown in a list.
  package var shortID: String? { self["shortId"]?.string }

  /// Returns the value of a member; nil if the member is null or missing.
  private subscript(name: String) -> JSON? {
    members.first { $0.key == name }.flatMap { $0.value.isNull ? nil : $0.value }
  }
}

extension ShownRecord: Codable {
  package init(from decoder: any Decoder) throws { members = try JSON(from: decoder).members ?? [] }

  package func encode(to encoder: any Encoder) throws { try JSON.object(members).encode(to: encoder) }
}

// MARK: In lists

/// The content of a cell in a list of records.
package enum ShownCell: Hashable, Sendable {
  case text(String)
  /// A time as written, in its own zone; nil if there is none.
  case day(String?)
  case minute(String?)
  case end(String?, start: String?)
  case money(ShownMoney)
  case sums([ShownMoney])
  case number(Int64)
  case bytes(Int64)
  case file(FileState)
  case flag(Bool)
}

extension ShownRecord {
  /// Returns the content of a cell; nil if the record has no value for it.
  package func cell(_ content: ListColumn.Content) -> ShownCell? {
    switch content {
    case .first(let names): names.lazy.compactMap { self[$0]?.scalarText }.first.map(ShownCell.text)
    case .all(let names): .text(names.compactMap { self[$0]?.scalarText }.joined(separator: " "))
    case .day(let name): .day(self[name]?.string)
    case .minute(let name): .minute(self[name]?.string)
    case .end(let name, let start): .end(self[name]?.string, start: self[start]?.string)
    case .money(let name): self[name].flatMap { ShownMoney($0) }.map(ShownCell.money)
    case .sums(let name): .sums((self[name]?.array ?? []).compactMap { ShownMoney($0) })
    case .number(let name): .number(self[name]?.integer ?? 0)
    case .bytes(let name): self[name]?.integer.map(ShownCell.bytes)
    case .file(let name): self[name].flatMap { FileState(shown: $0) }.map(ShownCell.file)
    case .flag(let name, let absent): .flag(self[name]?.boolean ?? absent)
    }
  }

  /// Returns the text of the first part of a field, such as a name, or a time as written in its own zone.
  package func text(_ field: Field, part: Int = 0) -> String? { self[field.parts[part]]?.string }

  package func money(_ field: Field) -> ShownMoney? { self[field.name].flatMap { ShownMoney($0) } }
}

/// An amount in the form of documents.
package struct ShownMoney: Hashable, Sendable, CustomStringConvertible {
  private let amount: String
  private let currency: String?

  /// Returns nil if the value is not an amount.
  fileprivate init?(_ json: JSON) {
    guard let amount = json["amount"]?.string else { return nil }
    (self.amount, currency) = (amount, json["currency"]?.string)
  }

  /// `120.50 EUR`, or the amount alone if there is no currency.
  package var description: String { currency.map { "\(amount) \($0)" } ?? amount }
}

extension ShownValue {
  /// The amount that the value is; nil for any other value.
  package var money: ShownMoney? { ShownMoney(json) }
}

extension FileState {
  /// Creates the state of a file from the value of a blob in a document; nil if the value has none.
  fileprivate init?(shown json: JSON) {
    guard let state = try? JSONValueDecoder().decode(FileState.self, from: json) else { return nil }
    self = state
  }
}

extension JSON {
  /// The text of a string or a number; nil for any other value.
  fileprivate var scalarText: String? { string ?? number }
}

// MARK: One record

/// A value of a record, for a page about the record.
package struct ShownEntry: Hashable, Sendable {
  package let name: String
  package let value: Value

  package enum Value: Hashable, Sendable {
    case plain(ShownValue)
    /// A structured value in the form in which a user types it.
    case typed(String)
    case file(FileState, bytes: Int64)
    case day(String)
    /// A time as written in its own zone, and the zone.
    case time(String, zone: String)
  }
}

extension ShownRecord {
  /// Returns the members that have a value. A member that is shown with another one is left out: a zone with its time,
  /// the days of a habit in its calendar. So are an empty content of an attachment, and the id of the profile, of which
  /// there is only one.
  package func entries(of kind: Kind) -> [ShownEntry] {
    let ids = kind == Kind.profile ? ["id", "shortId"] : []
    let computed = kind == Kind.habit ? HabitCalendar.keys : []
    return members.compactMap { member in
      guard !member.value.isNull, member.value != [], !ids.contains(member.key),
        !computed.contains(member.key)
      else { return nil }
      return value(member, kind).map { ShownEntry(name: member.key, value: $0) }
    }
  }

  /// Returns the value of a member in the form that suits its field; nil if it is not shown.
  private func value(_ member: JSON.Member, _ kind: Kind) -> ShownEntry.Value? {
    let plain = ShownEntry.Value.plain(ShownValue(member.value))
    guard let field = kind.fields.first(where: { $0.parts.contains(member.key) }) else { return plain }
    switch field.type {
    case .list(let shape): return shape.value(member.value).map { .typed(shape.text($0)) } ?? plain
    case .blob:
      guard let state = FileState(shown: member.value), let bytes = member.value["bytes"]?.integer else {
        return nil
      }
      return .file(state, bytes: bytes)
    case .instant, .datedInstant:
      if member.key == field.parts[1] { return text(field) == nil ? plain : nil }
      guard member.key == field.parts[0], let time = text(field), let zone = text(field, part: 1) else {
        return plain
      }
      return .time(time, zone: zone)
    case .timestamp where kind.listsDay(field):
      // Midnight in UTC stands for the day.
      guard let time = text(field), time.hasSuffix("T00:00:00Z") else { return plain }
      return .day(String(time.prefix(10)))
    default: return plain
    }
  }

  /// The streaks and the days of a habit; nil if the record is not a habit.
  package var habitCalendar: HabitCalendar? {
    try? JSONValueDecoder().decode(HabitCalendar.self, from: .object(members))
  }
}

extension Kind {
  /// Whether lists show a time as a day: the first and the last day of a trip.
  fileprivate func listsDay(_ field: Field) -> Bool {
    listing?.columns.contains { column in
      if case .day(let name) = column.content { name == field.name } else { false }
    } ?? false
  }
}

/// A reference to a record by its kind, id and name, in the form that JSON documents use.
package struct ShownReference: Hashable, Sendable, Codable {
  package let kind: String
  package let id: String
  package let name: String?
}
