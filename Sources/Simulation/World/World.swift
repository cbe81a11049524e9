import Engine
import Membership
package import Replication
import SQLite
import Sodium
import Storage
import VirtualDisk
import Wire

/// Devices of one circle under one virtual clock, with all that can go wrong between and around them.
///
/// One thread, one seed: the same options give the same run, event by event. The replication core, the store and
/// everything signed are the real ones; disks, links, clocks and people are simulated.
package final class World {
  package let options: Options
  package internal(set) var now: Moment = World.start
  package internal(set) var tally = Tally()
  /// How many events there have been.
  package internal(set) var events = 0
  /// A hash over all of them, and over all that was sent.
  package private(set) var trace: UInt64 = 0
  var devices: [Device] = []
  let authority: Authority
  let watch = Watch()
  var random: SplitMix
  private var queue = EventQueue<Event>()
  var links: [LinkID: Link] = [:]
  var linkCount: UInt64 = 0
  var weather = Weather()
  /// What a store of this circle begins with.
  var firstStatements: [Membership.Statement] = []
  /// How many faults there have been.
  var faults = 0
  /// Nothing goes wrong any more.
  var isHealing = false
  /// When copies of one device have had their turns.
  var turnsEnd: Moment?
  /// When all faults ended, and all clocks were set right.
  var healedAt: Moment = 0
  /// What people have done, or tried to.
  var operations: [OperationID] = []
  /// The overrides that a person has confirmed.
  var overrides: [OperationID: ConfirmedOverride] = [:]
  /// Until when somebody is without sync before a revert begins.
  var aloneUntil: Moment = 0
  /// How many devices somebody wanted to let in.
  var guests = 0
  /// How many revocations have been signed.
  var revocations = 0
  /// Whom somebody has taken out of the circle, whether or not it counts.
  var revoked: Set<DeviceKey> = []
  /// Told of what happens, for people who look for a cause.
  package var log: ((String) -> Void)?

  static let start: Moment = 1_800_000_000_000

  enum Event {
    case turn(Int, Int)
    case timer(Int, Int, ReplicaTimer, order: UInt64)
    case peering(Int, Int, PeeringTimer)
    case room(Int, Int)
    case arrive(LinkID, Int)
    case dialled(String, Int, Int)
    case look(LinkID)
    case resume(Int, Int)
    case start(Int)
    case fault
    case people
    /// Something that a fault began ends by itself.
    case end(Ending)
  }

  package init(_ options: Options, log: ((String) -> Void)? = nil) throws {
    self.options = options
    self.log = log
    random = SplitMix(seed: options.seed)
    let count = options.devices + options.adversaries
    let keys = try (0..<count).map { try DeviceKeys(Self.name($0), seed: options.seed) }
    authority = try Authority(founder: keys[0], seed: options.seed, at: Self.start)
    firstStatements = [authority.genesis]
    for (number, guest) in keys.enumerated().dropFirst() {
      // Some were let in by the founder, some by one that was let in before.
      let issuer = random.happens(perThousand: 400) ? keys[random.below(number)].signing : nil
      firstStatements.append(try authority.certificate(for: guest, by: issuer, at: Self.start))
    }
    try entitle(keys)
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
  }

  private static func name(_ number: Int) -> String {
    let names = [
      "alice", "bob", "carol", "dave", "erin", "frank", "grace", "heidi", "ivan", "mallory", "oscar",
    ]
    return number < names.count ? names[number] : "device-\(number)"
  }

  /// Those who pay have an entitlement: one for each, or one for all, as chance has it; for ever, or for some time.
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

  /// Devices that have no entitlement from the start.
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

  /// Everybody was given some addresses; the rest is hearsay.
  private func meet() {
    for device in devices {
      let others = devices.filter { $0 !== device }.map(\.address)
      device.addressBook = others.filter { _ in random.happens(perThousand: 600) }
      if device.addressBook.isEmpty, let one = random.pick(others) { device.addressBook = [one] }
    }
  }

  /// Lays the beginning of a store.
  func found(_ store: Store, of device: Device) throws {
    let statements = device.firstStatements ?? firstStatements
    try store.saveStatements(statements.map { ($0.id, $0.bytes) })
    try store.setMeta(MetaKey.incarnation, Incarnation(random16()).bytes)
  }

  func random16() -> Bytes16 { Bytes16(random.next(), random.next()) }

  /// Whether the faults go on: so many events, or some more until there was something of everything.
  var isStormy: Bool {
    if events < options.events { return true }
    return !options.faults.isEmpty && faults < Self.faultsLeast && events < 4 * options.events
  }

  private static let faultsLeast = 30

  // MARK: Time

  func later(_ milliseconds: Moment, _ event: Event) { queue.add(event, at: now + milliseconds) }

  /// Lets one event happen; false if nothing is due any more.
  package func step() throws -> Bool {
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

  /// Hears an objection of the judge; the run ends with the event.
  func judged(_ body: (Watch) throws -> Void) {
    do { try body(watch) } catch { watch.object(error) }
  }

  func fail(_ rule: Failure.Rule, _ sentence: String) { watch.object(Failure(rule, sentence)) }

  /// Lets go of everything: the parts hold one another.
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

  /// What must hold at the end.
  func judgeAll() throws {
    // What people did last, between two events, may have failed.
    if let objection = watch.objection { throw objection }
    let members = members()
    try watch.healed(
      members.filter { !$0.keepsBack(.settings) }.map(\.device),
      premium: premium(members).filter { !$0.keepsBack(.settings) }.map(\.device),
      excused: members.filter { $0.keepsBack(.records) }.map(\.device))
  }

  /// Verifies the stores of all that run against their logs.
  func verifyStores() throws {
    if let objection = watch.objection { throw objection }
    for device in devices { try watch.verified(device) }
  }

  private func happen(_ event: Event) {
    switch event {
    case .turn(let number, let generation): process(number, generation)?.turn()
    case .timer(let number, let generation, let timer, let order):
      process(number, generation)?.receive(.timer(timer, order: order))
    case .peering(let number, let generation, let timer):
      process(number, generation)?.receive(.peering(.timer(timer)))
    case .room(let number, let generation): process(number, generation)?.receive(.room)
    case .arrive(let link, let end): arrive(link, end)
    case .dialled(let address, let number, let generation): dialled(address, number, generation)
    case .look(let link): look(link)
    case .resume(let number, let generation):
      if let process = process(number, generation) { resume(process) }
    case .start(let number): start(devices[number])
    case .fault: if !isHealing { causeFault() }
    case .people: if !isHealing { letPeopleAct() }
    case .end(let ending): end(ending)
    }
  }

  private func process(_ number: Int, _ generation: Int) -> Process? {
    let device = devices[number]
    return device.generation == generation ? device.process : nil
  }

  /// Adds the bytes of a message to the hash of the run, by which two runs are compared.
  func note(bytes: [UInt8]) {
    mix(UInt64(bytes.count))
    for byte in bytes.suffix(48) { mix(UInt64(byte)) }
  }

  private func mix(_ number: UInt64) { trace = (trace ^ number) &* 0x100_0000_01b3 }
}
