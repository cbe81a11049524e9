public import Foundation
import Records
import Storage
public import Wire

extension Node {
  /// The records that a query asks for.
  ///
  /// - Throws: ``WaymarkError`` if the store can't be read, and with the code `unsupported_property` if a key path of
  ///   the query is not a stored property.
  public func records<Owner>(_ query: Query<Owner>) throws -> [Owner] { try read(.records(query)) }

  /// The record with an id; nil if people can't see one.
  public func record<Owner: Record>(_ type: Owner.Type, _ id: UUID) throws -> Owner? {
    try read(.record(type, id))
  }

  /// How many records a query asks for.
  public func count<Owner>(_ query: Query<Owner>) throws -> Int { try read(.count(query)) }

  /// The records of a query, now and again after each change that concerns them, and when the time reaches a date that
  /// the query compares with ``QueryTime/now``.
  ///
  /// ```swift
  /// for await trips in node.watch(Trip.all.sorted(by: \.startDate)) { show(trips) }
  /// ```
  public nonisolated func watch<Owner>(_ query: Query<Owner>) -> Watch<[Owner]> { watch(.records(query)) }

  /// The person's profile; without a name until somebody has given one.
  public func profile() throws -> Profile { try read(.profile) }

  /// The deleted records of a kind, the last deleted first.
  ///
  /// ```swift
  /// for trip in try await node.deleted(Trip.self) where trip.hiddenBy == nil {
  ///   try await node.restore(Trip.self, trip.id)
  /// }
  /// ```
  public func deleted<Owner: Record>(_ type: Owner.Type) throws -> [Deleted<Owner>] {
    try sayingWhy { try Trash(store: store).deleted(type) { self.name(of: $0) } }
  }

  /// Records as people type them.
  ///
  /// - Parameter zone: of the person who typed; this process's own if nil.
  package func typedRecords(zone: String?) -> TypedRecords {
    TypedRecords(
      store: store, home: home, now: wall(), zone: zone, deviceName: { self.name(of: $0) })
  }

  var names: NameResolver { NameResolver(store: store) }

  // MARK: Habits

  /// Enters that something was done: one more entry, so that two devices that each add one make two.
  ///
  /// - Parameters:
  ///   - habit: its id.
  ///   - value: how much; 1 for a habit that is done or not.
  ///   - day: today if nil.
  ///   - zone: where the person is.
  /// - Throws: ``WaymarkError``: `not_found` if there is no such habit, `bad_value` for an amount that it can't have.
  @discardableResult
  public func log(
    _ habit: Habit.ID, _ value: Double = 1, on day: Day? = nil, zone: TimeZone = .current
  ) throws -> HabitEntry {
    try sayingWhy {
      let (id, change) = try HabitDayEntries(store, of: habit, day, zone, now: wall()).adding(value)
      try write(change)
      guard let entry = try store.record(HabitEntry.self, id) else {
        throw WaymarkError.notFound("log", RecordID(id).uuid)
      }
      return entry
    }
  }

  /// Makes a day have a value in one entry, whatever there was; nil takes away all entries that are seen here, and so
  /// does 0 of a habit that is done or not.
  ///
  /// - Returns: the id of the operation, for ``Node/undo(_:isForced:)``; nil if it was so already.
  /// - Throws: ``WaymarkError``: `not_found` if there is no such habit, `bad_value` for an amount that it can't have.
  @discardableResult
  public func setValue(
    _ value: Double?, of habit: Habit.ID, on day: Day? = nil, zone: TimeZone = .current
  ) throws -> OperationID? {
    try sayingWhy {
      let entries = try HabitDayEntries(store, of: habit, day, zone, now: wall())
      return try write(value.map { try entries.setting($0) } ?? entries.clearing())
    }
  }

  // MARK: Files

  /// Adds a file to an item of a trip.
  ///
  /// - Parameters:
  ///   - data: at most 16 MiB.
  ///   - name: as the person knows it, with its ending.
  ///   - parent: the item that it belongs to.
  /// - Throws: ``WaymarkError``: `not_found` if the item is not there, `bad_value` if the file is too large.
  @discardableResult
  public func attach(_ data: Data, named name: String, to parent: Attachment.Parent) throws -> Attachment {
    try sayingWhy {
      let (id, change) = try StoredContents(store: store).attaching(
        data, named: name, to: parent, now: wall())
      try write(change)
      return try store.record(Attachment.self, id) ?? Attachment(id: id)
    }
  }

  /// The bytes of an attachment.
  ///
  /// - Throws: ``WaymarkError``: `no_content` if not all of them have arrived on this device yet.
  public func data(of attachment: Attachment) throws -> Data {
    try sayingWhy { try StoredContents(store: store).data(of: attachment) }
  }

  /// The picture of the profile; nil if it has none.
  ///
  /// - Throws: ``WaymarkError``: `no_content` if not all of it has arrived on this device yet.
  public func avatar() throws -> Data? {
    try sayingWhy { try StoredContents(store: store).avatar() }
  }

  /// Gives the profile a picture of at most 16 MiB; nil takes it away.
  public func setAvatar(_ data: Data?) throws {
    guard (data?.count ?? 0) <= Limits.attachmentBytesMax else {
      throw WaymarkError.badValue("avatar", "…", allowed: "it has at most 16 MiB")
    }
    try sayingWhy { try write(StoredContents(store: store).settingAvatar(data, now: wall())) }
  }
}
