/// Why something is as it is: the codes of `status` that tools rely on.
public enum Reason: String, CaseIterable, Codable, Sendable {
  /// In sync.
  case inSync = "in_sync"
  /// It is being sent what it lacks.
  case sending
  /// It sends what this device lacks.
  case receiving
  /// It is being dialled, or the two have just met.
  case connecting
  /// It can't be reached now, and is tried again by itself.
  case offline
  /// This device does not serve.
  case notRunning = "not_running"
  /// It was not seen for two weeks or more.
  case notSeen = "not_seen"
  /// Nobody listens at its address.
  case dialRefused = "dial_refused"
  /// Its address does not answer.
  case dialTimeout = "dial_timeout"
  /// There is no way to its address.
  case noRoute = "no_route"
  /// What answers at its address is no device of this circle.
  case notAMember = "not_a_member"
  /// The device was revoked.
  case revoked
  /// The person has paused it.
  case paused
  /// Sync of records is off on this device.
  case syncOff = "sync_off"
  /// This device has no premium.
  case freeTier = "free_tier"
  /// Sync of records is off on the peer.
  case peerSyncOff = "peer_sync_off"
  /// The peer has no premium.
  case peerFreeTier = "peer_free_tier"
  /// Premium of this device has expired.
  case entitlementExpired = "entitlement_expired"
  /// Premium of this device has not begun.
  case entitlementNotYetValid = "entitlement_not_yet_valid"
  /// Premium of the peer has expired.
  case peerEntitlementExpired = "peer_entitlement_expired"
  /// The clock of this device ran ahead of its peers.
  case clockAhead = "clock_ahead"
  /// This machine's clock is wrong, by what other devices say.
  case clockSkew = "clock_skew"
  /// The clocks of both are too far apart to find each other by themselves.
  case clocksDiffer = "clocks_differ"
  /// Other devices can't be found on this network.
  case notDiscovering = "not_discovering"
  /// The clock of the peer is ahead; its newest changes wait for their time.
  case peerClockAhead = "peer_clock_ahead"
  /// Changes dated in the future wait for their time.
  case parked
  /// The peer speaks a newer protocol.
  case newerProtocol = "newer_protocol"
  /// The peer has changes that it can't send, or that build on such.
  case waitingDependency = "waiting_dependency"
  /// A device deleted much at once.
  case massDelete = "mass_delete"
  /// Two different logs of one device exist, as after a restored copy.
  case fork
  /// The peer sent what no correct node sends.
  case badSignature = "bad_signature"
  /// The same changes gave different data.
  case digestMismatch = "digest_mismatch"
  /// The disk has damaged stored change sets.
  case damagedSet = "damaged_set"
  /// The disk is full; nothing more is stored.
  case diskFull = "disk_full"
  /// The store refused to write.
  case storeFailed = "store_failed"
  /// The peer refuses to exchange with this device.
  case refusedByPeer = "refused_by_peer"
  /// The peer does not let this device in.
  case turnedAway = "turned_away"
  /// Not every device has heard of a revocation.
  case revocationUnheard = "revocation_unheard"
  /// Conflicts wait for a look.
  case conflicts
  /// The settings of all devices together are beyond their limits.
  case settingsBeyondLimits = "settings_beyond_limits"
  /// A forced direction waits for what it needs.
  case directionWaiting = "direction_waiting"
  /// Records of a forced direction were changed by a device that did not know of it.
  case directionOvertaken = "direction_overtaken"
  /// This device has begun too many logs and can write no more.
  case incarnationsSpent = "incarnations_spent"
}

/// How much a reason asks of the reader.
public enum Severity: String, Codable, Sendable {
  /// A state, nothing to do.
  case info
  /// Something waits, or will not happen by itself.
  case warning
  /// Something is broken.
  case error
}

/// What brings an end to what a reason names.
public enum Remedy: String, Codable, Sendable {
  /// Nothing is wrong.
  case none
  /// It passes by itself.
  case time
  /// A command on this device.
  case command
  /// A command on the other device.
  case elsewhere
  /// Something that no program can do: a disk, a network, a clock.
  case hands
}

