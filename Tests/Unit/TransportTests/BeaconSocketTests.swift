import Foundation
import Synchronization
import Testing
import Wire

@testable import Transport

@Suite(.serialized) struct BeaconSocketTests {
  /// The received datagrams, with their sources.
  private final class Box: Sendable {
    private let held = Mutex<[(datagram: [UInt8], source: SocketAddress)]>([])

    func add(_ datagram: [UInt8], _ source: SocketAddress) { held.withLock { $0.append((datagram, source)) } }

    var all: [(datagram: [UInt8], source: SocketAddress)] { held.withLock { $0 } }
  }

  /// A port that is currently free.
  private func freePort() throws -> UInt16 {
    let socket = try Socket.datagrams(
      on: try #require(SocketAddress.numeric("0.0.0.0", port: 0)), isShared: false)
    defer { socket.closeDescriptor() }
    return try #require(socket.localAddress?.port)
  }

  private func loopback(_ port: UInt16) throws -> BeaconInterface {
    let listening = try #require(SocketAddress.numeric("127.0.0.1", port: 1))
    return try #require(BeaconInterface.all(listening: listening, port: port).first)
  }

  private func eventually(_ what: String, _ holds: () -> Bool) async throws {
    let deadline = ContinuousClock.now + .seconds(20)
    while !holds() {
      guard ContinuousClock.now < deadline else { throw Missed(what: what) }
      try await Task.sleep(for: .milliseconds(20))
    }
  }

  private struct Missed: Error {
    let what: String
  }

  @Test func `every node on a machine receives broadcasts`() async throws {
    let port = try freePort()
    let boxes = [Box(), Box(), Box()]
    let sockets = try boxes.map { box in try BeaconSockets(port: port) { box.add($0, $1) } }
    for socket in sockets { socket.start() }
    let place = try loopback(port)
    #expect(place.host == Bytes16(0, 0xffff_7f00_0001))
    #expect(BeaconSockets.send([1, 2, 3], from: place))
    try await eventually("all three have received it") { boxes.allSatisfy { $0.all.count == 1 } }
    for box in boxes {
      #expect(box.all.map(\.datagram) == [[1, 2, 3]])
      #expect(box.all.first?.source.hostBytes == place.host)
    }
    for socket in sockets { socket.close() }
  }

  @Test func `of a flood only a limited number is read`() async throws {
    let port = try freePort()
    let box = Box()
    let sockets = try BeaconSockets(port: port) { box.add($0, $1) }
    let place = try loopback(port)
    let began = ContinuousClock.now
    sockets.start()
    for _ in 0..<4_000 { BeaconSockets.send([7], from: place) }
    try await Task.sleep(for: .milliseconds(300))
    let seconds = Int((ContinuousClock.now - began) / .seconds(1)) + 1
    #expect(box.all.count <= Limits.beaconsBurst + seconds * Limits.beaconsPerSecond)
    #expect(!box.all.isEmpty)
    // And the socket keeps being read.
    let before = box.all.count
    try await eventually("a datagram after the flood is received") {
      BeaconSockets.send([8], from: place)
      return box.all.dropFirst(before).contains { $0.datagram == [8] }
    }
    sockets.close()
  }

  @Test func `a port held exclusively by another program is a failure that names the port`() throws {
    let taken = try Socket.datagrams(
      on: try #require(SocketAddress.numeric("0.0.0.0", port: 0)), isShared: false)
    defer { taken.closeDescriptor() }
    let port = try #require(taken.localAddress?.port)
    let error = #expect(throws: SystemError.self) { try BeaconSockets(port: port) { _, _ in } }
    #expect(error?.isAddressInUse == true)
  }

  @Test func `a node that listens on one address sends from that address alone`() throws {
    let nowhere = try #require(SocketAddress.numeric("192.0.2.1", port: 1))
    #expect(BeaconInterface.all(listening: nowhere, port: 7_433) == [])
    let everywhere = try #require(SocketAddress.numeric("::", port: 1))
    for place in BeaconInterface.all(listening: everywhere, port: 7_433) {
      #expect(place.from.host != "0.0.0.0" && place.from.host != "::")
    }
    let four = try #require(SocketAddress.numeric("0.0.0.0", port: 1))
    #expect(BeaconInterface.all(listening: four, port: 7_433).allSatisfy { !$0.from.isIPv6 })
  }

  @Test func `a rate limit allows a burst, then a fixed number a second`() {
    var allowance = ReceiveAllowance(now: 0)
    for _ in 0..<Limits.beaconsBurst { #expect(allowance.take(now: 0) == nil) }
    #expect(allowance.take(now: 0) == 15)
    #expect(allowance.take(now: 14) == 1)
    #expect(allowance.take(now: 15) == nil)
    #expect(allowance.take(now: 15) == 15)
    var read = 0
    for now in Int64(16)...10_015 where allowance.take(now: now) == nil { read += 1 }
    #expect((640...670).contains(read))
    for _ in 0..<Limits.beaconsBurst { #expect(allowance.take(now: .max / 2) == nil) }
    #expect(allowance.take(now: .max / 2) != nil)
  }
}
