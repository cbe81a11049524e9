import Enrolment
import Foundation
import Model
import SQLite
import Storage
import Testing

@testable import NodeRuntime
@testable import Waymark
@testable import WaymarkTesting

/// When erased values leave the write-ahead log of a node.
struct ErasedLogTests {
  @Test func `erased values that a reader has kept in the log leave it a second after the reader has ended`()
    async throws
  {
    let (test, clock) = (try TestHome(), VirtualClock())
    try CircleCreation(name: "alice", now: clock.wall()).write(to: test.home)
    let node = try Node(
      home: test.home,
      in: NodeEnvironment(
        clock: clock, transport: InMemoryTransport(network: InMemoryNetwork(clock: clock), machine: 1)))
    let trip = try await node.save(Trip(name: "Rome", notes: "planted"))
    func hasFound() throws -> Bool {
      try ["", "-wal"].contains { ending in
        let bytes = try Data(contentsOf: URL(filePath: test.home.store + ending))
        return bytes.range(of: Data("planted".utf8)) != nil
      }
    }
    let reader = try Connection(.existingFileReadOnly(test.home.store))
    try reader.setUpReadOnly()
    try reader.execute("BEGIN")
    // The snapshot begins with the first read.
    _ = try reader.with("SELECT count(*) FROM change_sets") { try $0.step() }
    try await node.erase(trip)
    // The first checkpoint can't truncate the log, which the reader still reads.
    try await clock.advance(by: .milliseconds(500))
    #expect(try await node.isErasePending)
    #expect(try hasFound())
    try reader.execute("ROLLBACK")
    #expect(try await node.isErasePending)
    // Nothing is written, and the node does not serve: only the next attempt can end it.
    try await clock.advance(by: .seconds(1))
    let isPending = try await node.isErasePending
    #expect(!isPending)
    #expect(try !hasFound())
    await node.close()
  }
}

extension Node {
  /// Whether values were erased that may still be in the log.
  fileprivate var isErasePending: Bool {
    get throws { try core.store.isErasePending }
  }
}
