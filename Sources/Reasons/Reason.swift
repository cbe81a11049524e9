/// Why something is as it is, or why it failed: the codes that programs rely on.
///
/// The first part are states, as `status` gives them; the second is what a command or a call fails with.
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
  case massDeletion = "mass_delete"
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
  case overrideWaiting = "override_waiting"
  /// Records of a forced direction were changed by a device that did not know of it.
  case overrideOvertaken = "override_overtaken"
  /// This device has begun too many logs and can write no more.
  case incarnationsSpent = "incarnations_spent"

  // MARK: What a command or a call fails with, or an examination finds

  /// It is as it should be.
  case ok
  /// What was asked makes no sense.
  case usage
  /// A field can't hold the value.
  case badValue = "bad_value"
  /// There is no such field.
  case unknownField = "unknown_field"
  /// There is nothing of that name.
  case notFound = "not_found"
  /// The name could mean several things.
  case ambiguous
  /// It asks for a yes first.
  case needsYes = "needs_yes"
  /// The answer was no, so nothing was changed.
  case declined
  /// It was interrupted.
  case interrupted
  /// It was cancelled, and nothing was changed.
  case cancelled
  /// No whole request came in time.
  case late
  /// Something failed in a way that has no name.
  case unexpected
  /// The answer of the node can't be read.
  case unexpectedAnswer = "unexpected_answer"
  /// The node has been closed.
  case closed
  /// The running node hung up before it answered.
  case hungUp = "hung_up"
  /// The running node does not answer.
  case notAnswering = "not_answering"
  /// A node of this home runs already.
  case alreadyRunning = "already_running"
  /// The node serves already.
  case serving
  /// Something else is under way.
  case busy
  /// A process may have too few files open here.
  case tooFewFiles = "too_few_files"
  /// It is no address and port.
  case badAddress = "bad_address"
  /// Another program has the address.
  case addressInUse = "address_in_use"
  /// The address is none of this machine.
  case addressNotHere = "address_not_here"
  /// The node can't listen at the address.
  case listen
  /// Only this machine can reach the node.
  case loopbackOnly = "loopback_only"
  /// Another program has the port at which the node would listen.
  case portTaken = "port_taken"
  /// There is no store.
  case noStore = "no_store"
  /// There is a store already.
  case alreadyThere = "already_there"
  /// Another process has the store.
  case storeHeld = "store_held"
  /// The store can't be read or written.
  case store
  /// The disk failed under the store.
  case storeBroken = "store_broken"
  /// The store is damaged.
  case storeDamaged = "store_damaged"
  /// A newer version of Waymark wrote the store.
  case newerStore = "newer_store"
  /// The file is a backup, and no store.
  case isBackup = "is_backup"
  /// The file is the store of a node.
  case isStore = "is_store"
  /// The file holds a key.
  case isKey = "is_key"
  /// The file is one that a node lives by.
  case inHome = "in_home"
  /// The node is in memory, and this needs a directory.
  case inMemory = "in_memory"
  /// The file exists already.
  case exists
  /// A file can't be read or written.
  case file
  /// It is too large.
  case tooLarge = "too_large"
  /// The current directory is gone.
  case noDirectory = "no_directory"
  /// The disk has little room.
  case littleRoom = "little_room"
  /// The configuration file is wrong.
  case configuration
  /// A file or directory can't be written.
  case unwritable
  /// A file belongs to another user.
  case wrongOwner = "wrong_owner"
  /// A file is open to other users.
  case wrongMode = "wrong_mode"
  /// A key is not there.
  case keyMissing = "key_missing"
  /// A key can't be read.
  case keyDamaged = "key_damaged"
  /// Others could read a key.
  case keyExposed = "key_exposed"
  /// A key is not of the right form.
  case key
  /// It needs the root key of the circle.
  case rootKey = "root_key"
  /// The root key of the circle lies on this device.
  case rootKeyHere = "root_key_here"
  /// A key is sealed and no passphrase was available.
  case passphraseNeeded = "passphrase_needed"
  /// It is not the passphrase of the key.
  case wrongPassphrase = "wrong_passphrase"
  /// It can't be a passphrase.
  case badPassphrase = "bad_passphrase"
  /// The two passphrases are not the same.
  case passphrasesDiffer = "passphrases_differ"
  /// No terminal is available to ask.
  case needsTerminal = "needs_terminal"
  /// The terminal can't be asked.
  case terminal
  /// It is not a ticket.
  case badTicket = "bad_ticket"
  /// Another device has used the ticket.
  case ticketSpent = "ticket_spent"
  /// The ticket has expired.
  case ticketExpired = "ticket_expired"
  /// The inviting device does not accept the ticket.
  case ticketRefused = "ticket_refused"
  /// Too many tickets are open.
  case tooManyTickets = "too_many_tickets"
  /// The inviting device can't be reached.
  case unreachable
  /// Another device answers at the address.
  case wrongDevice = "wrong_device"
  /// It is of another circle.
  case wrongCircle = "wrong_circle"
  /// The circle has no room for another device.
  case circleFull = "circle_full"
  /// The circle knows the keys already.
  case keyInUse = "key_in_use"
  /// The inviting device refused.
  case refused
  /// The device is no admin of the circle.
  case notAdmin = "not_admin"
  /// The device is an admin already.
  case alreadyAdmin = "already_admin"
  /// No device of the circle has admitted this one yet.
  case notAdmitted = "not_admitted"
  /// A device does not revoke itself.
  case ownDevice = "own_device"
  /// The circle has no room for another statement of this device.
  case noRoom = "no_room"
  /// The reader of the ticket is gone.
  case readerGone = "reader_gone"
  /// The file holds no certificate.
  case noCertificate = "no_certificate"
  /// The circle does not trust the issuer.
  case unknownIssuer = "unknown_issuer"
  /// No other device is connected.
  case noPeer = "no_peer"
  /// A connected device gave no answer.
  case noAnswer = "no_answer"
  /// The two devices can't be compared now.
  case notComparable = "not_comparable"
  /// It was given up.
  case givenUp = "given_up"
  /// The difference of a forced direction could not be written.
  case override
  /// No other device has a copy of what is here.
  case onlyDevice = "only_device"
  /// Changes would be lost if this disk died now.
  case unreplicated
  /// Other records refer to it.
  case inUse = "in_use"
  /// It belongs to a record that is not here.
  case hidden
  /// It is not deleted.
  case notDeleted = "not_deleted"
  /// There is nothing to undo.
  case nothingToUndo = "nothing_to_undo"
  /// There is no content.
  case noContent = "no_content"
  /// It is not a stored property of the record.
  case unsupportedProperty = "unsupported_property"
  /// The circle holds as many statements of the device as it may.
  case tooManyStatements = "too_many_statements"
  /// This machine's clock is not what other devices say.
  case clockDisputed = "clock_disputed"
  /// There is no room for another setting.
  case tooManySettings = "too_many_settings"
  /// The file can't be imported.
  case `import`
  /// No backup can be taken.
  case backup
  /// The file is no backup.
  case notABackup = "not_a_backup"
  /// A newer version of Waymark wrote the backup.
  case newerBackup = "newer_backup"
  /// The backup is damaged.
  case damagedBackup = "damaged_backup"
  /// The service manager of the system refused.
  case serviceManager = "service_manager"
  /// The output can't be written.
  case output
  /// It is done, and only its output could not be written.
  case outputLost = "output_lost"
}

