import JSONDocument
import Replication
import Testing
import WaymarkCare
import Wire

@testable import NodeRuntime
@testable import Waymark

/// A reason that merely follows from another one is not reported again.
struct CauseTests {
  private static func peer(_ number: UInt64, _ reason: Reason, connected: Bool = false) -> Peer {
    let lane = Peer.Lane(isOpen: connected, reason: nil, behind: nil, ahead: nil, isEqual: nil)
    return Peer(
      device: DeviceKey(Bytes32(0, 0, 0, number)), name: "peer \(number)", state: .offline, reason: reason,
      consequenceOf: nil, since: nil, address: nil, addressSource: nil,
      roundTrip: connected ? .milliseconds(1) : nil, clockSkew: nil, lastSeen: nil, lastSync: nil,
      settings: lane, records: lane)
  }

  private static func causes(
    _ peers: [Peer], running: Bool = true, sync: Reason? = nil, notices: [NodeStatus.Notice] = [],
    conflicts: Int = 0
  ) -> RootCauses {
    RootCauses(isServing: running, obstacle: sync, notices: notices, peers: peers, conflicts: conflicts)
  }

  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let causes: RootCauses
    let expected: [Reason]

    init(_ description: String, _ causes: RootCauses, _ expected: [Reason]) {
      (testDescription, self.causes, self.expected) = (description, causes, expected)
    }
  }

  private static let eight = (1...8).map(UInt64.init)

  static let cases = [
    Case("all is well", causes(eight.map { peer($0, .inSync) }), []),
    Case("no node runs", causes(eight.map { peer($0, .offline) }, running: false), [.notRunning]),
    Case(
      "no node is running, and one peer is paused",
      causes([peer(1, .offline), peer(2, .paused)], running: false),
      [.notRunning, .paused]),
    Case("sync is off here", causes(eight.map { peer($0, .syncOff) }, sync: .syncOff), [.syncOff]),
    Case(
      "sync is off on both sides", causes([peer(1, .syncOff), peer(2, .peerSyncOff)], sync: .syncOff),
      [.syncOff, .peerSyncOff]),
    Case(
      "this device was revoked",
      causes(eight.map { peer($0, .turnedAway) }, notices: [NodeStatus.Notice(.revoked)]), [.revoked]),
    Case("it was turned away and does not know why", causes([peer(1, .turnedAway)]), [.turnedAway]),
    Case(
      "the disk is full",
      causes(eight.map { peer($0, .diskFull, connected: true) }, notices: [NodeStatus.Notice(.diskFull)]),
      [.diskFull]),
    Case("there is no network", causes(eight.map { peer($0, .noRoute) }), [.noRoute]),
    Case(
      "the network works, and two addresses are wrong",
      causes([peer(1, .noRoute), peer(2, .noRoute), peer(3, .inSync, connected: true)]),
      [.noRoute, .noRoute]),
    Case("one address is wrong", causes([peer(1, .noRoute)]), [.noRoute]),
    Case(
      "each device has its own cause", causes([peer(1, .dialRefused), peer(2, .dialTimeout)]),
      [.dialRefused, .dialTimeout]),
    Case(
      "the most severe one is first", causes([peer(1, .paused), peer(2, .newerProtocol)], conflicts: 3),
      [.newerProtocol, .conflicts, .paused]),
    Case(
      "a digest differs, and the notice names the peer",
      causes(
        [peer(1, .digestMismatch), peer(2, .inSync)],
        notices: [
          NodeStatus.Notice(
            .digestMismatch, .device(peer(1, .inSync).device))
        ]), [.digestMismatch]),
    Case(
      "it differs from another peer's too",
      causes(
        [peer(1, .digestMismatch), peer(2, .digestMismatch)],
        notices: [
          NodeStatus.Notice(
            .digestMismatch, .device(peer(1, .inSync).device))
        ]), [.digestMismatch, .digestMismatch]),
  ]

  @Test(arguments: cases) func `a root cause hides its consequences and nothing else`(_ each: Case) {
    #expect(each.causes.all.map(\.reason) == each.expected)
    let peers = each.causes.peers.filter { $0.reason != .inSync }
    let hidden = each.causes.all.flatMap(\.consequences)
    let named = each.causes.all.compactMap { $0.peer?.name }
    for peer in peers {
      #expect((hidden + named).contains(peer.name), "\(peer.name) is reported somewhere")
      #expect(!(hidden.contains(peer.name) && named.contains(peer.name)), "and not twice")
    }
  }

  @Test func `every reason has a text, and a next step or no need for one`() {
    for reason in Reason.allCases {
      let sentence = "\(reason.sentence(peer: "o'the nas"))"
      #expect(!sentence.contains("{") && !sentence.hasSuffix("."), "\(reason)")
      guard reason.isState else { continue }
      let next = reason.next(peer: "o'the nas")
      switch reason.remedy {
      case .none: #expect(next == nil && reason.severity == .info, "\(reason)")
      case .command, .hands: #expect(next != nil, "\(reason) has a next step")
      case .time, .elsewhere: break
      }
    }
    #expect(Reason.paused.next(peer: "o'the nas")?.description == "waymark peers resume 'o'\\''the nas'")
  }
}
