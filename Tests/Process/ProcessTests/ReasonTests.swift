import Exchange
import Foundation
import JSONDocument
import Processes
import Testing
import Waymark
import WaymarkCare
import Wire

/// Every reason is provoked on real nodes, reported alike by every command, and resolved by its own next step.
@Suite(.serialized) struct ReasonTests {
  /// The test below that provokes each reason.
  static let here: [Set<Reason>] = [
    between, alone, premium, clocks, membership, addresses, damage, amounts, stores,
  ]

  private static let between: Set<Reason> = [
    .inSync, .paused, .refusedByPeer, .syncOff, .peerSyncOff, .sending, .conflicts, .eraseUnheard,
  ]
  private static let alone: Set<Reason> = [.connecting, .dialTimeout, .dialRefused, .notRunning, .offline]
  private static let premium: Set<Reason> = [
    .freeTier, .peerFreeTier, .entitlementNotYetValid, .entitlementExpired, .peerEntitlementExpired,
    .entitlementWithdrawn,
  ]
  private static let clocks: Set<Reason> = [.notSeen, .peerClockAhead, .clockAhead, .clockSkew, .parked]
  private static let membership: Set<Reason> = [.turnedAway, .revocationUnheard, .revoked]
  private static let addresses: Set<Reason> = [.noRoute, .newerProtocol, .notAMember]
  private static let damage: Set<Reason> = [.damagedSet, .waitingDependency, .digestMismatch]
  private static let amounts: Set<Reason> = [.massDeletion, .receiving]
  private static let stores: Set<Reason> = [.settingsBeyondLimits, .storeFailed]

  /// Reasons that need a separate machine, and where those are provoked.
  static let elsewhere: [Reason: String] = [
    .diskFull: "Tests/Faults/Nodes/full.py, on a small tmpfs (FaultTests)",
    .overrideWaiting: "DirectionTests", .overrideOvertaken: "DirectionTests",
    .incarnationsSpent: "WaymarkTests, RestampTests: sixteen logs begun",
    .memberIsLarge: "Tests/Faults/Attack/quota.py: a member that writes 400 MiB of settings",
    .clocksDiffer: "Tests/Faults/Nodes/lan.py, on networks of their own (FaultTests)",
    .notDiscovering: "Tests/Faults/Nodes/lan.py (FaultTests)",
    .singleAdmin: "MembershipCallTests", .leaving: "MembershipCallTests",
    .massErase: "EraseTests", .eraseAwaited: "EraseTests",
    .purchaseRefunded: "PurchaseProcessTests", .purchaseUnjudged: "PurchaseProcessTests",
    .purchaseUnconfirmed: "GateTests: a subscription that was confirmed 36 days ago",
    .purchaseRefresh: "WaymarkTests, PurchaseCallTests",
    .syncInvited: "FirstMinuteTests", .premiumEnds: "WaymarkTests, OwnPremiumCallTests",
    .fork: "Tests/Independent/Interop/scenario.py: two sets of one key for one place",
    .valuesMissing: "Tests/Independent/Hostile/absence.py, missing_slots: a member that withholds values",
    .tooManyBranches: "Tests/Independent/Hostile, branches.py: 40 branches of one log",
    .badSignature: "Tests/Independent/Hostile, check_blame: a member that sends what no correct node sends",
  ]

  @Test func `every reason is provoked somewhere`() {
    var left = Set(Reason.ofStates)
    for reasons in Self.here { left.subtract(reasons) }
    left.subtract(Self.elsewhere.keys)
    #expect(left.isEmpty, "no test provokes \(left)")
  }

  @Test func `reasons that keep apart two devices that see each other`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let probe = Probe()
    let circle = try await TestCircle.make(["alice", "bob"], on: stage, isPremium: true)
    let (alice, bob) = (circle["alice"], circle["bob"])
    try await bob.start()
    try await alice.text("trip", "add", "name=Rome")
    try await probe.seeSync(of: alice, with: "bob")

