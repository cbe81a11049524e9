public import Platform
import Records
import Storage

/// A trip, which consists of lodging, transportation and activities.
///
/// The trip's totals and timeline are derived from these items; see ``TripOverview`` and ``TimelineItem``.
public struct Trip: Record {
  public let id: ID
  /// The name of the trip: at most 1,000 characters, never empty.
  public var name = ""
  /// Notes about the trip, at most 10,000 characters long.
  public var notes = ""
  /// The time when the trip was created, which is set when a new trip is saved.
  public var createdDate: Date?
  /// The time when the trip begins; nil if it is not decided yet.
  public var startDate: Date?
  /// The time when the trip ends; nil if it is not decided yet.
  public var endDate: Date?
  /// Whether the app requires biometric authentication to show the trip.
  public var isProtected = false
  public var origin = RecordOrigin()

  public init(id: ID) { self.id = id }

  /// Creates a new trip.
  public init(
    name: String, startDate: Date? = nil, endDate: Date? = nil, notes: String = "", id: ID = .new()
  ) {
    self.id = id
    self.name = name
    self.startDate = startDate
    self.endDate = endDate
    self.notes = notes
  }

  public static let fields = RecordFields<Trip>(
    Kind.trip, id: \.id,
    [
      .text("name", \.name), .text("notes", \.notes), .field("createdDate", \.createdDate),
      .field("startDate", \.startDate), .field("endDate", \.endDate),
      .field("isProtected", \.isProtected, absent: false),
    ])
}
