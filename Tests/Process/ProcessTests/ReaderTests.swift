import Foundation
import Model
import Testing
import Waymark

/// A reader of a home whose node runs in another process.
@Suite(.serialized) struct ReaderTests {
  @Test func `a second process reads the home of a running node`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let alice = Device("alice", on: stage)
    try await alice.text("init", "--name", "alice")
    let reader = StoreReader(Home(URL(filePath: alice.home)))
    #expect(try reader.records(Trip.all) == [])
    try await alice.start()
    try await alice.text("trip", "add", "name=Rome")
    #expect(try reader.records(Trip.all).map(\.name) == ["Rome"])
    try await alice.text("trip", "edit", "Rome", "name=Roma")
    #expect(try reader.records(Trip.all).map(\.name) == ["Roma"])
    // The node does not notice: it stops cleanly, and the next process opens the home.
    try await alice.stop()
    #expect(try reader.records(Trip.all).map(\.name) == ["Roma"])
    try await alice.text("trip", "add", "name=Oslo")
    #expect(try reader.count(Trip.all) == 2)
  }
}
