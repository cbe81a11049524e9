import Platform
import Testing
import Wire

@testable import Transport

/// What an interface of this machine says about its network.
struct NetworkInterfaceTests {
  private func network(_ host: String, mask: String?, flags: UInt32 = UInt32(IFF_UP)) throws -> AddressRange?
  {
    NetworkInterface(
      name: "eth0", flags: flags, address: try #require(SocketAddress.numeric(host, port: 0)),
      mask: try mask.map { try #require(SocketAddress.numeric($0, port: 0)) }
    ).network
  }

  private func bytes(_ host: String) throws -> [UInt8] {
    try #require(SocketAddress.numeric(host, port: 0)?.hostBytes?.bytes)
  }

  @Test(
    arguments: [
      ("203.0.113.7", "255.255.255.0", ["203.0.113.0", "203.0.113.255"], ["203.0.112.7", "203.1.113.7"]),
      ("203.0.113.7", "255.0.0.0", ["203.255.0.1"], ["204.0.113.7"]),
      ("2001:db8:1::7", "ffff:ffff:ffff:ffff::", ["2001:db8:1::ffff"], ["2001:db8:1:1::7", "2001:db8:2::7"]),
      ("2001:db8:1::7", "ffff:ffff::", ["2001:db8:ffff::1"], ["2001:db9::1"]),
    ] as [(String, String, [String], [String])])
  func `its network has the addresses that equal its own where the mask has ones`(
    host: String, mask: String, inside: [String], outside: [String]
  ) throws {
    let range = try #require(try network(host, mask: mask))
    for other in inside + [host] { #expect(range.contains(try bytes(other)), "\(other)") }
    for other in outside + ["::"] { #expect(!range.contains(try bytes(other)), "\(other)") }
  }

  @Test func `an interface that is down, or without a real mask, has no network`() throws {
    #expect(try network("203.0.113.7", mask: "255.255.255.0", flags: 0) == nil)
    #expect(try network("203.0.113.7", mask: nil) == nil)
    #expect(try network("203.0.113.7", mask: "254.0.0.0") == nil)
    #expect(try network("203.0.113.7", mask: "0.0.0.0") == nil)
    #expect(try network("2001:db8::7", mask: "ffff:fffe::") == nil)
  }

  @Test func `an address of sixteen bytes is written as it is dialled`() throws {
    for (host, text) in [
      ("192.0.2.1", "192.0.2.1"), ("2001:db8::1", "2001:db8::1"), ("fe80::1", "fe80::1%eth0"),
      ("febf::1", "febf::1%eth0"), ("fec0::1", "fec0::1"), ("::1", "::1"),
    ] {
      let address = try #require(SocketAddress.numeric(host, port: 0)?.hostBytes)
      #expect(address.host(on: "eth0") == text)
    }
  }
}
