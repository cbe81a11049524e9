public import Foundation
import Home
import Membership
import Records
import Storage
import Wire

/// Reads the records of a home that another process may have open, without its lock and without its keys: for a widget,
/// an intent or another extension of an app.
///
/// ```swift
/// let reader = StoreReader(Home(sharedFolder))
/// let today = try reader.today()
/// ```
///
/// Each call opens the store, reads all of its answer from one state of it, and closes it again. Between calls, nothing is
/// held that could get in the way of the app, or of the system that suspends this process. A call works whether the app's
/// node runs, is suspended or is closed, and sees everything that the node has written until then. Nothing is written, and
/// changes that wait for their time are not shown before a node has opened the home.
///
/// A reader needs write access to the directory of the store, because SQLite coordinates readers and writers in files
/// there.
///
/// All calls throw ``WaymarkError``: with the code `no_store` if there is no store yet, with `outdated_store` or
/// `newer_store` if another version of the app has written the tables. The widget then shows nothing until the app was
/// opened.
public struct StoreReader: Sendable {
  /// The home that is read.
  public let home: Home

  /// Creates a reader of a home, which need not exist yet.
  public init(_ home: Home) { self.home = home }

  // MARK: Records

  /// Returns the records that match a query.
  public func records<Owner>(_ query: Query<Owner>) throws -> [Owner] {
    try reading { try $0.records(query, &$1) }
  }

  /// Returns the record with an id; nil if it does not exist, is deleted or is hidden.
  public func record<Owner: Record>(_ type: Owner.Type, _ id: UUID) throws -> Owner? {
    try reading { store, _ in try store.record(type, id) }
  }

  /// Returns the number of records that match a query.
  public func count<Owner>(_ query: Query<Owner>) throws -> Int { try reading { try $0.count(query, &$1) } }

  /// Returns the person's profile; its name is empty until a name is set.
  public func profile() throws -> Profile {
    try reading { store, _ in Profile(try store.heldProfile()) }
  }

  /// Returns all organizations, in the order in which a picker shows them.
  public func organizations() throws -> OrganizationList {
    try reading { store, _ in try store.organizations() }
  }

  // MARK: Screens

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

  // MARK: Settings

  /// Returns the value of a setting; see ``Node/value(of:)``.
  public func value<Value>(of setting: Setting<Value>) throws -> Value {
    try reading { store, _ in try store.value(of: setting) } ?? home.value(of: setting)
  }

  // MARK: Opening

  private func reading<Result>(_ body: (Store, inout EvaluationTime) throws -> Result) throws -> Result {
    guard home.hasStore else { throw WaymarkError.noStore(home) }
    do {
      var time = EvaluationTime(now: systemWall())
      return try Store.reading(path: home.store) { try body($0, &time) }
    } catch {
      throw WaymarkError.reading(home, error)
    }
  }
}