extension Reason {
  /// A code that only a newer version knows is read as ``unexpected``.
  public init(from decoder: any Decoder) throws {
    self = Reason(rawValue: try decoder.singleValueContainer().decode(String.self)) ?? .unexpected
  }
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
private struct ReasonText {
  let severity: Severity
  let remedy: Remedy
  /// A clause.
  let sentence: String
  let next: Step?

  init(_ severity: Severity, _ remedy: Remedy, _ sentence: String, next: Step? = nil) {
    self.severity = severity
    self.remedy = remedy
    self.sentence = sentence
    self.next = next
  }
}

/// The device that a reason is about, as a sentence takes it.
private struct OtherDevice {
  let name: String
  /// As a shell takes it.
  let word: String
  /// Whether its name stands before the sentence.
  private let isSaid: Bool

  static let unnamed = OtherDevice(nil)

  init(_ name: String?, isSaid: Bool = false) {
    self.name = name ?? "the other device"
    word = name.map(shellWord) ?? "PEER"
    self.isSaid = isSaid && name?.isEmpty == false
  }

  /// As the subject of the sentence, or behind `with`.
  var pronoun: String { isSaid ? "it" : name }
  var place: String { isSaid ? "there" : "on \(name)" }

  var address: String { isSaid ? "its address" : "the address of \(name)" }
  var clock: String { isSaid ? "its clock" : "the clock of \(name)" }
  var premium: String { isSaid ? "its premium" : "premium of \(name)" }
}

extension Reason {
  /// Those that `status`, `peers`, `why`, `doctor` and `metrics` give; the others are what a command fails with.
  package static let ofStates = allCases.prefix { $0 != .ok }

