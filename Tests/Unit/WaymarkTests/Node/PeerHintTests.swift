import Home
import Membership
import Reasons
import Replication
import Testing
import WaymarkCare
import WaymarkTesting
import Wire

@testable import NodeRuntime
@testable import Waymark

/// Where a device that can't be reached might be, and why it is not believed.
struct PeerHintTests {
  /// Disconnects Alice from Bob, and waits until she has noticed.
  private func part(_ circle: TestCircle, _ count: Int) async throws {
    await circle.disconnect("alice", "bob")
    try await eventually("Alice misses Bob") {
      try await circle.clock.quiet()
      return await circle["alice"].withCore { $0.replica.identifiedSessions(with: nil).count == count }
    }
  }

  private func bob(_ circle: TestCircle) async throws -> NodeRuntime.Peer {
    try #require(try await circle["alice"].peers().first { $0.name == "bob" })
  }

  @Test func `that a device's clock differs is not forgotten when another device is revoked`() async throws {
    let circle = try await TestCircle("alice", "bob", "carol", premium: .nobody)
    let alice = circle["alice"]
    let (bobsKey, carolsKey) = (
      try await circle["bob"].status().device, try await circle["carol"].status().device
    )
    try await part(circle, 1)
    await alice.noteClocks([bobsKey: 3_600_000, carolsKey: 7_200_000])
    #expect(try await bob(circle).reason == .clocksDiffer)
    try await alice.revoke([carolsKey])
    #expect(await alice.notedClocks == [bobsKey: 3_600_000])
    #expect(try await bob(circle).reason == .clocksDiffer)
    await circle.close()
  }

  @Test func `an address of an earlier connection has no source until a person gives it`() async throws {
    let circle = try await TestCircle("alice", "bob", premium: .nobody)
    let alice = circle["alice"]
    let device = try await circle["bob"].status().device
    try await part(circle, 0)
    let address = "198.51.100.7:7433"
    await alice.noteAddress(address, of: device)
    let former = try await bob(circle)
    #expect(former.address == address && former.addressSource == nil)
    try await alice.addPeer(at: address)
    let given = try await bob(circle)
    #expect(given.address == address && given.addressSource == .given)
    await circle.close()
  }
}

extension Node {
  /// Begins discovery without any carrier, as if beacons with wrong clocks had come from these devices.
  fileprivate func noteClocks(_ clocks: [DeviceKey: Int64]) {
    core.connections.serving?.beacons = BeaconSchedule(
      carriers: [], trouble: nil,
      keys: BeaconKeyring(BeaconKeys(circle: circle.id, transport: identity.transport)),
      discovery: Discovery(seed: 1), places: [])
    core.connections.serving?.beacons?.clocks = clocks
  }

  fileprivate var notedClocks: [DeviceKey: Int64]? { core.connections.serving?.beacons?.clocks }

  /// Notes at which address a device was last connected.
  fileprivate func noteAddress(_ address: String, of device: DeviceKey) {
    core.connections.serving?.lastAddress[device] = address
  }
}
