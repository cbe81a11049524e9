public import Platform
import Home
import RecordTables
import Records
import Replication
import Storage
import Wire

/// A trip and the totals of its visible items. The store keeps the totals up to date, so reading an overview does not
/// add up the items.
public struct TripOverview: Identifiable, Hashable, Sendable, Codable {
  /// The sum of all costs in one currency.
  public struct Total: Hashable, Sendable, Codable {
    /// The exact sum; nil if it has more than 34 digits.
    public let amount: Decimal?
    /// The currency as an ISO 4217 code; nil for the sum of the costs that have no currency.
    public let currency: String?
  }

  public var id: Trip.ID { trip.id }
  /// The trip.
  public let trip: Trip
  /// The number of lodgings.
  public let lodgingCount: Int
  /// The number of transportations.
  public let transportationCount: Int
  /// The number of activities.
  public let activityCount: Int
  /// The earliest start time among the items; nil if no item has a start time.
  public let firstStart: Date?
  /// The latest end time among the items; nil if no item has an end time.
  public let lastEnd: Date?
  /// One total for each currency, ordered by the currencies' codes; the total of costs without a currency comes
  /// first.
  public let totals: [Total]

  /// The total number of items.
  public var itemCount: Int { lodgingCount + transportationCount + activityCount }

  init(_ trip: Trip, _ summary: TripSummary) {
    self.trip = trip
    (lodgingCount, transportationCount, activityCount) = (
      summary.lodgings, summary.transportations, summary.activities
    )
    firstStart = summary.firstStart.map { Date(milliseconds: $0) }
    lastEnd = summary.lastEnd.map { Date(milliseconds: $0) }
    totals = summary.totals.map { total in
      Total(amount: total.amount.flatMap { Decimal(string: $0) }, currency: total.currency)
    }
  }
}

extension RecordSource {
  /// Returns trips with their totals.
  package func overviews(of trips: Query<Trip>, _ time: inout EvaluationTime) throws -> [TripOverview] {
    let found = try records(trips, &time)
    // The totals of a few trips are looked up one by one; those of many trips are read in one query.
    guard found.count > 50 else {
      return try found.map { TripOverview($0, try tripSummary(RecordID($0.id))) }
    }
    let summaries = try tripSummaries()
    return found.map { TripOverview($0, summaries[RecordID($0.id)] ?? TripSummary()) }
  }

  /// Returns a trip with its totals; nil if the trip is not visible.
  package func overview(of trip: Trip.ID) throws -> TripOverview? {
    try record(trip).map { TripOverview($0, try tripSummary(RecordID(trip))) }
  }
}