/// What is said of a reason, wherever it is said.
package struct ReasonText: Sendable {
  let severity: Severity
  let remedy: Remedy
  /// A clause; `{peer}` is the other device.
  let sentence: String
  /// What to type next; `{peer}` is the other device's name, `{PEER}` the same as a word for a shell.
  let next: String?

  fileprivate init(_ severity: Severity, _ remedy: Remedy, _ sentence: String, next: String? = nil) {
    self.severity = severity
    self.remedy = remedy
    self.sentence = sentence
    self.next = next
  }
}

extension Reason {
  /// The one table of reasons: `status`, `peers`, `why`, `doctor`, `metrics` and `help reasons` read it.
  package var text: ReasonText {
    switch self {
    case .inSync: ReasonText(.info, .none, "in sync")
    case .sending: ReasonText(.info, .time, "sending what {peer} lacks")
    case .receiving: ReasonText(.info, .time, "receiving what this device lacks")
    case .connecting: ReasonText(.info, .time, "connecting")
    case .offline:
      ReasonText(
        .info, .elsewhere, "{peer} can't be reached now; it is tried again by itself",
        next: "waymark run, on {peer}")
    case .notRunning:
      ReasonText(
        .info, .command, "the node of this device does not run, so nothing is exchanged",
        next: "waymark run")
    case .notSeen:
      ReasonText(
        .warning, .elsewhere, "{peer} was not seen for two weeks or more", next: "waymark run, on {peer}")
    case .dialRefused:
      ReasonText(
        .warning, .elsewhere, "no node listens at the address of {peer}", next: "waymark run, on {peer}")
    case .dialTimeout:
      ReasonText(
        .warning, .elsewhere, "the address of {peer} does not answer: it is off, asleep or behind a firewall",
        next: "waymark run, on {peer}")
    case .noRoute:
      ReasonText(
        .warning, .hands, "this machine has no way to the address of {peer}",
        next: "see that this machine is connected to a network; if {peer} moved: waymark peers add ADDR:PORT")
    case .notAMember:
      ReasonText(
        .error, .command, "what answers at the address of {peer} is no device of this circle",
        next: "waymark peers add ADDR:PORT, with the address that {peer} has now")
    case .revoked: ReasonText(.error, .elsewhere, "{peer} was revoked")
    case .paused: ReasonText(.info, .command, "paused by you", next: "waymark peers resume {PEER}")
    case .syncOff:
      ReasonText(.info, .command, "sync of records is off on this device", next: "waymark sync on")
    case .freeTier:
      ReasonText(
        .info, .command, "without premium, settings sync and records stay on this device",
        next: "waymark help premium")
    case .peerSyncOff:
      ReasonText(
        .info, .elsewhere, "sync of records is off on {peer}: only settings sync with it",
        next: "waymark sync on, on {peer}")
    case .peerFreeTier:
      ReasonText(
        .info, .command, "{peer} is free: only settings sync with it", next: "waymark help premium")
    case .entitlementExpired:
      ReasonText(
        .warning, .command, "premium has expired; records stay on this device",
        next: "waymark entitlement install FILE")
    case .entitlementNotYetValid:
      ReasonText(.info, .time, "premium has not begun yet; records stay on this device")
    case .peerEntitlementExpired:
      ReasonText(
        .warning, .command, "premium of {peer} has expired; only settings sync with it",
        next: "waymark entitlement install FILE")
    case .clockAhead:
      ReasonText(
        .error, .command, "the clock of this device ran ahead of its peers", next: "waymark restamp")
    case .clockSkew:
      ReasonText(
        .error, .hands, "the clock of this machine is wrong, by what other devices say",
        next: "set the clock: timedatectl set-ntp true")
    case .clocksDiffer:
      ReasonText(
        .warning, .hands,
        "the clocks of {peer} and of this machine are more than ten minutes apart, so {peer} is not found by itself",
        next: "set both clocks: timedatectl set-ntp true")
    case .notDiscovering:
      ReasonText(
        .warning, .hands, "other devices can't be found on this network by themselves",
        next: "waymark peers add ADDR:PORT")
    case .peerClockAhead:
      ReasonText(
        .warning, .elsewhere, "the clock of {peer} is ahead; its newest changes wait for their time",
        next: "waymark restamp, on {peer}")
    case .parked: ReasonText(.warning, .time, "changes dated in the future wait for their time")
    case .newerProtocol:
      ReasonText(
        .error, .hands, "{peer} speaks a newer protocol than this device",
        next: "install the newer Waymark here; this one is: waymark version")
    case .waitingDependency:
      ReasonText(
        .warning, .elsewhere,
        "{peer} has changes that it can't send, or that build on such",
        next: "waymark verify --deep, on {peer}")
    case .massDelete: ReasonText(.warning, .command, "{peer} deleted much at once", next: "waymark history")
    case .fork:
      ReasonText(
        .error, .time, "two different logs of one device exist, as after a restored copy of its data")
    case .badSignature:
      ReasonText(
        .error, .time, "{peer} sent what no correct node sends, and is left alone for a while",
        next: "waymark verify --deep, on {peer}")
    case .digestMismatch:
      ReasonText(
        .error, .command, "the same changes gave different data on {peer}",
        next: "waymark verify --deep --repair, here and on {peer}")
    case .damagedSet:
      ReasonText(
        .error, .command, "the disk has damaged stored change sets; peers that have them are asked again",
        next:
          "waymark run, until a device that has them connects; if none does, waymark restore FILE with a backup"
      )
    case .diskFull:
      ReasonText(
        .error, .hands, "the disk is full; nothing more is stored",
        next: "make room on the disk: waymark paths says where")
    case .storeFailed:
      ReasonText(
        .error, .hands, "the store refused to write",
        next: "waymark verify --deep; if it finds nothing, see what is wrong with the disk: dmesg")
    case .refusedByPeer:
      ReasonText(
        .warning, .elsewhere, "{peer} refuses to exchange with this device; it may be paused there",
        next: "waymark peers resume, on {peer}")
    case .turnedAway:
      ReasonText(
        .error, .elsewhere, "{peer} does not let this device in; it may have been revoked",
        next: "waymark members, on {peer}")
    case .revocationUnheard:
      ReasonText(
        .warning, .elsewhere, "not every device has heard that {peer} was revoked", next: "waymark members")
    case .conflicts:
      ReasonText(
        .warning, .command, "changes made at the same time wait for a look", next: "waymark conflicts")
    case .settingsBeyondLimits:
      ReasonText(
        .warning, .command, "the settings of all devices together are beyond their limits",
        next: "waymark settings list, then waymark settings unset KEY for what nobody needs")
    case .directionWaiting: ReasonText(.info, .time, "a forced direction waits for what it needs to know")
    case .directionOvertaken:
      ReasonText(
        .warning, .command, "records of a forced direction were changed by a device that did not know of it",
        next: "waymark history")
    case .incarnationsSpent:
      ReasonText(.error, .elsewhere, "this device has begun too many logs and can write no more")
    }
  }

  /// How much it asks of the reader.
  public var severity: Severity { text.severity }

  /// What brings an end to it.
  public var remedy: Remedy { text.remedy }

  /// A clause for people; `peer` is the other device's name where there is one.
  public func sentence(peer: String? = nil) -> String { Self.fill(text.sentence, peer) }

  /// What to do next, as a command of `waymark` where there is one; nil where waiting is the right thing or nothing helps.
  public func next(peer: String? = nil) -> String? { text.next.map { Self.fill($0, peer) } }

  private static func fill(_ text: String, _ peer: String?) -> String {
    text.replacing("{PEER}", with: peer.map(shellWord) ?? "PEER")
      .replacing("{peer}", with: peer ?? "the other device")
  }
}
