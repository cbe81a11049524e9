import Foundation
import Testing
import VirtualDisk

/// Small worlds of a circle: a root key and up to four devices, at most six change sets and two or three statements, in
/// every order of delivery.
///
/// With `WAYMARK_SMALL_WORLD=full` in the environment all worlds are searched (use a release build), otherwise some of
/// each family.
@Suite struct CircleWorldTests {
  private static let isFull = ProcessInfo.processInfo.environment["WAYMARK_SMALL_WORLD"] == "full"

  @Test func `two cuts of one log give one state in every order`() throws {
    try search(Script.cuts, count: 120)
  }

  @Test func `cuts of a forked log give one state in every order`() throws {
    try search(Script.forks, count: 96)
  }

  @Test func `branch proofs and a revocation give one state in every order`() throws {
    try search(Script.lines, count: 60)
  }

  @Test func `a revocation by a device that is revoked itself gives one state in every order`() throws {
    try search(Script.voidedRevocations, count: 96)
  }

  @Test func `the statements of a revoked admin give one state in every order`() throws {
    try search(Script.chains, count: 48)
  }

  @Test func `devices that revoke each other give one state in every order`() throws {
    try search(Script.mutualRevocations, count: 48)
  }

  @Test func `a log cut and a revocation give one state in every order`() throws {
    try search(Script.logCuts, count: 96)
  }

  @Test func `sets dated ahead and their cuts give one state in every order`() throws {
    try search(Script.clocksAhead, count: 24)
  }

  @Test func `an erase and cuts of its log give one state in every order`() throws {
    try search(Script.erases, count: 144)
  }

  @Test func `a fork, a log cut, an erase and two revocations give one state in every order`() throws {
    try search(Script.combined, count: 32)
  }

  private func search(_ scripts: [Script], count: Int) throws {
    #expect(scripts.count == count)
    let disk = Disk()
    _ = try Node(disk)
    var counts = SearchCounts()
    // A step that shares no factor with the numbers of variants combines their values in many ways.
    let chosen =
      Self.isFull ? scripts : scripts.enumerated().filter { $0.offset % Self.step == 4 }.map(\.element)
    for script in chosen {
      var search = Search(try SignedWorld(script))
      try search.run(from: disk)
      counts = counts + search.counts
      if let failure = search.failure {
        Issue.record("\(script.name): \(failure.order), \(failure.difference)")
      }
    }
    print(
      "\(Test.current?.name ?? ""): \(counts.worlds) worlds, \(counts.states) states, "
        + "\(counts.deliveries) deliveries, \(counts.restarts) restarts, \(Int(counts.orders)) orders")
  }

  private static let step = 13
}
