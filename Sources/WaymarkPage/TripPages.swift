import Platform
import Model
import Waymark
import WaymarkFiles

/// The records that the items of trips refer to, read once.
struct TripReferences {
  private let organizations: OrganizationList
  private let addresses: [Address.ID: Address]
  private let files: [Attachment.Parent: [TripPage.File]]
  private let legs: [Transportation.ID: [Leg]]

  init(_ node: isolated Node) throws {
    organizations = try node.readOnQueue(.organizations)
    addresses = Dictionary(
      try node.readOnQueue(.records(Address.all)).map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first }
    )
    legs = Dictionary(grouping: try node.readOnQueue(.records(Leg.all))) { $0.transportationID }
    let attachments = try node.readOnQueue(.records(Attachment.all)).filter { $0.parent != nil }
    files = Dictionary(grouping: attachments) { $0.parent }.reduce(into: [:]) { files, group in
      guard let parent = group.key else { return }
      files[parent] = group.value.map { TripPage.File(name: $0.fileName, size: $0.fileSize) }
    }
  }

  func organization(of item: any TripItem) -> Organization? {
    let found = organizations[item.organizationID]
    return found.id == Organization.noneID ? nil : found
  }

  /// The address of the place itself, or else that of the organization.
  func address(of item: any TripItem) -> Address? {
    (item.placeAddressID ?? organization(of: item)?.addressID).flatMap { addresses[$0] }
  }

  func legs(of item: TimelineItem) -> [TripPage.Leg] {
    (legs[Transportation.ID(item.id)] ?? []).map(TripPage.Leg.init)
  }

  func files(of item: TimelineItem) -> [TripPage.File] {
    let parent: Attachment.Parent =
      switch item {
      case .lodging(let item): .lodging(item.id)
      case .transportation(let item): .transportation(item.id)
      case .activity(let item): .activity(item.id)
      }
    return files[parent] ?? []
  }
}

extension TripPage {
  /// - Parameters:
  ///   - timeline: the items in chronological order.
  ///   - hasDetails: whether the items and notes are included.
  init(
    _ overview: TripOverview, _ timeline: [TimelineItem], _ references: TripReferences, hasDetails: Bool
  ) {
    let trip = overview.trip
    let days = trip.localDays(timeline) ?? overview.days
    let countries = timeline.compactMap { item in
      references.address(of: item.item)?.country
    }.filter { !$0.isEmpty }
    self.init(
      id: trip.id, name: trip.name, notes: hasDetails ? trip.notes : "", isProtected: trip.isProtected,
      firstDay: days?.lowerBound, lastDay: days?.upperBound,
      lodgings: overview.lodgingCount, transportations: overview.transportationCount,
      activities: overview.activityCount,
      totals: overview.totals.map { Amount(amount: $0.amount?.description, currency: $0.currency) },
      countries: hasDetails ? Set(countries).sorted() : [],
      items: hasDetails ? timeline.map { Item($0, references) } : nil)
  }
}

extension Trip {
  /// The first and the last day of the trip; where the trip has no date, those of its items, each at its place. Nil if
  /// neither has one.
  fileprivate func localDays(_ timeline: [TimelineItem]) -> ClosedRange<Day>? {
    let days = timeline.compactMap(\.days)
    let first = startDate.map { Day($0, in: .gmt) } ?? days.map(\.lowerBound).min()
    let last = endDate.map { Day($0, in: .gmt) } ?? days.map(\.upperBound).max()
    return first.map { $0...max($0, last ?? $0) }
  }
}

extension TripPage.Item {
  init(_ timelineItem: TimelineItem, _ references: TripReferences) {
    let item = timelineItem.item
    let organization = references.organization(of: item)
    let (kind, type, ownPlace, reference): (RecordKind, TransportationType?, String, String) =
      switch timelineItem {
      case .lodging(let item): (.lodging, nil, item.customLocationName, item.reservation)
      case .transportation(let item): (.transportation, item.type, "", item.confirmation)
      case .activity(let item): (.activity, nil, item.customLocationName, item.reservation)
      }
    let place = ownPlace.isEmpty ? references.address(of: item)?.line : ownPlace
    self.init(
      kind: kind, id: timelineItem.id, name: item.name,
      start: item.start.map { TripPage.LocalTime($0, item.startZone) },
      end: item.end.map { TripPage.LocalTime($0, item.endZone ?? item.startZone) }, type: type,
      cost: item.cost.map { TripPage.Amount(amount: $0.amount.description, currency: $0.currency) },
      paid: item.payment, organization: organization?.name, place: place?.isEmpty == true ? nil : place,
      reference: reference, notes: item.notes, attachments: references.files(of: timelineItem),
      legs: references.legs(of: timelineItem))
  }
}

extension TripPage.Leg {
  init(_ leg: Leg) {
    self.init(
      service: leg.serviceNumber,
      departure: Stop(
        place: leg.departureLocationName,
        time: leg.departure.map { TripPage.LocalTime($0, leg.departureZone) },
        terminal: leg.departureTerminal,
        gate: leg.departureGateOrPlatform),
      arrival: Stop(
        place: leg.arrivalLocationName, time: leg.arrival.map { TripPage.LocalTime($0, leg.arrivalZone) },
        terminal: leg.arrivalTerminal, gate: leg.arrivalGateOrPlatform),
      seat: leg.seatNumber, boardingGroup: leg.boardingGroup)
  }
}

extension TripPage.LocalTime {
  init(_ date: Date, _ zone: String?) {
    self.init(time: CivilTime.text(date.milliseconds, zone: zone), zone: zone)
  }
}

extension Address {
  /// The address on one line.
  fileprivate var line: String {
    formattedAddress.isEmpty
      ? [street, "\(postalCode) \(city)".trimmed, state, country]
        .filter { !$0.isEmpty }.joined(separator: ", ")
      : formattedAddress.split(whereSeparator: \.isNewline).joined(separator: ", ")
  }
}
