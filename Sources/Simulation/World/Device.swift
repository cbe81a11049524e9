import Engine
import FileFormat
import FileStore
import Membership
import RecordTables
import Replication
import SQLite
import Sodium
import Storage
import VirtualDisk
import Wire

/// A simulated device with a disk, a clock and, while it is running, a process.
///
/// `Process` takes the place of the production node as the shell around the engine: it owns links and timers, and
/// performs the engine's effects.
final class Device {
  let keys: DeviceKeys
  let number: Int
  unowned let world: World
  /// Whether the device follows the rules. The judge checks only honest devices.
  let isHonest: Bool
  var disk: Disk
  /// The identity of the store's file. A restored file or a copy gets a new identity, except a copy of a whole machine
  /// image.
  var storeIdentity: UInt64
  var clock = WallClock()
  /// Whether the user wants to sync records. Survives restarts, as in the node.
  var preference: Bool
  /// The peers that the user has paused. Survives restarts.
  var pausedPeers: Set<DeviceKey> = []
  /// The number in the device's address. Increases when the device moves to another network or gets another address.
  var place = 0
  /// The number in the oldest address that still leads to this device.
  var oldestPlace = 0
  /// The addresses of other devices. Each process is given them when it starts.
  var addressBook: [String] = []
  var process: Process?
  /// Changes whenever a process starts or ends, so that events for an earlier process are ignored.
  var generation = 0
  /// Whether the device is retired. If so, no process is ever started on it again.
  var isGone = false
  /// Whether the device must not start now, because another copy of it is in use or will be used first.
  var isResting = false
  /// Whether the process will end in a power loss instead of a kill.
  var isDoomedToPowerLoss = false
  /// Whether a disk error ended a process, so that it is unknown which data is durable. If so, the next start rewrites
  /// the log. A power loss resets this flag, because all data that is left after it is durable.
  var isSuspect = false
  /// Whether the next start is an upgrade, which folds the log again into new tables.
  var isUpgraded = false
  /// Whether sync was turned off while no process was running. If so, the next start drops any pending override.
  var givesUp = false
  /// The number of failed disk operations when the process started.
  var errorsAtStart = 0
  /// Whether disk operations have failed since the process before this one started.
  var hasDiskFailed: Bool { disk.counters.errors > errorsAtStart }
  /// A backup of the disk that may be restored later.
  var backup: Disk?
  /// The initial statements of the device's store; nil if they are those of the world.
  var firstStatements: [Membership.Statement]?
  /// Faults that an adversary will apply to its next messages.
  var mischief: [Fault] = []
  /// Some of the messages that an adversary has sent, for replays.
  var captured: [[UInt8]] = []
  /// The number of deliveries that an adversary will still withhold.
  var hoards = 0
  /// The number of messages that an adversary will still falsify.
  var lies = 0
  /// The sets that an adversary has sent to its peers with different values, by fault.
  var copies: [Fault: [RawChangeSet]] = [:]
  /// The only sets that an adversary delivers, out of everything that it announces; nil if it does not do this.
  var trickle: Trickle?
  /// Whether an adversary claims that its records lane is open.
  var claimsPremium = false
  /// Whether an adversary ignores all statements.
  var isDeaf = false
  /// How many messages about files an adversary will still falsify, by fault.
  var fileLies: [Fault: Int] = [:]
  /// The number that distinguishes this copy of a device; nil for an original device.
  var twinNumber: Int?

  init(_ keys: DeviceKeys, number: Int, world: World, isHonest: Bool, preference: Bool) {
    self.keys = keys
    self.number = number
    self.world = world
    self.isHonest = isHonest
    self.preference = preference
    disk = Disk(seed: world.random.next())
    storeIdentity = world.random.next()
  }

  var name: String { keys.name + (twinNumber.map { "-\($0)" } ?? "") }
  var key: DeviceKey { keys.device }
  var wall: Moment { clock.wall(world.now) }
  /// The time that the device's process sees.
  var time: Now { Now(wall: wall, steady: world.now) }
  var address: String { "\(name):\(place)" }

