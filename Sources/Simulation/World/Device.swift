import Engine
import Membership
import Replication
import SQLite
import Sodium
import Storage
import VirtualDisk
import Wire

/// One device: its disk, its clock, and the process on it, if it runs.
///
/// Around the engine it is what the node is around it: it keeps links and timers, and carries out effects.
final class Device {
  let keys: DeviceKeys
  let number: Int
  unowned let world: World
  /// Whether it keeps to the rules: an adversary's promises bind nobody.
  let isHonest: Bool
  var disk: Disk
  /// Which file the store is: a copy, or one that was put back, is another.
  var storeIdentity: UInt64
  var clock = WallClock()
  /// What the person chose; kept on the disk, as the node keeps it.
  var preference: Bool
  /// Peers that the person does not want to talk to for now; kept on the disk too.
  var pausedPeers: Set<DeviceKey> = []
  /// Where others find it; a number that changes when the device moves to another network.
  var place = 0
  /// The oldest of its addresses that still leads here.
  var oldestPlace = 0
  /// Kept by the person, or heard: where others can be found from the start.
  var addressBook: [String] = []
  var process: Process?
  /// Counts starts: what was meant for an earlier process comes to nothing.
  var generation = 0
  /// It has been taken to pieces: no process runs on it any more.
  var isGone = false
  /// Another copy of it runs meanwhile.
  var isResting = false
  /// The next end of its process is a power loss.
  var isDoomedToPowerLoss = false
  /// The disk has failed a process, and no loss of power has shown since what is on it.
  var isSuspect = false
  /// The next program on it keeps the tables that follow from the log in another way.
  var isUpgraded = false
  /// Sync was turned off where no program ran: what it was to do with it is forgotten when one does.
  var givesUp = false
  /// A copy of the disk that may be put back.
  var backup: Disk?
  /// What a store of this device begins with, where it is not what all began with.
  var firstStatements: [Membership.Statement]?
  /// What an adversary will do to its next messages, and some that it has sent before.
  var mischief: [Fault] = []
  var captured: [[UInt8]] = []
  /// How many messages with sets it keeps to itself.
  var hoards = 0
  /// How many answers an adversary will spoil yet, and what it brings of all that it has promised.
  var lies = 0
  var trickle: Trickle?
  /// An adversary says from now on that its records lane is open, or hears of no statement any more.
  var claimsPremium = false
  var isDeaf = false
  /// Set for a copy of another device.
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
  /// The time as a process on it sees it.
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

/// A wall clock that does not keep to the world's time.
struct WallClock {
  var offset: Moment = 0
  /// How many milliseconds it gains in a million.
  var drift: Moment = 0
  /// Since when it drifts, or stands still.
  var since: Moment = 0
  var isFrozen = false

  func wall(_ now: Moment) -> Moment {
    if isFrozen { return since + offset }
    return now + offset + (now - since) / 1_000 * drift / 1_000
  }

  /// From here on it goes another way, from where it stands.
  mutating func change(at now: Moment, drift: Moment = 0, isFrozen: Bool = false) {
    offset = wall(now) - now
    (since, self.drift, self.isFrozen) = (now, drift, isFrozen)
  }

  mutating func correct() { self = WallClock() }
}

/// A run of the program on a device.
final class Process {
  unowned let device: Device
  unowned let world: World
  let volume: Volume
  let replicator: Replicator
  private(set) var peering: Peering
  var links: [LinkID: (link: Link, end: Int)] = [:]
  /// What has come and waits for its turn.
  var inbox: [Arrival] = []
  var isTurnDue = false
  /// Stopped by a signal until then.
  var pausedUntil: Moment?
  /// How long a turn takes at most.
  var turnMilliseconds: Moment = 2
  private var timers: [ReplicaTimer: UInt64] = [:]
  private var timerOrder: UInt64 = 0
  /// For how many notes the disk has room in reserve.
  private var reservedNotes = Process.notesMax
  /// When it looks next whether the disk has room.
  private var looksAt: Moment?
  /// When a question was put that is not answered yet.
  var askedAt: [LinkID: Moment] = [:]
  /// What it asks for before an override begins.
  var inquiry: Inquiry?
  /// With whom its records lane was open when it decided what it reports now: the replica may be ahead of that.
  private(set) var openRecords: Set<DeviceKey> = []
  /// After so many effects it ends in the midst of what it does.
  var effectsUntilStop: Int?

  enum Arrival {
    case input(Input)
    /// A message, and its bytes for the judge.
    case message(Link, Message, [UInt8])
    case opened(LinkID, remote: TransportKey, introduction: [UInt8]?)
    case peering(PeeringInput)
    case timer(ReplicaTimer, order: UInt64)
    case room
    case goOn
  }

