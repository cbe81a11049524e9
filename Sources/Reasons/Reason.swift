/// A stable code by which programs recognise a state or a failure.
///
/// The first part lists states, as `status` reports them; the second lists failures of commands and calls.
public enum Reason: String, CaseIterable, Codable, Sendable {
  /// In sync.
  case inSync = "in_sync"
  /// This device is sending changes that the peer lacks.
  case sending
  /// The peer is sending changes that this device lacks.
  case receiving
  /// The peer is being dialled, or the session has just begun.
  case connecting
  /// The peer can't be reached; this device keeps trying.
  case offline
  /// The node on this device is not running.
  case notRunning = "not_running"
  /// The peer has not been seen for two weeks or more.
  case notSeen = "not_seen"
  /// No node is listening at the peer's address.
  case dialRefused = "dial_refused"
  /// The peer's address does not respond.
  case dialTimeout = "dial_timeout"
  /// This machine has no route to the peer's address.
  case noRoute = "no_route"
  /// The device at the peer's address is not a member of this circle.
  case notAMember = "not_a_member"
  /// The device was revoked.
  case revoked
  /// The user has paused the peer.
  case paused
  /// Sync of records is off on this device.
  case syncOff = "sync_off"
  /// This device has no premium.
  case freeTier = "free_tier"
  /// Sync of records is off on the peer.
  case peerSyncOff = "peer_sync_off"
  /// The peer has no premium.
  case peerFreeTier = "peer_free_tier"
  /// Premium on this device has expired.
  case entitlementExpired = "entitlement_expired"
  /// Premium on this device has not started yet.
  case entitlementNotYetValid = "entitlement_not_yet_valid"
  /// A purchase in the App Store was refunded or taken back.
  case purchaseRefunded = "purchase_refunded"
  /// The App Store last confirmed a subscription too long ago.
  case purchaseUnconfirmed = "purchase_unconfirmed"
  /// There is a purchase in the App Store, which this build can't verify.
  case purchaseUnjudged = "purchase_unjudged"
  /// Premium on this device was withdrawn, by the root key or by the issuer.
  case entitlementWithdrawn = "entitlement_withdrawn"
  /// Premium on the peer has expired.
  case peerEntitlementExpired = "peer_entitlement_expired"
  /// This device's clock ran ahead of its peers' clocks.
  case clockAhead = "clock_ahead"
  /// This machine's clock is wrong according to other devices.
  case clockSkew = "clock_skew"
  /// The clocks of the two devices are too far apart for discovery.
  case clocksDiffer = "clocks_differ"
  /// Peers can't be discovered on this network.
  case notDiscovering = "not_discovering"
  /// The peer's clock is ahead; its newest changes are parked.
  case peerClockAhead = "peer_clock_ahead"
  /// Changes dated in the future are parked until their time comes.
  case parked
  /// The peer uses a newer protocol version.
  case newerProtocol = "newer_protocol"
  /// The peer advertises changes that it can't send, or that depend on such changes.
  case waitingDependency = "waiting_dependency"
  /// A device deleted many records at once.
  case massDeletion = "mass_delete"
  /// A device erased many records at once; this device still keeps their values for some days.
  case massErase = "mass_erase"
  /// One device has two conflicting logs, which can happen after a copy of its data is restored.
  case fork
  /// A device wrote more branches of one log than are stored; the newer changes of these logs are no longer stored.
  case tooManyBranches = "too_many_branches"
  /// The peer sent data that no correct node sends.
  case badSignature = "bad_signature"
  /// The same changes produced different data on the peer.
  case digestMismatch = "digest_mismatch"
  /// Stored change sets are damaged on disk.
  case damagedSet = "damaged_set"
  /// Values are missing from change sets that a peer sent, although nothing was erased.
  case valuesMissing = "values_missing"
  /// The disk is full; no changes can be stored.
  case diskFull = "disk_full"
  /// A write to the store failed.
  case storeFailed = "store_failed"
  /// The peer refuses to sync with this device.
  case refusedByPeer = "refused_by_peer"
  /// The peer rejects this device.
  case turnedAway = "turned_away"
  /// A restored store has values that were erased before the restore.
  case eraseAwaited = "erase_awaited"
  /// Not every device has received a revocation.
  case revocationUnheard = "revocation_unheard"
  /// Not every device has received the newest erase by this device.
  case eraseUnheard = "erase_unheard"
  /// Conflicts are waiting for review.
  case conflicts
  /// The settings of all devices together exceed their limits.
  case settingsBeyondLimits = "settings_beyond_limits"
  /// An override is waiting for changes that it needs.
  case overrideWaiting = "override_waiting"
  /// Records written by an override were changed by a device that had not received it.
  case overrideOvertaken = "override_overtaken"
  /// This device has started too many logs and can't write changes any more.
  case incarnationsSpent = "incarnations_spent"
  /// This device is the circle's only admin, and the root key is on the same disk.
  case singleAdmin = "single_admin"
  /// This device has asked to leave the circle, and no admin has completed that yet.
  case leaving
  /// A device has used more than nine tenths of its quota, or has written more than its quota.
  case memberIsLarge = "member_is_large"
  /// Another device has turned sync on for all devices, and this device has not answered.
  case syncInvited = "sync_invited"
  /// The premium that this circle issues to itself ends soon, and can't be renewed.
  case premiumEnds = "premium_ends"
  /// A subscription must be confirmed by the App Store soon.
  case purchaseRefresh = "purchase_refresh"