  func isFound(at address: String) -> Bool {
    guard address.hasPrefix("\(name):"), let number = Int(address.dropFirst(name.count + 1)) else {
      return false
    }
    return (oldestPlace...place).contains(number)
  }

  static let storeFile = "store"
  static let placeFile = "incarnation"
}

/// A wall clock that may deviate from the world's time.
struct WallClock {
  var offset: Moment = 0
  /// The number of milliseconds that the clock gains per million.
  var drift: Moment = 0
  /// The moment at which the clock began to drift or was frozen.
  var since: Moment = 0
  var isFrozen = false

  func wall(_ now: Moment) -> Moment {
    if isFrozen { return since + offset }
    return now + offset + (now - since) / 1_000 * drift / 1_000
  }

  /// Changes the clock's rate from now on, without a jump.
  mutating func change(at now: Moment, drift: Moment = 0, isFrozen: Bool = false) {
    offset = wall(now) - now
    (since, self.drift, self.isFrozen) = (now, drift, isFrozen)
  }

  mutating func correct() { self = WallClock() }
}

/// A running process on a device.
final class Process {
  unowned let device: Device
  unowned let world: World
  let volume: Volume
  let replicator: Replicator
  private(set) var peering: Peering
  var links: [LinkID: (link: Link, end: Int)] = [:]
  /// Arrivals that will be handled in the next turn.
  var inbox: [Arrival] = []
  var isTurnDue = false
  /// The moment until which the process is suspended, as if by SIGSTOP; nil while it is running.
  var pausedUntil: Moment?
  /// The received files that are being made durable.
  private(set) var finishing: Set<FileReference> = []
  /// The maximum delay before a turn begins.
  var turnMilliseconds: Moment = 2
  private var timers: [ReplicaTimer: UInt64] = [:]
  private var timerOrder: UInt64 = 0
  /// The number of notes that can still be written on a full disk, from reserved space.
  private var reservedNotes = Process.notesMax
  /// The moment of the next check for free space; nil if none is scheduled.
  private var looksAt: Moment?
  /// The time at which the unanswered question on each link was asked.
  var askedAt: [LinkID: Moment] = [:]
  /// The questions to peers that precede an override; nil if there are none now.
  var inquiry: Inquiry?
  /// The peers with which the records lane was open when the replica made the report that is being handled now. The
  /// replica itself may already be in a later state.
  private(set) var openRecords: Set<DeviceKey> = []
  /// The number of effects that still take place before the process is killed; nil for no kill.
  var effectsUntilStop: Int?

  enum Arrival {
    case input(Input)
    /// A decoded message, and the message's bytes, which the judge checks.
    case message(Link, Message, [UInt8])
    case opened(LinkID, remote: TransportKey, introduction: [UInt8]?)
    case peering(PeeringInput)
    case timer(ReplicaTimer, order: UInt64)
    case room
    case filesWritten([FileReference])
    case goOn
  }

  init(_ device: Device, _ world: World) throws {
    self.device = device
    self.world = world
    volume = try Volume(device.disk)
    // Clear the flag before the attempt: if this start is killed, the store itself must notice that the refold is
    // unfinished.
    let refolds = device.isUpgraded
    device.isUpgraded = false
    // Runs without files must do the same to the disk as before files existed.
    let folder: any FileDisk =
      world.options.files > 0 ? DeviceFolder(device.disk, volume) : MemoryDisk()
    let store = try Store(
      on: volume, path: Device.storeFile, files: FileStore(folder), refolds: refolds)
    if device.isSuspect { try store.rewriteLog() }
    device.isSuspect = false
    if try store.meta(MetaKey.incarnation) == nil { try world.found(store, of: device) }
    if device.givesUp { try Override.forget(store) }
    device.givesUp = false
    let circle = try Circle(store: store, quotas: world.quotas)
    peering = Peering(paused: device.pausedPeers, seed: world.random.next())
    replicator = try Replicator(
      store: store, circle: circle, signing: device.keys.signing, preference: device.preference,
      localPremium: .none, place: IncarnationFile(disk: device.disk, identity: device.storeIdentity),
      now: device.wall,
      seed: world.random.next(), random16: { [unowned world] in world.random16() })
    replicator.shell = self
    if replicator.override.pending != nil { world.mark("overrides resumed at a start", on: device) }
  }

