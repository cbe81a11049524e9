import Console
import Records
import Waymark
import WaymarkCare

/// `status`: the header line, the lanes, the peers, and what needs attention.
extension Rendering {
  mutating func status(_ status: NodeStatus) {
    paragraphs(head(status))
    var pairs = [
      ("settings", laneText(.settings, status)), ("records", laneText(.records, status)),
      ("here", countsText(status.counts)),
    ]
    if let files = filesText(status) { pairs.append(("files", files)) }
    data.pairs(pairs)
    if !status.peers.isEmpty {
      data.gap()
      data.table(peerTable(status.peers))
    }
    addresses(status.addresses.filter { $0.failure != nil })
    let closing = closingLines(status)
    if !closing.isEmpty { data.gap() }
    for line in closing { data.paragraph(line.text, line.stress) }
  }

  /// Writes the status for a small window: the header, what needs attention, and the peers, without empty lines.
  mutating func diagnostics(_ status: NodeStatus) {
    paragraphs(head(status))
    for line in closingLines(status) where line.stress != .none && line.stress != .good {
      data.paragraph(line.text, line.stress)
    }
    if !status.peers.isEmpty { data.table(peerTable(status.peers)) }
    data.pairs([("settings", laneText(.settings, status)), ("records", laneText(.records, status))])
  }

  private mutating func paragraphs(_ parts: [String]) {
    let line = parts.joined(separator: "   ")
    guard line.displayWidth > data.width else { return data.line(line) }
    let first = parts.dropLast().joined(separator: "   ")
    // Wrapping would collapse the gaps between the parts, so it is used only for a very long name.
    if first.displayWidth > data.width { data.paragraph(first, indent: 0) } else { data.line(first) }
    data.paragraph(parts.last ?? "", indent: 0)
  }

  // MARK: Head

  private func head(_ status: NodeStatus) -> [String] {
    let premium = status.sync.premium
    var parts = ["\(printable(status.name))  \(shortID(status.device.description))", runningText(status)]
    if isExcluded(status) {
      parts.append(data.paint("not in the circle", .bad))
    } else {
      parts.append(premiumText(premium))
      if premium.isActive { parts.append(status.sync.preference ? "sync on" : "sync off") }
    }
    return parts
  }

  /// Whether this device was revoked, directly or along with the device that had invited it.
  private func isExcluded(_ status: NodeStatus) -> Bool {
    status.notices.contains { [.revoked, .notAMember].contains($0.reason) }
  }

  private func runningText(_ status: NodeStatus) -> String {
    guard let since = status.servingSince, status.isServing else {
      return status.isServing ? "running" : "not running"
    }
    return "running \(TimeText.span(time.now - since.milliseconds))"
  }

  /// Returns whether a device has premium, in the words that `status`, `sync` and `premium show` share.
  func premiumText(_ premium: SyncState.Premium) -> String {
    let until = premium.validUntil.map { " until \(time.end($0))" } ?? ""
    switch premium.source {
    case .allFeatures: return "premium (all features build)"
    case .mock: return "premium (mock purchase)" + until
    case .certificate: return "premium" + until
    case .purchase: return "premium (App Store)" + until
    case .noPremium: break
    }
    let state =
      switch premium.obstacle {
      case .entitlementExpired: "premium expired"
      case .entitlementNotYetValid: "premium not valid yet"
      case .purchaseRefunded: "premium refunded"
      case .purchaseUnconfirmed: "premium not confirmed"
      case .purchaseUnjudged: "premium not verifiable by this build"
      case .entitlementWithdrawn: "premium withdrawn"
      default: "free"
      }
    return "\(state) · settings sync, records stay on this device (waymark help premium)"
  }

  // MARK: Lanes

  private func laneText(_ lane: Lane, _ status: NodeStatus) -> String {
    let own = lane == .settings ? status.settings : status.records
    var parts: [String] = []
    if !own.isOpen {
      parts.append(closedText(own.reason, status))
    } else if status.peers.isEmpty {
      parts.append("no other device yet")
    } else {
      parts.append(syncText(lane, status.peers))
    }
    if own.parked > 0 {
      parts.append("\(counted(Int64(own.parked), "change set")) parked until their time comes")
    }
    if lane == .records, status.conflicts > 0 {
      parts.append(data.paint(counted(Int64(status.conflicts), "conflict"), .careful))
    }
    return parts.joined(separator: " · ")
  }

