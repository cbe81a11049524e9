import Engine
import FileFormat
import Membership
package import Replication
import SQLite
import Sodium
import Storage
import VirtualDisk
import Wire

// The simulated world: one seed decides everything
//
// A world begins as a circle of 2 to 9 honest devices and up to 2 adversaries, on one thread under a virtual clock. The
// code under test is the production code: replication core, engine, store, and all statements with real signatures.
// Its surroundings are simulated: disks (VirtualDisk), the network (`Link`, `Weather`), wall clocks, users, and the
// shell around the engine (`Process`, in place of the node).
//
// Everything that happens is an event in one queue, ordered by time. `step()` takes the earliest event, moves the clock
// to the event's time and handles the event. Handling an event draws from the only random generator and adds later
// events:
//
//   Options(seed: 7) ──▶ World ──▶ queue:  +120 .turn(bob)   +124 .arrive(link 3)   +130 .fault   +141 .people
//                                             │ step()
//        ┌──────────────────────┬─────────────┴────────────┬──────────────────────────┐
//   .turn, .timer, .arrive …  .fault                     .people                    .end
//   the engine handles inputs kill, partition, full disk, a user writes, deletes,    a fault ends, or its
//   and performs effects      skewed clock, adversary …   begins an override …       next stage begins
//        │                                                      │
//        └───────────▶ Watch ──▶ Judge: reads the store after each step and write; throws at the first violation
//
// A run (Run.swift) has four phases:
//   1. Faults occur for `events` events, or longer if fewer than 30 faults have occurred by then.
//   2. `heal()` and `converge()`: without faults, all members must reach the same statements, heads and digests within
//      half an hour of virtual time.
//   3. `lastWords()`: each member writes once more, and all others must receive the write within 8 minutes.
//   4. `settleFiles()`: in a run with files, every file must arrive on every device whose keep policy wants it.
//
// A `Device` has a disk that outlives its processes. Killing a process cuts the process off from the disk, and the next
// start opens a new store on the same disk. `generation` changes with each start and end of a process, so that events
// meant for a dead process are ignored.
//
// Nothing here may depend on real time, threads or the order of a `Set` or `Dictionary`, because a seed would then not
// reproduce its failure. Collections are therefore sorted before anything is drawn from them. A branch restarts the
// generators after a number of events, so that everything up to there is repeated. `trace` is a hash of all
// events and messages, which `simulator --twice` compares between two runs. For a failure, the simulator prints the
// options as one line, which `simulator --run` replays, and then searches for a smaller run (Shrinker.swift).