  /// Whether it is the state of something, and no failure of a command.
  package var isState: Bool { Self.ofStates.contains(self) }

  /// The one table of reasons.
  private func text(_ other: OtherDevice) -> ReasonText {
    let peer = other.name
    return switch self {
    case .inSync: ReasonText(.info, .none, "in sync")
    case .sending: ReasonText(.info, .time, "sending what \(peer) lacks")
    case .receiving: ReasonText(.info, .time, "receiving what this device lacks")
    case .connecting: ReasonText(.info, .time, "connecting")
    case .offline:
      ReasonText(
        .info, .elsewhere, "\(other.pronoun) can't be reached now; it is tried again by itself",
        next: .waymark("run", on: peer))
    case .notRunning:
      ReasonText(
        .info, .command, "the node of this device does not run, so nothing is exchanged",
        next: .waymark("run"))
    case .notSeen:
      ReasonText(
        .warning, .elsewhere, "\(other.pronoun) was not seen for two weeks or more",
        next: .waymark("run", on: peer))
    case .dialRefused:
      ReasonText(
        .warning, .elsewhere, "no node listens at \(other.address)", next: .waymark("run", on: peer))
    case .dialTimeout:
      ReasonText(
        .warning, .elsewhere, "\(other.address) does not answer: it is off, asleep or behind a firewall",
        next: .waymark("run", on: peer))
    case .noRoute:
      ReasonText(
        .warning, .hands, "this machine has no way to \(other.address)",
        next:
          "see that this machine is connected to a network; if \(peer) moved: \(waymark: "peers add ADDR:PORT")"
      )
    case .notAMember:
      ReasonText(
        .error, .command, "what answers at \(other.address) is no device of this circle",
        next: "\(waymark: "peers add ADDR:PORT"), with the address that \(peer) has now")
    case .revoked: ReasonText(.error, .elsewhere, "\(other.pronoun) was revoked")
    case .paused: ReasonText(.info, .command, "paused by you", next: .waymark("peers resume \(other.word)"))
    case .syncOff:
      ReasonText(.info, .command, "sync of records is off on this device", next: .waymark("sync on"))
    case .freeTier:
      ReasonText(
        .info, .command, "without premium, settings sync and records stay on this device",
        next: .waymark("help premium"))
    case .peerSyncOff:
      ReasonText(
        .info, .elsewhere, "sync of records is off \(other.place): only settings sync with it",
        next: .waymark("sync on", on: peer))
    case .peerFreeTier:
      ReasonText(
        .info, .command, "\(other.pronoun) is free: only settings sync with it",
        next: .waymark("help premium"))
    case .entitlementExpired:
      ReasonText(
        .warning, .command, "premium has expired; records stay on this device",
        next: .waymark("entitlement install FILE"))
    case .entitlementNotYetValid:
      ReasonText(.info, .time, "premium has not begun yet; records stay on this device")
    case .peerEntitlementExpired:
      ReasonText(
        .warning, .command, "\(other.premium) has expired; only settings sync with it",
        next: .waymark("entitlement install FILE"))
    case .clockAhead:
      ReasonText(
        .error, .command, "the clock of this device ran ahead of its peers", next: .waymark("restamp"))
    case .clockSkew:
      ReasonText(
        .error, .hands, "the clock of this machine is wrong, by what other devices say",
        next: "set the clock: timedatectl set-ntp true")
    case .clocksDiffer:
      ReasonText(
        .warning, .hands,
        "the clocks of \(peer) and of this machine are more than ten minutes apart, so \(peer) is not found by itself",
        next: "set both clocks: timedatectl set-ntp true")
    case .notDiscovering:
      ReasonText(
        .warning, .hands, "other devices can't be found on this network by themselves",
        next: .waymark("peers add ADDR:PORT"))
    case .peerClockAhead:
      ReasonText(
        .warning, .elsewhere, "\(other.clock) is ahead; its newest changes wait for their time",
        next: .waymark("restamp", on: peer))
    case .parked: ReasonText(.warning, .time, "changes dated in the future wait for their time")
    case .newerProtocol:
      ReasonText(
        .error, .hands, "\(other.pronoun) speaks a newer protocol than this device",
        next: "install the newer Waymark here; this one is: \(waymark: "version")")
    case .waitingDependency:
      ReasonText(
        .warning, .elsewhere,
        "\(other.pronoun) has changes that it can't send, or that build on such",
        next: .waymark("verify --deep", on: peer))
    case .massDeletion:
      ReasonText(.warning, .command, "\(other.pronoun) deleted much at once", next: .waymark("history"))
    case .fork:
      ReasonText(
        .error, .time, "two different logs of one device exist, as after a restored copy of its data")
    case .badSignature:
      ReasonText(
        .error, .time, "\(other.pronoun) sent what no correct node sends, and is left alone for a while",
        next: .waymark("verify --deep", on: peer))
    case .digestMismatch:
      ReasonText(
        .error, .command, "the same changes gave different data on \(peer)",
        next: "\(waymark: "verify --deep --repair"), here and on \(peer)")
    case .damagedSet:
      ReasonText(
        .error, .command, "the disk has damaged stored change sets; peers that have them are asked again",
        next:
          "\(waymark: "run"), until a device that has them connects; if none does, \(waymark: "restore FILE") with a backup"
      )
    case .diskFull:
      ReasonText(
        .error, .hands, "the disk is full; nothing more is stored",
        next: "make room on the disk: \(waymark: "paths") says where")
    case .storeFailed:
      ReasonText(
        .error, .hands, "the store refused to write",
        next: "\(waymark: "verify --deep"); if it finds nothing, see what is wrong with the disk: dmesg")
    case .refusedByPeer:
      ReasonText(
        .warning, .elsewhere, "\(other.pronoun) refuses to exchange with this device; it may be paused there",
        next: .waymark("peers resume", on: peer))
    case .turnedAway:
      ReasonText(
        .error, .elsewhere, "\(other.pronoun) does not let this device in; it may have been revoked",
        next: .waymark("members", on: peer))
    case .revocationUnheard:
      ReasonText(
        .warning, .elsewhere, "not every device has heard that \(peer) was revoked", next: .waymark("members")
      )
    case .conflicts:
      ReasonText(
        .warning, .command, "changes made at the same time wait for a look", next: .waymark("conflicts"))
    case .settingsBeyondLimits:
      ReasonText(
        .warning, .command, "the settings of all devices together are beyond their limits",
        next: "\(waymark: "settings list"), then \(waymark: "settings unset KEY") for what nobody needs")
    case .overrideWaiting: ReasonText(.info, .time, "a forced direction waits for what it needs to know")
    case .overrideOvertaken:
      ReasonText(
        .warning, .command, "records of a forced direction were changed by a device that did not know of it",
        next: .waymark("history"))
    case .incarnationsSpent:
      ReasonText(.error, .elsewhere, "this device has begun too many logs and can write no more")
    case .ok: ReasonText(.info, .none, "it is as it should be")
    case .usage: ReasonText(.error, .command, "what was asked makes no sense")
    case .badValue: ReasonText(.error, .command, "a field can't hold the value")
    case .unknownField: ReasonText(.error, .command, "there is no such field")
    case .notFound: ReasonText(.error, .command, "there is nothing of that name")
    case .ambiguous: ReasonText(.error, .command, "the name could mean several things")
    case .needsYes: ReasonText(.warning, .command, "it asks for a yes first")
    case .declined: ReasonText(.info, .none, "the answer was no, so nothing was changed")
    case .interrupted: ReasonText(.info, .none, "it was interrupted")
    case .cancelled: ReasonText(.info, .none, "it was cancelled, and nothing was changed")
    case .late: ReasonText(.error, .command, "no whole request came in time")
    case .unexpected: ReasonText(.error, .command, "something failed in a way that has no name")
    case .unexpectedAnswer: ReasonText(.error, .command, "the answer of the node can't be read")
    case .closed: ReasonText(.error, .command, "the node has been closed")
    case .hungUp: ReasonText(.error, .command, "the running node hung up before it answered")
    case .notAnswering: ReasonText(.error, .command, "the running node does not answer")
    case .alreadyRunning: ReasonText(.error, .command, "a node of this home runs already")
    case .serving: ReasonText(.error, .command, "the node serves already")
    case .busy: ReasonText(.warning, .time, "something else is under way")
    case .tooFewFiles: ReasonText(.error, .hands, "a process may have too few files open here")
    case .badAddress: ReasonText(.error, .command, "it is no address and port")
    case .addressInUse: ReasonText(.error, .command, "another program has the address")
    case .addressNotHere: ReasonText(.error, .command, "the address is none of this machine")
    case .listen: ReasonText(.error, .command, "the node can't listen at the address")
    case .loopbackOnly: ReasonText(.info, .command, "only this machine can reach the node")
    case .portTaken:
      ReasonText(.warning, .command, "another program has the port at which the node would listen")
    case .noStore: ReasonText(.error, .command, "there is no store")
    case .alreadyThere: ReasonText(.error, .command, "there is a store already")
    case .storeHeld: ReasonText(.error, .command, "another process has the store")
    case .store: ReasonText(.error, .command, "the store can't be read or written")
    case .storeBroken: ReasonText(.error, .hands, "the disk failed under the store")
    case .storeDamaged: ReasonText(.error, .command, "the store is damaged")
    case .newerStore: ReasonText(.error, .hands, "a newer version of Waymark wrote the store")
    case .isBackup: ReasonText(.error, .command, "the file is a backup, and no store")
    case .isStore: ReasonText(.error, .command, "the file is the store of a node")
    case .isKey: ReasonText(.error, .command, "the file holds a key")
    case .inHome: ReasonText(.error, .command, "the file is one that a node lives by")
    case .inMemory: ReasonText(.error, .command, "the node is in memory, and this needs a directory")
    case .exists: ReasonText(.error, .command, "the file exists already")
    case .file: ReasonText(.error, .command, "a file can't be read or written")
    case .tooLarge: ReasonText(.error, .command, "it is too large")
    case .noDirectory: ReasonText(.error, .command, "the current directory is gone")
    case .littleRoom: ReasonText(.warning, .hands, "the disk has little room")
    case .configuration: ReasonText(.error, .command, "the configuration file is wrong")
    case .unwritable: ReasonText(.error, .hands, "a file or directory can't be written")
    case .wrongOwner: ReasonText(.error, .hands, "a file belongs to another user")
    case .wrongMode: ReasonText(.error, .hands, "a file is open to other users")
    case .keyMissing: ReasonText(.error, .command, "a key is not there")
    case .keyDamaged: ReasonText(.error, .command, "a key can't be read")
    case .keyExposed: ReasonText(.error, .command, "others could read a key")
    case .key: ReasonText(.error, .command, "a key is not of the right form")
    case .rootKey: ReasonText(.error, .command, "it needs the root key of the circle")
    case .rootKeyHere: ReasonText(.info, .command, "the root key of the circle lies on this device")
    case .passphraseNeeded:
      ReasonText(.error, .command, "a key is sealed and no passphrase was available")
    case .wrongPassphrase: ReasonText(.error, .command, "it is not the passphrase of the key")
    case .badPassphrase: ReasonText(.error, .command, "it can't be a passphrase")
    case .passphrasesDiffer: ReasonText(.error, .command, "the two passphrases are not the same")
    case .needsTerminal: ReasonText(.error, .command, "no terminal is available to ask")
    case .terminal: ReasonText(.error, .command, "the terminal can't be asked")
    case .badTicket: ReasonText(.error, .command, "it is not a ticket")
    case .ticketSpent: ReasonText(.error, .command, "another device has used the ticket")
    case .ticketExpired: ReasonText(.error, .command, "the ticket has expired")
    case .ticketRefused: ReasonText(.error, .command, "the inviting device does not accept the ticket")
    case .tooManyTickets: ReasonText(.error, .time, "too many tickets are open")
    case .unreachable: ReasonText(.error, .hands, "the inviting device can't be reached")
    case .wrongDevice: ReasonText(.error, .command, "another device answers at the address")
    case .wrongCircle: ReasonText(.error, .command, "it is of another circle")
    case .circleFull: ReasonText(.error, .command, "the circle has no room for another device")
    case .keyInUse: ReasonText(.error, .command, "the circle knows the keys already")
    case .refused: ReasonText(.error, .command, "the inviting device refused")
    case .notAdmin: ReasonText(.error, .command, "the device is no admin of the circle")
    case .alreadyAdmin: ReasonText(.error, .none, "the device is an admin already")
    case .notAdmitted: ReasonText(.error, .elsewhere, "no device of the circle has admitted this one yet")
    case .ownDevice: ReasonText(.error, .elsewhere, "a device does not revoke itself")
    case .noRoom:
      ReasonText(.error, .elsewhere, "the circle has no room for another statement of this device")
    case .readerGone: ReasonText(.error, .command, "the reader of the ticket is gone")
    case .noCertificate: ReasonText(.error, .command, "the file holds no certificate")
    case .unknownIssuer: ReasonText(.error, .command, "the circle does not trust the issuer")
    case .noPeer: ReasonText(.error, .elsewhere, "no other device is connected")
    case .noAnswer: ReasonText(.error, .elsewhere, "a connected device gave no answer")
    case .notComparable: ReasonText(.error, .elsewhere, "the two devices can't be compared now")
    case .givenUp: ReasonText(.error, .command, "it was given up")
    case .override: ReasonText(.error, .time, "the difference of a forced direction could not be written")
    case .onlyDevice: ReasonText(.info, .command, "no other device has a copy of what is here")
    case .unreplicated: ReasonText(.warning, .command, "changes would be lost if this disk died now")
    case .inUse: ReasonText(.error, .command, "other records refer to it")
    case .hidden: ReasonText(.error, .command, "it belongs to a record that is not here")
    case .notDeleted: ReasonText(.error, .none, "it is not deleted")
    case .nothingToUndo: ReasonText(.info, .none, "there is nothing to undo")
    case .noContent: ReasonText(.error, .time, "there is no content")
    case .unsupportedProperty: ReasonText(.error, .command, "it is not a stored property of the record")
    case .tooManyStatements:
      ReasonText(.error, .elsewhere, "the circle holds as many statements of the device as it may")
    case .clockDisputed: ReasonText(.error, .hands, "this machine's clock is not what other devices say")
    case .tooManySettings: ReasonText(.error, .command, "there is no room for another setting")
    case .import: ReasonText(.error, .command, "the file can't be imported")
    case .backup: ReasonText(.error, .hands, "no backup can be taken")
    case .notABackup: ReasonText(.error, .command, "the file is no backup")
    case .newerBackup: ReasonText(.error, .hands, "a newer version of Waymark wrote the backup")
    case .damagedBackup: ReasonText(.error, .command, "the backup is damaged")
    case .serviceManager: ReasonText(.error, .command, "the service manager of the system refused")
    case .output: ReasonText(.error, .command, "the output can't be written")
    case .outputLost: ReasonText(.error, .command, "it is done, and only its output could not be written")
    }
  }

  /// How much it asks of the reader.
  public var severity: Severity { text(.unnamed).severity }

  /// What brings an end to it.
  public var remedy: Remedy { text(.unnamed).remedy }

  /// A clause for people; `peer` is the other device's name where there is one.
  public func sentence(peer: String? = nil) -> String { text(OtherDevice(peer)).sentence }

  /// The clause where the reader is being told of the device already, so that its name need not be said again.
  package func sentence(inRowOf peer: String) -> String { text(OtherDevice(peer, isSaid: true)).sentence }

  /// What to do next; nil where waiting is the right thing or nothing helps.
  public func next(peer: String? = nil) -> Step? { text(OtherDevice(peer)).next }
}
