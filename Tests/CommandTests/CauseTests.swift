import JSONDocument
import Replication
import Testing
import Wire

@testable import Waymark

/// What only follows from something else is not said again.
struct CauseTests {
  private static let nobody = DeviceKey(Bytes32(0, 0, 0, 0))

  private static func peer(_ number: UInt64, _ reason: Reason, connected: Bool = false) -> PeerSnapshot {
    let lane = PeerLaneSnapshot(isOpen: connected, reason: nil, behind: nil, ahead: nil, digestEqual: nil)
    return PeerSnapshot(
      device: DeviceKey(Bytes32(0, 0, 0, number)), name: "peer \(number)", state: .offline, reason: reason,
      since: nil, address: nil, roundTripMilliseconds: connected ? 1 : nil, clockSkewMilliseconds: nil,
      lastSeen: nil, lastSync: nil, settings: lane, records: lane)
  }

  private static func snapshot(
    _ peers: [PeerSnapshot], running: Bool = true, sync: Reason? = nil, notices: [NoticeSnapshot] = [],
    conflicts: Int = 0
  ) -> NodeSnapshot {
    let lane = LaneSnapshot(isOpen: true, reason: nil, digest: Bytes32(0, 0, 0, 0), changeSets: 0, parked: 0)
    return NodeSnapshot(
      device: nobody, name: "here", circle: CircleID(Bytes32(0, 0, 0, 0)), incarnation: Incarnation(.zero),
      isRunning: running, listen: nil, runningSince: nil,
      premium: PremiumSnapshot(isActive: true, source: "certificate", validUntil: nil, reason: nil),
      sync: SyncSnapshot(preference: true, isActive: sync == nil, reason: sync), settings: lane,
      records: lane,
      conflicts: conflicts, notices: notices, peers: peers,
      loss: LossSnapshot(changeSets: 0, newest: nil, peers: []))
  }

  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let snapshot: NodeSnapshot
    let expected: [Reason]

    init(_ description: String, _ snapshot: NodeSnapshot, _ expected: [Reason]) {
      (testDescription, self.snapshot, self.expected) = (description, snapshot, expected)
    }
  }

  private static let eight = (1...8).map(UInt64.init)

  static let cases = [
    Case("all is well", snapshot(eight.map { peer($0, .inSync) }), []),
    Case("no node runs", snapshot(eight.map { peer($0, .offline) }, running: false), [.notRunning]),
    Case(
      "no node runs, and one is paused", snapshot([peer(1, .offline), peer(2, .paused)], running: false),
      [.notRunning, .paused]),
    Case("sync is off here", snapshot(eight.map { peer($0, .syncOff) }, sync: .syncOff), [.syncOff]),
    Case(
      "sync is off here and there", snapshot([peer(1, .syncOff), peer(2, .peerSyncOff)], sync: .syncOff),
      [.syncOff, .peerSyncOff]),
    Case(
      "this device was revoked",
      snapshot(eight.map { peer($0, .turnedAway) }, notices: [NoticeSnapshot(.revoked)]), [.revoked]),
    Case("it was turned away and does not know why", snapshot([peer(1, .turnedAway)]), [.turnedAway]),
    Case(
      "the disk is full",
      snapshot(eight.map { peer($0, .diskFull, connected: true) }, notices: [NoticeSnapshot(.diskFull)]),
      [.diskFull]),
    Case("there is no network", snapshot(eight.map { peer($0, .noRoute) }), [.noRoute]),
    Case(
      "there is a network, and two addresses are wrong",
      snapshot([peer(1, .noRoute), peer(2, .noRoute), peer(3, .inSync, connected: true)]),
      [.noRoute, .noRoute]),
    Case("one address is wrong", snapshot([peer(1, .noRoute)]), [.noRoute]),
    Case(
      "each device has a cause of its own", snapshot([peer(1, .dialRefused), peer(2, .dialTimeout)]),
      [.dialRefused, .dialTimeout]),
    Case(
      "the gravest is first", snapshot([peer(1, .paused), peer(2, .newerProtocol)], conflicts: 3),
      [.newerProtocol, .conflicts, .paused]),
    Case(
      "a digest differs, and the notice says with whom",
      snapshot(
        [peer(1, .digestMismatch), peer(2, .inSync)],
        notices: [
          NoticeSnapshot(
            .digestMismatch, details: [.init("device", .string(peer(1, .inSync).device.description))])
        ]), [.digestMismatch]),
    Case(
      "it differs with another one too",
      snapshot(
        [peer(1, .digestMismatch), peer(2, .digestMismatch)],
        notices: [
          NoticeSnapshot(
            .digestMismatch, details: [.init("device", .string(peer(1, .inSync).device.description))])
        ]), [.digestMismatch, .digestMismatch]),
  ]

  @Test(arguments: cases) func `a root cause hides its consequences and nothing else`(_ each: Case) {
    #expect(each.snapshot.causes.map(\.reason) == each.expected)
    let peers = each.snapshot.peers.filter { $0.reason != .inSync }
    let hidden = each.snapshot.causes.flatMap(\.consequences)
    let named = each.snapshot.causes.compactMap { $0.peer?.name }
    for peer in peers {
      #expect((hidden + named).contains(peer.name), "\(peer.name) is said somewhere")
      #expect(!(hidden.contains(peer.name) && named.contains(peer.name)), "and not twice")
    }
  }

  @Test func `every reason has words, and a next step or none to take`() {
    for reason in Reason.allCases {
      let sentence = reason.sentence(peer: "o'the nas")
      #expect(!sentence.contains("{") && !sentence.hasSuffix("."), "\(reason)")
      let next = reason.next(peer: "o'the nas")
      #expect(next?.contains("{") != true, "\(reason)")
      switch reason.text.remedy {
      case .none: #expect(next == nil && reason.severity == .info, "\(reason)")
      case .command, .hands: #expect(next != nil, "\(reason) says what to do")
      case .time, .elsewhere: break
      }
    }
    #expect(Reason.paused.next(peer: "o'the nas") == "waymark peers resume 'o'\\''the nas'")
  }
}
