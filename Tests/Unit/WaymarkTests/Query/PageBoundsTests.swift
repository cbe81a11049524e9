import Foundation
import Model
import Testing
import WaymarkKinds

@testable import Waymark

/// Limits of a query that are given more than once, and those beyond its records.
struct PageBoundsTests {
  @Test func `limits and skips add up, and end where the records end`() async throws {
    let node = try Node.inMemory(name: "alice")
    let names = (0..<10).map { "t\($0)" }
    _ = try await node.save(names.map { Trip(name: $0) })
    let all = Trip.all.sorted(by: \.name)
    let table: [(query: Query<Trip>, range: Range<Int>)] = [
      (all.prefix(3).prefix(5), 0..<3), (all.prefix(5).prefix(3), 0..<3),
      (all.dropFirst(2).dropFirst(3), 5..<10), (all.dropFirst(2).dropFirst(3).prefix(2), 5..<7),
      (all.dropFirst(1).prefix(4).dropFirst(2), 3..<5), (all.prefix(4).dropFirst(1).dropFirst(2), 3..<4),
      (all.prefix(4).dropFirst(1).prefix(2), 1..<3), (all.prefix(2).dropFirst(5), 0..<0),
      (all.prefix(0), 0..<0), (all.prefix(-1), 0..<0), (all.dropFirst(-3), 0..<10),
      (all.prefix(4).dropFirst(-3), 0..<4), (all.dropFirst(8).prefix(5), 8..<10), (all.dropFirst(10), 0..<0),
      (all.dropFirst(11).prefix(2), 0..<0), (all.prefix(.max), 0..<10),
    ]
    for (index, (query, range)) in table.enumerated() {
      #expect(try await node.records(query).map(\.name) == Array(names[range]), "row \(index)")
      #expect(try await node.count(query) == range.count, "row \(index)")
    }
    await node.close()
  }
}
