import Membership
import Replication
import SQLite
import Sodium
import Storage
import VirtualDisk
import Wire

/// One device: its disk, its clock, and the process on it, if it runs.
///
/// Around the replicator it is what the node is around it: it keeps links and timers and obeys. What it does about
/// dialling, letting in and penalties follows Sources/Waymark/Node/Node+Network.swift.
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
  var dialing: Dialing
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
  /// When it looks next whom to dial.
  private var dialsAt: Moment?
  var isDiskFull = false
  private var reservedNotes = 2
  /// Peers that the person does not want to talk to for now.
  var pausedPeers: Set<DeviceKey> = []
  /// When a question was put that is not answered yet.
  var askedAt: [LinkID: Moment] = [:]
  /// What it asks for before a direction begins, and the direction that it waits to carry out.
  var inquiry: Inquiry?
  var order: DirectionOrder?
  /// With whom its records lane was open when it decided what it reports now: the replica may be ahead of that.
  private(set) var openRecords: Set<DeviceKey> = []
  /// After so many effects it ends in the midst of what it does.
  var effectsUntilStop: Int?

  enum Arrival {
    case input(Input)
    /// A message, and its bytes for the judge.
    case message(Link, Message, [UInt8])
    case opened(LinkID, remote: TransportKey, introduction: [UInt8]?)
    case dialFailed(String, DialFailure)
    case timer(ReplicaTimer, order: UInt64)
    case dial
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
    let circle = try Circle(store: store)
    dialing = Dialing(seed: world.random.next())
    replicator = try Replicator(
      store: store, circle: circle, signing: device.keys.signing, preference: device.preference,
      localPremium: .none, place: IncarnationFile(disk: device.disk, identity: device.storeIdentity),
      now: device.wall,
      seed: world.random.next(), random16: { [unowned world] in world.random16() })
    order = try world.storedOrder(store, device)
    replicator.shell = self
  }

  /// Whether it has been ended in the midst of what it does; the rest of the turn is a ghost's.
  var isEnded: Bool { device.disk.hasStopped || volume.isCut }

  var isServing: Bool { !isEnded && pausedUntil == nil }

  /// Begins to serve.
  func serve() {
    for address in device.addressBook { dialing.add(address, of: nil, now: world.now) }
    learnAddresses()
    handle([.started])
    announce()
    dial()
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
    dialing.forget { !circle.evaluation.isMember($0) }
    dialing.heed(isOut: !isMember, now: world.now)
    let others = circle.evaluation.members.keys.filter { $0 != device.key }
    let addresses = Dictionary(uniqueKeysWithValues: others.map { ($0, circle.addresses(of: $0)) })
    dialing.announced(addresses, now: world.now)
    scheduleDial()
  }

  // MARK: Turns

  func handle(_ inputs: [Input]) {
    guard !isEnded else { return }
    replicator.handle(inputs, now: device.time)
    if !isEnded { world.judged { try $0.stepped(device) } }
    world.finishDirection(self)
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
        if !world.isDeaf(device, to: message) { inputs.append(.received(link.id, message)) }
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
    case .dialFailed(let address, let failure):
      dialing.failed(address, failure, now: world.now)
      scheduleDial()
    case .timer(let timer, let order): fired(timer, order)
    case .dial: dial()
    case .room: lookAtDisk()
    case .goOn: goOn()
    }
  }

  // MARK: Links

  private func opened(_ id: LinkID, _ remote: TransportKey, _ introduction: [UInt8]?) {
    guard links[id] != nil else { return }
    if introduction != nil, isPenalised(remote) { world.tally.count("penalised peer") }
    handle([.opened(id, remote: remote, introduction: introduction)])
    guard let peer = replicator.replica.sessions[id]?.device, pausedPeers.contains(peer) else { return }
    send(Message.goodbye(.paused).encoded, to: id)
    world.hangUp(id, device)
  }

  private func isPenalised(_ transport: TransportKey) -> Bool {
    guard let peer = replicator.circle.evaluation.member(transport: transport)?.device else { return false }
    return dialing.isPenalised(peer, now: world.now)
  }

  private func goOn() {
    guard !isEnded else { return }
    replicator.goOn(now: device.time)
    if !isEnded { world.judged { try $0.stepped(device) } }
    world.finishDirection(self)
  }

  private func closed(_ id: LinkID) {
    // Its end comes after all that it has brought.
    while !isEnded, replicator.isWaiting(id) { goOn() }
    guard let (link, end) = links.removeValue(forKey: id) else { return }
    let session = replicator.replica.sessions[id]
    if let peer = session?.device, link.brokeRules[end] { penalise(peer, "an invalid message") }
    handle([.closed(id)])
    if end == 0 {
      if session?.device != nil {
        dialing.ended(link.address, now: world.now)
      } else {
        dialing.failed(link.address, .turnedAway, now: world.now)
      }
    }
    scheduleDial()
  }

  func penalise(_ peer: DeviceKey, _ why: String) {
    dialing.penalise(peer, now: world.now)
    world.penalised(peer, by: device, why)
  }

  func dial() {
    guard !isEnded else { return }
    for address in dialing.due(now: world.now, connected: connected, paused: pausedPeers) {
      world.dial(address, from: device)
    }
    scheduleDial()
  }

  var connected: Set<DeviceKey> {
    Set(replicator.replica.sessions.values.filter { !$0.isClosing }.compactMap(\.device))
  }

  func scheduleDial() {
    guard let next = dialing.nextDue(connected: connected, paused: pausedPeers) else { return }
    let moment = max(next, world.now + 1)
    // One that comes earlier looks again.
    if let dialsAt, world.now < dialsAt, dialsAt <= moment { return }
    dialsAt = moment
    world.later(moment - world.now, .dial(device.number, device.generation))
  }

  // MARK: Timers

  private func fired(_ timer: ReplicaTimer, _ order: UInt64) {
    guard timers[timer] == order else { return }
    timers[timer] = nil
    handle([.timer(timer)])
  }

  // MARK: Disk

  private func lookAtDisk() {
    guard isDiskFull else { return }
    guard device.disk.faults.capacity == nil else { return awaitRoom() }
    isDiskFull = false
    reservedNotes = 2
    replicator.roomAgain(now: device.time)
    if !isEnded { world.judged { try $0.stepped(device) } }
    world.finishDirection(self)
    world.tryAgain(device)
  }

  private func awaitRoom() { world.later(5_000, .room(device.number, device.generation)) }
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
    guard mayAct() else { return }
    if case .misbehaved(let why) = cause, let peer = replicator.replica.sessions[link]?.device {
      penalise(peer, why)
    }
    world.hangUp(link, device)
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
      if let (link, end) = links[link], end == 0 { dialing.succeeded(link.address, peer, now: world.now) }
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

  func storeFailed(_ error: any Error) {
    guard !isEnded else { return }
    world.storeFailed(error, on: device)
    if let error = error as? SQLiteError, error.isFull {
      isDiskFull = true
      awaitRoom()
    } else {
      // As the node does: rather stop than go on where nobody knows what the disk holds.
      device.isSuspect = true
      volume.cut()
    }
  }

  var canStore: Bool { !isDiskFull }

  /// As the node, it holds back room for a note of each lane.
  func freeReserve() -> Bool {
    guard !isEnded, reservedNotes > 0 else { return false }
    reservedNotes -= 1
    device.disk.faults.capacity? += Self.noteBytes
    return true
  }

  private static let noteBytes = 64 * 1024
}

/// The file that ties an incarnation to a simulated disk.
struct IncarnationFile: IncarnationPlace {
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
