public import Foundation
public import struct Model.Query
import Records
import Replication

// Live queries for records and for the screens that show them.

extension LiveQuery {
  /// The records that match a query.
  public static func records<Owner>(_ query: Query<Owner>) -> LiveQuery where Value == [Owner] {
    LiveQuery(.records, [.kind(Owner.kind.number)], query) { try $0.store.records(query, &$1) }
  }

  /// The record with an id; nil if it does not exist, is deleted or is hidden.
  public static func record<Owner: Record>(_ type: Owner.Type, _ id: UUID) -> LiveQuery
  where Value == Owner? {
    LiveQuery(.record, [.kind(Owner.kind.number)], id) { node, _ in try node.store.record(type, id) }
  }

  /// The number of records that match a query.
  public static func count<Owner>(_ query: Query<Owner>) -> LiveQuery where Value == Int {
    LiveQuery(.count, [.kind(Owner.kind.number)], query) { try $0.store.count(query, &$1) }
  }
}

// MARK: Trash

extension LiveQuery {
  /// The deleted records of a kind, and those that are hidden because a record that they belong to is deleted. The most
  /// recently deleted come first.
  public static func deleted<Owner: Record>(_ type: Owner.Type) -> LiveQuery where Value == [Deleted<Owner>] {
    // Which record hides one that has a parent depends on other kinds too.
    let topics: Set<Topic> = Owner.kind.parentKinds.isEmpty ? [.kind(Owner.kind.number)] : [.records]
    return LiveQuery(.deleted, topics) { node, _ in
      try Trash(store: node.store).deleted(type) { node.name(of: $0) }
    }
  }
}

extension LiveQuery<[DeletedRecord]> {
  /// The deleted records of all kinds, and those that are hidden because a record that they belong to is deleted. The
  /// most recently deleted come first. ``Node/restore(_:)`` restores one.
  public static var trash: LiveQuery {
    LiveQuery(.trash, [.records]) { node, _ in
      try Trash(store: node.store).deleted { node.name(of: $0) }
    }
  }
}

extension LiveQuery<Day> {
  /// The current day, in the zone that the profile chooses for counting days. A watch delivers the next one at midnight
  /// in that zone, and another one if the zone changes.
  public static var day: LiveQuery {
    LiveQuery(.day, [.kind(Kind.profile.number)]) { try $0.store.currentDay(&$1) }
  }
}

extension LiveQuery<Profile> {
  /// The person's profile; its name is empty until a name is set.
  public static var profile: LiveQuery {
    LiveQuery(.profile, [.kind(Kind.profile.number)]) { node, _ in Profile(try node.store.heldProfile()) }
  }
}

extension LiveQuery {
  /// The topics of queries over trips and everything that belongs to them.
  private static var tripTopics: Set<Topic> {
    Set(([Kind.trip] + Kind.owners).map { .kind($0.number) })
  }

  /// Trips with their totals.
  ///
  /// ```swift
  /// for await trips in node.watch(.overviews(of: Trip.all)) { … }
  /// ```
  public static func overviews(of trips: Query<Trip>) -> LiveQuery where Value == [TripOverview] {
    LiveQuery(.overviews, tripTopics, trips) { try $0.store.overviews(of: trips, &$1) }
  }

  /// A trip with its totals; nil if the trip does not exist or is deleted.
  public static func overview(of trip: Trip.ID) -> LiveQuery where Value == TripOverview? {
    LiveQuery(.overview, tripTopics, trip) { node, _ in try node.store.overview(of: trip) }
  }

  /// All lodging, transportation and activities of a trip in chronological order; items without a time come last.
  public static func timeline(of trip: Trip.ID) -> LiveQuery where Value == [TimelineItem] {
    LiveQuery(.timeline, tripTopics, trip) { node, _ in try node.store.timeline(of: trip) }
  }
}

extension LiveQuery<TodayOverview> {
  /// The habits that are due today, today's entries, and the trip that is under way or comes next. A watch reads them
  /// again when the day ends.
  public static var today: LiveQuery {
    let kinds = [Kind.trip, Kind.habit, Kind.habitEntry, Kind.profile] + Kind.owners
    return LiveQuery(.today, Set(kinds.map { .kind($0.number) })) { try $0.store.today(&$1) }
  }
}

extension LiveQuery<OrganizationList> {
  /// All organizations, in the order in which a picker shows them.
  public static var organizations: LiveQuery {
    LiveQuery(.organizations, [.kind(Organization.kind.number)]) { node, _ in try node.store.organizations() }
  }
}

extension LiveQuery {
  /// Habits and their progress, counted according to the settings in the profile. A watch reads the progress again when
  /// the day ends.
  ///
  /// - Parameters:
  ///   - habits: the habits to include.
  ///   - since: the first day to count; earlier entries are ignored, for streaks too. Nil to count all days.
  ///   - now: the time that decides which day is today; nil to use the node's clock.
  public static func progress(
    of habits: Query<Habit>, since: Day? = nil, now: Date? = nil
  ) -> LiveQuery where Value == [HabitProgress] {
    LiveQuery(.progress, habitTopics, habits, since, now) {
      try $0.store.progress(of: habits, since: since, now: now, &$1)
    }
  }

  /// A habit and its progress; nil if the habit does not exist or is deleted. A watch reads the progress again when the
  /// day ends.
  public static func progress(
    of habit: Habit.ID, since: Day? = nil, now: Date? = nil
  ) -> LiveQuery where Value == HabitProgress? {
    LiveQuery(.habitProgress, habitTopics, habit, since, now) {
      try $0.store.progress(of: habit, since: since, now: now, &$1)
    }
  }

  private static var habitTopics: Set<Topic> {
    [.kind(KindNumbers.habit), .kind(KindNumbers.habitEntry), .kind(Kind.profile.number)]
  }
}
