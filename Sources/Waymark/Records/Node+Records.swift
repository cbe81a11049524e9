public import Foundation

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
}