  private func closedText(_ reason: Reason?, _ status: NodeStatus) -> String {
    // The header line already explains the free tier.
    guard let reason, reason != .freeTier else { return "stay on this device" }
    guard let cause = status.causes.first(where: { $0.reason == reason && $0.peer == nil }) else {
      return reason.rawValue
    }
    return printable(cause.text) + (cause.next.map { " (\(words($0)))" } ?? "")
  }

  private func syncText(_ lane: Lane, _ peers: [Peer]) -> String {
    let open = peers.filter { $0[lane].isOpen }
    guard !open.isEmpty else {
      let online = peers.contains { ![.offline, .connecting].contains($0.state) }
      return online ? "no peer accepts them now" : "no peer is connected"
    }
    let equal = open.filter { $0[lane].isEqual == true }
    var parts: [String] = []
    if equal.count == open.count || !equal.isEmpty {
      let text = "in sync with \(equal.count) of \(counted(Int64(open.count), "peer"))"
      parts.append(equal.count == open.count ? data.paint(text, .good) : text)
    }
    for peer in open where peer[lane].isEqual != true {
      let name = printable(peer.name)
      if let ahead = peer[lane].ahead, ahead > 0 {
        parts.append("\(counted(Int64(ahead), "change set")) not yet on \(name)")
      }
      if let behind = peer[lane].behind, behind > 0 {
        parts.append("\(counted(Int64(behind), "change set")) still to come from \(name)")
      }
    }
    return parts.isEmpty ? "not in sync yet" : parts.joined(separator: " · ")
  }

  private func countsText(_ counts: NodeStatus.Counts) -> String {
    let named: [(Int, String, String)] = [
      (counts.trips, "trip", "trips"), (counts.lodging, "lodging", "lodgings"),
      (counts.transportation, "transportation", "transportations"),
      (counts.activities, "activity", "activities"),
      (counts.organizations, "organization", "organizations"), (counts.habits, "habit", "habits"),
      (counts.categories, "category", "categories"), (counts.habitEntries, "habit entry", "habit entries"),
      (counts.settings, "setting", "settings"),
    ]
    let apps = counts.apps.map { item in
      let name = Schema.known.kind(named: item.kind.rawValue)?.count
      return (item.count, name?.one ?? item.kind.rawValue, name?.many ?? item.kind.rawValue)
    }
    let parts = (named + apps).filter { $0.0 > 0 }.map { counted(Int64($0.0), $0.1, $0.2) }
    return parts.isEmpty ? "nothing yet" : parts.joined(separator: " · ")
  }

  // MARK: Closing

  private func closingLines(_ status: NodeStatus) -> [(text: String, stress: Stress)] {
    var lines: [(text: String, stress: Stress)] = []
    if !status.isServing, !status.peers.isEmpty {
      lines.append(
        ("The node is not running, so nothing is exchanged: \(words(.waymark("run")))", .careful))
    }
    // The rows in the table of peers don't show that this machine has no network.
    for cause in status.causes where cause.reason == .noRoute && cause.peer == nil {
      lines.append((sentence(printable(cause.text)) + following(cause.next), .careful))
    }
    lines += replicationRiskLines(status.replicationRisk, status.files, status.peers)
    for notice in status.notices {
      lines.append(
        (
          opening(notice, status.peers) + intended(notice) + following(notice.next),
          notice.reason.severity == .error ? .bad : .careful
        ))
    }
    let isNoticed = status.notices.contains { $0.reason == .conflicts }
    if status.conflicts > 0, !isNoticed {
      let verb = status.conflicts == 1 ? "needs" : "need"
      lines.append(
        (
          "\(counted(Int64(status.conflicts), "conflict")) \(verb) your decision: \(words(.waymark("conflicts")))",
          .careful
        ))
    }
    return lines
  }

  private func intended(_ notice: NodeStatus.Notice) -> String {
    guard notice.reason == .massDeletion else { return "" }
    return " (if that was intended: \(words(.waymark("status --acknowledge"))))"
  }

  private func following(_ next: Step?) -> String { next.map { ": \(words($0))" } ?? "." }

  /// A notice as a sentence. The name of a device at its beginning stays as it is.
  private func opening(_ notice: NodeStatus.Notice, _ peers: [Peer]) -> String {
    let text = printable(notice.text)
    let name = peers.first { $0.device == notice.device }?.name
    return name.map { text.hasPrefix(printable($0)) } == true ? text : sentence(text)
  }

