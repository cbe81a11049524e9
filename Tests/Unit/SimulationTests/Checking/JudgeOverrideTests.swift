import Records
import Replication
import Simulation
import Storage
import Testing
import Wire

/// Overrides: the judge accepts correct ones, and finds each guarantee that is broken once.
@Suite struct JudgeOverrideTests {
  let world: JudgedWorld
  let direction: Revert

  /// Alice is to mirror Bob: without her changes since the two last met.
  init() throws {
    world = try JudgedWorld()
    try world.write("bob", .records, insert(trip(1), [1: .text("Rome"), 2: .text("warm")]))
    try world.write("bob", .records, insert(trip(2), [1: .text("Oslo")]))
    try world.meet()
    try world.write(
      "alice", .records, edit(trip(1), [1: .text("Roma")]), delete(trip(2)),
      insert(trip(3), [1: .text("Lima")]))
    try world.write("bob", .records, insert(trip(4), [1: .text("Bonn")]))
    direction = Revert(
      wanted: world["bob"].store.heads(.records), present: world["alice"].store.heads(.records))
  }

  private func told(_ direction: Revert) -> RequestedOverride {
    func told(_ heads: [LogHead]) -> [ToldHead] {
      heads.compactMap {
        ToldHead(
          device: $0.log.device.bytes, incarnation: $0.log.incarnation.bytes, sequence: $0.sequence,
          id: $0.id.bytes, foldedSequence: $0.foldedSequence)
      }
    }
    return RequestedOverride(
      wanted: told(direction.wanted), present: told(direction.present), kind: nil, isOfTrip: false)
  }

  private func directed(_ drafts: [EntryDraft]) throws -> Int? {
    let sets = drafts.isEmpty ? [] : try world.write("alice", .records, drafts, verb: "mirror")
    return try world.judge.directed("alice", told(direction), sets.map(\.id.bytes))
  }

  private func expectObjection(_ body: () throws -> Void, sourceLocation: SourceLocation = #_sourceLocation) {
    let violation = #expect(throws: Violation.self, sourceLocation: sourceLocation, performing: body)
    #expect(violation?.rule == .override, sourceLocation: sourceLocation)
  }

  @Test func `the plan of the store is accepted`() throws {
    try world.sync("bob", to: "alice")
    let plan = try world["alice"].store.plan(direction, now: world.wall).changes.drafts
    #expect(try directed(plan) == 3)
    #expect(try world["alice"].store.record(trip(4)) != nil)
  }

  @Test func `an override that does not wait for missing sets`() throws {
    expectObjection { _ = try directed([]) }
    try world.sync("bob", to: "alice")
    expectObjection { try world.judge.waits("alice", for: told(direction)) }
  }

  @Test(arguments: 0...5)
  func `an override that leaves out one write, or makes an extra one`(_ wrong: Int) throws {
    try world.sync("bob", to: "alice")
    var drafts = try world["alice"].store.plan(direction, now: world.wall).changes.drafts
    switch wrong {
    case 0: drafts = []
    case 1...3: drafts.removeAll { $0.key == trip(UInt64(wrong)) }
    // A deleted record keeps its fields, and writes that are not reverted stay unchanged.
    case 4: drafts.insert(edit(trip(3), [1: .null]), at: 0)
    default: drafts.append(edit(trip(4), [1: .text("Köln")]))
    }
    expectObjection { _ = try directed(drafts) }
  }

  /// Bob has promised a set, and a cut prevents it from ever arriving: the rest of his log is not reverted.
  @Test func `an override over a log that was cut meanwhile`() throws {
    let bob = world["bob"]
    let (log, kept) = (bob.log(.records), bob.known.filter { $0.header.log == bob.log(.records) }[1].id)
    try world.learn(try world.revocation("bob", kept: [(log, kept)]), on: ["alice"])
    let plan = try world["alice"].store.plan(direction, now: world.wall).changes.drafts
    #expect(try directed(plan) == 3)
    expectObjection { _ = try directed([delete(trip(1))]) }
  }
}