  var isDiskFull: Bool { replicator.disk.isFull }
  /// Whether the store reflects all statements. Cuts are applied late on a full disk, and soon after a rebuild.
  var appliesStatements: Bool { !isDiskFull && !replicator.isRebuildDue }

  /// Whether the process was killed, perhaps in the middle of a turn. If so, the rest of the turn has no effect.
  var isEnded: Bool { device.disk.hasStopped || volume.isCut }

  var isServing: Bool { !isEnded && pausedUntil == nil }

  /// Starts serving: learns the peers' addresses, announces the device's own address, and dials.
  func serve() {
    for address in device.addressBook { handle(.addressGiven(address)) }
    learnAddresses()
    handle([.started])
    announce()
    handle(.timer(.dial))
  }

  var isMember: Bool { replicator.circle.evaluation.isMember(device.key) }

  /// Publishes this device's address to the circle.
  func announce() {
    guard isMember, replicator.circle.addresses(of: device.key) != [device.address] else { return }
    let clock = replicator.circle.nextAddressClock(of: device.key, now: UInt64(clamping: device.wall))
    let body = AddressStatement(
      circle: replicator.circle.id, device: device.key, clock: clock, addresses: [device.address])
    guard let statement = try? Statement(signing: body, with: device.keys.signing) else { return }
    handle([.statementsAdded([statement.bytes])])
  }

  func learnAddresses() {
    let circle = replicator.circle
    let others = circle.evaluation.members.keys.filter { $0 != device.key }
    let addresses = Dictionary(uniqueKeysWithValues: others.map { ($0, circle.addresses(of: $0)) })
    handle(.circleChanged(announced: addresses))
  }

  // MARK: Turns

  func handle(_ inputs: [Input]) {
    guard !isEnded else { return }
    replicator.handle(inputs, now: device.time)
    if !isEnded { world.judged { try $0.stepped(device) } }
  }

  func receive(_ arrival: Arrival) {
    inbox.append(arrival)
    guard !isTurnDue, pausedUntil == nil else { return }
    isTurnDue = true
    world.later(
      Moment(world.random.below(Int(turnMilliseconds) + 1)), .turn(device.number, device.generation))
  }

  /// Handles all arrivals. Consecutive messages share one transaction.
  func turn() {
    isTurnDue = false
    guard pausedUntil == nil else { return }
    let arrived = inbox
    inbox = []
    var inputs: [Input] = []
    for arrival in arrived {
      if case .message(let link, let message, let bytes) = arrival {
        let sender = world.devices[link.devices[link.devices[0] == device.number ? 1 : 0]]
        world.watch.arrived(bytes, from: sender, to: device, on: link)
        world.log?("  \(device.name) receives from \(sender.name): \(message.name)")
        if !peering.ignores(link.id, replicator.replica), !world.isDeaf(device, to: message) {
          inputs.append(.received(link.id, message))
        }
        continue
      }
      flush(&inputs)
      take(arrival)
    }
    flush(&inputs)
  }

  private func flush(_ inputs: inout [Input]) {
    if !inputs.isEmpty { handle(inputs) }
    inputs = []
  }

  private func take(_ arrival: Arrival) {
    switch arrival {
    case .message: break
    case .input(.closed(let link)): closed(link)
    case .input(let input): handle([input])
    case .opened(let link, let remote, let introduction): opened(link, remote, introduction)
    case .peering(let input): handle(input)
    case .timer(let timer, let order): fired(timer, order)
    case .room:
      // This event is obsolete if the check has been rescheduled.
      guard let looksAt, looksAt <= world.now else { return }
      self.looksAt = nil
      lookAtDisk()
    case .filesWritten(let files):
      let hasFailed = (try? replicator.store.files.finish(files)) == nil
      guard mayAct() else { return }
      finishing.subtract(files)
      replicator.finished(files, hasFailed: hasFailed, now: device.time)
      if !isEnded { world.judged { try $0.stepped(device) } }
    case .goOn: goOn()
    }
  }

  // MARK: Links

