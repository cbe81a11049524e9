package import Replication

/// The kind of a record: `trip`, `habit`, `setting`.
///
/// A kind of a newer version, which this version only stores and forwards, is named like `kind 77`.
public struct RecordKind: RawRepresentable, Hashable, Sendable, Codable, CustomStringConvertible {
  public let rawValue: String

  public init(rawValue: String) { self.rawValue = rawValue }

  /// The name of a kind; its number if it is of a newer version.
  package init(_ number: KindNumber) {
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
  public static let entry = RecordKind(rawValue: "entry")
  /// See ``Profile``.
  public static let profile = RecordKind(rawValue: "profile")
  /// See ``Setting``.
  public static let setting = RecordKind(rawValue: "setting")
}
