import Families
import Membership
import Replication
import Testing
import Wire

/// How alice handles connections; her replica is told of each as by its shell.
@Suite struct PeeringTests {
  private final class Alice {
    var replica: Replica
    var peering = Peering(paused: [], seed: 1)
    let bob: DeviceKey
    private let remote: TransportKey
    private let introduction: [UInt8]
    var now: Moment = 0
    /// When the newest dial timer fires.
    private(set) var dialsAt: Moment = 0

    init() throws {
      let world = try World(["alice", "bob"])
      replica = world["alice"].replica
      bob = world["bob"].key
      remote = world["bob"].transport
      introduction = try #require(world["bob"].replica.ownIntroduction(now: World.start))
    }

    private var time: Now { Now(wall: World.start + now, steady: now) }

    /// The effects of an event, in words.
    func after(_ input: PeeringInput) -> [String] {
      var effects: [PeeringEffect] = []
      peering.handle(input, replica, now: time, into: &effects)
      return effects.flatMap(carryOut)
    }

    private func carryOut(_ effect: PeeringEffect) -> [String] {
      switch effect {
      case .dial(let address): return ["dial \(address)"]
      case .introduce(let link, let remote, let introduction):
        let joined = introduce(link, remote, introduction)
        return ["introduce \(link.rawValue)"] + joined + after(.introduced(link))
      case .admit(let link): return ["admit \(link.rawValue)"]
      case .send(let link, let message):
        return ["\(message.isGoodbye ? "goodbye" : "message") \(link.rawValue)"]
      case .close(let link): return ["close \(link.rawValue)"]
      case .closeAtOnce(let link): return ["close \(link.rawValue) at once"]
      case .schedule(.dial, let wait):
        dialsAt = now + wait
        return []
      case .schedule(.introduce(let link), let wait): return ["hold \(link.rawValue) for \(wait)"]
      case .report(.penalised): return ["penalised"]
      }
    }

    private func introduce(_ link: LinkID, _ remote: TransportKey, _ introduction: [UInt8]?) -> [String] {
      hear(.opened(link, remote: remote, introduction: introduction))
    }

    /// Lets the replica handle an event, and reports which peers have joined.
    @discardableResult
    func hear(_ input: Input) -> [String] {
      var effects: [Effect] = []
      replica.handle(input, now: time, into: &effects)
      return effects.flatMap { effect in
        if case .report(.peerJoined(let device, let link)) = effect { return after(.joined(link, device)) }
        return []
      }
    }

    func incoming(_ number: UInt64) -> [String] {
      after(.opened(LinkID(number), dialled: nil, remote: remote, introduction: introduction))
    }

    /// Dials bob and finishes the handshake; he has not introduced himself yet.
    func dial(_ number: UInt64) -> [String] {
      _ = after(.addressGiven(address))
      return after(.hurried)
        + after(.opened(LinkID(number), dialled: address, remote: remote, introduction: nil))
    }

    @discardableResult
    func showBob(_ number: UInt64) -> [String] {
      hear(.received(LinkID(number), .introduction(introduction)))
    }

    func end(_ number: UInt64, _ end: ConnectionEnd) -> [String] {
      let effects = after(.ended(LinkID(number), end))
      hear(.closed(LinkID(number)))
      return effects
    }

    var lastFailure: DialFailure? { peering.addresses.first?.lastFailure }
    var isPenalised: Bool { peering.isPenalised(bob, now: time) }
  }

  @Test func `a member that dials is introduced and admitted`() throws {
    let alice = try Alice()
    #expect(alice.incoming(1) == ["introduce 1", "admit 1"])
    #expect(alice.replica.connectedDevices() == [alice.bob])
  }

  @Test func `a penalised device that dials is held for a moment, one connection at a time`() throws {
    let alice = try Alice()
    #expect(alice.incoming(1) == ["introduce 1", "admit 1"])
    #expect(alice.end(1, .brokeRules) == ["penalised"])
    #expect(alice.isPenalised)
    #expect(alice.incoming(2) == ["hold 2 for 100"])
    #expect(alice.incoming(3) == ["close 2", "hold 3 for 100"])
    #expect(alice.after(.timer(.introduce(LinkID(2)))) == [])
    #expect(alice.after(.timer(.introduce(LinkID(3)))) == ["introduce 3", "admit 3"])
    #expect(alice.after(.timer(.introduce(LinkID(3)))) == [])
    alice.now = 10_000
    #expect(!alice.isPenalised)
    #expect(alice.incoming(4) == ["introduce 4", "admit 4"])
  }

  @Test func `a paused device is not admitted, and what it still sends is dropped`() throws {
    let alice = try Alice()
    #expect(alice.after(.paused(alice.bob)) == [])
    #expect(alice.incoming(1) == ["introduce 1", "goodbye 1", "close 1"])
    #expect(alice.peering.ignores(LinkID(1), alice.replica))
    #expect(alice.end(1, .hungUp) == [])
    #expect(alice.after(.resumed(alice.bob)) == [])
    #expect(alice.incoming(2) == ["introduce 2", "admit 2"])
    #expect(!alice.peering.ignores(LinkID(2), alice.replica))
  }

