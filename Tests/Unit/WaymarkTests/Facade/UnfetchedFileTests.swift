import Foundation
import Model
import Reasons
import Testing
import WaymarkCare
import WaymarkFiles
import WaymarkTesting
import Wire

@testable import Waymark

/// A file that is elsewhere, while this device can't fetch it.
struct UnfetchedFileTests {
  @Test func `a node that is not running says so at once, and does not wait for the file`() async throws {
    let circle = try await TestCircle("alice", "bob", storage: .directories)
    try await circle["bob"].setFileKeepPolicy(.onDemand)
    let trip = try await circle["alice"].save(Trip(name: "Rome"))
    let hotel = try await circle["alice"].save(Lodging(name: "Casa", tripID: trip.id))
    let file = try await circle["alice"].attach(
      Data(repeating: 7, count: 100_000), named: "ticket.pdf", to: .lodging(hotel.id))
    try await circle.settle()
    let home = circle["bob"].home
    await circle.close("bob")
    let node = try circle.openElsewhere(home)
    #expect(try await !node.fileState(of: file).isHere)
    let before = circle.clock.now
    let error = await #expect(throws: WaymarkError.self) {
      try await circle.during(atMost: .seconds(60)) { try await node.data(of: file) }
    }
    #expect(error?.reason == .noContent && error?.exitCode == ExitCode.notRunning)
    #expect(error?.message.description.contains("the node is not running") == true)
    #expect(circle.clock.now.timeIntervalSince(before) < 5)
    await node.close()
    await circle.close()
  }
}