  // MARK: Failures of commands and calls, and findings of `doctor`

  /// No problem was found.
  case ok
  /// The request is not valid.
  case usage
  /// The value is not valid for the field.
  case badValue = "bad_value"
  /// There is no such field.
  case unknownField = "unknown_field"
  /// Nothing with that name exists.
  case notFound = "not_found"
  /// The name matches more than one item.
  case ambiguous
  /// Confirmation is required.
  case needsYes = "needs_yes"
  /// An undo would change many records, which needs confirmation.
  case largeUndo = "large_undo"
  /// The user did not confirm; nothing was changed.
  case declined
  /// The command was interrupted.
  case interrupted
  /// The command was cancelled; nothing was changed.
  case cancelled
  /// No complete request arrived in time.
  case late
  /// An unexpected error, without a code of its own.
  case unexpected
  /// The node's answer can't be read.
  case unexpectedAnswer = "unexpected_answer"
  /// The node has been closed.
  case closed
  /// The node is suspended.
  case suspended
  /// The keys of this device were replaced while the node was suspended.
  case keysReplaced = "keys_replaced"
  /// The running node closed the connection before it answered.
  case hungUp = "hung_up"
  /// The running node does not answer.
  case notAnswering = "not_answering"
  /// A node is already running on this home.
  case alreadyRunning = "already_running"
  /// The node is already serving.
  case serving
  /// Another operation is in progress.
  case busy
  /// The limit on open files is too low.
  case tooFewFiles = "too_few_files"
  /// The installed libsodium decides by a different rule which signatures are valid.
  case signatureRule = "signature_rule"
  /// The value is not a valid address and port.
  case badAddress = "bad_address"
  /// Another program is using the address.
  case addressInUse = "address_in_use"
  /// The address does not belong to this machine.
  case addressNotHere = "address_not_here"
  /// The node can't listen at the address.
  case listen
  /// The live page can be served on loopback only.
  case pageNotLocal = "page_not_local"
  /// Only this machine can reach the node.
  case loopbackOnly = "loopback_only"
  /// Another program is using the port that the node would listen on.
  case portTaken = "port_taken"
  /// There is no store.
  case noStore = "no_store"
  /// A store or a key already exists.
  case alreadyThere = "already_there"
  /// Another process is using the store.
  case storeHeld = "store_held"
  /// The store can't be read or written.
  case store
  /// The store's disk failed.
  case storeBroken = "store_broken"
  /// The store is damaged.
  case storeDamaged = "store_damaged"
  /// The store was written by a newer version of Waymark.
  case newerStore = "newer_store"
  /// The store or the backup has a former format, which this version of Waymark can't read.
  case formerFormat = "former_format"
  /// The tables of the store were made by another version, and can't be read until a node has opened the store.
  case outdatedStore = "outdated_store"
  /// The file is a backup, not a store.
  case isBackup = "is_backup"
  /// The file is a node's store.
  case isStore = "is_store"
  /// The file holds a key.
  case isKey = "is_key"
  /// The file belongs to a node's home.
  case inHome = "in_home"
  /// The request needs a directory, but the node is in memory.
  case inMemory = "in_memory"
  /// The file already exists.
  case exists
  /// A file can't be read or written.
  case file
  /// The file or value is too large.
  case tooLarge = "too_large"
  /// The current directory no longer exists.
  case noDirectory = "no_directory"
  /// The disk is low on space.
  case littleRoom = "little_room"
  /// The configuration file is invalid.
  case configuration
  /// A file or directory can't be written.
  case unwritable
  /// A file belongs to another user.
  case wrongOwner = "wrong_owner"
  /// Other users can access a file.
  case wrongMode = "wrong_mode"
  /// A key file is missing or can't be read.
  case keyMissing = "key_missing"
  /// The app's key store, outside of the home, has no such key.
  case keyNotHere = "key_not_here"
  /// The app's key store can't be read.
  case keyStoreFailed = "key_store_failed"
  /// A key file is damaged, or is the wrong file.
  case keyDamaged = "key_damaged"
  /// A key is exposed to other users.
  case keyExposed = "key_exposed"
  /// A key is malformed.
  case key
  /// The circle's root key is required.
  case rootKey = "root_key"
  /// The circle's root key is on this device.
  case rootKeyHere = "root_key_here"
  /// A key is sealed and no passphrase was available.
  case passphraseNeeded = "passphrase_needed"
  /// The passphrase is wrong.
  case wrongPassphrase = "wrong_passphrase"
  /// The text is not acceptable as a passphrase.
  case badPassphrase = "bad_passphrase"
  /// The two passphrases do not match.
  case passphrasesDiffer = "passphrases_differ"
  /// A prompt needs a terminal, but there is none.
  case needsTerminal = "needs_terminal"
  /// Prompting on the terminal failed.
  case terminal
  /// The text is not a valid ticket.
  case badTicket = "bad_ticket"
  /// Another device has used the ticket.
  case ticketSpent = "ticket_spent"
  /// The ticket has expired.
  case ticketExpired = "ticket_expired"
  /// The inviting device rejected the ticket.
  case ticketRefused = "ticket_refused"
  /// Too many tickets are open.
  case tooManyTickets = "too_many_tickets"
  /// The six digits are wrong.
  case wrongCode = "wrong_code"
  /// No device on the network offers to pair by a code.
  case noOffer = "no_offer"
  /// Several devices on the network offer to pair by a code.
  case severalOffers = "several_offers"
  /// The device at the address offers no code now.
  case codeRefused = "code_refused"
  /// All tries of a code have failed.
  case codeEnded = "code_ended"
  /// The invitation was cancelled.
  case invitationCancelled = "invitation_cancelled"
  /// The inviting device can't be reached.
  case unreachable
  /// A different device answers at the address.
  case wrongDevice = "wrong_device"
  /// The entitlement or the inviting device belongs to another circle.
  case wrongCircle = "wrong_circle"
  /// The circle has no room for another device.
  case circleFull = "circle_full"
  /// The device's keys are already in use in the circle.
  case keyInUse = "key_in_use"
  /// The inviting device rejected the request.
  case refused
  /// The device is not an admin of the circle.
  case notAdmin = "not_admin"
  /// The change would exceed the device's quota.
  case quotaUsed = "quota_used"
  /// The device is already an admin.
  case alreadyAdmin = "already_admin"
  /// No device in the circle has admitted this device yet.
  case notAdmitted = "not_admitted"
  /// The other devices would have no admin.
  case lastAdmin = "last_admin"
  /// A device can't revoke itself.
  case ownDevice = "own_device"
  /// The circle has no room for another statement from this device.
  case noRoom = "no_room"
  /// The process that reads the ticket has exited.
  case readerGone = "reader_gone"
  /// The file contains no entitlement certificate.
  case noCertificate = "no_certificate"
  /// The circle does not trust the issuer.
  case unknownIssuer = "unknown_issuer"
  /// The circle has withdrawn its trust in the issuer.
  case issuerWithdrawn = "issuer_withdrawn"
  /// The text is not a signed transaction of the App Store.
  case purchaseUnreadable = "purchase_unreadable"
  /// The App Store did not sign the transaction.
  case purchaseNotGenuine = "purchase_not_genuine"
  /// The purchase was not made for this circle.
  case purchaseNotBound = "purchase_not_bound"
  /// The purchase is not one of the products that give premium.
  case purchaseNotListed = "purchase_not_listed"
  /// No other device is connected.
  case noPeer = "no_peer"
  /// A connected device did not answer.
  case noAnswer = "no_answer"
  /// The two devices can't be compared at the moment.
  case notComparable = "not_comparable"
  /// The operation was abandoned.
  case givenUp = "given_up"
  /// An override could not write its changes.
  case override
  /// No other device has a copy of this device's data.
  case onlyDevice = "only_device"
  /// Changes would be lost if this disk failed now.
  case unreplicated
  /// Other records refer to this record.
  case inUse = "in_use"
  /// The record belongs to another record, which is missing or deleted.
  case hidden
  /// The record is not deleted.
  case notDeleted = "not_deleted"
  /// The values were erased and can't be restored.
  case erased
  /// There is nothing to undo.
  case nothingToUndo = "nothing_to_undo"
  /// The content is not available.
  case noContent = "no_content"
  /// The record has no such stored property.
  case unsupportedProperty = "unsupported_property"
  /// The kinds of records that an app defines break a rule.
  case schema
  /// The node was opened without the schema that has this kind of record.
  case unknownKind = "unknown_kind"
  /// The circle holds the maximum number of statements from the device.
  case tooManyStatements = "too_many_statements"
  /// This machine's clock disagrees with other devices.
  case clockDisputed = "clock_disputed"
  /// The limit on the number of settings is reached.
  case tooManySettings = "too_many_settings"
  /// The file can't be imported.
  case `import`
  /// A backup can't be taken.
  case backup
  /// The file is not a backup.
  case notABackup = "not_a_backup"
  /// The backup was written by a newer version of Waymark.
  case newerBackup = "newer_backup"
  /// The backup is damaged.
  case damagedBackup = "damaged_backup"
  /// The system's service manager rejected the request.
  case serviceManager = "service_manager"
  /// The output can't be written.
  case output
  /// The operation was carried out, but its output could not be written.
  case outputLost = "output_lost"
}

