import Platform
import Model
import Records
public import Waymark
import WaymarkCare
import WaymarkKinds

extension Node {
  /// Reads what the page shows.
  ///
  /// What belongs to protected trips is left out, except the name, days and totals of each. The page of such a trip
  /// alone has its items; see ``pageDocument(of:)``.
  ///
  /// - Throws: `WaymarkError` if the store can't be read.
  public func pageDocument() async throws -> PageDocument {
    let newest = try await SlicedHistory(core).newestOperations(PageDocument.operationsMax)
    let history = try await OperationPage.pages(of: newest.newest, on: self)
    // From here on, nothing waits, so everything is of one moment. What may be named is decided last.
    let open = try OpenRecords(self)
    let (references, categories) = (try TripReferences(self), try readOnQueue(.records(HabitCategory.all)))
    let byKey = Dictionary(categories.map { ($0.key, $0) }, uniquingKeysWith: { first, _ in first })
    let status = open.shown(try status())
    return PageDocument(
      generated: Date(milliseconds: wall()), today: try PageDocument.today(on: self), deviceName: status.name,
      status: status,
      conflicts: Array(
        try conflicts().filter { open.contains($0.kind, $0.record) }.prefix(PageDocument.conflictsMax)),
      habits: try readOnQueue(.progress(of: Habit.all)).map { HabitPage($0, byKey) },
      trips: try readOnQueue(.overviews(of: Trip.all)).map { overview in
        TripPage(
          overview, try readOnQueue(.timeline(of: overview.id)), references,
          hasDetails: !overview.trip.isProtected)
      },
      history: history.map { open.shown($0) }, hasMoreHistory: newest.hasMore,
      kinds: PageDocument.kinds(on: self))
  }

  /// Reads what the page of a single trip shows: the trip with all of its items, and nothing else of this node.
  ///
  /// - Throws: `WaymarkError` with the code `not_found` if there is no such trip.
  public func pageDocument(of trip: Trip.ID) throws -> PageDocument {
    guard let overview = try readOnQueue(.overview(of: trip)) else {
      throw WaymarkError.notFound("trip", trip.description)
    }
    let page = TripPage(
      overview, try readOnQueue(.timeline(of: trip)), try TripReferences(self), hasDetails: true)
    return PageDocument(
      generated: Date(milliseconds: wall()), today: try PageDocument.today(on: self), deviceName: nil,
      status: nil,
      conflicts: [], habits: [],
      trips: [page], history: [], hasMoreHistory: false, kinds: PageDocument.kinds(on: self))
  }
}

extension PageDocument {
  fileprivate static func today(on node: isolated Node) throws -> Day {
    DayCount(try node.readOnQueue(.profile)).day(at: Date(milliseconds: node.wall()))
  }

  fileprivate static func kinds(on node: isolated Node) -> [KindName] {
    node.schema.listed.map { KindName(kind: RecordKind(rawValue: $0.name), plural: $0.plural) }
  }
}

extension OperationPage {
  /// Adds the written and replaced values to operations that wrote a single record.
  fileprivate static func pages(
    of operations: [History.Operation], on node: isolated Node
  ) async throws -> [OperationPage] {
    var fields: [OperationID: [History.Field]] = [:]
    var read: Set<UUID> = []
    for record in operations.compactMap(\.record) where read.insert(record.id).inserted {
      // A record that was erased has no history.
      guard let history = try? await node.history(of: record, limit: 20) else { continue }
      for write in history.writes { fields[write.id] = write.fields }
    }
    return operations.map { operation in
      OperationPage(
        operation: operation, fields: operation.record == nil ? [] : fields[operation.id] ?? [])
    }
  }
}
