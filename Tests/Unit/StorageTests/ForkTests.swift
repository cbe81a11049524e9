import RecordTables
import Records
import Replication
import Storage
import Testing
import Wire

/// Two copies of one device's data that both keep writing: every set of either copy stays.
@Suite struct ForkTests {
  let alice: Device
  let copy: Device
  let bob: Device
  let rome = trip(1)

  init() throws {
    alice = try Device("alice")
    copy = try Device("alice")
    bob = try Device("bob")
    try alice.write(at: 10, insert(rome, [1: .text("Rome")]))
    try alice.write(at: 20, edit(rome, [2: .text("sunny")]))
    try copy.sync(from: alice)
  }

  private func heads(_ device: Device) -> Bytes32 { Heads(device.store.heads(.records)).storedHash }

  @Test func `both branches are stored and folded, whichever came first`() throws {
    let one = try alice.write(at: 30, edit(rome, [1: .text("Roma")]))
    let other = try copy.write(at: 31, edit(rome, [1: .text("Rom")]))
    #expect(try alice.receive(other).placements == [.place(folds: true)])
    #expect(try copy.receive(one).placements == [.place(folds: true)])
    #expect(try alice.store.text(rome, 1) == "Rom")
    #expect(try dump(alice.store) == dump(copy.store))
    #expect(heads(alice) == heads(copy))
    #expect(alice.store.heads(.records).map(\.sequence) == [3, 3])
    #expect(alice.store.changeSetCount(.records) == 4)
  }

  @Test func `writes of two branches are concurrent`() throws {
    try alice.write(at: 30, edit(rome, [1: .text("Roma")]))
    try copy.write(at: 31, edit(rome, [1: .text("Rom")]))
    try alice.sync(from: copy)
    let conflict = try #require(try alice.store.conflicts().first)
    #expect(conflict.reason == .field)
    #expect(conflict.winner.content == .value(.text("Rom")))
    #expect(conflict.losers.map(\.content) == [.value(.text("Roma"))])
  }

  @Test func `a device that has seen both branches resolves the conflict, one that has seen one does not`()
    throws
  {
    try alice.write(at: 30, edit(rome, [1: .text("Roma")]))
    try copy.write(at: 31, edit(rome, [1: .text("Rom")]))
    let carol = try Device("carol")
    try carol.sync(from: alice)
    let half = try carol.write(at: 40, edit(rome, [1: .text("Rome by Carol")]))
    #expect(half[0].header.dependencies.map(\.sequence) == [3])
    try bob.sync(from: copy)
    try bob.sync(from: alice)
    try bob.receive(half)
    #expect(try bob.store.conflicts().count == 1)
    let all = try bob.write(at: 50, edit(rome, [1: .text("Rome by Bob")]))
    #expect(all[0].header.dependencies.map(\.sequence).sorted() == [1, 3, 3])
    #expect(try bob.store.conflicts().isEmpty)
    try carol.sync(from: bob)
    #expect(try dump(carol.store) == dump(bob.store))
  }

  @Test func `the fork is reported once per branch, with both sets`() throws {
    let one = try alice.write(at: 30, edit(rome, [1: .text("Roma")]))
    let other = try copy.write(at: 31, edit(rome, [1: .text("Rom")]))
    let next = try copy.write(at: 32, edit(rome, [1: .text("Roma!")]))
    let report = try alice.receive(other + next)
    #expect(report.forks.count == 1)
    #expect(report.forks.first?.set.id == other[0].id)
    #expect(report.forks.first?.sibling.id == one[0].id)
    #expect(report.forks.first?.set.header.previous == one[0].header.previous)
  }

  @Test func `a store that is opened knows which logs have forked, also at their first set`() throws {
    #expect(try alice.store.forks(but: []).isEmpty)
    let one = try alice.write(at: 30, edit(rome, [1: .text("Roma")]))
    let other = try copy.write(at: 31, edit(rome, [1: .text("Rom")]))
    try alice.receive(other)
    let fork = try #require(try alice.store.forks(but: []).first)
    #expect(Set([fork.set.id, fork.sibling.id]) == [one[0].id, other[0].id])
    #expect(try alice.store.forks(but: [one[0].header.log]).isEmpty)
    for index in 0..<2 {
      let carol = try Device("carol")
      try bob.receive(try carol.write(at: 100, insert(trip(9), [1: .text("\(index)")])))
    }
    #expect(try bob.store.forks(but: []).map(\.set.header.sequence) == [1])
  }

  @Test func `a log may fork at its first set, and three ways`() throws {
    let copies = try (0..<3).map { _ in try Device("carol") }
    for (index, copy) in copies.enumerated() {
      try copy.write(at: 100 + Int64(index), insert(trip(9), [1: .text("\(index)")]))
      try copy.write(at: 200 + Int64(index), edit(trip(9), [2: .text("\(index)")]))
    }
    for order in [[0, 1, 2], [2, 0, 1], [1, 2, 0]] {
      let reader = try Device("dora")
      var forks = 0
      for index in order { forks += try reader.receive(copies[index].known).forks.count }
      #expect(forks == 2)
      for copy in copies { try copies[0].sync(from: copy) }
      #expect(try dump(reader.store) == dump(copies[0].store))
      #expect(heads(reader) == heads(copies[0]))
    }
  }

