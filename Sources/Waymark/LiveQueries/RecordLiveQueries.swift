public import Foundation
public import struct Model.Query
import Records
import Replication

// Records, and what screens of them show, to be read and watched.

extension LiveQuery {
  /// The records that a query asks for.
  public static func records<Owner>(_ query: Query<Owner>) -> LiveQuery where Value == [Owner] {
    LiveQuery(.records, [.kind(Owner.kind.number)]) { try $0.store.records(query, &$1) }
  }

  /// The record with an id; nil if people can't see one.
  public static func record<Owner: Record>(_ type: Owner.Type, _ id: UUID) -> LiveQuery where Value == Owner? {
    LiveQuery(.record, [.kind(Owner.kind.number)]) { node, _ in try node.store.record(type, id) }
  }

  /// How many records a query asks for.
  public static func count<Owner>(_ query: Query<Owner>) -> LiveQuery where Value == Int {
    LiveQuery(.count, [.kind(Owner.kind.number)]) { try $0.store.count(query, &$1) }
  }
}

extension LiveQuery<Profile> {
  /// The person's profile; without a name until somebody has given one.
  public static var profile: LiveQuery {
    LiveQuery(.profile, [.kind(Registry.profile.number)]) { node, _ in Profile(try node.store.heldProfile()) }
  }
}

extension LiveQuery {
  /// What depends on a trip and on all that belongs to it.
  private static var tripTopics: Set<Topic> {
    Set(([Registry.trip] + Registry.owners).map { .kind($0.number) })
  }

  /// Trips with their totals.
  ///
  /// ```swift
  /// for await trips in node.watch(.overviews(of: Trip.all)) { … }
  /// ```
  public static func overviews(of trips: Query<Trip>) -> LiveQuery where Value == [TripOverview] {
    LiveQuery(.overviews, tripTopics) { try $0.store.overviews(of: trips, &$1) }
  }

  /// A trip with its totals; nil if people can't see one.
  public static func overview(of trip: Trip.ID) -> LiveQuery where Value == TripOverview? {
    LiveQuery(.overview, tripTopics) { node, _ in try node.store.overview(of: trip) }
  }

  /// All lodging, transportation and activities of a trip in the order of time; those without a time last.
  public static func timeline(of trip: Trip.ID) -> LiveQuery where Value == [TimelineItem] {
    LiveQuery(.timeline, tripTopics) { node, _ in try node.store.timeline(of: trip) }
  }
}

extension LiveQuery<OrganizationList> {
  /// All organizations in the order of a picker.
  public static var organizations: LiveQuery {
    LiveQuery(.organizations, [.kind(Organization.kind.number)]) { node, _ in try node.store.organizations() }
  }
}

extension LiveQuery {
  /// Habits and what was done for them, counted as the profile says. A watch reads again when the day ends.
  ///
  /// - Parameters:
  ///   - habits: which habits.
  ///   - since: entries before this day are left out, and streaks do not reach further back; nil for all.
  ///   - now: decides what day today is; the node's clock without it.
  public static func progress(
    of habits: Query<Habit>, since: Day? = nil, now: Date? = nil
  ) -> LiveQuery where Value == [HabitProgress] {
    LiveQuery(.progress, habitTopics) { try $0.store.progress(of: habits, since: since, now: now, &$1) }
  }

  /// One habit and what was done for it; nil if people can't see it. A watch reads again when the day ends.
  public static func progress(
    of habit: Habit.ID, since: Day? = nil, now: Date? = nil
  ) -> LiveQuery where Value == HabitProgress? {
    LiveQuery(.habitProgress, habitTopics) { try $0.store.progress(of: habit, since: since, now: now, &$1) }
  }

  private static var habitTopics: Set<Topic> {
    [.kind(KindNumbers.habit), .kind(KindNumbers.habitEntry), .kind(Registry.profile.number)]
  }
}
