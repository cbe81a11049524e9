import Foundation
import Model
import Testing
import Waymark
import WaymarkFiles
import WaymarkTesting

/// Files that belong to records, on several devices.
struct FileSyncTests {
  private func content(_ size: Int) -> Data { Data((0..<size).map { UInt8(truncatingIfNeeded: $0 / 991) }) }

  /// Lets virtual time pass until a file is on a device.
  private func arrival(of file: Model.Attachment, on name: String, _ circle: TestCircle) async throws
    -> Data
  {
    for _ in 0..<20 {
      if (try? await circle[name].fileState(of: file)) == .here {
        return try await circle[name].data(of: file)
      }
      try await circle.settle()
      try await circle.clock.advance(by: .seconds(1))
    }
    return try await circle[name].data(of: file)
  }

  @Test(arguments: [10, 40_000, 70_000, 3_000_000])
  func `a file that is attached on one device can be read on all others`(size: Int) async throws {
    let circle = try await TestCircle("alice", "bob", "carol")
    let trip = try await circle["alice"].save(Trip(name: "Rome"))
    let hotel = try await circle["alice"].save(Lodging(name: "Casa", tripID: trip.id))
    let file = try await circle["alice"].attach(content(size), named: "ticket.pdf", to: .lodging(hotel.id))
    for name in ["bob", "carol"] {
      #expect(try await arrival(of: file, on: name, circle) == content(size), "\(name)")
    }
    await circle.close()
  }

  @Test func `a file reaches a device that connects later, through another one`() async throws {
    let circle = try await TestCircle("alice", "bob", "carol")
    await circle.disconnect("alice", "carol")
    await circle.disconnect("bob", "carol")
    let trip = try await circle["alice"].save(Trip(name: "Rome"))
    let hotel = try await circle["alice"].save(Lodging(name: "Casa", tripID: trip.id))
    let file = try await circle["alice"].attach(content(200_000), named: "ticket.pdf", to: .lodging(hotel.id))
    #expect(try await arrival(of: file, on: "bob", circle) == content(200_000))
    await circle.close("alice")
    await circle.connect("bob", "carol")
    #expect(try await arrival(of: file, on: "carol", circle) == content(200_000))
    await circle.close()
  }

  @Test func `a file that the disk has damaged is fetched again when it is read`() async throws {
    let circle = try await TestCircle("alice", "bob", storage: .directories)
    let trip = try await circle["alice"].save(Trip(name: "Rome"))
    let hotel = try await circle["alice"].save(Lodging(name: "Casa", tripID: trip.id))
    let file = try await circle["alice"].attach(content(70_000), named: "ticket.pdf", to: .lodging(hotel.id))
    #expect(try await arrival(of: file, on: "bob", circle) == content(70_000))
    let folder = URL(filePath: circle["bob"].home.store).deletingLastPathComponent().appending(
      path: "files")
    let names = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
    let name = try #require(names.first { $0.contains("/") && !$0.contains(".") })
    var bytes = try Data(contentsOf: folder.appending(path: name))
    bytes[1_000] ^= 1
    try bytes.write(to: folder.appending(path: name))
    let bob = circle["bob"]
    #expect(try await circle.during { try await bob.data(of: file) } == content(70_000))
    await circle.close()
  }
}
