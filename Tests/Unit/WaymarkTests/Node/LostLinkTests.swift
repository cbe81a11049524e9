import Foundation
import JSONDocument
import Membership
import Platform
import Synchronization
import Testing
import WaymarkCare
import WaymarkTesting
import Wire

@testable import NodeRuntime
@testable import Waymark

/// A join whose link is lost at any byte of the answer continues with the same key.
struct LostLinkTests {
  @Test func `however much of the answer arrives before the link is lost, the device is one member`()
    async throws
  {
    let (alice, home) = (try TestHome().home, try TestHome().home)
    let node = try await Node.open(alice, name: "alice")
    let address = try await node.serve(listen: "127.0.0.1:0")
    var ticket = try await node.ticket()
    // Most of these are after the handshake; earlier ones count as failed attempts, of which ten are too many.
    let cuts = [0, 60] + stride(from: 120, to: 2_400, by: 60)
    var (joined, lostAfterCertificate): (NewMembership?, Int) = (nil, 0)
    for cut in cuts where joined == nil {
      let relay = try CuttingRelay(to: address, after: cut)
      ticket.addresses = [relay.address]
      do {
        joined = try await JoinOperation(home: home, ticket: ticket.line, name: "bob").join()
      } catch let failure as WaymarkError {
        #expect([.unreachable, .ticketRefused].contains(failure.code), "after \(cut) bytes: \(failure)")
        if await node.circle.evaluation.members.count == 2 { lostAfterCertificate += 1 }
      }
      relay.end()
      #expect(await node.circle.evaluation.members.count <= 2, "after \(cut) bytes")
    }
    let device = try #require(joined?.device)
    #expect(await node.circle.evaluation.members[device]?.name == "bob")
    #expect(lostAfterCertificate > 0, "no link was lost between the certificate and its arrival")
    await node.close()
  }

  @Test func `keys that were revoked while their join was interrupted are replaced`() async throws {
    let (alice, home) = (try TestHome().home, try TestHome().home)
    let node = try await Node.open(alice, name: "alice")
    let address = try await node.serve(listen: "127.0.0.1:0")
    var ticket = try await node.ticket()
    ticket.addresses = [address]
    try home.prepare()
    let (identity, isNew) = try PendingJoin(home).identity(for: ticket)
    #expect(isNew)
    // Certified, and stopped before the answer was used.
    _ = try await PairingExchange(ticket: ticket, identity: identity, name: "bob").run()
    _ = try await node.run("revoke", ["device": ["bob"], "yes": true])
    var later = try await node.ticket()
    later.addresses = [address]
    let joined = try await JoinOperation(home: home, ticket: later.line, name: "bob").join()
    #expect(joined.device != identity.device)
    #expect(await node.circle.evaluation.members.keys.contains(joined.device))
    #expect(!Files.exists(home.pendingJoin))
    await node.close()
  }

  @Test func `the next start removes the keys of a join that was complete, and only those`() async throws {
    let (home, other) = (try TestHome().home, try TestHome().home)
    for home in [home, other] { await (try Node.open(home, name: "bob")).close() }
    let pending = home.moved(to: home.pendingJoin)
    for (source, isLeft) in [(other, true), (home, false)] {
      try pending.prepare()
      try? FileManager.default.removeItem(atPath: pending.deviceKey)
      try FileManager.default.copyItem(atPath: source.deviceKey, toPath: pending.deviceKey)
      await (try Node.open(home, name: "bob")).close()
      #expect(Files.exists(home.pendingJoin) == isLeft)
    }
  }

  @Test func `keys of an interrupted join are used again for its circle only`() async throws {
    let home = try TestHome().home
    try home.prepare()
    let alice = try await Node.open(try TestHome().home, name: "alice")
    let carol = try await Node.open(try TestHome().home, name: "carol")
    for node in [alice, carol] { _ = try await node.serve(listen: "127.0.0.1:0") }
    let pending = PendingJoin(home)
    let first = try pending.identity(for: try await alice.ticket())
    let again = try pending.identity(for: try await alice.ticket())
    #expect(!again.isNew && again.identity.device == first.identity.device)
    let other = try pending.identity(for: try await carol.ticket())
    #expect(other.isNew && other.identity.device != first.identity.device)
    await alice.close()
    await carol.close()
  }
}

/// Forwards bytes, and closes both ends once a given number has come back.
private final class CuttingRelay: Sendable {
  let address: String
  private let listener: Int32
  private let isOver = Mutex(false)

  init(to target: String, after count: Int) throws {
    listener = openSocket(AF_INET, .stream)
    var place = Self.loopback(port: 0)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let listener = listener
    let isBound = withUnsafeMutablePointer(to: &place) { place in
      place.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, length) == 0 && listen(listener, 8) == 0 && getsockname(listener, $0, &length) == 0
      }
    }
    try #require(isBound)
    address = "127.0.0.1:\(UInt16(bigEndian: place.sin_port))"
    let port = try #require(target.split(separator: ":").last.flatMap { UInt16($0) })
    Thread.detachNewThread { [self] in serve(port, count) }
  }

  func end() { isOver.withLock { $0 = true } }

  private static func loopback(port: UInt16) -> sockaddr_in {
    var place = sockaddr_in()
    place.sin_family = sa_family_t(AF_INET)
    place.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    place.sin_port = port.bigEndian
    return place
  }

  private func serve(_ port: UInt16, _ count: Int) {
    defer { close(listener) }
    while !isOver.withLock({ $0 }) {
      var wanted = pollfd(fd: listener, events: Int16(POLLIN), revents: 0)
      guard poll(&wanted, 1, 20) > 0 else { continue }
      let near = accept(listener, nil, nil)
      let far = openSocket(AF_INET, .stream)
      var place = Self.loopback(port: port)
      let isConnected = withUnsafePointer(to: &place) { place in
        place.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          connect(far, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
        }
      }
      if isConnected { pass(near, far, count) }
      close(near)
      close(far)
    }
  }

  private func pass(_ near: Int32, _ far: Int32, _ count: Int) {
    var left = count
    var buffer = [UInt8](repeating: 0, count: 16_384)
    while !isOver.withLock({ $0 }) {
      var ends = [near, far].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
      guard poll(&ends, 2, 20) > 0 else { continue }
      if ends[0].revents != 0 {
        let got = read(near, &buffer, buffer.count)
        guard got > 0, write(far, buffer, got) == got else { return }
      }
      if ends[1].revents != 0 {
        let got = read(far, &buffer, buffer.count)
        guard got > 0 else { return }
        let passed = min(got, left)
        guard write(near, buffer, passed) == passed else { return }
        left -= passed
        if left == 0 { return }
      }
    }
  }
}

extension Node {
  fileprivate func ticket() throws -> Ticket {
    try core.connections.makeTicket(role: .member, lifetime: 600_000)
  }
}
