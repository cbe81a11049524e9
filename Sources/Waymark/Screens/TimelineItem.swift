public import Foundation
import Replication
import Wire

/// One thing of a trip's timeline.
public enum TimelineItem: Identifiable, Hashable, Sendable {
  /// A place to stay.
  case lodging(Lodging)
  /// A way from one place to another.
  case transportation(Transportation)
  /// Something to do.
  case activity(Activity)

  /// What all of them have: name, times with their zones, cost.
  public var item: any TripItem {
    switch self {
    case .lodging(let lodging): lodging
    case .transportation(let transportation): transportation
    case .activity(let activity): activity
    }
  }

  public var id: UUID { item.id }

  /// The day on which it begins, in its own zone; nil without a time.
  public var day: Day? {
    item.start.map { Day($0, in: item.startZone.flatMap { TimeZone(identifier: $0) } ?? .gmt) }
  }

  /// Where it stands: by time, then by kind.
  var place: Place {
    let kind =
      switch self {
      case .lodging: 1
      case .transportation: 2
      case .activity: 0
      }
    return Place(start: item.start?.milliseconds ?? .max, kind: kind, id: RecordID(id))
  }

  struct Place: Comparable {
    let start: Moment
    let kind: Int
    let id: RecordID

    static func < (left: Place, right: Place) -> Bool {
      (left.start, left.kind, left.id) < (right.start, right.kind, right.id)
    }
  }
}