  init(_ device: Device, _ world: World) throws {
    self.device = device
    self.world = world
    volume = try Volume(device.disk)
    // What this start does not get done is not asked for by the next one.
    let refolds = device.isUpgraded
    device.isUpgraded = false
    let store = try Store(on: volume, path: Device.storeFile, refolds: refolds)
    if device.isSuspect { try store.rewriteLog() }
    device.isSuspect = false
    if try store.meta(MetaKey.incarnation) == nil { try world.found(store, of: device) }
    if device.givesUp { try Override.forget(store) }
    device.givesUp = false
    let circle = try Circle(store: store)
    peering = Peering(paused: device.pausedPeers, seed: world.random.next())
    replicator = try Replicator(
      store: store, circle: circle, signing: device.keys.signing, preference: device.preference,
      localPremium: .none, place: IncarnationFile(disk: device.disk, identity: device.storeIdentity),
      now: device.wall,
      seed: world.random.next(), random16: { [unowned world] in world.random16() })
    replicator.shell = self
    if replicator.override.pending != nil { world.tally.count("overrides resumed at a start") }
  }

  var isDiskFull: Bool { replicator.disk.isFull }

  /// Whether it has been ended in the midst of what it does; the rest of the turn is a ghost's.
  var isEnded: Bool { device.disk.hasStopped || volume.isCut }

  var isServing: Bool { !isEnded && pausedUntil == nil }

  /// Begins to serve.
  func serve() {
    for address in device.addressBook { handle(.addressGiven(address)) }
    learnAddresses()
    handle([.started])
    announce()
    handle(.timer(.dial))
  }

  var isMember: Bool { replicator.circle.evaluation.isMember(device.key) }

  /// Tells the circle where this device can be reached.
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

  /// Takes in what has come: messages that came together share one transaction.
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
        world.log?("  \(device.name) hears of \(sender.name): \(message.name)")
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
      // One that was put off or brought forward looks at another time.
      guard let looksAt, looksAt <= world.now else { return }
      self.looksAt = nil
      lookAtDisk()
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
    // Its end comes after all that it has brought.
    while !isEnded, replicator.isWaiting(id) { goOn() }
    guard !isEnded, let (link, end) = links.removeValue(forKey: id) else { return }
    handle(.ended(id, link.brokeRules[end] ? .brokeRules : link.hasHungUp[1 - end] ? .hungUp : .lost))
    handle([.closed(id)])
  }

  // MARK: What Peering asks for

  /// Reports an event to `peering`, and carries out what follows from it.
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
    case .send(let link, let message): send(message.encoded, to: link)
    case .close(let link), .closeAtOnce(let link): world.hangUp(link, device)
    case .schedule(let timer, let wait):
      if case .introduce = timer { world.tally.count("held links") }
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
  /// False if the process has just been ended, and the effect does not come about.
  private func mayAct() -> Bool {
    if let left = effectsUntilStop {
      effectsUntilStop = left - 1
      if left <= 0 { volume.cut() }
    }
    return !isEnded
  }

  func send(_ message: [UInt8], to link: LinkID) {
    guard mayAct(), let (link, end) = links[link] else { return }
    world.send(message, on: link, from: end)
  }

  func close(_ link: LinkID, _ cause: CloseCause) {
    if mayAct() { handle(.closing(link, cause)) }
  }

  func isCongested(_ link: LinkID) -> Bool {
    guard let (link, end) = links[link] else { return false }
    return link.isCongested(end)
  }

  func schedule(_ timer: ReplicaTimer, after milliseconds: Moment) {
    timerOrder += 1
    timers[timer] = timerOrder
    world.later(milliseconds, .timer(device.number, device.generation, timer, order: timerOrder))
  }

  /// Now and then a turn ends after a few sets, as it does where they cost much.
  func beginPiece() -> () -> Bool {
    guard world.random.below(4) == 0 else { return { false } }
    var left = world.random.below(8)
    return {
      left -= 1
      return left < 0
    }
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
    if case .answer = reply { world.tally.count("answered") } else { world.tally.count("kept to itself") }
    askedAt[link] = nil
    world.heard(reply, from: link, by: self)
    return nil
  }

  func noting(_ report: CommitReport) throws {}

  func didCommit(_ report: CommitReport) { world.committed(report, by: device) }

  func perform(_ effect: DiskEffect) {
    guard !isEnded else { return }
    switch effect {
    case .shrinkBallast: world.tally.count("felt a full disk")
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
  /// One for each lane, as the node's ballast.
  private static let notesMax = 2
}

/// The file that ties an incarnation to a simulated disk.
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
  /// What people who look for a cause want to know of it.
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
    }
  }
}
