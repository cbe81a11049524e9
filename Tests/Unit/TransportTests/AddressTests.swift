import Testing
import Transport

/// The announced addresses that a node dials.
struct AddressTests {
  @Test(arguments: [
    "192.168.1.20:7433", "127.0.0.1:1", "[2001:db8::1]:7433", "[fe80::1%lo]:7433", "169.254.1.1:80",
    "host.example:7433", "nas:7433", "bücher.example:1", "my_nas.local:65535",
  ])
  func `a person can add the addresses of machines, and host names`(_ address: String) {
    #expect(SocketAddress.obstacle(toDialling: address) == nil)
  }

  @Test(arguments: [
    "999.1.1.1:80", "1.2.3:80", "127.1:80", "0x7f.1:80", "0.0.0.0:1", "0.1.2.3:1", "[::]:1", "224.0.0.1:7433",
    "255.255.255.255:1", "[ff02::1]:1", "192.168.1.20:0", "192.168.1.20", "host.example", "-nas:1", "a..b:1",
    "a b:1", ":1", "",
  ])
  func `what can't be the address of a machine can't be added`(_ address: String) {
    #expect(SocketAddress.obstacle(toDialling: address) != nil)
  }

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
