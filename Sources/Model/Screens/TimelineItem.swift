public import Platform
import Records
import Replication
import Storage
import Wire

/// One item of a trip's timeline.
public enum TimelineItem: Identifiable, Hashable, Sendable, Codable {
  /// A place to stay.
  case lodging(Lodging)
  /// A journey from one place to another.
  case transportation(Transportation)
  /// An activity.
  case activity(Activity)

  /// The item, for access to the properties that all items share, such as the name, the times with their zones, and
  /// the cost.
  public var item: any TripItem {
    switch self {
    case .lodging(let lodging): lodging
    case .transportation(let transportation): transportation
    case .activity(let activity): activity
    }
  }

  /// The id of the item without its kind.
  public var id: UUID {
    switch self {
    case .lodging(let lodging): lodging.id.uuid
    case .transportation(let transportation): transportation.id.uuid
    case .activity(let activity): activity.id.uuid
    }
  }

  /// The day on which the item begins, in the zone in which it begins; nil if the item has no start time.
  public var day: Day? {
    item.start.map { Day($0, in: item.startZone.flatMap { Zone(named: $0) } ?? .utc) }
  }

  /// Creates an item from a row; nil if the row contains a record of another kind.
  init?(_ row: RecordRow) {
    switch row.key.kind {
    case KindNumbers.lodging: self = .lodging(Lodging(row))
    case KindNumbers.transportation: self = .transportation(Transportation(row))
    case KindNumbers.activity: self = .activity(Activity(row))
    default: return nil
    }
  }
}

extension RecordSource {
  /// Returns all items of a trip in chronological order; items without a start time come last.
  package func timeline(of trip: Trip.ID) throws -> [TimelineItem] {
    try timeline(of: RecordKey(kind: KindNumbers.trip, id: RecordID(trip)))
      .compactMap { TimelineItem($0.record) }
  }
}
