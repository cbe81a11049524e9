import Model
import Records
import Testing
import WaymarkTesting

@testable import Waymark

/// The limit of a search that finds records of several kinds.
struct SearchLimitTests {
  @Test(arguments: [(1, 1, 0), (2, 2, 0), (3, 2, 1), (4, 2, 2), (5, 2, 3), (6, 2, 3)])
  func `a search returns at most as many records as were asked for, of all kinds together`(
    limit: Int, trips: Int, rooms: Int
  ) async throws {
    let node = try Node.inMemory(name: "alice", clock: VirtualClock())
    let rome = try await node.save(Trip(name: "Casa in Rome"))
    _ = try await node.save(Trip(name: "Casa in Oslo"))
    _ = try await node.save((1...3).map { Lodging(name: "Casa \($0)", tripID: rome.id) })
    let found = try await node.find("casa", limit: limit)
    let kinds = found.matches.map(\.kind)
    #expect(kinds.count { $0 == .trip } == trips)
    #expect(kinds.count { $0 == .lodging } == rooms)
    #expect(found.total == 5 && kinds.count == trips + rooms)
    await node.close()
  }
}