  private func opened(_ id: LinkID, _ remote: TransportKey, _ introduction: [UInt8]?) {
    guard let (link, end) = links[id] else { return }
    handle(
      .opened(id, dialled: end == 0 ? link.address : nil, remote: remote, introduction: introduction))
  }

  private func goOn() {
    guard !isEnded else { return }
    replicator.goOn(now: device.time)
    if !isEnded { world.judged { try $0.stepped(device) } }
  }

  private func closed(_ id: LinkID) {
    // Before handling the end of the link, finish handling everything that was received on it.
    while !isEnded, replicator.isWaiting(id) { goOn() }
    guard !isEnded, let (link, end) = links.removeValue(forKey: id) else { return }
    handle(.ended(id, link.brokeRules[end] ? .brokeRules : link.hasHungUp[1 - end] ? .hungUp : .lost))
    handle([.closed(id)])
  }

  // MARK: Peering

  /// Passes an event to `peering` and performs the resulting effects.
  func handle(_ input: PeeringInput) {
    guard !isEnded else { return }
    var effects: [PeeringEffect] = []
    peering.handle(input, replicator.replica, now: device.time, into: &effects)
    for effect in effects where !isEnded { perform(effect) }
  }

  private func perform(_ effect: PeeringEffect) {
    switch effect {
    case .dial(let address): world.dial(address, from: device)
    case .introduce(let link, let remote, let introduction):
      guard links[link] != nil else { return }
      handle([.opened(link, remote: remote, introduction: introduction)])
      handle(.introduced(link))
    case .admit: break
    case .send(let link, let message): send(message.encoded, to: link, as: .ordinary)
    case .close(let link), .closeAtOnce(let link): world.hangUp(link, device)
    case .schedule(let timer, let wait):
      if case .introduce = timer { world.mark("held links", on: device) }
      world.later(wait, .peering(device.number, device.generation, timer))
    case .report(.penalised(let peer, let why)): world.penalised(peer, by: device, why)
    }
  }

  // MARK: Timers

  private func fired(_ timer: ReplicaTimer, _ order: UInt64) {
    guard timers[timer] == order else { return }
    timers[timer] = nil
    handle([.timer(timer)])
  }

  // MARK: Disk

  func lookAtDisk() {
    guard !isEnded else { return }
    let wasFull = isDiskFull
    replicator.handle(.looked(hasRoom: device.disk.faults.capacity == nil), now: device.time)
    guard wasFull, !isDiskFull else { return }
    if !isEnded { world.judged { try $0.stepped(device) } }
    world.tryAgain(device)
  }
}

extension Process: ReplicatorShell {
  /// Returns whether an effect may take place; false if the process is dead. This call may itself kill the process,
  /// just before the effect.
  private func mayAct() -> Bool {
    if let left = effectsUntilStop {
      effectsUntilStop = left - 1
      if left <= 0 { volume.cut() }
    }
    return !isEnded
  }

  func send(_ message: [UInt8], to link: LinkID, as sendClass: SendClass = .ordinary) {
    guard mayAct(), let (link, end) = links[link] else { return }
    world.send(message, on: link, from: end, as: sendClass)
  }

  func close(_ link: LinkID, _ cause: CloseCause) {
    if mayAct() { handle(.closing(link, cause)) }
  }

  func isCongested(_ link: LinkID, for sendClass: SendClass) -> Bool {
    guard let (link, end) = links[link] else { return false }
    return link.isCongested(end, for: sendClass)
  }

  func schedule(_ timer: ReplicaTimer, after milliseconds: Moment) {
    timerOrder += 1
    timers[timer] = timerOrder
    world.later(milliseconds, .timer(device.number, device.generation, timer, order: timerOrder))
  }

  /// Sometimes ends a piece of work after a few sets, as happens when sets are expensive to handle.
  func beginPiece() -> () -> Bool {
    guard world.random.below(4) == 0 else { return { false } }
    var left = world.random.below(8)
    return {
      left -= 1
      return left < 0
    }
  }

  /// Simulated work takes no time, so how long it took is made up.
  func beginMeasuring() -> () -> Moment {
    let milliseconds = Moment(world.random.below(100))
    return { milliseconds }
  }