  @Test func `a want is served along the branch that ends at its tip`() throws {
    try alice.write(at: 30, edit(rome, [1: .text("Roma")]))
    for wall in 31...34 { try copy.write(at: Int64(wall), edit(rome, [1: .text("\(wall)")])) }
    try alice.sync(from: copy)
    let tips = alice.store.heads(.records)
    #expect(tips.map(\.sequence) == [3, 6])
    for tip in tips {
      let want = Want(log: tip.log, from: 1, through: tip.sequence, tip: tip.id)
      var rest = [want]
      var sets: [StoredChangeSet] = []
      while !rest.isEmpty {
        let part = try alice.store.read(.records, rest, bytesMax: 100_000, setsMax: 2)
        sets += part.sets
        rest = part.rest
      }
      #expect(sets.map(\.sequence) == Array(1...tip.sequence))
      #expect(sets.last?.id == tip.id)
      let reader = try Device("dora")
      try reader.receive(try sets.map { try VerifiedChangeSet(verifying: $0.raw) })
      #expect(reader.store.heads(.records).map(\.id) == [tip.id])
    }
    let unknown = Want(
      log: alice.log, from: 1, through: 3, tip: ChangeSetID(Bytes32(9, 9, 9, 9)))
    #expect(try alice.store.read(.records, [unknown], bytesMax: 1, setsMax: 1).sets.isEmpty)
  }

  @Test func `a branch from the future is parked as a whole, the other one folds`() throws {
    try alice.write(at: 30, edit(rome, [1: .text("Roma")]))
    try copy.write(at: 500, edit(rome, [1: .text("Rom")]))
    try copy.write(at: 510, edit(rome, [1: .text("Rom!")]))
    for known in [alice.known + copy.known, copy.known + alice.known] {
      let reader = try Device("dora")
      try reader.receive(known, horizon: Clock(milliseconds: 100))
      #expect(try reader.store.text(rome, 1) == "Roma")
      #expect(try reader.store.parkedCount(.records) == 2)
      #expect(reader.store.heads(.records).map(\.foldedSequence).sorted() == [2, 3])
      let position = try reader.store.authorPosition(circle: Device.circle, log: reader.log)
      #expect(position.unseen.map(\.sequence) == [3])
      _ = try reader.store.foldParked(horizon: Clock(milliseconds: 505))
      #expect(try reader.store.text(rome, 1) == "Rom")
      _ = try reader.store.foldParked(horizon: Clock(milliseconds: 510))
      #expect(reader.store.heads(.records).map(\.foldedSequence).sorted() == [3, 4])
      #expect(try reader.store.parkedCount(.records) == 0)
    }
  }

  /// Numbers from a seed, the same on every platform.
  private struct Chance {
    var state: UInt64

    mutating func below(_ bound: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int((state >> 33) % UInt64(bound))
    }
  }

  @Test(arguments: 1...12)
  func `forked histories give the same store in every causal order`(_ seed: Int) throws {
    var chance = Chance(state: UInt64(seed))
    let writers = [alice, copy, try Device("alice"), bob]
    try writers[2].sync(from: alice)
    var history = alice.known
    for step in 1...30 {
      let writer = writers[chance.below(4)]
      // A copy that receives the others' sets would continue from them: only Bob reads.
      if writer === bob { try bob.sync(from: writers[chance.below(3)]) }
      let wall = Int64(100 + step * 10 - chance.below(40))
      history += try writer.write(at: wall, edit(trip(UInt64(chance.below(2) + 1)), [1: .text("\(step)")]))
    }
    let reference = try Device("dora")
    try reference.receive(causal(history, &chance))
    for _ in 1...6 {
      let reader = try Device("dora")
      var rest = causal(history, &chance)[...]
      while !rest.isEmpty {
        let count = 1 + chance.below(5)
        try reader.receive(Array(rest.prefix(count)))
        rest = rest.dropFirst(count)
      }
      #expect(reader.store.changeSetCount(.records) == UInt64(history.count))
      #expect(try dump(reader.store) == dump(reference.store))
      #expect(heads(reader) == heads(reference))
    }
  }

  /// The sets in another causal order.
  private func causal(_ history: [VerifiedChangeSet], _ chance: inout Chance) -> [VerifiedChangeSet] {
    var rest = history
    var placed: Set<ChangeSetID> = []
    var ordered: [VerifiedChangeSet] = []
    while !rest.isEmpty {
      let ready = rest.indices.filter { index in
        let header = rest[index].header
        return (header.previous.map(placed.contains) ?? true)
          && header.dependencies.allSatisfy { placed.contains($0.id) }
      }
      let next = rest.remove(at: ready[chance.below(ready.count)])
      placed.insert(next.id)
      ordered.append(next)
    }
    return ordered
  }
}
