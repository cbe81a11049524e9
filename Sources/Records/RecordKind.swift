/// The kind of a record, such as `trip`, `habit` or `setting`.
///
/// A kind of a newer version, or of an app that this node does not know, is named after its number, as in `kind 77`. Its
/// records are only stored and forwarded.
public struct RecordKind: RawRepresentable, Hashable, Sendable, Codable, CustomStringConvertible {
  public let rawValue: String

  public init(rawValue: String) { self.rawValue = rawValue }

  public var description: String { rawValue }

  /// The kind of ``Trip`` records.
  public static let trip = RecordKind(rawValue: "trip")
  /// The kind of ``Lodging`` records.
  public static let lodging = RecordKind(rawValue: "lodging")
  /// The kind of ``Transportation`` records.
  public static let transportation = RecordKind(rawValue: "transportation")
  /// The kind of ``Leg`` records.
  public static let leg = RecordKind(rawValue: "leg")
  /// The kind of ``Activity`` records.
  public static let activity = RecordKind(rawValue: "activity")
  /// The kind of ``Organization`` records.
  public static let organization = RecordKind(rawValue: "organization")
  /// The kind of ``Address`` records.
  public static let address = RecordKind(rawValue: "address")
  /// The kind of ``Attachment`` records.
  public static let attachment = RecordKind(rawValue: "attachment")
  /// The kind of ``Habit`` records.
  public static let habit = RecordKind(rawValue: "habit")
  /// The kind of ``HabitCategory`` records.
  public static let category = RecordKind(rawValue: "category")
  /// The kind of ``HabitEntry`` records.
  public static let entry = RecordKind(rawValue: "entry")
  /// The kind of the ``Profile`` record.
  public static let profile = RecordKind(rawValue: "profile")
  /// The kind of ``Setting`` records.
  public static let setting = RecordKind(rawValue: "setting")
}
