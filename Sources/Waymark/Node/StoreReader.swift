import Platform
import Home
import Membership
import Model
import Records
package import Storage
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
  public func record<Owner>(_ id: Identifier<Owner>) throws -> Owner? {
    try reading { store, _ in try store.record(id) }
  }

  /// Returns the number of records that match a query.
  public func count<Owner>(_ query: Query<Owner>) throws -> Int { try reading { try $0.count(query, &$1) } }

  /// Returns the person's profile; its name is empty until a name is set.
  public func profile() throws -> Profile {
    try reading { store, _ in Profile(try store.heldProfile()) }
  }

  // MARK: Settings

  /// Returns the value of a setting; see ``Node/value(of:)``.
  public func value<Value>(of setting: Setting<Value>) throws -> Value {
    try reading { store, _ in try store.value(of: setting) } ?? home.value(of: setting)
  }

  // MARK: Opening

  package func reading<Result>(_ body: (Store, inout EvaluationTime) throws -> Result) throws -> Result {
    guard home.hasStore else { throw WaymarkError.noStore(home) }
    do {
      var time = EvaluationTime(now: systemWall())
      return try Store.reading(path: home.store) { try body($0, &time) }
    } catch {
      throw WaymarkError.reading(home, error)
    }
  }
}