extension Reason {
  /// Decodes a code. A code that this version does not know becomes ``unexpected``.
  public init(from decoder: any Decoder) throws {
    self = Reason(rawValue: try decoder.singleValueContainer().decode(String.self)) ?? .unexpected
  }
}

/// How urgent a reason is.
public enum Severity: String, Codable, Sendable {
  /// A state that needs no action.
  case info
  /// Something is waiting, or will not happen on its own.
  case warning
  /// Something is broken.
  case error
}

/// What resolves a reason.
public enum Remedy: String, Codable, Sendable {
  /// Nothing is wrong.
  case none
  /// It resolves on its own.
  case time
  /// A command on this device resolves it.
  case command
  /// A command on the other device resolves it.
  case elsewhere
  /// Work that no program can do, for example on a disk, a network or a clock.
  case hands
}

/// The one wording of a reason, used wherever it is shown.
private struct ReasonText {
  let severity: Severity
  let remedy: Remedy
  /// A clause that begins in lower case and has no final period.
  let sentence: LocalizableText
  let next: Step?

  init(_ severity: Severity, _ remedy: Remedy, _ sentence: LocalizableText, next: Step? = nil) {
    self.severity = severity
    self.remedy = remedy
    self.sentence = sentence
    self.next = next
  }
}

/// The device that a reason is about, in the forms that sentences need.
private struct OtherDevice {
  let name: LocalizableText
  /// The name for the place of a command.
  let device: String
  /// The name quoted for a shell.
  let word: String
  /// Whether the surrounding text already shows the name, so that the sentence says "it".
  private let isNamed: Bool

