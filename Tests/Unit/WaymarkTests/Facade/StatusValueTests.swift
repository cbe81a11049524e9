import ChangeHistory
import Foundation
import Membership
import Reasons
import Records
import Replication
import Testing
import Wire

@testable import NodeRuntime
@testable import Waymark

/// The values of which a status consists: what they are derived from, and that other processes read what was written.
struct StatusValueTests {
  private static func key(_ number: UInt64) -> DeviceKey { DeviceKey(Bytes32(0, 0, 0, number)) }

  private static func device(_ number: UInt64) -> DeviceReference {
    DeviceReference(device: key(number), name: "device \(number)")
  }

  private static func time(_ seconds: TimeInterval) -> Date { Date(timeIntervalSince1970: seconds) }

  private static func large(_ lane: String) -> NodeStatus.Notice.Large {
    NodeStatus.Notice.Large(
      device: key(1), deviceName: "bob", lane: lane, bytes: 9, quota: 10, isExceeded: lane == "files")
  }

  private static let sets = [
    NodeStatus.Notice.ChangeSetReference(device: key(1), name: "bob", lane: "records", sequence: 7, id: "ab")
  ]

  /// The details of notices, with the device that each concerns.
  private static let details: [(NodeStatus.Notice.Details, DeviceKey?)] = [
    (.nothing, nil),
    (.device(key(1)), key(1)),
    (
      .unseen(
        key(2),
        [
          NodeStatus.Notice.Unseen(device: key(2), name: "bob", lastSeen: nil, since: time(5)),
          NodeStatus.Notice.Unseen(device: key(3), name: "carol", lastSeen: time(6), since: time(6)),
        ]), key(2)
    ),
    (.futureDated(changeSets: 3, newest: time(7)), nil),
    (.clockSkew(milliseconds: -90_000), nil),
    (.parked(changeSets: 2, due: time(8), deviceNames: ["bob", "carol"]), nil),
    (.damaged(sets, count: 101), nil),
    (.revoked(by: key(4), at: time(9)), nil),
    (.unheard(device(5), notHeard: [device(6), device(7)]), key(5)),
    (.eraseUnheard(records: 4, time: time(10), notErased: [device(6)]), nil),
    (.valuesMissing(records: 5, sender: device(8)), key(8)),
    (.valuesMissing(records: 6, sender: nil), nil),
    (
      .massDeletion(
        MassDeletion(
          operation: OperationID(Bytes16(1, 2)), device: key(9), deviceName: "bob", time: time(11),
          kinds: [])), key(9)
    ),
    (
      .massErase(
        MassErase(
          device: key(10), deviceName: "bob", time: time(12), due: time(13),
          kinds: [MassErase.KindCount(kind: .trip, count: 30)])), key(10)
    ),
    (.large(large("records")), key(1)),
    (.large(large("files")), key(1)),
  ]

  @Test func `a notice is read with the details with which it was written`() throws {
    for (details, device) in Self.details {
      let notice = NodeStatus.Notice(.diskFull, text: "what happened", next: .waymark("status"), details)
      let read = try JSONDecoder().decode(NodeStatus.Notice.self, from: JSONEncoder().encode(notice))
      #expect(read.details == details)
      #expect(read.reason == .diskFull && read.text.description == "what happened", "\(details)")
      #expect(notice.device == device && read.device == device, "\(details)")
      #expect(read.next?.text(home: nil) == notice.next?.text(home: nil))
      let isDeletion = if case .massDeletion = details { true } else { false }
      #expect((read.operation == OperationID(Bytes16(1, 2))) == isDeletion, "\(details)")
    }
  }

  @Test func `every obstacle of sync has the reason of the same name`() throws {
    for obstacle in SyncState.Obstacle.allCases {
      let gate = try #require(GateReason(rawValue: obstacle.rawValue))
      #expect(SyncState.Obstacle(gate) == obstacle)
      #expect(obstacle.reason.rawValue == obstacle.rawValue)
      #expect(Reason(gate) == obstacle.reason && Reason(LaneReason.mine(gate)) == obstacle.reason)
    }
  }