    try await alice.text("peers", "pause", "bob")
    let paused = try await probe.see(.paused, on: alice, of: "bob")
    try await probe.see(.refusedByPeer, on: bob, of: "alice")
    try await probe.follow(paused, on: alice)
    try await probe.seeSync(of: bob, with: "alice")

    try await alice.text("sync", "off")
    let off = try await probe.see(.syncOff, on: alice, exit: 0)
    #expect(off["consequences"] == ["bob"], "reported once, for the device, and not for each peer")
    try await probe.see(.peerSyncOff, on: bob, of: "alice", exit: 0)
    try await probe.follow(off, on: alice)
    try await probe.seeSync(of: bob, with: "alice")

    let node = try #require(bob.nodeID)
    kill(node, SIGSTOP)
    try await alice.text("trip", "add", "name=Oslo")
    try await probe.see(.sending, on: alice, of: "bob")
    kill(node, SIGCONT)
    try await probe.seeSync(of: alice, with: "bob")

    try await bob.stop()
    try await alice.text("trip", "edit", "Rome", "name=Roma")
    try await alice.stop()
    try await bob.text("trip", "edit", "Rome", "name=Rom")
    try await alice.start()
    try await bob.start()
    try await probe.seeSync(of: alice, with: "bob")
    try await probe.see(.conflicts, on: alice, exit: 6)
    try await alice.text("conflicts", "resolve", "--all", "--take", "winner", "--yes")
    try await probe.gone(.conflicts, on: alice)

