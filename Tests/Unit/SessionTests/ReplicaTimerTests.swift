import Families
import Membership
import Replication
import Testing
import Wire

/// When a device looks at what waits for its time, and whom it dials after its circle has changed.
@Suite struct ReplicaTimerTests {
  /// All times count from now.
  @Test(
    arguments: [
      (nil, nil, nil), (5_000, nil, 5_000), (nil, 9_000, 9_000), (5_000, 9_000, 5_000), (9_000, 5_000, 5_000),
      (-1, nil, 1), (nil, 0, 1), (3_600_000, 7_200_000, 60_000),
    ] as [(Moment?, Moment?, Moment?)])
  func `parked sets and held erases are looked at when the first is due, at the latest in a minute`(
    parked: Moment?, erase: Moment?, wait: Moment?
  ) throws {
    let world = try World(["alice"])
    var replica = world["alice"].replica
    let now = world.time(world["alice"])
    // A set is folded ten minutes before its date.
    let clock = parked.map { Clock(milliseconds: now.wall + $0 + Limits.clockDriftMilliseconds) }
    let committed = Committed(
      items: [], heads: [], goneHeads: [], settingsDigest: .empty, recordsDigest: .empty,
      newestForeignClock: .zero, nextParkedClock: clock, nextHeldErase: erase.map { now.wall + $0 })
    var effects: [Effect] = []
    replica.handle(.committed(committed), now: now, into: &effects)
    let waits = effects.compactMap { effect -> Moment? in
      if case .schedule(.unpark, let wait) = effect { wait } else { nil }
    }
    let expected: [Moment] = wait.map { [$0] } ?? []
    #expect(waits == expected)
  }

  // MARK: Dialling

  /// Alice's connections, without any link of their own.
  private final class Alice {
    let world: World
    private var peering = Peering(paused: [], seed: 1)
    private var steady: Moment = 0

    init() throws { world = try World() }

    /// The addresses that an event makes her dial.
    @discardableResult
    func dialled(after input: PeeringInput) -> [String] {
      steady += 1
      var effects: [PeeringEffect] = []
      let now = Now(wall: World.start + steady, steady: steady)
      peering.handle(input, world["alice"].replica, now: now, into: &effects)
      return effects.compactMap { effect -> String? in
        if case .dial(let address) = effect { address } else { nil }
      }
    }

    var addresses: [String] { peering.addresses.map(\.address) }
  }

  @Test func `the addresses of a device that is no longer a member are not dialled, whoever gave them`()
    throws
  {
    let alice = try Alice()
    let (bob, carol) = (alice.world["bob"], alice.world["carol"])
    let (given, bobs, carols) = ("192.0.2.1:1", "192.0.2.2:1", "192.0.2.3:1")
    // A person gave an address, and Bob turned out to be there.
    alice.dialled(after: .addressGiven(given))
    #expect(alice.dialled(after: .hurried) == [given])
    alice.dialled(
      after: .opened(LinkID(1), dialled: given, remote: bob.transport, introduction: nil))
    alice.dialled(after: .joined(LinkID(1), bob.key))
    alice.dialled(after: .ended(LinkID(1), .lost))
    alice.dialled(after: .circleChanged(announced: [bob.key: [bobs], carol.key: [carols]]))
    #expect(Set(alice.addresses) == [given, bobs, carols])
    alice.world.learn("alice", try alice.world.family.revocation(of: "bob"))
    alice.dialled(after: .circleChanged(announced: [carol.key: [carols]]))
    #expect(alice.addresses == [carols])
    #expect(alice.dialled(after: .hurried) == [carols])
  }

  @Test func `an address that a person removes is not dialled any more, and the others are`() throws {
    let alice = try Alice()
    alice.dialled(after: .addressGiven("192.0.2.1:1"))
    alice.dialled(after: .addressGiven("192.0.2.2:1"))
    alice.dialled(after: .addressRemoved("192.0.2.1:1"))
    #expect(alice.dialled(after: .hurried) == ["192.0.2.2:1"])
    // Its attempt ends, which does not bring the other one back.
    alice.dialled(after: .dialFailed("192.0.2.2:1", .timeout))
    alice.dialled(after: .dialFailed("192.0.2.1:1", .timeout))
    #expect(alice.addresses == ["192.0.2.2:1"])
  }
}