  private func sentence(_ text: String) -> String { text.prefix(1).uppercased() + text.dropFirst() }
}

/// The addresses that the user gave, for `status` and `peers`.
extension Rendering {
  mutating func addresses(_ added: [AddedAddress]) {
    guard !added.isEmpty else { return }
    var table = TextTable([.init("ADDED ADDRESS"), .init("DEVICE", widthMin: 24)])
    table.wrapsLast = true
    for address in added { table.rows.append([.init(address.address), .init(answering(address))]) }
    data.gap()
    data.table(table)
  }

  private func answering(_ added: AddedAddress) -> String {
    let device = added.name ?? (added.failure == nil ? "not reached yet" : "no answer")
    let why = added.failure.map { ": \($0.sentence(inRowOf: added.address))" } ?? ""
    let next =
      added.failure != nil && added.isSaved ? " · \(words(.waymark("peers remove \(added.address)")))" : ""
    return device + why + next
  }
}

/// The table of peers, for `status` and `peers`.
extension Rendering {
  /// One row per peer.
  ///
  /// - Parameter showsPlaces: whether a peer that is in sync is shown with its address.
  func peerTable(_ peers: [Peer], showsPlaces: Bool = false) -> TextTable {
    var table = TextTable([
      .init("PEER", widthMin: 8), .init("STATE"), .init("BEHIND", isRight: true),
      .init("AHEAD", isRight: true), .init("LAST SYNC"), .init("WHY", widthMin: 24),
    ])
    table.wrapsLast = true
    for peer in peers {
      table.rows.append([
        .init(peer.name), .init(words(peer), stress(peer)),
        .init(total(peer.behind)), .init(total(peer.ahead)), .init(time.ago(peer.lastSync)),
        .init(why(peer, showsPlaces)),
      ])
    }
    return table
  }

  /// `in sync`
  func words(_ state: PeerState) -> String { state.rawValue.replacing("_", with: " ") }

  /// A peer that only settings sync with is not shown as in sync, because it holds no records.
  private func words(_ peer: Peer) -> String {
    isSettingsOnly(peer) ? "settings only" : words(peer.state)
  }

  private func isSettingsOnly(_ peer: Peer) -> Bool { peer.state == .inSync && !peer.records.isOpen }

  private func stress(_ peer: Peer) -> Stress {
    switch peer.state {
    case .inSync: isSettingsOnly(peer) ? .none : .good
    case .refused: .bad
    case .sending, .receiving, .connecting: .careful
    case .offline, .paused: .none
    }
  }

  /// Returns the number of change sets in both lanes; a dash if it is not known.
  private func total(_ count: Int?) -> String { count.map { grouped(Int64($0)) } ?? "–" }

  private func why(_ peer: Peer, _ showsPlaces: Bool) -> String {
    let isQuiet = peer.reason == .inSync || peer.consequenceOf != nil
    if isQuiet, peer.state == .inSync {
      guard showsPlaces, let address = peer.address else { return "" }
      return "at \(printable(address))" + (peer.addressSource.map { ", \(place($0))" } ?? "")
    }
    // A consequence is explained only once, at its cause.
    guard peer.consequenceOf == nil else { return lastSeen(peer) ?? "" }
    var parts: [String] = []
    if peer.reason == .offline, let seen = lastSeen(peer) {
      parts.append(seen)
    } else {
      parts.append("\(peer.reason.sentence(inRowOf: peer.name))")
    }
    if let next = peer.next { parts.append(words(next, inRowOf: peer.name)) }
    return parts.joined(separator: " · ")
  }

  /// Returns how the address of a peer became known.
  func place(_ source: AddressSource) -> String {
    switch source {
    case .beacon: "found on this network"
    case .announced: "announced to the circle"
    case .given: "given by you"
    case .incoming: "where it dialled from"
    }
  }

  /// Returns `last seen 13:02 at 192.168.1.23` for a peer that is not connected.
  private func lastSeen(_ peer: Peer) -> String? {
    guard peer.state == .offline, let seen = peer.lastSeen ?? peer.since ?? peer.lastSync else { return nil }
    let place = peer.address.map { " at \($0)" } ?? ""
    return "last seen \(time.short(seen))\(place)"
  }
}
