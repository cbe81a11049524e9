public import Foundation
import Records
import Storage

/// A journey: what lodging, transportation and activities belong to.
///
/// Its totals, dates and timeline follow from what belongs to it: see ``TripOverview`` and ``TimelineItem``.
public struct Trip: Record {
  public let id: UUID
  /// At most 1,000 characters; never empty.
  public var name = ""
  /// At most 10,000 characters.
  public var notes = ""
  /// When it was made; saving a new trip fills it in.
  public var createdDate: Date?
  /// When it begins; nil if that is open.
  public var startDate: Date?
  /// When it ends; nil if that is open.
  public var endDate: Date?
  /// Whether the app asks for a face or a finger before it shows the trip.
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
