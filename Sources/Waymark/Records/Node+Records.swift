import Platform
import Model
import NodeOperations
import Records
import Storage
import Wire

extension Node {
  /// Returns the records that match a query.
  ///
  /// - Throws: ``WaymarkError`` if the store can't be read, and with the code `unsupported_property` if a key path of
  ///   the query is not a stored property.
  public nonisolated func records<Owner>(_ query: Query<Owner>) async throws -> [Owner] {
    try await read(.records(query))
  }

  /// Returns the record with an id; nil if it does not exist, is deleted or is hidden.
  public nonisolated func record<Owner>(_ id: Identifier<Owner>) async throws -> Owner? {
    try await read(.record(id))
  }

  /// Returns the first record of a query in its order; nil if no record matches.
  public nonisolated func first<Owner>(_ query: Query<Owner>) async throws -> Owner? {
    try await read(.first(query))
  }

  /// Returns the number of records that match a query.
  public nonisolated func count<Owner>(_ query: Query<Owner>) async throws -> Int {
    try await read(.count(query))
  }

  /// Watches the records of a query: delivers them now, after each change that affects them, and when the time reaches
  /// a date that the query compares with ``QueryTime/now``.
  ///
  /// ```swift
  /// for await trips in node.watch(Trip.all.sorted(by: \.startDate)) { show(trips) }
  /// ```
  public nonisolated func watch<Owner>(_ query: Query<Owner>) -> Watch<[Owner]> { watch(.records(query)) }

  /// Returns the person's profile; its name is empty until a name is set.
  public nonisolated func profile() async throws -> Profile { try await read(.profile) }

  /// Returns the visible records that contain a text in their name, notes or another text, regardless of case and of
  /// accents.
  ///
  /// - Parameters:
  ///   - text: the text to find, which is not empty.
  ///   - kind: the kind of the records; nil to search all kinds.
  ///   - limit: the greatest number of records that are returned. All of them are counted.
  public func find(_ text: String, kind: RecordKind? = nil, limit: Int = 100) throws -> SearchResult {
    try core.withWaymarkErrors {
      let known = try kind.map { kind in
        guard let known = store.schema.kind(named: kind.rawValue) else {
          throw WaymarkError.notFound("kind of record", kind.rawValue)
        }
        return known
      }
      return try Search(store: core.store, text: text, kind: known, limit: limit).result()
    }
  }

  /// Returns the deleted records of a kind, the most recently deleted first.
  ///
  /// ```swift
  /// for trip in try await node.deleted(Trip.self) where trip.hiddenBy == nil {
  ///   try await node.restore(trip.id)
  /// }
  /// ```
  public func deleted<Owner: Record>(_ type: Owner.Type) throws -> [Deleted<Owner>] {
    try core.withWaymarkErrors { try Trash(store: core.store).deleted(type) { core.name(of: $0) } }
  }

  /// Returns the reader and writer of records that are given as text, for the command line.
  ///
  /// - Parameter zone: the person's time zone; nil for the time zone of this process.
  package func typedRecords(zone: String?) -> TypedRecords {
    let core = core
    return TypedRecords(
      store: core.store, home: home, now: core.wall(), zone: zone, deviceName: { core.name(of: $0) },
      fileState: { try FileContents(core).fileState(of: $0) })
  }

}
