import Enrolment
import Foundation
import Home
import Membership
import Platform
import Reasons
import Testing
import WaymarkCare
import Wire

@testable import Waymark

/// The addresses of a ticket, which a joining device dials one after another.
struct TicketAddressTests {
  @Test func `a device that answered and refused tells more than one that did not answer`() async throws {
    let other = try OtherMachine()
    let ticket = Ticket(
      circle: CircleID(Bytes32(1, 2, 3, 4)), transport: try Identity.generate().transportKey,
      addresses: ["127.0.0.1:1", other.address], secret: Bytes16(1, 2), expiry: systemWall() + 600_000)
    let exchange = PairingExchange(ticket: ticket, identity: try Identity.generate(), name: "bob")
    let error = await #expect(throws: WaymarkError.self) { _ = try await exchange.run() }
    #expect(error?.reason == .ticketRefused)
  }
}

/// Another program at an address: it accepts a single connection, and ends it once something has arrived.
private struct OtherMachine {
  let address: String

  init() throws {
    let listener = openSocket(AF_INET, .stream)
    var place = sockaddr_in()
    place.sin_family = sa_family_t(AF_INET)
    place.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &place) { place in
      place.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, length) == 0 && listen(listener, 1) == 0 && getsockname(listener, $0, &length) == 0
      }
    }
    try #require(isBound)
    address = "127.0.0.1:\(UInt16(bigEndian: place.sin_port))"
    Thread.detachNewThread { Self.answer(listener) }
  }

  private static func answer(_ listener: Int32) {
    defer { close(listener) }
    guard isReadable(listener) else { return }
    let link = accept(listener, nil, nil)
    defer { close(link) }
    var buffer = [UInt8](repeating: 0, count: 4_096)
    guard isReadable(link), read(link, &buffer, buffer.count) > 0 else { return }
    // It reads until the other end has closed too: bytes left unread would reset the connection.
    shutdown(link, Int32(SHUT_WR))
    while isReadable(link), read(link, &buffer, buffer.count) > 0 {}
  }

  private static func isReadable(_ descriptor: Int32) -> Bool {
    var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&wanted, 1, 10_000) > 0
  }
}