/// The devices of one circle under one virtual clock, with faults in their network, disks, clocks and processes.
///
/// A world runs on one thread from one seed, so the same options give the same run, event by event.
package final class World {
  package let options: Options
  package internal(set) var now: Moment = World.start
  package internal(set) var tally = Tally()
  /// The rare states of the run so far, and what they coincided with.
  var marks = Marks()
  /// The number of events so far.
  package internal(set) var events = 0
  /// A hash over all events and all sent messages.
  package private(set) var trace: UInt64 = 0
  var devices: [Device] = []
  let authority: Authority
  let watch = Watch()
  var random = SplitMix(seed: 0)
  private var queue = EventQueue<Event>()
  var links: [LinkID: Link] = [:]
  var linkCount: UInt64 = 0
  var weather = Weather()
  /// Randomness of everything about quotas, so that it changes nothing else.
  var quotaRandom = SplitMix(seed: 0)
  /// Randomness of everything about files.
  var fileRandom = SplitMix(seed: 0)
  /// Randomness of everything about purchases.
  var purchaseRandom = SplitMix(seed: 0)
  /// Randomness of everything about withdrawals.
  var withdrawalRandom = SplitMix(seed: 0)
  /// The contents that users attach, by number.
  var contents: [Int: [UInt8]] = [:]
  /// The statements with which each store begins.
  var firstStatements: [Membership.Statement] = []
  /// The number of faults so far.
  var faults = 0
  /// The branches that the run has not reached yet, in order.
  private var branches: ArraySlice<Branch> = []
  /// The fault that is attempted every other time since a branch; nil if there is none.
  var frequentFault: Fault?
  /// Whether the phase of faults is over.
  var isHealing = false
  /// The moment at which all copies of devices will have finished running in turns; nil if there are no copies.
  var turnsEnd: Moment?
  /// The moment at which all faults ended and all clocks were corrected.
  var healedAt: Moment = 0
  /// The operations that users have written or tried to write.
  var operations: [OperationID] = []
  /// The overrides that users have confirmed.
  var overrides: [OperationID: ConfirmedOverride] = [:]
  /// The moment until which some device stays without sync, after which its override begins.
  var aloneUntil: Moment = 0
  /// The number of invitations, used to name guests.
  var guests = 0
  /// The number of revocations that were signed or are reserved for later.
  var revocations = 0
  /// The devices that any device has revoked, whether or not the revocation counts.
  var revoked: Set<DeviceKey> = []
  /// Receives a line for each event, for debugging.
  package var log: ((String) -> Void)?

  static let start: Moment = 1_800_000_000_000

  enum Event {
    case turn(Int, Int)
    case timer(Int, Int, ReplicaTimer, order: UInt64)
    case peering(Int, Int, PeeringTimer)
    case room(Int, Int)
    /// A disk has taken its time to make received files durable.
    case filesWritten(Int, Int, [FileReference])
    case arrive(LinkID, Int)
    case dialled(String, Int, Int)
    case look(LinkID)
    case resume(Int, Int)
    case start(Int)
    case fault
    case people
    case filePeople
    case purchase
    case withdrawal
    /// A delayed action of a fault.
    case end(Ending)
  }

  package init(_ options: Options, log: ((String) -> Void)? = nil) throws {
    self.options = options
    self.log = log
    branches = options.branches.sorted { $0.event < $1.event }[...]
    let count = options.devices + options.adversaries
    let keys = try (0..<count).map { try DeviceKeys(Self.name($0), seed: options.seed) }
    authority = try Authority(founder: keys[0], seed: options.seed, at: Self.start)
    firstStatements = [authority.genesis]
    draw(from: options.seed)
    for (number, guest) in keys.enumerated().dropFirst() {
      // Some devices are certified with the root key, others by a device that was certified before them.
      let issuer = random.happens(perThousand: 400) ? keys[random.below(number)].signing : nil
      firstStatements.append(try authority.certificate(for: guest, by: issuer, at: Self.start))
    }
    try entitle(keys)
    if options.withdrawalsEvery > 0 { try pinSecondIssuer() }
    if options.quota > 0 {
      watch.judge.quotas = [UInt64(options.quota), UInt64(options.quota)]
      for honest in keys.prefix(options.devices) {
        firstStatements += try grants(to: honest.device, Self.ample)
      }
    }
    for (number, keys) in keys.enumerated() {
      devices.append(
        Device(
          keys, number: number, world: self, isHonest: number < options.devices,
          preference: random.happens(perThousand: 800)))
    }
    meet()
    for device in devices { start(device) }
    later(random.wait(options.faultsEvery), .fault)
    later(random.wait(options.peopleEvery), .people)
    if options.files > 0 {
      watch.judge.trashDaysKey = Store.trashDaysKey.id.raw.bytes
      later(fileRandom.wait(options.peopleEvery), .filePeople)
    }
    if options.purchasesEvery > 0 { later(purchaseRandom.wait(options.purchasesEvery), .purchase) }
    if options.withdrawalsEvery > 0 { later(withdrawalRandom.wait(options.withdrawalsEvery), .withdrawal) }
  }

  /// Restarts all random generators of the world. Those of disks and processes continue as before.
  private func draw(from seed: UInt64) {
    random = SplitMix(seed: seed)
    quotaRandom = SplitMix(seed: seed ^ 0x7175_6f74_6173_0002)
    fileRandom = SplitMix(seed: seed ^ 0x6669_6c65_7300_0002)
    purchaseRandom = SplitMix(seed: seed ^ 0x7075_7263_6873_0002)
    withdrawalRandom = SplitMix(seed: seed ^ 0x7769_7468_6472_0002)
  }

  // MARK: Quotas

  /// The quotas of devices without a grant.
  var quotas: DeviceQuotas {
    let quota = UInt64(options.quota)
    return quota > 0 ? DeviceQuotas(settings: quota, records: quota) : .standard
  }

  /// A quota that no device exhausts.
  static let ample: UInt64 = 1 << 40

  /// Returns grants for both lanes, signed with the root key.
  func grants(to device: DeviceKey, _ bytes: UInt64) throws -> [Membership.Statement] {
    try Lane.allCases.map { lane in
      try Membership.Statement(
        signing: Grant(
          circle: authority.circle, issuer: DeviceKey(authority.root), device: device, lane: lane,
          bytes: bytes, issued: Self.start), with: authority.root)
    }
  }

  /// Now and then an admin grants an adversary more, so that sets that were dropped have to be requested again.
  func grantSometimes(_ adversary: Device) {
    guard options.quota > 0, quotaRandom.happens(perThousand: 60),
      let device = quotaRandom.pick(devices.filter { $0.isHonest && $0.process?.isServing == true }),
      let circle = device.process?.replicator.circle
    else { return }
    let lane: Lane = quotaRandom.happens(perThousand: 500) ? .records : .settings
    let quota =
      circle.evaluation.quota(of: adversary.key, lane) + UInt64(quotaRandom.logarithmic(500, 20_000))
    let key = quotaRandom.happens(perThousand: 500) ? authority.root : device.keys.signing
    guard
      let statement = try? Membership.Statement(
        signing: Grant(
          circle: authority.circle, issuer: DeviceKey(key), device: adversary.key, lane: lane, bytes: quota,
          issued: Self.start), with: key)
    else { return }
    mark("granted", on: adversary)
    learn(device, statement)
  }

  private static func name(_ number: Int) -> String {
    let names = [
      "alice", "bob", "carol", "dave", "erin", "frank", "grace", "heidi", "ivan", "mallory", "oscar",
    ]
    return number < names.count ? names[number] : "device-\(number)"
  }

  /// Issues entitlements to the paying devices. At random, there is one for each device or one for all, and their time
  /// is limited or unlimited.
  private func entitle(_ keys: [DeviceKeys]) throws {
    let isForAll = options.free == 0 && random.happens(perThousand: 400)
    let paying = keys.enumerated().filter { number, _ in
      if number >= options.devices { return isForAll || random.happens(perThousand: 500) }
      return number < options.devices - options.free
    }
    let days = Moment(20 + random.below(1_000))
    let end = random.happens(perThousand: 300) ? Self.start + days * 86_400_000 : Self.start * 2
    let times = Self.start - 1_000..<end
    if isForAll {
      return firstStatements.append(try authority.entitlement(for: nil, times, issuedAt: 0))
    }
    for device in paying.map(\.element.device) {
      firstStatements.append(try authority.entitlement(for: [device], times, issuedAt: 0))
    }
  }

  /// The devices without an initial entitlement.
  var unpaid: [Device] {
    devices.filter { device in
      !firstStatements.contains {
        if case .entitlement(let body) = $0.content {
          body.devices?.contains(device.key) ?? true
        } else {
          false
        }
      }
    }
  }

  /// Gives each device the addresses of some others. It learns the remaining addresses from statements.
  private func meet() {
    for device in devices {
      let others = devices.filter { $0 !== device }.map(\.address)
      device.addressBook = others.filter { _ in random.happens(perThousand: 600) }
      if device.addressBook.isEmpty, let one = random.pick(others) { device.addressBook = [one] }
    }
  }

  /// Initializes a new store.
  func found(_ store: Store, of device: Device) throws {
    let statements = device.firstStatements ?? firstStatements
    try store.saveStatements(statements.map { ($0.id, $0.bytes) })
    try store.setMeta(MetaKey.incarnation, Incarnation(random: random16(), number: 1).bytes)
  }

  func random16() -> Bytes16 { Bytes16(random.next(), random.next()) }

  /// Whether the phase of faults continues. It lasts for `events` events. If too few faults have occurred by then, it
  /// continues until enough have, but for at most four times `events` events in all.
  var isStormy: Bool {
    if events < options.events { return true }
    return !options.faults.isEmpty && faults < Self.faultsLeast && events < 4 * options.events
  }

  private static let faultsLeast = 30

  // MARK: Time

  func later(_ milliseconds: Moment, _ event: Event) { queue.add(event, at: now + milliseconds) }

  /// Handles the next event; returns false if there is none.
  package func step() throws -> Bool {
    while let branch = branches.first, branch.event <= events {
      branches.removeFirst()
      draw(from: branch.seed)
      frequentFault = branch.fault
    }
    guard let (at, event) = queue.take() else { return false }
    now = max(now, at)
    events += 1
    mix(UInt64(now - Self.start))
    log?("\(now - Self.start) \(event)")
    happen(event)
    bury()
    if let objection = watch.objection { throw objection }
    return true
  }

  /// Runs a check. If this is the first one to throw an error, the run ends with that error after the current event.
  func judged(_ body: (Watch) throws -> Void) {
    do { try body(watch) } catch { watch.object(error) }
  }

  func fail(_ rule: Failure.Rule, _ sentence: String) { watch.object(Failure(rule, sentence)) }

  /// Ends all processes and breaks their reference cycles.
  func end() {
    for device in devices {
      device.process?.volume.cut()
      device.process?.replicator.close()
      device.process = nil
    }
  }

  var tallyWithDisks: Tally {
    var all = tally
    for device in devices { all.add(device.disk.counters) }
    return all
  }

  /// Checks everything that must hold at the end of a run.
  func judgeAll() throws {
    // A check of a user's action between two events may have failed.
    if let objection = watch.objection { throw objection }
    let members = members()
    try watch.healed(
      members.filter { !$0.keepsBack(.settings) }.map(\.device),
      premium: premium(members).filter { !$0.keepsBack(.settings) }.map(\.device),
      withholding: members.filter { $0.keepsBack(.records) }.map(\.device))
  }

  /// Verifies the stores of all running devices against their logs.
  func verifyStores() throws {
    if let objection = watch.objection { throw objection }
    for device in devices {
      try watch.verified(device)
      try watch.checkFiles(device)
    }
  }

  private func happen(_ event: Event) {
    switch event {
    case .turn(let number, let generation): process(number, generation)?.turn()
    case .timer(let number, let generation, let timer, let order):
      process(number, generation)?.receive(.timer(timer, order: order))
    case .peering(let number, let generation, let timer):
      process(number, generation)?.receive(.peering(.timer(timer)))
    case .room(let number, let generation): process(number, generation)?.receive(.room)
    case .filesWritten(let number, let generation, let files):
      process(number, generation)?.receive(.filesWritten(files))
    case .arrive(let link, let end): arrive(link, end)
    case .dialled(let address, let number, let generation): dialled(address, number, generation)
    case .look(let link): look(link)
    case .resume(let number, let generation):
      if let process = process(number, generation) { resume(process) }
    case .start(let number): start(devices[number])
    case .fault: if !isHealing { causeFault() }
    case .people: if !isHealing { letPeopleAct() }
    case .filePeople: if !isHealing { letPeopleUseFiles() }
    case .purchase: if !isHealing { letPeopleBuy() }
    case .withdrawal: if !isHealing { letPeopleWithdraw() }
    case .end(let ending): end(ending)
    }
  }

  private func process(_ number: Int, _ generation: Int) -> Process? {
    let device = devices[number]
    return device.generation == generation ? device.process : nil
  }

  /// Adds a message's size and last 48 bytes to `trace`.
  func note(bytes: [UInt8]) {
    mix(UInt64(bytes.count))
    for byte in bytes.suffix(48) { mix(UInt64(byte)) }
  }

  private func mix(_ number: UInt64) { trace = (trace ^ number) &* 0x100_0000_01b3 }
}
