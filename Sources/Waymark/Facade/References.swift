public import Foundation
import Records
import Replication
public import Wire

/// A device by its key, and what it is called on this one.
public struct DeviceReference: Hashable, Sendable, Codable, Identifiable {
  /// The key that names it.
  public let device: DeviceKey
  /// What it is called here.
  public let name: String

  public var id: DeviceKey { device }
}

/// What sort of thing a record is: `trip`, `habit`, `setting`.
///
/// Kinds of a newer version, which this one only keeps and passes on, read `kind 77`.
public struct RecordKind: RawRepresentable, Hashable, Sendable, Codable, CustomStringConvertible {
  public let rawValue: String

  public init(rawValue: String) { self.rawValue = rawValue }

  /// What a kind is called; its number if it is one of a newer version.
  init(_ number: KindNumber) {
    self.init(rawValue: Registry.kind(number)?.name ?? "kind \(number.rawValue)")
  }

  public var description: String { rawValue }

  /// See ``Trip``.
  public static let trip = RecordKind(rawValue: "trip")
  /// See ``Lodging``.
  public static let lodging = RecordKind(rawValue: "lodging")
  /// See ``Transportation``.
  public static let transportation = RecordKind(rawValue: "transportation")
  /// See ``Activity``.
  public static let activity = RecordKind(rawValue: "activity")
  /// See ``Organization``.
  public static let organization = RecordKind(rawValue: "organization")
  /// See ``Address``.
  public static let address = RecordKind(rawValue: "address")
  /// See ``Attachment``.
  public static let attachment = RecordKind(rawValue: "attachment")
  /// See ``Habit``.
  public static let habit = RecordKind(rawValue: "habit")
  /// See ``HabitCategory``.
  public static let category = RecordKind(rawValue: "category")
  /// An entry of a habit.
  public static let log = RecordKind(rawValue: "log")
  /// See ``Profile``.
  public static let profile = RecordKind(rawValue: "profile")
  /// See ``Setting``.
  public static let setting = RecordKind(rawValue: "setting")
}

/// A record by its kind and id, with its name, whether people can see it or not.
public struct RecordReference: Hashable, Sendable, Codable, Identifiable {
  /// The kind of the record.
  public let kind: RecordKind
  public let id: UUID
  /// Nil if it has none.
  public let name: String?
}

/// How many records of one kind were written, or would be, and how.
public struct RecordCounts: Hashable, Sendable, Codable {
  /// The kind of the records.
  public let kind: RecordKind
  /// Records that are new.
  public let added: Int
  /// Records of which fields were written.
  public let changed: Int
  /// Records that were deleted.
  public let deleted: Int
  /// Records that were brought back.
  public let restored: Int
}

/// What a field holds or held, for showing it: of any type, also of fields that this version does not know.
public enum ShownValue: Hashable, Sendable, Decodable, CustomStringConvertible {
  /// Nothing, or no value yet.
  case none
  /// True or false.
  case flag(Bool)
  /// A number, with its digits as they are written.
  case number(Decimal)
  /// Text, and what is written as text: days, times, ids.
  case text(String)
  /// Several values in order.
  case list([ShownValue])
  /// A value of several parts, as an amount with its currency.
  case parts([String: ShownValue])

  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .none
    } else if let flag = try? container.decode(Bool.self) {
      self = .flag(flag)
    } else if let number = try? container.decode(Decimal.self) {
      self = .number(number)
    } else if let text = try? container.decode(String.self) {
      self = .text(text)
    } else if let list = try? container.decode([ShownValue].self) {
      self = .list(list)
    } else {
      self = .parts(try container.decode([String: ShownValue].self))
    }
  }

  /// One line for people.
  public var description: String {
    switch self {
    case .none: "–"
    case .flag(let flag): flag ? "yes" : "no"
    case .number(let number): "\(number)"
    case .text(let text): text
    case .list(let values): values.map(\.description).joined(separator: ", ")
    case .parts(let parts):
      parts.filter { $0.value != .none }.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
        .joined(separator: ", ")
    }
  }
}
