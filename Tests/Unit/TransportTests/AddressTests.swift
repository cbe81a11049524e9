import Testing
import Transport

/// The announced addresses that a node dials.
struct AddressTests {
  @Test(arguments: [
    "192.168.1.20:7433", "10.0.0.2:1", "203.0.113.9:65535", "[2001:db8::1]:7433", "[fd00::7]:7433",
  ])
  func `an address on a network is dialled`(_ address: String) {
    #expect(SocketAddress.mayAnnounce(address, isLocal: false))
    #expect(SocketAddress.mayAnnounce(address, isLocal: true))
  }

  @Test(arguments: [
    "127.0.0.1:7433", "127.8.9.1:80", "[::1]:7433", "[::ffff:127.0.0.1]:7433", "127.1:7433",
    "2130706433:7433",
  ])
  func `loopback is dialled only by a node that only listens on loopback`(_ address: String) {
    #expect(!SocketAddress.mayAnnounce(address, isLocal: false))
    #expect(SocketAddress.mayAnnounce(address, isLocal: true))
  }

  @Test(arguments: [
    "0.0.0.0:7433", "[::]:7433", "0.1.2.3:7433", "169.254.1.1:7433", "[fe80::1]:7433", "224.0.0.251:5353",
    "255.255.255.255:7433", "[ff02::fb]:5353", "localhost:7433", "printer.local:7433", "leak.example:1",
    "192.168.1.20:0", "192.168.1.20", "",
  ])
  func `names, and addresses that mean a different machine on each device, are not dialled`(_ address: String)
  {
    #expect(!SocketAddress.mayAnnounce(address, isLocal: false))
    #expect(!SocketAddress.mayAnnounce(address, isLocal: true))
  }
}
