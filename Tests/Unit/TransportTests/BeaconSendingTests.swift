import Synchronization
import Testing
import Wire

@testable import Transport

/// The beacons of a round: how many were sent, and that a group is heard once it is joined.
@Suite(.serialized) struct BeaconSendingTests {
  /// A port that is currently free.
  private func freePort() throws -> UInt16 {
    let any = try #require(SocketAddress.numeric("0.0.0.0", port: 0))
    let socket = try Socket.datagrams(on: any, isShared: false)
    defer { socket.closeDescriptor() }
    return try #require(socket.localAddress?.port)
  }

  @Test func `every beacon of a round is sent and counted, and an interface that is gone sends none`()
    async throws
  {
    let port = try freePort()
    let heard = Mutex<Set<[UInt8]>>([])
    let sockets = try BeaconSockets(port: port) { datagram, _ in
      heard.withLock { _ = $0.insert(datagram) }
    }
    defer { sockets.close() }
    sockets.start()
    let listening = try #require(SocketAddress.numeric("127.0.0.1", port: 1))
    let place = try #require(BeaconInterface.all(listening: listening, port: port).first)
    let sent = sockets.send([[1], [2, 2], [3]], from: place)
    #expect(sent == 3)
    try await eventually("all of them are received") { heard.withLock { $0.count } == 3 }
    let all = heard.withLock { $0 }
    #expect(all == [[1], [2, 2], [3]])
    let elsewhere = try #require(SocketAddress.numeric("203.0.113.9", port: 0))
    let absent = BeaconInterface(interface: "gone", index: 0, from: elsewhere, to: place.to)
    #expect(sockets.send([[4], [5]], from: absent) == 0)
  }

  @Test func `beacons to the group of an IPv6 link are received once it is joined`() async throws {
    let port = try freePort()
    let everywhere = try #require(SocketAddress.numeric("::", port: 1))
    let places = BeaconInterface.all(listening: everywhere, port: port)
    guard let place = places.first(where: { $0.from.isIPv6 }) else {
      print("skipped: this machine has no IPv6 link")
      return
    }
    let heard = Mutex<[SocketAddress]>([])
    let sockets = try BeaconSockets(port: port) { _, source in heard.withLock { $0.append(source) } }
    defer { sockets.close() }
    sockets.start()
    sockets.join([place])
    try await eventually("a beacon is received") {
      _ = sockets.send([[1]], from: place)
      return heard.withLock { !$0.isEmpty }
    }
    let source = heard.withLock { $0.first }
    #expect(source?.hostBytes == place.host)
  }
}
