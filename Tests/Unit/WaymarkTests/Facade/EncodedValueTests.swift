import ChangeHistory
import Foundation
import JSONDocument
import Reasons
import Replication
import Testing
import Wire

@testable import NodeOperations
@testable import NodeRuntime
@testable import Waymark

/// The documents of members, peers and risks: other processes read what was written.
struct EncodedValueTests {
  private static func key(_ number: UInt64) -> DeviceKey { DeviceKey(Bytes32(0, 0, 0, number)) }

  private static func time(_ seconds: TimeInterval) -> Date { Date(timeIntervalSince1970: seconds) }

  private func document<Value: Encodable>(_ value: Value) throws -> JSON {
    try JSON.parse(Array(try JSONEncoder().encode(value)))
  }

  private func copy<Value: Codable>(_ value: Value) throws -> Value {
    try JSONDecoder().decode(Value.self, from: JSONEncoder().encode(value))
  }

  private func member(isRevoked: Bool, isLeaving: Bool) -> CircleMember {
    let by = Self.key(2)
    return CircleMember(
      device: Self.key(1), name: "bob", role: .admin, isOwn: true, isRevoked: isRevoked,
      isLeaving: isLeaving, admittedBy: by, lastSeen: Self.time(100),
      revocations: [CircleMember.Revocation(id: "ab", issued: Self.time(200), by: by, byName: "alice")],
      notHeard: [DeviceReference(device: Self.key(3), name: "carol")],
      usage: [CircleMember.Usage(lane: "records", bytes: 7, quota: 9)])
  }

  @Test(
    arguments: [
      (false, false, "member"), (false, true, "leaving"), (true, true, "left"), (true, false, "revoked"),
    ] as [(Bool, Bool, String)])
  func `a member is read as it was written, and its document says its state`(
    isRevoked: Bool, isLeaving: Bool, state: String
  ) throws {
    let member = member(isRevoked: isRevoked, isLeaving: isLeaving)
    #expect(try copy(member) == member)
    #expect(try document(member)["state"] == .string(state))
  }

  @Test func `a member of which little is known is read as it was written`() throws {
    let member = CircleMember(
      device: Self.key(4), name: "carol", role: .member, isOwn: false, isRevoked: false, isLeaving: false,
      admittedBy: nil, lastSeen: nil, revocations: [], notHeard: [], usage: [])
    #expect(try copy(member) == member)
  }

  @Test func `a peer is read with its times and its round trip`() throws {
    let lane = Peer.Lane(isOpen: true, reason: nil, behind: 1, ahead: 2, isEqual: false)
    let peer = Peer(
      device: Self.key(1), name: "bob", state: .sending, reason: .sending, consequenceOf: .diskFull,
      since: Self.time(1), address: "192.0.2.1:7433", addressSource: .given,
      roundTrip: .milliseconds(12), clockSkew: .milliseconds(-34), lastSeen: Self.time(2),
      lastSync: Self.time(3), settings: lane, records: lane)
    #expect(try copy(peer) == peer)
    let document = try document(peer)
    #expect(document["roundTripMilliseconds"] == 12 && document["lastSync"] != nil)
  }

  @Test func `a change that waits for its time is read as one, with its device`() throws {
    let waiting = NodeStatus.ReplicationRisk.Newest.waiting(
      id: OperationID(Bytes16(1, 2)), time: Self.time(300), deviceName: "alice")
    let lacking = NodeStatus.ReplicationRisk.Holder(
      device: Self.key(1), name: "bob", lacking: 2, newestLacking: Self.time(4), asOf: Self.time(5))
    let holding = NodeStatus.ReplicationRisk.Holder(
      device: Self.key(2), name: "carol", lacking: 0, newestLacking: nil, asOf: Self.time(6))
    let risk = NodeStatus.ReplicationRisk(changeSets: 3, newest: waiting, devices: [lacking, holding])
    #expect(try copy(risk) == risk)
    #expect(try document(risk)["holders"] == ["carol"])
  }

  @Test(arguments: [("Alice", true), (nil, false)] as [(String?, Bool)])
  func `the summary for a returning person says whether there is a profile`(
    name: String?, hasProfile: Bool
  ) throws {
    let user = Onboarding.ReturningUser(
      habitCount: 1, categoryCount: 2, tripCount: 3, profileName: name, missing: [.avatar])
    #expect(try document(user)["hasProfile"] == .bool(hasProfile))
    #expect(try copy(user) == user)
  }
}
