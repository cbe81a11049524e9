import Testing
import Wire

@testable import Transport

/// By what a limit counts addresses, and what is an endpoint at all.
struct AddressKeyTests {
  private func key(_ host: String) throws -> String {
    try #require(SocketAddress.numeric(host, port: 1)).neighbourhood
  }

  @Test(arguments: [
    ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9"), ("192.0.2.1", "192.0.2.1"),
    ("::ffff:192.0.2.1", "192.0.2.1"),
  ])
  func `an IPv6 network of one household counts as one address`(one: String, other: String) throws {
    #expect(try key(one) == key(other))
  }

  @Test(arguments: [
    ("2001:db8:1:2::1", "2001:db8:1:3::1"), ("2001:db8:1:2::1", "2001:db9:1:2::1"),
    ("192.0.2.1", "192.0.2.2"), ("fe80::1", "fe80::2"), ("192.0.2.1", "2001:db8::1"),
  ])
  func `other networks, IPv4 addresses and link-local addresses count separately`(
    one: String, other: String
  ) throws {
    #expect(try key(one) != key(other))
  }

  @Test func `an endpoint has a host of at most 253 bytes without a zero byte`() {
    #expect(Endpoint(String(repeating: "a", count: 253) + ":1")?.host.count == 253)
    #expect(Endpoint(String(repeating: "a", count: 254) + ":1") == nil)
    #expect(Endpoint("a\0b:1") == nil)
    for port in ["+7433", "07433", "65536", "-1", " 7433", ""] {
      #expect(Endpoint("192.0.2.1:\(port)") == nil, "\(port)")
    }
    #expect(Endpoint("[fe80::1%eth0]:7433") == Endpoint(host: "fe80::1%eth0", port: 7_433))
  }

  @Test func `an IPv4 address is the same whichever family reports it`() throws {
    let plain = try #require(SocketAddress.numeric("192.0.2.1", port: 7))
    let mapped = try #require(SocketAddress.numeric("::ffff:192.0.2.1", port: 7))
    #expect(plain == mapped && plain.hashValue == mapped.hashValue)
    #expect(mapped.description == "192.0.2.1:7" && mapped.hostBytes == plain.hostBytes)
    let other = try #require(SocketAddress.numeric("192.0.2.1", port: 8))
    #expect(plain != other)
  }
}