    try await bob.stop()
    try await alice.text("erase", "Oslo", "--yes")
    try await probe.see(.eraseUnheard, on: alice)
    try await bob.start()
    try await probe.gone(.eraseUnheard, on: alice)
    #expect(probe.reasons == Self.between)
  }

  @Test func `reasons why a device can't be reached`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let probe = Probe()
    let circle = try await TestCircle.make(["alice", "bob"], on: stage, isPremium: true)
    let (alice, bob) = (circle["alice"], circle["bob"])
    try await bob.start()
    try await probe.seeSync(of: alice, with: "bob")
    let node = try #require(bob.nodeID)
    try await alice.stop()
    let idle = try await probe.see(.notRunning, on: alice)
    #expect(idle["consequences"] == ["bob"])
    #expect(idle["next"]?.string?.withoutHome == "waymark run")
    kill(node, SIGSTOP)
    try await alice.start()
    try await probe.gone(.notRunning, on: alice)
    try await probe.see(.connecting, on: alice, of: "bob")
    try await probe.see(.dialTimeout, on: alice, of: "bob", seconds: 60)
    kill(node, SIGCONT)
    try await alice.text("sync", "now")
    try await probe.seeSync(of: alice, with: "bob")

    try await bob.stop()
    let refused = try await probe.see(.dialRefused, on: alice, of: "bob", seconds: 60)
    #expect(refused["next"]?.string?.withoutHome == "waymark run, on bob")
    try await bob.start()
    try await probe.seeSync(of: alice, with: "bob")

    let carol = Device("carol", on: stage)
    try await carol.join(alice)
    let never = try await probe.see(.offline, on: alice, of: "carol", exit: 0)
    #expect(never["next"]?.string?.withoutHome == "waymark run, on carol")
    try await carol.text("sync", "on")
    try await carol.start()
    try await probe.seeSync(of: alice, with: "carol")
    #expect(probe.reasons == Self.alone.union([.inSync]))
  }

  @Test func `reasons why records are not synced`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let probe = Probe()
    let circle = try await TestCircle.make(["alice", "bob"], on: stage, isPremium: false)
    let (alice, bob) = (circle["alice"], circle["bob"])
    let status = try await alice.status()
    let bobs = try await bob.status().device
    func certificate(_ device: String, from: TimeInterval, until: TimeInterval) async throws -> String {
      try await circle.seller.certificate(
        status.circle, for: [device], from: from, until: until, with: alice)
    }
    try await bob.start()
    let free = try await probe.see(.freeTier, on: alice, exit: 0)
    #expect(try await alice.text("help", "premium").contains("waymark entitlement install FILE"))
    #expect(free["next"]?.string?.withoutHome == "waymark help premium")
    try await alice.text(
      "entitlement", "install", certificate(status.device, from: -100, until: Seller.year))
    try await alice.text("sync", "on")
    try await probe.gone(.freeTier, on: alice)
    try await probe.see(.peerFreeTier, on: alice, of: "bob", exit: 0)

    try await bob.text("entitlement", "install", certificate(bobs, from: 3_600, until: Seller.year))
    try await probe.see(.entitlementNotYetValid, on: bob, exit: 0)
    try await bob.text("entitlement", "install", certificate(bobs, from: -200, until: -100))
    try await probe.see(.entitlementExpired, on: bob, exit: 0)
    try await probe.see(.peerEntitlementExpired, on: alice, of: "bob", exit: 0)
    try await bob.text("entitlement", "install", certificate(bobs, from: -100, until: Seller.year))
    try await bob.text("sync", "on")
    try await probe.seeSync(of: alice, with: "bob")

    // The seller takes back what Bob has, with its own key, on Bob's device.
    let premium = try await bob.json("premium", "show")
    let held = premium["entitlements"]?.array?.filter { $0["devices"]?[0]?.string == bobs } ?? []
    let ids = held.compactMap { $0["state"] == "expired" ? nil : $0["id"]?.string }
    #expect(ids.count == 2)
    for id in ids {
      try await bob.text(
        "entitlement", "remove", String(id.prefix(12)), "--key", circle.seller.key, "--yes")
    }
    try await probe.see(.entitlementWithdrawn, on: bob, exit: 0)
    try await probe.see(.peerFreeTier, on: alice, of: "bob", exit: 0)
    #expect(probe.reasons == Self.premium.union([.inSync]))
  }

  private static let month = 30 * 86_400

  @Test func `reasons caused by clocks`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let probe = Probe()
    let circle = try await TestCircle.make(["alice", "bob", "carol"], on: stage, isPremium: true)
    let (alice, bob, carol) = (circle["alice"], circle["bob"], circle["carol"])
    for device in [bob, carol] { try await device.start() }
    try await alice.text("trip", "add", "name=Rome")
    for device in [bob, carol] { try await device.waitForSync(with: alice) }
    try await alice.stop()
    alice.clockAhead = Self.month
    let unseen = try await probe.see(.notSeen, on: alice)
    #expect(unseen["text"] == "bob, carol have not been seen for two weeks or more")

    // Her clock is wrong by comparison with both others; her changes are parked on their devices.
    try await alice.start()
    try await alice.text("trip", "edit", "Rome", "name=Roma")
    try await probe.see(.clockSkew, on: alice)
    let ahead = try await probe.see(.peerClockAhead, on: bob)
    #expect(ahead["consequences"] == ["alice"], "reported once, and not also for the changes that wait")
    let codes = try await bob.status().document["reasons"]?.array?.compactMap { $0["reason"]?.string } ?? []
    #expect(codes.contains("clock_skew") == false, "his own clock is right: \(codes)")
    try await alice.stop()
    alice.clockAhead = 0
    try await alice.start()
    let restamp = try await probe.see(.clockAhead, on: alice)
    try await probe.follow(restamp, on: alice)
    for device in [bob, carol] { try await probe.gone(.peerClockAhead, on: device) }

    // Now Bob's clock is wrong: he parks the others' changes.
    for device in [alice, carol] {
      try await device.stop()
      device.clockAhead = Self.month
      try await device.start()
    }
    try await alice.text("trip", "add", "name=Oslo")
    try await probe.see(.parked, on: bob)
    try await probe.see(.clockSkew, on: bob)
    try await bob.stop()
    bob.clockAhead = Self.month
    try await bob.start()
    for reason in [Reason.parked, .clockSkew] { try await probe.gone(reason, on: bob) }
    #expect(probe.reasons == Self.clocks)
  }

  @Test func `reasons caused by a revocation`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let probe = Probe()
    let circle = try await TestCircle.make(["alice", "bob", "carol"], on: stage, isPremium: true)
    let (alice, bob, carol) = (circle["alice"], circle["bob"], circle["carol"])
    for device in [bob, carol] { try await device.start() }
    for device in [bob, carol] { try await device.waitForSync(with: alice) }
    for device in [bob, carol] { try await device.stop() }
    try await alice.text("revoke", "bob", "--yes")
    try await probe.see(.revocationUnheard, on: alice)
    try await bob.start()
    try await probe.see(.turnedAway, on: bob, of: "alice", seconds: 60)
    #expect(try await alice.text("members").contains("revoked"), "as the next step shows")
    // Carol learns of it, and Bob of hers.
    try await bob.stop()
    try await carol.start()
    try await probe.gone(.revocationUnheard, on: alice)

    try await carol.text("trip", "add", "name=Rome")
    try await alice.text("revoke", "carol", "--yes")
    let out = try await probe.see(.revoked, on: carol)
    #expect(out["consequences"]?.array?.count ?? 9 <= 2, "its peers have no reasons of their own")
    try await carol.stop()
    try await carol.join(alice)
    try await carol.start()
    try await probe.gone(.revoked, on: carol)
    #expect(probe.reasons == Self.membership)
  }

  @Test func `reasons for an address where another program or device answers`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let probe = Probe()
    let circle = try await TestCircle.make(["alice", "bob"], on: stage, isPremium: true)
    let (alice, bob) = (circle["alice"], circle["bob"])
    try await bob.start()
    try await alice.text("trip", "add", "name=Rome")
    try await bob.waitForSync(with: alice)
    try await bob.stop()

    let other = Device("mallory", on: stage)
    try await other.text("init", "--name", "mallory")
    let (child, _, _) = try other.begin(["run", "--no-discovery", "--listen", bob.address])
    try await alice.text("sync", "now")
    try await probe.see(.notAMember, on: alice, of: "bob", seconds: 60)
    child.signal(SIGTERM)
    _ = try await child.wait(seconds: 10, for: "the stranger")

    let newer = try stage.python(Self.newerProtocol, [bob.address, try await alice.status().circle])
    try await alice.text("sync", "now")
    try await probe.see(.newerProtocol, on: alice, of: "bob", seconds: 60)
    newer.signal(SIGKILL)
    _ = try await newer.wait(seconds: 10, for: "the newer version")
    try await bob.start()
    try await probe.seeSync(of: alice, with: "bob")

    try await alice.stop()
    // As root, or where unprivileged namespaces are allowed.
    let flag = geteuid() == 0 ? "-n" : "-rn"
    let (cut, ready, _) = try alice.begin(
      ["run", "--no-discovery", "--listen", "[::]:0"], under: ["/usr/bin/unshare", flag, "--"])
    // Not by asking the node: a command that cannot reach one opens the store itself.
    try await eventually("Alice's node runs without a network") {
      try cut.code != nil || String(contentsOf: ready, encoding: .utf8).hasPrefix("ready")
    }
    if cut.code == nil {
      try await probe.see(.noRoute, on: alice, of: "bob", seconds: 60)
      cut.signal(SIGTERM)
      _ = try await cut.wait(seconds: 10, for: "the node without a network")
      try await alice.start()
      try await probe.seeSync(of: alice, with: "bob")
      #expect(probe.reasons == Self.addresses.union([.inSync]))
    } else {
      print("skipped: no right to a network namespace here, so no device was without a route")
    }
  }

  /// Answers like a member of the circle with another version.
  private static let newerProtocol = """
    import hashlib, socket, sys
    host, port = sys.argv[1].rsplit(":", 1)
    circle = bytes.fromhex(sys.argv[2])
    key = hashlib.blake2b(b"waymark/session-preamble/v1\\0" + circle, digest_size=32).digest()
    server = socket.create_server((host, int(port)))
    while True:
        one, _ = server.accept()
        start = b"WAYMARK\\0\\xee" + one.recv(8192)[9:25]
        one.sendall(start + hashlib.blake2b(start, digest_size=16, key=key).digest())
        one.shutdown(socket.SHUT_WR)
        one.recv(1)
        one.close()
    """

  @Test func `reasons caused by damage and copies`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let probe = Probe()
    let circle = try await TestCircle.make(["alice", "bob"], on: stage, isPremium: true)
    let (alice, bob) = (circle["alice"], circle["bob"])
    try await bob.start()
    try await alice.text("trip", "add", "name=Rome")
    try await alice.text("trip", "add", "name=Oslo")
    try await bob.waitForSync(with: alice)

    // On Bob's device Rome takes the stamps of Oslo: the digest shows it when the row is written next.
    try await bob.stop()
    try await bob.sql(
      "UPDATE trip_rows SET stamps = (SELECT stamps FROM trip_rows WHERE name = 'Oslo') WHERE name = 'Rome'")
    try await bob.start()
    try await bob.text("trip", "edit", "Rome", "notes=old")
    let mismatch = try await probe.see(.digestMismatch, on: alice)
    #expect(mismatch["next"]?.string?.withoutHome == "waymark verify --deep --repair, here and on bob")
    for device in [alice, bob] { try await device.text("verify", "--deep", "--repair") }
    try await alice.text("sync", "now")
    try await probe.gone(.digestMismatch, on: alice)
    try await probe.seeSync(of: alice, with: "bob")

    // Alice wrote this while Bob was away, and her disk has altered it.
    let backup = stage.path("good.waymark")
    try await bob.stop()
    try await alice.text("trip", "add", "name=Bern")
    try await alice.text("backup", backup)
    try await alice.stop()
    try await alice.sql(
      "UPDATE change_sets SET signature = zeroblob(64) WHERE number = (SELECT max(number) FROM change_sets)")
    try await alice.start()
    try await bob.start()
    let altered = try await probe.see(.damagedSet, on: alice)
    let waiting = try await probe.see(.waitingDependency, on: bob, of: "alice")
    #expect(waiting["next"]?.string?.withoutHome == "waymark verify --deep, on alice")
    // No peer has it, so the next step is a backup, and that helps.
    #expect(
      altered["next"]?.string?.withoutHome.contains("if none does, waymark restore FILE with a backup")
        == true)
    let verified = try await alice.run(["verify", "--deep"])
    #expect(verified.code == 1 && verified.errors.contains("restore FILE"), "\(verified.errors)")
    try await alice.stop()
    try await alice.text("restore", "--yes", backup)
    try await alice.start()
    try await probe.seeSync(of: bob, with: "alice")
    #expect(try await bob.status().count("trips") == 3)
    #expect(probe.reasons == Self.damage.union([.inSync]))
  }

  @Test func `reasons caused by too many settings and by a store that refuses writes`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let probe = Probe()
    let circle = try await TestCircle.make(["alice", "bob"], on: stage, isPremium: false)
    let (alice, bob) = (circle["alice"], circle["bob"])
    // Each device is within the limits, both together are not.
    for number in 1...9 {
      for device in [alice, bob] {
        let text = String(repeating: "x", count: 60_000)
        try await device.text("settings", "set", "\(device.name)-\(number)", text)
      }
    }
    try await bob.start()
    let beyond = try await probe.see(.settingsBeyondLimits, on: bob, exit: 0)
    #expect(beyond["next"]?.string?.withoutHome.contains("waymark settings unset KEY") == true)
    try await bob.text("settings", "unset", "alice-1")
    try await bob.text("settings", "unset", "bob-1")
    for device in [alice, bob] { try await probe.gone(.settingsBeyondLimits, on: device) }

    // The store was modified by hand.
    try await bob.stop()
    try await bob.sql(
      "CREATE TRIGGER refuse BEFORE INSERT ON change_sets BEGIN SELECT RAISE(ABORT, 'refused by a trigger'); END"
    )
    try await bob.start()
    try await alice.text("settings", "set", "colorScheme", "dark")
    let failed = try await probe.see(.storeFailed, on: bob)
    #expect(failed["text"]?.string?.contains("refused by a trigger") == true)
    // Its next step, and since that finds nothing, the one after it.
    #expect(failed["next"]?.string?.withoutHome.hasPrefix("waymark verify --deep;") == true)
    #expect([0, 1].contains(try await bob.run(["verify", "--deep"]).code))
    try await bob.stop()
    try await bob.sql("DROP TRIGGER refuse")
    try await bob.start()
    try await bob.waitForSync(with: alice)
    try await probe.gone(.storeFailed, on: bob)
    #expect(try await bob.text("settings", "get", "colorScheme") == "dark")
    #expect(probe.reasons == Self.stores)
  }

  @Test func `reasons caused by large amounts of data`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let probe = Probe()
    let circle = try await TestCircle.make(["alice", "bob"], on: stage, isPremium: true)
    let (alice, bob) = (circle["alice"], circle["bob"])
    try await bob.start()
    let names = (1...24).map { "debug \($0)" }
    for name in names { try await alice.text("trip", "add", "name=\(name)") }
    try await bob.waitForSync(with: alice)
    try await alice.text("cleanup", "--yes")
    let deleted = try await probe.see(.massDeletion, on: bob, exit: 0)
    try await probe.follow(deleted, on: bob)
    try await probe.gone(.massDeletion, on: bob)
    #expect(try await bob.status().count("trips") == 24)

    // Alice's node runs only for moments, so that a status can be taken while the data arrives. The watch must see it
    // too, and exit normally.
    try await bob.stop()
    try await alice.text(
      "import", try stage.write(SampleData.ritualist(seed: 7), "habits.json"), seconds: 120)
    try await bob.start()
    let (watch, lines, _) = try bob.begin(["status", "--watch"])
    let sender = try #require(alice.nodeID)
    try await eventually("Bob receives") {
      kill(sender, SIGCONT)
      try await Task.sleep(for: .milliseconds(10))
      kill(sender, SIGSTOP)
      return try await probe.glimpse(.receiving, on: bob, of: "alice")
    }
    kill(sender, SIGCONT)
    try await bob.waitForSync(with: alice, seconds: 60)
    try await eventually("the watch has reported it") {
      let said = try String(contentsOf: lines, encoding: .utf8).split(separator: "\n").map {
        try JSON.parse(String($0))
      }
      let states = said.compactMap { $0["peers"]?[0]?["state"]?.string }
      return said.allSatisfy { $0["type"] == "status" } && states.last == "in_sync"
    }
    watch.signal(SIGINT)
    #expect(try await watch.wait(seconds: 10, for: "the watch after Ctrl-C") == 130)
    try await probe.seeSync(of: bob, with: "alice")
    #expect(probe.reasons == Self.amounts.union([.inSync]))
  }
}

extension Device {
  /// Changes the store of a stopped node as a failing disk would.
  func sql(_ statement: String) async throws {
    let script = """
      import sqlite3, sys
      store = sqlite3.connect(sys.argv[1])
      store.execute(sys.argv[2])
      store.commit()
      """
    let child = try stage.python(script, [home + "/store.db", statement])
    #expect(try await child.wait(seconds: 20, for: "sqlite on \(name)") == 0)
  }
}

extension Stage {
  /// Starts a short Python program.
  func python(_ script: String, _ words: [String]) throws -> Child {
    let file = URL(filePath: path("python-\(number())"))
    return try Child(
      URL(filePath: "/usr/bin/env"), ["python3", "-c", script] + words,
      environment: ["PATH": "/usr/bin:/bin"],
      input: nil, output: file, errors: file)
  }
}
