import Foundation
import Testing
import VirtualDisk

/// Small worlds of a circle, in every order of delivery.
@Suite struct CircleWorldTests {
  private static let isFull = ProcessInfo.processInfo.environment["WAYMARK_SMALL_WORLD"] == "full"

  @Test func `two revocations of one device give one state in every order`() throws {
    try search(Script.cuts, every: 19)
  }

  private func search(_ scripts: [Script], every step: Int) throws {
    let disk = Disk()
    _ = try Node(disk)
    var counts = SearchCounts()
    let chosen = Self.isFull ? scripts : scripts.enumerated().filter { $0.offset % step == 0 }.map(\.element)
    for script in chosen {
      var search = Search(try SignedWorld(script))
      try search.run(from: disk)
      counts = counts + search.counts
      if let failure = search.failure {
        Issue.record("\(script.name): \(failure.order), \(failure.difference)")
      }
    }
    print(
      "\(counts.worlds) worlds, \(counts.states) states, \(counts.deliveries) deliveries, "
        + "\(counts.restarts) restarts, \(counts.orders) orders")
  }
}
