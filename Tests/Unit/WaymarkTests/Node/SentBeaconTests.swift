import Home
import Membership
import Platform
import Reasons
import Replication
import Synchronization
import Testing
import WaymarkCare
import WaymarkTesting
import Wire

@testable import NodeRuntime
@testable import Transport
@testable import Waymark

/// When a node sends beacons, from where, and to whom.
struct SentBeaconTests {
  /// Carries beacons nowhere, and notes what it was given.
  private final class Carrier: BeaconCarrier {
    struct Round: Sendable {
      let beacons: [[UInt8]]
      let place: BeaconInterface
    }

    private struct State {
      var rounds: [Round] = []
      var joined: [[String]] = []
      var withdrawals = 0
    }

    private let state = Mutex(State())

    var rounds: [Round] { state.withLock { $0.rounds } }
    var joined: [[String]] { state.withLock { $0.joined } }
    var withdrawals: Int { state.withLock { $0.withdrawals } }

    func start() {}

    func close(whenClosed: @escaping @Sendable () -> Void) { whenClosed() }

    func join(_ places: [BeaconInterface]) { state.withLock { $0.joined.append(places.map(\.interface)) } }

    func send(_ beacons: [[UInt8]], from place: BeaconInterface) -> Int {
      state.withLock { $0.rounds.append(Round(beacons: beacons, place: place)) }
      return beacons.count
    }

    func withdraw() { state.withLock { $0.withdrawals += 1 } }
  }

  private static let flags = UInt32(IFF_UP) | UInt32(IFF_RUNNING) | UInt32(IFF_BROADCAST)

  private func interface(_ host: String, _ name: String) throws -> NetworkInterface {
    try ScriptedTransport.interface(host, name: name, flags: Self.flags)
  }

  private func keys(_ circle: CircleID, of own: Identity, with other: Identity) -> BeaconKeyring {
    let keyring = BeaconKeyring(BeaconKeys(circle: circle, transport: own.transport))
    keyring.update([(device: other.device, transport: other.transportKey)])
    return keyring
  }

  private func schedule(
    _ carriers: [Carrier], trouble: SystemError? = nil, places: [BeaconInterface] = [],
    keys: BeaconKeyring? = nil
  ) throws -> BeaconSchedule {
    let identity = try Identity.generate()
    let circle = CircleID(Bytes32(0, 0, 0, 7))
    return BeaconSchedule(
      carriers: carriers, trouble: trouble,
      keys: keys ?? BeaconKeyring(BeaconKeys(circle: circle, transport: identity.transport)),
      discovery: Discovery(seed: 1), places: places)
  }

  /// The state of a node that listens on every IPv4 address, at port 7000.
  private func serving(_ beacons: BeaconSchedule?) throws -> ServingState {
    let request = ServingState.Request(
      endpoint: Endpoint(host: "0.0.0.0", port: 7_000), peers: [], discovers: true)
    var serving = ServingState(
      request, listener: try ScriptedTransport(at: "0.0.0.0:7000").listener, startedAt: 0)
    serving.beacons = beacons
    return serving
  }

