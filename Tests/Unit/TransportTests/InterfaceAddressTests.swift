import Platform
import Testing
import Wire

@testable import Transport

/// The addresses and masks that the system reports for the interfaces of this machine.
struct InterfaceAddressTests {
  @Test func `the loopback interface is found, with the mask of its network`() throws {
    let interfaces = try #require(NetworkInterface.all)
    let loopback = try #require(interfaces.first { $0.host == "127.0.0.1" })
    #expect(loopback.isLoopback && loopback.isUp && !loopback.name.isEmpty)
    #expect(loopback.mask?.host == "255.0.0.0")
    let other = try #require(SocketAddress.numeric("127.8.9.1", port: 0)?.hostBytes?.bytes)
    #expect(loopback.network?.contains(other) == true)
  }

  /// Reads an address from memory, as one that the system has reported.
  private func read(_ address: SocketAddress, as family: Int32?) -> SocketAddress? {
    address.withSocketAddress { pointer, _ in
      SocketAddress(interface: UnsafeMutablePointer(mutating: pointer), family: family)
    }
  }

  @Test(arguments: ["192.0.2.7", "2001:db8::7"])
  func `an interface has addresses of the Internet only`(host: String) throws {
    let address = try #require(SocketAddress.numeric(host, port: 0))
    #expect(read(address, as: nil) == address)
    #expect(read(address, as: address.family) == address)
    #expect(read(address, as: AF_UNIX) == nil)
    #expect(SocketAddress(interface: nil) == nil)
  }
}
