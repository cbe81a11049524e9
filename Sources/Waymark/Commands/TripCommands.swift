import JSONDocument
import Records
import Replication
import Storage
import Wire

/// What trips have beyond other kinds: totals and a timeline.
extension Node {
  /// `trip list`: every trip with its totals, by date.
  func listTrips(_ request: CommandRequest) throws -> JSON {
    let list = RecordList(store: store, names: names)
    let summaries = try store.tripSummaries()
    let start = Registry.trip.number("startDate")
    let trips = try list.records(Registry.trip, request)
    // Trips without any date come last; the list is in the order of names already.
    let order = trips.enumerated()
      .map { (begin: $1[start]?.asInteger ?? summaries[$1.key.id]?.firstStart ?? .max, place: $0) }
      .sorted { ($0.begin, $0.place) < ($1.begin, $1.place) }
    var writer = RecordDocument(store: store)
    let items = try order.map { _, place in
      var members = try writer.members(Registry.trip, trips[place])
      append(summaries[trips[place].key.id] ?? TripSummary(), to: &members)
      return JSON.object(members)
    }
    return document(request.command, [.init("trips", .array(items))])
  }

  /// What `trip show` and `trip list` add to the fields.
  func append(_ summary: TripSummary, to members: inout [JSON.Member]) {
    members.append(
      .init("activities", .integer(summary.lodgings + summary.transportations + summary.activities)))
    members.append(.init("firstStart", timeJSON(summary.firstStart)))
    members.append(.init("lastEnd", timeJSON(summary.lastEnd)))
    let totals = summary.totals.map {
      JSON.object([.init("amount", .text($0.amount)), .init("currency", .text($0.currency))])
    }
    members.append(.init("totals", .array(totals)))
  }

  // MARK: Timeline

  /// `trip timeline`: all that belongs to a trip in the order of time, each in its own zones.
  func tripTimeline(_ request: CommandRequest) throws -> JSON {
    let trip = try names.resolve(Registry.trip, request.required("id", "the name or id of a trip"))
    var writer = RecordDocument(store: store)
    let items = try store.timeline(of: trip.key).map { kind, record in
      JSON.object([JSON.Member("kind", .string(kind.name))] + (try writer.members(kind, record)))
    }
    return document(
      request.command,
      [
        .init("id", .string(trip.key.id.uuid)), .init("name", .text(Registry.trip.title(of: trip))),
        .init("items", .array(items)),
      ])
  }
}