  @Test func `each interface sends a beacon with its own address and the port of the node`() throws {
    let (alice, bob) = (try Identity.generate(), try Identity.generate())
    let circle = CircleID(Bytes32(0, 0, 0, 7))
    let carriers = [Carrier(), Carrier()]
    var serving = try serving(try schedule(carriers, keys: keys(circle, of: alice, with: bob)))
    serving.interfaces = [try interface("192.0.2.1", "eth0"), try interface("198.51.100.1", "eth1")]
    let (hasMoved, movesAgain) = (serving.moveBeacons(), serving.moveBeacons())
    #expect(hasMoved && !movesAgain)
    for carrier in carriers { #expect(carrier.joined == [["eth0", "eth1"]]) }
    serving.beacons?.discovery.begin(now: 0)
    let sent = serving.sendBeacons(to: [bob.device], by: alice.signing, wall: 1_000, now: 0)
    #expect(sent == 2, "each counts once, however many carriers it has")
    let bobs = keys(circle, of: bob, with: alice)
    for carrier in carriers {
      #expect(carrier.rounds.map(\.place.interface) == ["eth0", "eth1"])
      let opened = carrier.rounds.flatMap(\.beacons).compactMap { bobs.open($0) }
      #expect(opened.map(\.sender) == [alice.device, alice.device])
      #expect(opened.map(\.beacon.host) == carrier.rounds.compactMap(\.place.host))
      #expect(opened.map(\.beacon.port) == [7_000, 7_000])
      #expect(opened.count == 2 && opened[0].beacon.time < opened[1].beacon.time)
    }
  }

  @Test func `a round is sent when it is due, and withdrawn once no device is missing`() throws {
    let (alice, bob) = (try Identity.generate(), try Identity.generate())
    let carrier = Carrier()
    var serving = try serving(
      try schedule([carrier], keys: keys(CircleID(Bytes32(0, 0, 0, 7)), of: alice, with: bob)))
    serving.interfaces = [try interface("192.0.2.1", "eth0")]
    _ = serving.moveBeacons()
    func send(to devices: [DeviceKey], now: Moment) -> UInt64 {
      serving.sendBeacons(to: devices, by: alice.signing, wall: 1_000 + now, now: now)
    }
    let early = send(to: [bob.device], now: 0)
    #expect(early == 0, "no round has begun")
    serving.beacons?.discovery.begin(now: 0)
    let (first, second) = (send(to: [bob.device], now: 0), send(to: [bob.device], now: 1))
    #expect(first == 1 && second == 0 && carrier.rounds.count == 1)
    #expect(carrier.withdrawals == 0)
    let none = send(to: [], now: 2)
    #expect(none == 0 && carrier.withdrawals == 1 && carrier.rounds.count == 1)
  }

  @Test func `a machine that moves to another network sends from there, and without discovery nothing moves`()
    throws
  {
    let carrier = Carrier()
    var serving = try serving(try schedule([carrier]))
    for (host, name) in [("192.0.2.1", "eth0"), ("198.51.100.1", "wlan0")] {
      serving.interfaces = [try interface(host, name)]
      let hasMoved = serving.moveBeacons()
      #expect(hasMoved, "\(name)")
    }
    #expect(carrier.joined == [["eth0"], ["wlan0"]])
    #expect(serving.beacons?.places.map(\.interface) == ["wlan0"])
    var quiet = try self.serving(nil)
    quiet.interfaces = serving.interfaces
    let hasMoved = quiet.moveBeacons()
    #expect(!hasMoved)
  }

  @Test func `a status says why devices can't be found`() throws {
    let place = try #require(try interface("192.0.2.1", "eth0").place(port: 7_433))
    let inUse = SystemError(call: "bind", code: EADDRINUSE)
    let odd = SystemError(call: "socket", code: EMFILE)
    let taken = try #require(try schedule([], trouble: inUse, places: [place]).notice)
    #expect(taken.reason == .notDiscovering && taken.text.description.contains("UDP port 7433"))
    #expect(taken.next?.description.contains("--no-discovery") == true)
    let failed = try #require(try schedule([], trouble: odd, places: [place]).notice)
    #expect(failed.reason == .notDiscovering && failed.text.description.contains(odd.description))
    let alone = try #require(try schedule([Carrier()]).notice)
    #expect(alone.reason == .notDiscovering && alone.text.description.contains("no network for beacons"))
    #expect(try schedule([Carrier()], places: [place]).notice == nil)
    // Beacons still travel in the other way.
    #expect(try schedule([Carrier()], trouble: inUse, places: [place]).notice == nil)
  }

  @Test func `beacons are sent while a device is missing, and not to a paused one`() async throws {
    let circle = try await TestCircle("alice", "bob", premium: .nobody)
    let alice = circle["alice"]
    let bob = try await circle["bob"].status().device
    let carrier = Carrier()
    let place = try #require(try interface("192.0.2.1", "eth0").place(port: 7_433))
    await alice.discover(through: carrier, from: [place])
    func minutePasses() async throws -> Int {
      let before = carrier.rounds.count
      try await circle.clock.advance(by: .seconds(60))
      return carrier.rounds.count - before
    }
    #expect(try await minutePasses() == 0, "Bob is connected")
    #expect(carrier.withdrawals > 0)
    await circle.disconnect("alice", "bob")
    #expect(try await minutePasses() > 0)
    let keys = await (
      circle: alice.circle.id, alice: alice.identity, bob: circle["bob"].withCore { $0.identity }
    )
    let bobs = self.keys(keys.circle, of: keys.bob, with: keys.alice)
    let opened = carrier.rounds.flatMap(\.beacons).compactMap { bobs.open($0) }
    #expect(opened.count == carrier.rounds.count && opened.allSatisfy { $0.beacon.port == 7_433 })
    #expect(
      try await alice.metrics().contains("\nwaymark_beacons_sent_total \(carrier.rounds.count)\n"))
    try await alice.pause(bob)
    #expect(try await minutePasses() == 0, "Bob is paused")
    try await alice.resume(bob)
    #expect(try await minutePasses() > 0)
    await circle.connect("alice", "bob")
    try await circle.settle()
    #expect(try await minutePasses() == 0, "Bob is connected again")
    await circle.close()
  }

  @Test func `that there is no network for beacons is told only while a device is missing`() async throws {
    let circle = try await TestCircle("alice", "bob", premium: .nobody)
    let alice = circle["alice"]
    await alice.discover(through: Carrier(), from: [])
    func isTold() async throws -> Bool {
      try await alice.status().notices.contains { $0.reason == .notDiscovering }
    }
    #expect(try await !isTold())
    await circle.disconnect("alice", "bob")
    try await eventually("Alice misses Bob") {
      try await circle.clock.quiet()
      return try await isTold()
    }
    await circle.connect("alice", "bob")
    try await circle.settle()
    #expect(try await !isTold())
    await circle.close()
  }
}

extension Node {
  /// Begins to send beacons through a carrier.
  fileprivate func discover(through carrier: any BeaconCarrier, from places: [BeaconInterface]) {
    core.connections.serving?.beacons = BeaconSchedule(
      carriers: [carrier], trouble: nil,
      keys: BeaconKeyring(BeaconKeys(circle: circle.id, transport: identity.transport)),
      discovery: Discovery(seed: 1), places: places)
    core.connections.membersMayHaveChanged()
  }
}
