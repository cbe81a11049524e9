public import Platform
public import Model
public import Waymark

extension StoreReader {
  /// Returns all organizations, in the order in which a picker shows them.
  public func organizations() throws -> OrganizationList {
    try reading { store, _ in try store.organizations() }
  }

  /// Returns the habits that are due today, today's entries, and the trip that is under way or comes next.
  public func today() throws -> TodayOverview { try reading { try $0.today(&$1) } }

  /// Returns everything in a trip, in the order in which it takes place.
  public func timeline(of trip: Trip.ID) throws -> [TimelineItem] {
    try reading { store, _ in try store.timeline(of: trip) }
  }

  /// Returns trips with their totals.
  public func overviews(of trips: Query<Trip>) throws -> [TripOverview] {
    try reading { try $0.overviews(of: trips, &$1) }
  }

  /// Returns a trip with its totals; nil if the trip does not exist or is deleted.
  public func overview(of trip: Trip.ID) throws -> TripOverview? {
    try reading { store, _ in try store.overview(of: trip) }
  }

  /// Returns habits and their progress, counted according to the settings in the profile.
  ///
  /// - Parameters:
  ///   - habits: the habits to include.
  ///   - since: the first day to count; nil to count all days.
  ///   - now: the time that decides which day is today; nil for now.
  public func progress(
    of habits: Query<Habit>, since: Day? = nil, now: Date? = nil
  ) throws -> [HabitProgress] {
    try reading { try $0.progress(of: habits, since: since, now: now, &$1) }
  }

  /// Returns a habit and its progress; nil if the habit does not exist or is deleted.
  public func progress(
    of habit: Habit.ID, since: Day? = nil, now: Date? = nil
  ) throws -> HabitProgress? {
    try reading { try $0.progress(of: habit, since: since, now: now, &$1) }
  }
}