  @Test func `what keeps a peer's lane closed is told from what keeps one's own closed`() {
    let ofPeers: [(LaneReason, Reason)] = [
      (.peerNotPremium(.freeTier), .peerFreeTier), (.peerNotPremium(.entitlementNotYetValid), .peerFreeTier),
      (.peerNotPremium(.entitlementWithdrawn), .peerFreeTier),
      (.peerNotPremium(.entitlementExpired), .peerEntitlementExpired),
      (.peerNotPremium(.purchaseRefunded), .peerEntitlementExpired),
      (.peerNotPremium(.purchaseUnconfirmed), .peerEntitlementExpired),
      (.peerNotPremium(.purchaseUnjudged), .purchaseUnjudged),
      (.theirs(.syncOff), .peerSyncOff), (.theirs(.freeTier), .peerFreeTier),
      (.theirs(.entitlementNotYetValid), .peerFreeTier),
      (.theirs(.entitlementExpired), .peerEntitlementExpired), (.theirs(.clockAhead), .peerClockAhead),
      (.theirs(.paused), .refusedByPeer), (.theirs(.peerNotPremium), .refusedByPeer),
      (.theirs(.tooManyHeads), .refusedByPeer),
    ]
    for (lane, reason) in ofPeers { #expect(Reason(lane) == reason, "\(lane)") }
  }

  @Test func `each obstacle of sync has the step that removes it`() {
    let begins = Self.time(100)
    let steps: [(SyncState.Obstacle?, SyncState.Step)] = [
      (nil, .nothing), (.freeTier, .buyPremium), (.purchaseRefunded, .buyPremium),
      (.entitlementWithdrawn, .buyPremium), (.entitlementExpired, .renewPremium),
      (.purchaseUnconfirmed, .confirmPurchase), (.purchaseUnjudged, .updateApp),
      (.entitlementNotYetValid, .wait(until: begins)), (.syncOff, .turnOn), (.revoked, .join),
      (.notAMember, .join),
    ]
    #expect(steps.count == SyncState.Obstacle.allCases.count + 1)
    for (obstacle, step) in steps { #expect(SyncState.Step(obstacle, begins: begins) == step) }
  }

  @Test func `a peer's totals are those of both lanes, and unknown only if both are`() {
    func peer(_ settings: (behind: Int?, ahead: Int?), _ records: (behind: Int?, ahead: Int?)) -> Peer {
      func lane(_ counts: (behind: Int?, ahead: Int?)) -> Peer.Lane {
        Peer.Lane(isOpen: true, reason: nil, behind: counts.behind, ahead: counts.ahead, isEqual: nil)
      }
      return Peer(
        device: Self.key(1), name: "bob", state: .sending, reason: .sending, consequenceOf: nil, since: nil,
        address: nil, addressSource: nil, roundTrip: nil, clockSkew: nil, lastSeen: nil, lastSync: nil,
        settings: lane(settings), records: lane(records))
    }
    let both = peer((1, 20), (300, 4_000))
    #expect(both.behind == 301 && both.ahead == 4_020)
    #expect(both[.settings].behind == 1 && both[.records].behind == 300)
    let one = peer((nil, 20), (300, nil))
    #expect(one.behind == 300 && one.ahead == 20)
    let none = peer((nil, nil), (nil, nil))
    #expect(none.behind == nil && none.ahead == nil)
  }

  @Test func `round trips have a least, a median and a most, and are read as they were written`() throws {
    let trips = [9, 1, 5, 7].map { Duration.milliseconds($0) }
    let ping = PingResult(device: Self.key(1), name: "bob", address: nil, roundTrips: trips)
    #expect(ping.least == .milliseconds(1) && ping.most == .milliseconds(9))
    #expect(ping.median == .milliseconds(7))
    let odd = PingResult(
      device: Self.key(1), name: "bob", address: "192.0.2.1:7433",
      roundTrips: [.microseconds(2_340), .microseconds(450), .microseconds(12_000)])
    #expect(odd.median == .microseconds(2_340) && odd.least == .microseconds(450))
    let read = try JSONDecoder().decode(PingResult.self, from: JSONEncoder().encode(odd))
    #expect(read == odd)
    #expect(Duration.microseconds(2_345).milliseconds == 2.35)
    #expect(Duration.seconds(61).milliseconds == 61_000)
  }
}