  @Test func `pausing hangs up, and resuming dials at once`() throws {
    let alice = try Alice()
    #expect(alice.dial(1) == ["dial \(address)", "introduce 1"])
    #expect(alice.showBob(1) == [])
    #expect(alice.after(.paused(alice.bob)) == ["goodbye 1", "close 1"])
    #expect(alice.end(1, .lost) == [])
    #expect(alice.after(.hurried) == [])
    #expect(alice.after(.resumed(alice.bob)) == ["dial \(address)"])
  }

  @Test func `a device that was dialled before it was paused is disconnected at its introduction`() throws {
    let alice = try Alice()
    #expect(alice.dial(1) == ["dial \(address)", "introduce 1"])
    #expect(alice.after(.paused(alice.bob)) == [])
    #expect(alice.showBob(1) == ["goodbye 1", "close 1"])
  }

  @Test func `a peer that hangs up after our introduction has rejected this device`() throws {
    let alice = try Alice()
    _ = alice.dial(1)
    _ = alice.end(1, .hungUp)
    #expect(alice.lastFailure == .turnedAway)
    // One that has introduced itself has not.
    _ = alice.after(.hurried)
    _ = alice.after(.opened(LinkID(2), dialled: address, remote: try remoteOfBob(), introduction: nil))
    alice.showBob(2)
    _ = alice.end(2, .hungUp)
    #expect(alice.lastFailure == nil)
  }

  private func remoteOfBob() throws -> TransportKey { try World(["alice", "bob"])["bob"].transport }

  @Test func `the number of connections is limited`() throws {
    let alice = try Alice()
    for number in 100..<(100 + UInt64(Limits.connectionsMax)) {
      #expect(alice.after(.pairing(LinkID(number))) == [])
    }
    _ = alice.after(.addressGiven(address))
    #expect(alice.after(.hurried) == [])
    #expect(alice.lastFailure == .other)
    _ = alice.end(100, .lost)
    #expect(alice.after(.hurried) == ["dial \(address)"])
  }

  @Test func `the reason why a peer does not connect is known until it does`() throws {
    let alice = try Alice()
    _ = alice.incoming(1)
    alice.hear(.received(LinkID(1), .goodbye(.paused)))
    _ = alice.end(1, .hungUp)
    #expect(alice.peering.refusals[alice.bob] == .paused)
    #expect(alice.incoming(2) == ["introduce 2", "admit 2"])
    #expect(alice.peering.refusals[alice.bob] == nil)
    #expect(alice.after(.closing(LinkID(2), .revoked)) == ["close 2 at once"])
    #expect(alice.peering.refusals[alice.bob] == .revoked)
    #expect(alice.after(.closing(LinkID(2), .duplicate)) == ["close 2"])
  }

  @Test func `a peer that the replica reports for misbehaviour is penalised`() throws {
    let alice = try Alice()
    _ = alice.incoming(1)
    #expect(alice.after(.closing(LinkID(1), .misbehaved("it did"))) == ["penalised", "close 1"])
    #expect(alice.isPenalised)
  }

  @Test func `a lost peer is dialled again soon, however long the wait for another address is`() throws {
    let alice = try Alice()
    _ = alice.dial(1)
    alice.showBob(1)
    let dead = "192.0.2.9:7433"
    var dialled = alice.after(.addressGiven(dead))
    for _ in 0..<200 where alice.dialsAt - alice.now <= 60_000 {
      if dialled == ["dial \(dead)"] { _ = alice.after(.dialFailed(dead, .timeout)) }
      guard alice.dialsAt - alice.now <= 60_000 else { break }
      alice.now = max(alice.now + 1, alice.dialsAt)
      dialled = alice.after(.timer(.dial))
    }
    #expect(alice.dialsAt - alice.now > 60_000)
    #expect(alice.end(1, .lost) == [])
    #expect(alice.dialsAt - alice.now <= 10_000)
    alice.now = alice.dialsAt
    #expect(alice.after(.timer(.dial)) == ["dial \(address)"])
  }

  @Test func `a device that waits to be admitted dials no peer`() throws {
    let world = try World(["alice", "bob"])
    var peering = Peering(paused: [], seed: 1)
    var effects: [PeeringEffect] = []
    var stranger = world["alice"].replica
    stranger.circle = try Circle(statements: [try Family(founder: "carol").genesis], developmentIssuer: nil)
    peering.handle(.addressGiven(address), stranger, now: Now(wall: World.start, steady: 0), into: &effects)
    peering.handle(.hurried, stranger, now: Now(wall: World.start, steady: 0), into: &effects)
    #expect(effects.isEmpty)
  }
}

private let address = "192.168.1.20:7433"
