public import Foundation
import Home
import Records
import Replication
import Storage
import Wire

/// A trip and the totals of its visible items. The store maintains the totals; reading them does not add them up
/// again.
public struct TripOverview: Identifiable, Hashable, Sendable {
  /// A sum of costs in one currency.
  public struct Total: Hashable, Sendable {
    /// Exact; nil if the sum has more than 34 digits.
    public let amount: Decimal?
    /// An ISO 4217 code; nil for costs without one.
    public let currency: String?
  }

  public var id: Trip.ID { trip.id }
  /// The trip.
  public let trip: Trip
  /// The number of lodgings.
  public let lodgings: Int
  /// The number of transportations.
  public let transportations: Int
  /// The number of activities.
  public let activities: Int
  /// When the first item begins.
  public let firstStart: Date?
  /// When the last item ends.
  public let lastEnd: Date?
  /// One total per currency, in the order of their codes; costs without a currency come first.
  public let totals: [Total]

  /// The number of all items.
  public var items: Int { lodgings + transportations + activities }

  init(_ trip: Trip, _ summary: TripSummary) {
    self.trip = trip
    (lodgings, transportations, activities) = (
      summary.lodgings, summary.transportations, summary.activities
    )
    firstStart = summary.firstStart.map { Date(milliseconds: $0) }
    lastEnd = summary.lastEnd.map { Date(milliseconds: $0) }
    totals = summary.totals.map { total in
      Total(amount: total.amount.flatMap { Decimal(string: $0) }, currency: total.currency)
    }
  }
}

extension Store {
  /// Trips with their totals.
  package func overviews(of trips: Query<Trip>, _ time: inout EvaluationTime) throws -> [TripOverview] {
    let found = try records(trips, &time)
    // A few are looked up one by one, many in one query.
    guard found.count > 50 else {
      return try found.map { TripOverview($0, try tripSummary(RecordID($0.id))) }
    }
    let summaries = try tripSummaries()
    return found.map { TripOverview($0, summaries[RecordID($0.id)] ?? TripSummary()) }
  }

  /// A trip with its totals; nil if it is not visible.
  package func overview(of trip: Trip.ID) throws -> TripOverview? {
    try record(Trip.self, trip).map { TripOverview($0, try tripSummary(RecordID(trip))) }
  }
}