  static let unnamed = OtherDevice(nil)

  init(_ name: String?, isNamed: Bool = false) {
    self.name = name.map(LocalizableText.init(verbatim:)) ?? "the other device"
    device = self.name.description
    word = name.map(shellWord) ?? "PEER"
    self.isNamed = isNamed && name?.isEmpty == false
  }

  /// As the subject of a sentence, or after `with`.
  var pronoun: LocalizableText { isNamed ? "it" : name }
  var place: LocalizableText { isNamed ? "there" : "on \(name)" }

  var address: LocalizableText { isNamed ? "its address" : "the address of \(name)" }
  var clock: LocalizableText { isNamed ? "its clock" : "the clock of \(name)" }
  var premium: LocalizableText { isNamed ? "its premium" : "premium on \(name)" }
}

extension Reason {
  /// Reasons that `status`, `peers`, `why`, `doctor` and `metrics` report; all others are failures of commands.
  package static let ofStates = allCases.prefix { $0 != .ok }

  private static let openTheApp: Step = "open the app on a device that is signed in to the App Store"

  /// Whether this is a state rather than a failure of a command.
  package var isState: Bool { Self.ofStates.contains(self) }

  /// Returns the severity, remedy, clause and next step of this reason.
  private func text(_ other: OtherDevice) -> ReasonText {
    let peer = other.name
    return switch self {
    case .inSync: ReasonText(.info, .none, "in sync")
    case .sending: ReasonText(.info, .time, "sending changes to \(peer)")
    case .receiving: ReasonText(.info, .time, "receiving changes")
    case .connecting: ReasonText(.info, .time, "connecting")
    case .offline:
      ReasonText(
        .info, .elsewhere, "\(other.pronoun) can't be reached; this device keeps trying",
        next: .waymark("run", on: other.device))
    case .notRunning:
      ReasonText(
        .info, .command, "the node on this device is not running, so nothing syncs",
        next: .waymark("run"))
    case .singleAdmin:
      ReasonText(
        .warning, .command, "this device is the circle's only admin, and the root key is on the same disk",
        next: .waymark("members promote DEVICE"))
    case .leaving:
      ReasonText(
        .warning, .command, "this device has asked to leave the circle; an admin has to complete that",
        next: .waymark("run"))
    case .notSeen:
      ReasonText(
        .warning, .elsewhere, "\(other.pronoun) has not been seen for two weeks or more",
        next: .waymark("run", on: other.device))
    case .dialRefused:
      ReasonText(
        .warning, .elsewhere, "no node is listening at \(other.address)",
        next: .waymark("run", on: other.device))
    case .dialTimeout:
      ReasonText(
        .warning, .elsewhere,
        "\(other.address) does not respond: the device may be off, asleep or behind a firewall",
        next: .waymark("run", on: other.device))
    case .noRoute:
      ReasonText(
        .warning, .hands, "this machine has no route to \(other.address)",
        next:
          "check that this machine is connected to a network; if \(peer) moved: \(waymark: "peers add ADDR:PORT")"
      )
    case .notAMember:
      ReasonText(
        .error, .command, "the device at \(other.address) is not a member of this circle",
        next: "\(waymark: "peers add ADDR:PORT") with the current address of \(peer)")
    case .revoked: ReasonText(.error, .elsewhere, "\(other.pronoun) was revoked")
    case .paused: ReasonText(.info, .command, "paused by you", next: .waymark("peers resume \(other.word)"))
    case .syncOff:
      ReasonText(.info, .command, "sync of records is off on this device", next: .waymark("sync on"))
    case .freeTier:
      ReasonText(
        .info, .command, "without premium, only settings sync; records stay on this device",
        next: .waymark("help premium"))
    case .peerSyncOff:
      ReasonText(
        .info, .elsewhere, "sync of records is off \(other.place), so only settings sync with it",
        next: .waymark("sync on", on: other.device))
    case .peerFreeTier:
      ReasonText(
        .info, .command, "\(other.pronoun) has no premium, so only settings sync with it",
        next: .waymark("help premium"))
    case .entitlementExpired:
      ReasonText(
        .warning, .command, "premium has expired, so records stay on this device",
        next: .waymark("help premium"))
    case .entitlementNotYetValid:
      ReasonText(.info, .time, "premium has not started yet, so records stay on this device")
    case .purchaseRefunded:
      ReasonText(
        .warning, .hands, "the purchase in the App Store was refunded, so records stay on this device",
        next: "buy premium in the app again")
    case .purchaseUnconfirmed:
      ReasonText(
        .warning, .hands,
        "the App Store has not confirmed the subscription for 35 days, so records stay on this device",
        next: Self.openTheApp)
    case .purchaseUnjudged:
      ReasonText(
        .warning, .hands,
        "premium was bought in the App Store, which this build can't verify",
        next:
          "install a build with the trait AppStore, or \(waymark: "issuer from-purchase FILE --key FILE", on: "a device with one")"
      )
    case .entitlementWithdrawn:
      ReasonText(
        .warning, .command, "premium was withdrawn, so records stay on this device",
        next: .waymark("help premium"))
    case .peerEntitlementExpired:
      ReasonText(
        .warning, .command, "\(other.premium) has expired, so only settings sync with it",
        next: .waymark("help premium"))
    case .clockAhead:
      ReasonText(
        .error, .command, "this device's clock ran ahead of its peers' clocks", next: .waymark("restamp"))
    case .clockSkew:
      ReasonText(
        .error, .hands, "this machine's clock is wrong according to other devices",
        next: "set the clock: timedatectl set-ntp true")
    case .clocksDiffer:
      ReasonText(
        .warning, .hands,
        "\(peer) and this machine have clocks more than ten minutes apart, so discovery does not find \(peer)",
        next: "set both clocks: timedatectl set-ntp true")
    case .notDiscovering:
      ReasonText(
        .warning, .hands, "peers can't be discovered on this network",
        next: .waymark("peers add ADDR:PORT"))
    case .peerClockAhead:
      ReasonText(
        .warning, .elsewhere, "\(other.clock) is ahead; its newest changes are parked until their time comes",
        next: .waymark("restamp", on: other.device))
    case .parked:
      ReasonText(.warning, .time, "changes dated in the future are parked until their time comes")
    case .newerProtocol:
      ReasonText(
        .error, .hands, "\(other.pronoun) uses a newer protocol version than this device",
        next: "install a newer Waymark on this device; \(waymark: "version") shows the installed one")
    case .waitingDependency:
      ReasonText(
        .warning, .elsewhere,
        "\(other.pronoun) advertises changes that it can't send, or that depend on such changes",
        next: .waymark("verify --deep", on: other.device))
    case .massDeletion:
      ReasonText(
        .warning, .command, "\(other.pronoun) deleted many records at once", next: .waymark("history"))
    case .massErase:
      ReasonText(
        .warning, .command,
        "\(other.pronoun) erased many records at once, whose values this device keeps for seven days",
        next: .waymark("revoke DEVICE --before-erase"))
    case .fork:
      ReasonText(
        .error, .time,
        "one device has two conflicting logs, which can happen after a copy of its data is restored")
    case .tooManyBranches:
      ReasonText(
        .error, .command,
        "\(other.pronoun) wrote more contradictory versions of its changes than are stored; the newer ones are left out",
        next: .waymark("revoke"))
    case .badSignature:
      ReasonText(
        .error, .time,
        "\(other.pronoun) sent data that no correct node sends, so this device won't dial it for a while",
        next: .waymark("verify --deep", on: other.device))
    case .digestMismatch:
      ReasonText(
        .error, .command, "the same changes produced different data on \(peer)",
        next: "\(waymark: "verify --deep --repair"), here and on \(peer)")
    case .damagedSet:
      ReasonText(
        .error, .command, "stored change sets are damaged on disk; this device asks peers to send them again",
        next:
          "\(waymark: "run") until a peer with intact copies connects; if none does, \(waymark: "restore FILE") with a backup"
      )
    case .valuesMissing:
      ReasonText(
        .warning, .command,
        "\(other.pronoun) sent changes without all of their values, although nothing was erased",
        next: "\(waymark: "run"), within reach of another device that has these values")
    case .diskFull:
      ReasonText(
        .error, .hands, "the disk is full; no changes can be stored",
        next: "free up space on the disk that \(waymark: "paths") shows")
    case .storeFailed:
      ReasonText(
        .error, .hands, "a write to the store failed",
        next: "\(waymark: "verify --deep"); if it finds nothing, check the disk: dmesg")
    case .refusedByPeer:
      ReasonText(
        .warning, .elsewhere,
        "\(other.pronoun) refuses to sync with this device, which may be paused there",
        next: "\(waymark: "peers resume NAME", on: other.device), with the name that this device has there")
    case .turnedAway:
      ReasonText(
        .error, .elsewhere, "\(other.pronoun) rejects this device, which may have been revoked",
        next: .waymark("members", on: other.device))
    case .revocationUnheard:
      ReasonText(
        .warning, .elsewhere, "not every device has received the revocation of \(peer)",
        next: .waymark("members"))
    case .eraseAwaited:
      ReasonText(
        .info, .command, "the restored backup has values that were erased before the restore",
        next: .waymark("run"))
    case .eraseUnheard:
      ReasonText(
        .warning, .elsewhere, "\(peer) has not erased yet what was erased on this device",
        next: .waymark("run", on: other.device))
    case .conflicts:
      ReasonText(
        .warning, .command, "concurrent changes are waiting for review", next: .waymark("conflicts"))
    case .settingsBeyondLimits:
      ReasonText(
        .warning, .command, "the settings of all devices together exceed their limits",
        next: "\(waymark: "settings list"), then \(waymark: "settings unset KEY") for each unneeded one")
    case .overrideWaiting: ReasonText(.info, .time, "an override is waiting for changes that it needs")
    case .overrideOvertaken:
      ReasonText(
        .warning, .command,
        "records written by an override were changed by a device that had not received it",
        next: .waymark("history"))
    case .incarnationsSpent:
      ReasonText(.error, .elsewhere, "this device has started too many logs and can't write changes any more")
    case .memberIsLarge:
      ReasonText(
        .warning, .command, "a device has used most of its quota",
        next: "\(waymark: "grant DEVICE SIZE"), or \(waymark: "revoke DEVICE --discard")")
    case .syncInvited:
      ReasonText(
        .info, .command, "another device turned sync on for all devices, and this device has not answered",
        next: "\(waymark: "sync on"), or \(waymark: "sync off")")
    case .premiumEnds:
      ReasonText(
        .warning, .command, "premium ends soon and can't be renewed", next: .waymark("premium self"))
    case .purchaseRefresh:
      ReasonText(
        .warning, .hands, "the App Store has not confirmed the subscription for four weeks",
        next: Self.openTheApp)
    case .ok: ReasonText(.info, .none, "no problem was found")
    case .usage: ReasonText(.error, .command, "the request is not valid")
    case .badValue: ReasonText(.error, .command, "the value is not valid for the field")
    case .unknownField: ReasonText(.error, .command, "there is no such field")
    case .notFound: ReasonText(.error, .command, "nothing with that name exists")
    case .ambiguous: ReasonText(.error, .command, "the name matches more than one item")
    case .needsYes: ReasonText(.warning, .command, "confirmation is required")
    case .largeUndo: ReasonText(.warning, .command, "an undo of this size needs confirmation")
    case .declined: ReasonText(.info, .none, "not confirmed; nothing was changed")
    case .interrupted: ReasonText(.info, .none, "the command was interrupted")
    case .cancelled: ReasonText(.info, .none, "the command was cancelled; nothing was changed")
    case .late: ReasonText(.error, .command, "no complete request arrived in time")
    case .unexpected: ReasonText(.error, .command, "an unexpected error occurred")
    case .unexpectedAnswer: ReasonText(.error, .command, "the node's answer can't be read")
    case .closed: ReasonText(.error, .command, "the node has been closed")
    case .suspended: ReasonText(.error, .command, "the node is suspended")
    case .keysReplaced:
      ReasonText(.error, .command, "this device got other keys while the node was suspended")
    case .hungUp: ReasonText(.error, .command, "the running node closed the connection before it answered")
    case .notAnswering: ReasonText(.error, .command, "the running node does not answer")
    case .alreadyRunning: ReasonText(.error, .command, "a node is already running on this home")
    case .serving: ReasonText(.error, .command, "the node is already serving")
    case .busy: ReasonText(.warning, .time, "another operation is in progress")
    case .tooFewFiles: ReasonText(.error, .hands, "the limit on open files is too low")
    case .signatureRule:
      ReasonText(
        .error, .hands, "the installed libsodium decides by a different rule which signatures are valid")
    case .badAddress: ReasonText(.error, .command, "the value is not a valid address and port")
    case .addressInUse: ReasonText(.error, .command, "another program is using the address")
    case .addressNotHere: ReasonText(.error, .command, "the address does not belong to this machine")
    case .listen: ReasonText(.error, .command, "the node can't listen at the address")
    case .pageNotLocal: ReasonText(.error, .command, "the live page is for this machine only")
    case .loopbackOnly: ReasonText(.info, .command, "only this machine can reach the node")
    case .portTaken:
      ReasonText(.warning, .command, "another program is using the port that the node would listen on")
    case .noStore: ReasonText(.error, .command, "there is no store")
    case .alreadyThere: ReasonText(.error, .command, "a store or a key already exists")
    case .storeHeld: ReasonText(.error, .command, "another process is using the store")
    case .store: ReasonText(.error, .command, "the store can't be read or written")
    case .storeBroken: ReasonText(.error, .hands, "the store's disk failed")
    case .storeDamaged: ReasonText(.error, .command, "the store is damaged")
    case .newerStore: ReasonText(.error, .hands, "the store was written by a newer version of Waymark")
    case .outdatedStore: ReasonText(.error, .command, "the tables of the store were made by another version")
    case .formerFormat:
      ReasonText(.error, .hands, "the store or the backup has a former format, which this version can't read")
    case .isBackup: ReasonText(.error, .command, "the file is a backup, not a store")
    case .isStore: ReasonText(.error, .command, "the file is a node's store")
    case .isKey: ReasonText(.error, .command, "the file holds a key")
    case .inHome: ReasonText(.error, .command, "the file belongs to a node's home")
    case .inMemory: ReasonText(.error, .command, "the request needs a directory, but the node is in memory")
    case .exists: ReasonText(.error, .command, "the file already exists")
    case .file: ReasonText(.error, .command, "a file can't be read or written")
    case .tooLarge: ReasonText(.error, .command, "the file or value is too large")
    case .noDirectory: ReasonText(.error, .command, "the current directory no longer exists")
    case .littleRoom: ReasonText(.warning, .hands, "the disk is low on space")
    case .configuration: ReasonText(.error, .command, "the configuration file is invalid")
    case .unwritable: ReasonText(.error, .hands, "a file or directory can't be written")
    case .wrongOwner: ReasonText(.error, .hands, "a file belongs to another user")
    case .wrongMode: ReasonText(.error, .hands, "other users can access a file")
    case .keyMissing: ReasonText(.error, .command, "a key file is missing or can't be read")
    case .keyNotHere: ReasonText(.error, .command, "the key is not in the key store of this machine")
    case .keyStoreFailed: ReasonText(.error, .hands, "the app's key store can't be read")
    case .keyDamaged: ReasonText(.error, .command, "a key file is damaged, or is the wrong file")
    case .keyExposed: ReasonText(.error, .command, "a key is exposed to other users")
    case .key: ReasonText(.error, .command, "a key is malformed")
    case .rootKey: ReasonText(.error, .command, "the circle's root key is required")
    case .rootKeyHere: ReasonText(.info, .command, "the circle's root key is on this device")
    case .passphraseNeeded:
      ReasonText(.error, .command, "a key is sealed and no passphrase was available")
    case .wrongPassphrase: ReasonText(.error, .command, "the passphrase is wrong")
    case .badPassphrase: ReasonText(.error, .command, "the text is not acceptable as a passphrase")
    case .passphrasesDiffer: ReasonText(.error, .command, "the two passphrases do not match")
    case .needsTerminal: ReasonText(.error, .command, "a prompt needs a terminal, but there is none")
    case .terminal: ReasonText(.error, .command, "prompting on the terminal failed")
    case .badTicket: ReasonText(.error, .command, "the text is not a valid ticket")
    case .ticketSpent: ReasonText(.error, .command, "another device has used the ticket")
    case .ticketExpired: ReasonText(.error, .command, "the ticket has expired")
    case .ticketRefused: ReasonText(.error, .command, "the inviting device rejected the ticket")
    case .tooManyTickets: ReasonText(.error, .time, "too many tickets are open")
    case .wrongCode: ReasonText(.error, .command, "the six digits are wrong")
    case .noOffer: ReasonText(.error, .command, "no device on the network offers to pair by a code")
    case .severalOffers:
      ReasonText(.error, .command, "several devices on the network offer to pair by a code")
    case .codeRefused: ReasonText(.error, .command, "the device at the address offers no code now")
    case .codeEnded: ReasonText(.error, .command, "all tries of the code have failed")
    case .invitationCancelled: ReasonText(.error, .command, "the invitation was cancelled")
    case .unreachable: ReasonText(.error, .hands, "the inviting device can't be reached")
    case .wrongDevice: ReasonText(.error, .command, "a different device answers at the address")
    case .wrongCircle:
      ReasonText(.error, .command, "the entitlement or the inviting device belongs to another circle")
    case .circleFull: ReasonText(.error, .command, "the circle has no room for another device")
    case .keyInUse: ReasonText(.error, .command, "the device's keys are already in use in the circle")
    case .refused: ReasonText(.error, .command, "the inviting device rejected the request")
    case .quotaUsed:
      ReasonText(.error, .elsewhere, "the change would exceed the device's quota")
    case .notAdmin: ReasonText(.error, .command, "the device is not an admin of the circle")
    case .alreadyAdmin: ReasonText(.error, .none, "the device is already an admin")
    case .notAdmitted: ReasonText(.error, .elsewhere, "no device in the circle has admitted this device yet")
    case .lastAdmin:
      ReasonText(
        .error, .command, "the other devices would have no admin", next: .waymark("members promote DEVICE"))
    case .ownDevice: ReasonText(.error, .elsewhere, "a device can't revoke itself")
    case .noRoom:
      ReasonText(.error, .elsewhere, "the circle has no room for another statement from this device")
    case .readerGone: ReasonText(.error, .command, "the process that reads the ticket has exited")
    case .noCertificate: ReasonText(.error, .command, "the file contains no entitlement certificate")
    case .unknownIssuer: ReasonText(.error, .command, "the circle does not trust the issuer")
    case .issuerWithdrawn: ReasonText(.error, .command, "the circle has withdrawn its trust in the issuer")
    case .purchaseUnreadable:
      ReasonText(.error, .command, "the text is not a signed transaction of the App Store")
    case .purchaseNotGenuine: ReasonText(.error, .command, "the App Store did not sign the transaction")
    case .purchaseNotBound: ReasonText(.error, .elsewhere, "the purchase was not made for this circle")
    case .purchaseNotListed:
      ReasonText(.error, .command, "the purchase is not one of the products that give premium")
    case .noPeer: ReasonText(.error, .elsewhere, "no other device is connected")
    case .noAnswer: ReasonText(.error, .elsewhere, "a connected device did not answer")
    case .notComparable: ReasonText(.error, .elsewhere, "the two devices can't be compared at the moment")
    case .givenUp: ReasonText(.error, .command, "the operation was abandoned")
    case .override: ReasonText(.error, .time, "an override could not write its changes")
    case .onlyDevice: ReasonText(.info, .command, "no other device has a copy of this device's data")
    case .unreplicated: ReasonText(.warning, .command, "changes would be lost if this disk failed now")
    case .inUse: ReasonText(.error, .command, "other records refer to this record")
    case .hidden:
      ReasonText(.error, .command, "the record belongs to another record, which is missing or deleted")
    case .notDeleted: ReasonText(.error, .none, "the record is not deleted")
    case .erased: ReasonText(.error, .none, "the values were erased and can't be restored")
    case .nothingToUndo: ReasonText(.info, .none, "there is nothing to undo")
    case .noContent: ReasonText(.error, .time, "the content is not available")
    case .unsupportedProperty: ReasonText(.error, .command, "the record has no such stored property")
    case .schema: ReasonText(.error, .command, "the kinds of records that an app defines break a rule")
    case .unknownKind:
      ReasonText(.error, .command, "the node was opened without the schema that has this kind of record")
    case .tooManyStatements:
      ReasonText(
        .error, .elsewhere, "the circle holds the maximum number of statements from the device")
    case .clockDisputed: ReasonText(.error, .hands, "this machine's clock disagrees with other devices")
    case .tooManySettings: ReasonText(.error, .command, "the limit on the number of settings is reached")
    case .import: ReasonText(.error, .command, "the file can't be imported")
    case .backup: ReasonText(.error, .hands, "a backup can't be taken")
    case .notABackup: ReasonText(.error, .command, "the file is not a backup")
    case .newerBackup: ReasonText(.error, .hands, "the backup was written by a newer version of Waymark")
    case .damagedBackup: ReasonText(.error, .command, "the backup is damaged")
    case .serviceManager: ReasonText(.error, .command, "the system's service manager rejected the request")
    case .output: ReasonText(.error, .command, "the output can't be written")
    case .outputLost:
      ReasonText(.error, .command, "the operation was carried out, but its output could not be written")
    }
  }

  /// How urgent this reason is.
  public var severity: Severity { text(.unnamed).severity }

  /// What resolves this reason.
  public var remedy: Remedy { text(.unnamed).remedy }

  /// Returns a clause for people that begins in lower case and has no final period.
  ///
  /// - Parameter peer: the other device's name; nil if no other device is involved.
  public func sentence(peer: String? = nil) -> LocalizableText { text(OtherDevice(peer)).sentence }

  /// Returns the clause for a table row. The row already shows the device's name, so the clause says "it".
  package func sentence(inRowOf peer: String) -> LocalizableText {
    text(OtherDevice(peer, isNamed: true)).sentence
  }

  /// Returns what to do next; nil if it is enough to wait, or if nothing helps.
  public func next(peer: String? = nil) -> Step? { text(OtherDevice(peer)).next }
}
