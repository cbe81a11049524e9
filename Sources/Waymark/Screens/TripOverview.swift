public import Foundation
import Records
import Replication
import Storage

/// A trip and what its visible items come to: kept by the store, never added up over all of them.
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
  /// How many places to stay it has.
  public let lodgings: Int
  /// How many ways.
  public let transportations: Int
  /// How many things to do.
  public let activities: Int
  /// When the first item begins and the last one ends.
  public let firstStart: Date?
  /// When the last item ends.
  public let lastEnd: Date?
  /// One for each currency, in the order of their codes; costs without one come first.
  public let totals: [Total]

  /// Lodgings, transportations and activities together.
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

extension Reading {
  /// What depends on a trip and on all that belongs to it.
  fileprivate static var tripTopics: Set<Topic> {
    Set(([Registry.trip] + Registry.owners).map { .kind($0.number) })
  }

  /// Trips with their totals.
  ///
  /// ```swift
  /// for await trips in node.watch(.overviews(of: Trip.all)) { … }
  /// ```
  public static func overviews(of trips: Query<Trip>) -> Reading where Value == [TripOverview] {
    Reading(.overviews, tripTopics) { node, time in
      let found = try Reading<[Trip]>.records(trips).read(node, &time)
      // A few are looked up one by one, many at once.
      guard found.count > lookupsMax else {
        return try found.map { TripOverview($0, try node.store.tripSummary(RecordID($0.id))) }
      }
      let summaries = try node.store.tripSummaries()
      return found.map { TripOverview($0, summaries[RecordID($0.id)] ?? TripSummary()) }
    }
  }

  /// A trip with its totals; nil if people can't see one.
  public static func overview(of trip: Trip.ID) -> Reading where Value == TripOverview? {
    Reading(.overview, tripTopics) { node, time in
      try Reading<Trip?>.record(Trip.self, trip).read(node, &time)
        .map { TripOverview($0, try node.store.tripSummary(RecordID(trip))) }
    }
  }

  /// All lodging, transportation and activities of a trip in the order of time; those without a time last.
  public static func timeline(of trip: Trip.ID) -> Reading where Value == [TimelineItem] {
    Reading(.timeline, tripTopics) { node, _ in
      try node.store.timeline(of: RecordKey(kind: KindNumbers.trip, id: RecordID(trip)))
        .compactMap { TimelineItem($0.record) }
    }
  }

  private static var lookupsMax: Int { 50 }
}
