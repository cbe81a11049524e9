import Platform
import Model
import Records
import Waymark
import WaymarkCare

/// The records that a page may name: all but those of protected trips.
///
/// Of trips, items, legs and attachments, those are listed that may be named, so that a record whose trip is not known,
/// such as one that was erased, is left out. Organizations and addresses belong to no trip; those are left out that only
/// protected trips use.
struct OpenRecords {
  private var ids: Set<UUID> = []
  private var hidden: Set<UUID> = []

  init(_ node: isolated Node) throws {
    let trips = try node.readOnQueue(.records(Trip.all)) + node.deleted(Trip.self).map(\.record)
    let open = Set(trips.filter { !$0.isProtected }.map(\.id))
    let items =
      try Self.all(Lodging.self, node) + Self.all(Transportation.self, node) + Self.all(Activity.self, node)
    let openItems = Set(items.filter { open.contains($0.tripID) }.map { $0.uuid })
    let attachments =
      try node.readOnQueue(.records(Attachment.all)) + node.deleted(Attachment.self).map(\.record)
    let openAttachments = attachments.filter { $0.parent.map { openItems.contains($0.uuid) } ?? false }
    let allLegs = try node.readOnQueue(.records(Leg.all)) + node.deleted(Leg.self).map(\.record)
    func legs(_ isOpen: Bool) -> [Leg] {
      allLegs.filter { openItems.contains($0.transportationID.uuid) == isOpen }
    }
    ids = openItems.union(open.map(\.uuid)).union(openAttachments.map(\.id.uuid)).union(
      legs(true).map(\.id.uuid))

    func organizations(_ isOpen: Bool) -> Set<Organization.ID> {
      let ofItems = items.filter { open.contains($0.tripID) == isOpen }.compactMap { $0.organizationID }
      return Set(ofItems + legs(isOpen).compactMap(\.organizationID))
    }
    let hiddenOrganizations = organizations(false).subtracting(organizations(true))
    let known =
      try node.readOnQueue(.records(Organization.all)) + node.deleted(Organization.self).map(\.record)
    func addresses(_ isHidden: Bool) -> Set<Address.ID> {
      let places = items.filter { open.contains($0.tripID) != isHidden }.compactMap(\.placeAddressID)
      let stops = legs(!isHidden).flatMap { [$0.departureAddressID, $0.arrivalAddressID] }.compactMap(\.self)
      return Set(
        known.filter { hiddenOrganizations.contains($0.id) == isHidden }.compactMap(\.addressID) + places
          + stops)
    }
    let hiddenAddresses = addresses(true).subtracting(addresses(false))
    hidden = Set(hiddenOrganizations.map(\.uuid) + hiddenAddresses.map(\.uuid))
  }

  private static func all<Owner: TripItem>(
    _ type: Owner.Type, _ node: isolated Node
  ) throws -> [any TripItem] {
    try node.readOnQueue(.records(Owner.all)) + node.deleted(type).map(\.record)
  }

  /// Whether a record may be named.
  func contains(_ kind: RecordKind, _ id: UUID) -> Bool {
    Self.kinds.contains(kind) ? ids.contains(id) : !hidden.contains(id)
  }

  private static let kinds: Set<RecordKind> = [
    .trip, .lodging, .transportation, .leg, .activity, .attachment,
  ]

  /// Returns an operation without the name and the fields of a record that may not be named.
  func shown(_ operation: History.Operation) -> History.Operation {
    guard let record = operation.record, !contains(record.kind, record.id) else { return operation }
    var shown = operation
    shown.record = RecordReference(kind: record.kind, id: record.id, name: nil)
    shown.fields = []
    return shown
  }

  /// Returns an operation and its values without those of a record that may not be named.
  func shown(_ page: OperationPage) -> OperationPage {
    let isOpen = page.operation.record.map { contains($0.kind, $0.id) } ?? true
    return OperationPage(operation: shown(page.operation), fields: isOpen ? page.fields : [])
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
  fileprivate var uuid: UUID {
    switch self {
    case .lodging(let id): id.uuid
    case .transportation(let id): id.uuid
    case .activity(let id): id.uuid
    }
  }
}
