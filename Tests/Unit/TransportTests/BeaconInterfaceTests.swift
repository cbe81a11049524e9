import Platform
import Testing
import Wire

@testable import Transport

/// The interfaces from which beacons are sent, and the addresses that they go to.
struct BeaconInterfaceTests {
  private static let working = UInt32(IFF_UP) | UInt32(IFF_RUNNING)
  private static let broadcasting = working | UInt32(IFF_BROADCAST)

  private func interface(
    _ name: String, _ host: String, mask: String? = "255.255.255.0", flags: UInt32 = Self.broadcasting
  ) throws -> NetworkInterface {
    NetworkInterface(
      name: name, flags: flags, address: try #require(SocketAddress.numeric(host, port: 0)),
      mask: try mask.map { try #require(SocketAddress.numeric($0, port: 0)) })
  }

  private func loopback() throws -> NetworkInterface {
    try interface("lo", "127.0.0.1", mask: "255.0.0.0", flags: Self.working | UInt32(IFF_LOOPBACK))
  }

  private func places(listening host: String, _ interfaces: [NetworkInterface]) throws -> [BeaconInterface] {
    let listening = try #require(SocketAddress.numeric(host, port: 7_000))
    return BeaconInterface.all(listening: listening, port: 7_433, of: interfaces)
  }

  @Test(
    arguments: [
      ("192.0.2.77", "255.255.255.0", "192.0.2.255"), ("10.1.37.5", "255.255.240.0", "10.1.47.255"),
      ("172.16.0.1", "255.255.0.0", "172.16.255.255"), ("198.51.100.9", "255.255.255.252", "198.51.100.11"),
      ("10.1.2.3", nil, "10.255.255.255"),
    ] as [(String, String?, String)])
  func `beacons go to the last address of the network, from the address of the interface`(
    host: String, mask: String?, target: String
  ) throws {
    let found = try places(listening: "0.0.0.0", [try interface("eth0", host, mask: mask)])
    let place = try #require(found.first)
    #expect(found.count == 1)
    #expect(place.to.host == target && place.to.port == 7_433)
    #expect(place.from.host == host)
    #expect(place.host == SocketAddress.numeric(host, port: 0)?.hostBytes)
  }

  @Test func `only an interface that is up, is running and can broadcast is used`() throws {
    let unsuitable: [UInt32] = [
      0, UInt32(IFF_UP) | UInt32(IFF_BROADCAST), UInt32(IFF_RUNNING) | UInt32(IFF_BROADCAST), Self.working,
    ]
    for flags in unsuitable {
      let found = try places(listening: "0.0.0.0", [try interface("eth0", "192.0.2.77", flags: flags)])
      #expect(found.isEmpty, "\(flags)")
    }
    #expect(try places(listening: "0.0.0.0", [try interface("eth0", "192.0.2.77")]).count == 1)
  }

  @Test func `loopback is used if there is no other interface, or if the node listens on it`() throws {
    let both = [try loopback(), try interface("eth0", "192.0.2.77")]
    #expect(try places(listening: "0.0.0.0", both).map(\.interface) == ["eth0"])
    let alone = try places(listening: "0.0.0.0", [try loopback()])
    #expect(alone.map(\.interface) == ["lo"] && alone.first?.to.host == "127.255.255.255")
    #expect(try places(listening: "127.0.0.1", both).map(\.interface) == ["lo"])
  }

  @Test func `an interface is used if a device that dials its address reaches the node`() throws {
    let interfaces = [
      try loopback(), try interface("eth0", "192.0.2.77"), try interface("eth1", "198.51.100.9"),
    ]
    #expect(try places(listening: "198.51.100.9", interfaces).map(\.interface) == ["eth1"])
    #expect(try places(listening: "0.0.0.0", interfaces).map(\.interface) == ["eth0", "eth1"])
    // A socket on every IPv6 address serves IPv4 too.
    #expect(try places(listening: "::", interfaces).map(\.interface) == ["eth0", "eth1"])
    #expect(try places(listening: "203.0.113.1", interfaces).isEmpty)
  }

  @Test func `of very many interfaces the first ones are used`() throws {
    let interfaces = try (1...20).map { try interface("eth\($0)", "192.0.\($0).1") }
    let found = try places(listening: "0.0.0.0", interfaces)
    #expect(found.map(\.interface) == (1...Limits.beaconInterfacesMax).map { "eth\($0)" })
  }
}
