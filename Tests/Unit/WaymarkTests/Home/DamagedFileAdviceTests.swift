import Foundation
import Home
import Model
import Testing
import WaymarkCare
import WaymarkFiles
import WaymarkTesting

@testable import Waymark

/// What a deep verification says to do about files whose bytes are damaged.
struct DamagedFileAdviceTests {
  @Test func `damaged files need another device or a backup, and no repair of the tables`() async throws {
    let alice = try await TestNode.founder("alice")
    let trip = try await alice.node.save(Trip(name: "Rome"))
    let hotel = try await alice.node.save(Lodging(name: "Casa", tripID: trip.id))
    let content = Data(repeating: 7, count: 100_000)
    _ = try await alice.node.attach(content, named: "film.mov", to: .lodging(hotel.id))
    await alice.close()
    let names = try FileManager.default.subpathsOfDirectory(atPath: alice.home.files)
    let path = try #require(names.map { "\(alice.home.files)/\($0)" }.first { Files.isRegular($0) })
    try Data(repeating: 8, count: content.count).write(to: URL(filePath: path))
    let found = try await DeepCheck(alice.home).run { _ in }
    let outcome = DeepOutcome(found: found, home: alice.home, wall: TestNode.morning, isClosed: true)
    #expect(outcome.text.hasPrefix("1 file is damaged"), "\(outcome.text)")
    let next = outcome.next?.description ?? ""
    #expect(next.hasPrefix("waymark run until a device with intact copies connects; if none"), "\(next)")
  }
}
