import Home
import Membership
import Reasons
import Replication
import Testing
import Transport
import WaymarkCare
import WaymarkTesting
import Wire

@testable import NodeRuntime
@testable import Waymark

/// What a node learns from the beacons of other devices.
@Suite(.serialized) struct HeardBeaconTests {
  private func bob(_ circle: TestCircle) async throws -> NodeRuntime.Peer {
    try #require(try await circle["alice"].peers().first { $0.name == "bob" })
  }

  @Test func `a device whose clock was wrong is not shown with a differing clock once it has been set right`()
    async throws
  {
    let circle = try await TestCircle("alice", "bob", premium: .nobody)
    let alice = circle["alice"]
    await circle.disconnect("alice", "bob")
    try await eventually("Alice misses Bob") {
      try await circle.clock.quiet()
      return await alice.withCore { $0.replica.identifiedSessions(with: nil).isEmpty }
    }
    let isReceiving = await alice.receiveBeacons()
    try #require(isReceiving, "another program uses the port for beacons")
    let own = await (circle: alice.circle.id, identity: alice.identity)
    let bobs = await circle["bob"].withCore { $0.identity }
    let keys = BeaconKeyring(BeaconKeys(circle: own.circle, transport: bobs.transport))
    keys.update([(device: own.identity.device, transport: own.identity.transportKey)])
    let listening = try #require(SocketAddress.numeric("127.0.0.1", port: 1))
    let place = try #require(BeaconInterface.all(listening: listening, port: BeaconSchedule.port).first)
    let host = try #require(place.host)
    func send(ahead: Int64) {
      let beacon = Beacon(time: circle.clock.wall() + ahead, host: host, port: 7_000)
      BeaconSockets.send(keys.seal(beacon, to: [own.identity.device], by: bobs.signing), from: place)
    }
    try await eventually("a beacon with the wrong time has arrived") {
      send(ahead: -3_600_000)
      return await alice.differingClocks?[bobs.device] != nil
    }
    #expect(try await bob(circle).reason == .clocksDiffer)
    try await eventually("a beacon with the right time has arrived") {
      send(ahead: 0)
      return await alice.believedBeacons > 0
    }
    let differing = await alice.differingClocks
    #expect(differing?.isEmpty == true)
    #expect(try await bob(circle).reason != .clocksDiffer)
    await circle.close()
  }
}

extension Node {
  /// Begins discovery on this machine. Returns false if the port can't be opened.
  fileprivate func receiveBeacons() -> Bool {
    core.connections.beginDiscovery()
    return core.connections.serving?.beacons?.trouble == nil
  }

  fileprivate var differingClocks: [DeviceKey: Int64]? { core.connections.serving?.beacons?.clocks }

  fileprivate var believedBeacons: UInt64 { core.connections.counters.beaconsBelieved }
}
