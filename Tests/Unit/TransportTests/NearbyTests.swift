import Testing
import Transport

@Suite struct `An address that may try a code` {
  @Test(
    arguments: [
      "127.0.0.1", "::1", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.20", "169.254.7.7",
      "100.64.0.1",
      "100.127.255.255", "fd00::1", "fc12::1", "fe80::1", "::ffff:192.168.1.20",
    ])
  func `is one of this machine, of a link or of a private network`(host: String) throws {
    #expect(try #require(SocketAddress.numeric(host, port: 1)).isNearby)
  }

  @Test(
    arguments: [
      "8.8.8.8", "172.15.255.255", "172.32.0.1", "192.169.0.1", "100.63.255.255", "100.128.0.1", "11.0.0.1",
      "2001:db8:ffff::1", "fe00::1", "fbff::1", "::ffff:8.8.8.8",
    ])
  func `is not one of another network`(host: String) throws {
    #expect(try !#require(SocketAddress.numeric(host, port: 1)).isNearby)
  }
}
