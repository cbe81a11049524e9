public import Platform
public import Model
import NodeRuntime
import Records
public import Waymark

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
    LiveQuery(
      .overviews, tripTopics.union(topics(of: trips)), trips, records: { try $0.overviews(of: trips, &$1) })
  }

  /// A trip with its totals; nil if the trip does not exist or is deleted.
  public static func overview(of trip: Trip.ID) -> LiveQuery where Value == TripOverview? {
    LiveQuery(.overview, tripTopics, trip, records: { source, _ in try source.overview(of: trip) })
  }

  /// All lodging, transportation and activities of a trip in chronological order; items without a time come last.
  public static func timeline(of trip: Trip.ID) -> LiveQuery where Value == [TimelineItem] {
    LiveQuery(.timeline, tripTopics, trip, records: { source, _ in try source.timeline(of: trip) })
  }
}

extension LiveQuery<TodayOverview> {
  /// The habits that are due today, today's entries, and the trip that is under way or comes next. A watch reads them
  /// again when the day ends.
  public static var today: LiveQuery {
    let kinds = [Kind.trip, Kind.habit, Kind.habitEntry, Kind.profile] + Kind.owners
    return LiveQuery(.today, Set(kinds.map { .kind($0.number) }), records: { try $0.today(&$1) })
  }
}

extension LiveQuery<OrganizationList> {
  /// All organizations, in the order in which a picker shows them.
  public static var organizations: LiveQuery {
    LiveQuery(
      .organizations, [.kind(Organization.kind.number)], records: { source, _ in try source.organizations() })
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
    LiveQuery(
      .progress, habitTopics.union(topics(of: habits)), habits, since, now,
      records: { try $0.progress(of: habits, since: since, now: now, &$1) })
  }

  /// A habit and its progress; nil if the habit does not exist or is deleted. A watch reads the progress again when the
  /// day ends.
  public static func progress(
    of habit: Habit.ID, since: Day? = nil, now: Date? = nil
  ) -> LiveQuery where Value == HabitProgress? {
    LiveQuery(
      .habitProgress, habitTopics, habit, since, now,
      records: { try $0.progress(of: habit, since: since, now: now, &$1) })
  }

  private static var habitTopics: Set<Topic> {
    [.kind(KindNumbers.habit), .kind(KindNumbers.habitEntry), .kind(Kind.profile.number)]
  }
}
