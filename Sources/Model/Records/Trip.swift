public import Foundation
import Records
import Storage

/// A journey, which has lodging, transportation and activities.
///
/// Its totals, dates and timeline are derived from these items: see ``TripOverview`` and ``TimelineItem``.
public struct Trip: Record {
  public let id: UUID
  /// At most 1,000 characters; never empty.
  public var name = ""
  /// At most 10,000 characters.
  public var notes = ""
  /// When it was created; set when a new trip is saved.
  public var createdDate: Date?
  /// When it begins; nil if not decided.
  public var startDate: Date?
  /// When it ends; nil if not decided.
  public var endDate: Date?
  /// Whether the app requires biometric authentication to show the trip.
  public var isProtected = false
  public var origin = RecordOrigin()

  public init(id: UUID) { self.id = id }

  /// A new trip.
  public init(
    name: String, startDate: Date? = nil, endDate: Date? = nil, notes: String = "", id: UUID = .record()
  ) {
    self.id = id
    self.name = name
    self.startDate = startDate
    self.endDate = endDate
    self.notes = notes
  }

  public static let fields = RecordFields<Trip>(
    Registry.trip, id: \.id,
    [
      .text("name", \.name), .text("notes", \.notes), .field("createdDate", \.createdDate),
      .field("startDate", \.startDate), .field("endDate", \.endDate),
      .field("isProtected", \.isProtected, absent: false),
    ])
}
