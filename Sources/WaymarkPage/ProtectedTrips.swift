import Foundation
import Records
import Waymark

/// Which records of trips a page may name: those of trips that are not protected.
///
/// The list is of what may be named, so that a record whose trip is not known, such as one that was erased, is left out.
struct OpenRecords {
  private var ids: Set<UUID> = []

  init(_ node: isolated Node) throws {
    let trips = try node.records(Trip.all) + node.deleted(Trip.self).map(\.record)
    ids.formUnion(trips.filter { !$0.isProtected }.map(\.id))
    let open = ids
    try add(Lodging.self, node) { open.contains($0.tripID) }
    try add(Transportation.self, node) { open.contains($0.tripID) }
    try add(Activity.self, node) { open.contains($0.tripID) }
    let items = ids
    try add(Attachment.self, node) { $0.parent.map { items.contains($0.id) } ?? false }
  }

  private mutating func add<Owner: Record>(
    _ type: Owner.Type, _ node: isolated Node, _ isOpen: (Owner) -> Bool
  ) throws {
    let all = try node.records(Owner.all) + node.deleted(type).map(\.record)
    ids.formUnion(all.filter(isOpen).map(\.id))
  }

  /// Whether a record may be named. Records that don't belong to trips always may.
  func contains(_ kind: RecordKind, _ id: UUID) -> Bool { !Self.kinds.contains(kind) || ids.contains(id) }

  private static let kinds: Set<RecordKind> = [.trip, .lodging, .transportation, .activity, .attachment]

  /// Returns an operation without the name and the fields of a record that may not be named.
  func shown(_ operation: History.Operation) -> History.Operation {
    guard let record = operation.record, !contains(record.kind, record.id) else { return operation }
    var shown = operation
    shown.record = RecordReference(kind: record.kind, id: record.id, name: nil)
    shown.fields = []
    return shown
  }

  /// Returns a status whose newest change is shown like every operation.
  func shown(_ status: NodeStatus) -> NodeStatus {
    guard case .operation(let newest) = status.replicationRisk.newest else { return status }
    var shown = status
    shown.replicationRisk.newest = .operation(self.shown(newest))
    return shown
  }
}

extension Attachment.Parent {
  fileprivate var id: UUID {
    switch self {
    case .lodging(let id), .transportation(let id), .activity(let id): id
    }
  }
}