  func finish(_ files: [FileReference], in store: FileStore) {
    guard mayAct() else { return }
    finishing.formUnion(files)
    world.later(
      Moment(world.fileRandom.below(300)), .filesWritten(device.number, device.generation, files))
  }

  func goOnSoon() { if !isEnded { receive(.goOn) } }

  func note(_ event: ReplicaEvent) {
    guard !isEnded else { return }
    switch event {
    case .peerJoined(let peer, let link):
      openRecords.remove(peer)
      handle(.joined(link, peer))
    case .laneOpened(let peer, .records): openRecords.insert(peer)
    case .laneClosed(let peer, .records, _): openRecords.remove(peer)
    case .membershipChanged: learnAddresses()
    default: break
    }
    world.noted(event, by: device)
  }

  func note(_ event: ReplicatorEvent) { if !isEnded { world.noted(event, by: device) } }

  func replied(_ link: LinkID, _ reply: Reply) -> Input? {
    if case .answer = reply { world.tally.count("answered") } else { world.tally.count("declined to answer") }
    askedAt[link] = nil
    world.received(reply, from: link, by: self)
    return nil
  }

  func noting(_ report: CommitReport) throws {}

  func didCommit(_ report: CommitReport) { world.committed(report, by: device) }

  func perform(_ effect: DiskEffect) {
    guard !isEnded else { return }
    switch effect {
    case .shrinkBallast: world.mark("hit a full disk", on: device)
    case .holdBallast: reservedNotes = Self.notesMax
    case .look(let wait):
      let moment = world.now + wait
      looksAt = moment
      world.later(wait, .room(device.number, device.generation))
    case .stop(let error):
      world.storeFailed(error, on: device)
      device.isSuspect = true
      volume.cut()
    case .report(let error): world.storeFailed(error, on: device)
    case .shrinkLog, .resume: break
    }
  }

  func freeReserve() -> Bool {
    guard !isEnded, reservedNotes > 0 else { return false }
    reservedNotes -= 1
    device.disk.faults.capacity? += Self.noteBytes
    return true
  }

  private static let noteBytes = 64 * 1024
  /// One note for each lane, as in the node's ballast.
  private static let notesMax = 2
}

/// The file that ties an incarnation to a copy of the store on a simulated disk.
struct IncarnationFile: IncarnationStorage {
  let disk: Disk
  let identity: UInt64

  func names(_ incarnation: Incarnation) -> Bool { disk.content(of: Device.placeFile) == text(incarnation) }

  func write(_ incarnation: Incarnation) throws {
    try disk.write(Device.placeFile, text(incarnation), synced: true)
  }

  private func text(_ incarnation: Incarnation) -> [UInt8] {
    Array("\(incarnation) \(identity)".utf8)
  }
}

extension Message {
  /// A short description for debugging.
  fileprivate var name: String {
    switch self {
    case .introduction: "introduction"
    case .summary(let summary):
      "summary \(summary.certificates), settings \(summary.settings), records \(summary.records)"
    case .statementIDs(let ids, _): "\(ids.count) statement ids"
    case .statements(let statements, let last): "\(statements.count) statements\(last ? ", the last" : "")"
    case .heads(let lane, let heads, let complete): "\(complete ? "all " : "")\(heads.count) heads of \(lane)"
    case .want(let lane, let wants): "wants \(wants) of \(lane)"
    case .sets(let lane, let sets): "sets \(sets.map(\.id)) of \(lane)"
    case .served(let lane): "served \(lane)"
    case .state(let hash, _, let echo):
      "state \(hash.map { "\($0)" } ?? "the same")\(echo ? ", and asks" : "")"
    case .goodbye(let reason): "goodbye \(reason.map { "\($0)" } ?? "unknown")"
    case .query, .answer, .refusal: "a question or an answer"
    case .wantValues(let lane, let sets): "wants values of \(sets.count) sets of \(lane)"
    case .values(let lane, let sets): "values of \(sets.count) sets of \(lane)"
    case .file: "about a file"
    case .unknown: "of a newer version"
    }
  }
}
