import Backups
import Foundation
import Membership
import RecordTables
import Records
import Replication
import Storage
import Testing
import Wire

/// Logs that end at a tip because their author was revoked, or cut them itself: whenever a store learns of the cut,
/// it ends with the same content as if it had known it from the start.
@Suite struct CutTests {
  let alice: Device
  let bob: Device
  let rome = trip(1)

  /// Alice writes five sets, Bob one after he has seen all of them.
  init() throws {
    alice = try Device("alice")
    bob = try Device("bob")
    try alice.write(at: 10, insert(rome, [1: .text("Rome")]))
    for number in 2...5 { try alice.write(at: Int64(number) * 10, edit(rome, [1: .text("\(number)")])) }
    try bob.sync(from: alice)
    try bob.write(at: 100, edit(rome, [2: .text("sunny")]), insert(trip(2), [1: .text("Oslo")]))
  }

  private func tip(_ sequence: Int) -> ChangeSetID { alice.known[sequence - 1].id }

  private func cut(_ device: Device, _ cuts: Set<Set<ChangeSetID>>) throws {
    let log = alice.log
    _ = try device.store.admit(by: { $0 == log ? .cut(cuts) : .open }, horizon: Device.horizon)
  }

  private func lift(_ device: Device) throws {
    _ = try device.store.admit(by: { _ in .open }, horizon: Device.horizon)
  }

  private func state(_ device: Device) throws -> [String] {
    try dump(device.store) + device.store.heads(.records).map { "\($0)" }
  }

  /// A device that knows of the cuts before the first set arrives.
  private func reader(
    _ cuts: Set<Set<ChangeSetID>>, _ sets: [VerifiedChangeSet]
  ) throws -> (Device, [Placement]) {
    let reader = try Device("carol")
    try cut(reader, cuts)
    return (reader, try reader.receive(sets).placements)
  }

  @Test func `a cut below folded sets reverts them`() throws {
    let before = try state(bob)
    try cut(bob, [[tip(3)]])
    #expect(try bob.store.text(rome, 1) == "3")
    #expect(try bob.store.text(rome, 2) == "sunny")
    #expect(bob.store.heads(.records).first { $0.log == alice.log }?.sequence == 3)
    let (reader, placements) = try reader([[tip(3)]], bob.known)
    #expect(placements.suffix(3) == [.excluded, .excluded, .place(folds: true)])
    #expect(try state(reader) == state(bob))
    try lift(bob)
    #expect(try state(bob) == before)
  }

  @Test func `changes that a device made with a fast clock stay visible on it, whatever is cut`() throws {
    bob.store.device = bob.log.device
    let ahead = try bob.draft(at: 5_000_000, [insert(trip(3), [1: .text("Bern")])])
    try bob.receive(ahead, horizon: Clock(raw: .max))
    // Another author's set may be cut, and is parked as in any other store.
    let carol = try Device("carol")
    let late = try carol.draft(at: 5_000_000, [insert(trip(4), [1: .text("Wien")])])
    try bob.receive(late)
    try cut(bob, [[tip(3)]])
    #expect(try bob.store.text(rome, 1) == "3")
    #expect(try bob.store.text(trip(3), 1) == "Bern")
    #expect(try bob.store.text(trip(4), 1) == nil)
    #expect(try bob.store.parkedCount(.records) == 1)
    try lift(bob)
    #expect(try bob.store.text(rome, 1) == "5")
    #expect(try bob.store.text(trip(3), 1) == "Bern")
    #expect(try bob.store.nextParkedClock == late.first?.header.clock)
  }

  @Test func `a cut at the tip changes nothing, and later sets are excluded`() throws {
    let before = try dump(bob.store)
    let log = alice.log
    let kept = tip(5)
    let isChanged = try bob.store.admit(
      by: { $0 == log ? .cut([[kept]]) : .open }, horizon: Device.horizon)
    #expect(!isChanged)
    #expect(try dump(bob.store) == before)
    let late = try alice.write(at: 200, edit(rome, [1: .text("late")]))
    #expect(try bob.receive(late).placements == [.excluded])
    #expect(try dump(bob.store) == before)
  }

  @Test func `nothing remains of a log that is excluded as a whole, and honest sets continue`() throws {
    try cut(bob, [[]])
    #expect(try bob.store.text(rome, 1) == nil)
    #expect(try bob.store.text(trip(2), 1) == "Oslo")
    let (reader, _) = try reader([[]], bob.known)
    #expect(try state(reader) == state(bob))
    try bob.write(at: 300, edit(trip(2), [1: .text("Bergen")]))
    try lift(bob)
    #expect(try bob.store.text(rome, 1) == "5")
    #expect(try bob.store.text(trip(2), 1) == "Bergen")
    #expect(try bob.store.conflicts().isEmpty)
  }

  @Test func `the end of a cut takes effect even if no set of its log was known when it began`() throws {
    // Carol holds no set of the cut log: Bob's set only depends on one.
    let (carol, placements) = try reader([[]], bob.known)
    #expect(placements.last == .place(folds: true))
    try lift(carol)
    #expect(carol.store.heads(.records).isEmpty)
    try carol.receive(bob.known)
    #expect(try carol.store.text(trip(2), 1) == "Oslo")
    #expect(try state(carol) == state(bob))
  }

  @Test func `sets quarantined by the end of a cut return with the last of their ancestors`() throws {
    let (carol, _) = try reader([[]], bob.known)
    try lift(carol)
    #expect(carol.store.heads(.records).isEmpty)
    try carol.receive(Array(alice.known.prefix(4)))
    #expect(carol.store.heads(.records).map(\.log) == [alice.log])
    #expect(try carol.receive([alice.known[4]]).isRebuilt)
    #expect(try state(carol) == state(bob))
    // Nothing is waited for any more.
    let late = try alice.write(at: 200, edit(rome, [1: .text("late")]))
    #expect(try !carol.receive(late).isRebuilt)
  }

  @Test func `a dependency on an excluded log counts once a later cut keeps it and its tip arrives`() throws {
    try bob.write(at: 110, edit(rome, [1: .text("bob's")]))
    let (carol, _) = try reader([[]], bob.known)
    try cut(carol, [[tip(5)]])
    try carol.receive(Array(alice.known.prefix(4)))
    #expect(try carol.store.text(trip(2), 1) == nil, "it waits for the tip")
    try carol.receive([alice.known[4]])
    #expect(try carol.store.text(rome, 1) == "bob's")
    #expect(try carol.store.conflicts().isEmpty, "Bob had seen the value that he replaced")
    try cut(bob, [[tip(5)]])
    #expect(try state(carol) == state(bob))
  }

  @Test func `sets that return because of a cut of a missing log are quarantined again when the cut ends`()
    throws
  {
    let (carol, _) = try reader([[]], bob.known)
    try lift(carol)
    let dora = try Device("dora")
    try dora.write(at: 200, insert(trip(3), [1: .text("Lima")]))
    try carol.receive(dora.known)
    let logs = [alice.log, dora.log]
    _ = try carol.store.admit(by: { logs.contains($0) ? .cut([[]]) : .open }, horizon: Device.horizon)
    #expect(carol.store.heads(.records).map(\.log) == [bob.log])
    _ = try carol.store.admit(by: { $0 == dora.log ? .cut([[]]) : .open }, horizon: Device.horizon)
    #expect(carol.store.heads(.records).isEmpty)
  }

  @Test func `sets that wait for a missing log return when that log is excluded`() throws {
    let (carol, _) = try reader([[]], bob.known)
    try lift(carol)
    #expect(carol.store.heads(.records).isEmpty)
    try cut(carol, [[]])
    #expect(try carol.store.text(trip(2), 1) == "Oslo")
    #expect(try state(carol) == state(reader([[]], bob.known).0))
    try lift(carol)
    #expect(carol.store.heads(.records).isEmpty)
  }

  /// Sets of an author that declares a dependency and dates them before it.
  private func backdated(_ drafts: [[EntryDraft]], seen: VerifiedChangeSet) throws -> [VerifiedChangeSet] {
    let mallory = try Device("mallory")
    let header = seen.header
    let dependency = Dependency(
      device: header.log.device, incarnation: header.log.incarnation, sequence: header.sequence, id: seen.id)
    var author = Author(
      position: AuthorPosition(
        circle: Device.circle, log: mallory.log, sequence: 0, id: nil, clock: .zero, logBytes: 0,
        unseen: [dependency]),
      key: mallory.key, seed: mallory.nextSeed)
    return try drafts.flatMap {
      try author.write($0, operation: OperationDraft(id: OperationID(Bytes16(6, 6)), verb: "test"), wall: 20)
    }
  }

  @Test func `sets dated before a dependency are placed only as long as a cut excludes the dependency`()
    throws
  {
    let lies = try backdated(
      [[insert(trip(6), [1: .text("Troy")])], [edit(trip(6), [1: .text("Ithaca")])]], seen: alice.known[3])
    #expect(try bob.receive(lies).placements.first == .clockConflict)
    let before = try state(bob)
    try cut(bob, [[tip(3)]])
    #expect(try bob.receive(lies).placements == [.place(folds: true), .place(folds: true)])
    #expect(try bob.store.text(trip(6), 1) == "Ithaca")
    let cutState = try state(bob)
    try lift(bob)
    #expect(try state(bob) == before)
    let late = try alice.write(at: 200, edit(rome, [1: .text("late")]))
    #expect(try !bob.receive(late).isRebuilt, "no further set is waited for")
    try cut(bob, [[tip(3)]])
    #expect(try state(bob) == cutState)
    let (reader, _) = try reader([[tip(3)]], bob.known + lies)
    #expect(try state(reader) == cutState)
  }

  @Test func `several cuts keep only what all of them keep`() throws {
    let cuts: Set<Set<ChangeSetID>> = [[tip(4)], [tip(2)]]
    try cut(bob, cuts)
    #expect(try bob.store.text(rome, 1) == "2")
    let head = try #require(bob.store.heads(.records).first { $0.log == alice.log })
    #expect(head.sequence == 4)
    #expect(head.foldedSequence == 2)
    #expect(try bob.store.parkedCount(.records) == 0)
    #expect(try bob.store.nextParkedClock == nil)
    let (reader, _) = try reader(cuts, bob.known)
    #expect(try state(reader) == state(bob))
    let position = try bob.store.authorPosition(circle: Device.circle, log: try Device("dora").log)
    #expect(position.unseen.map(\.sequence).sorted() == [1, 2])
  }

  @Test(arguments: [0, 2])
  func `a set with excluded dependencies is folded after its ancestors that no cut excludes`(
    _ first: Int
  ) throws {
    let dora = try Device("dora")
    try dora.receive(Array(alice.known.prefix(3)))
    try dora.write(at: 200, edit(rome, [1: .text("dora's")]))
    // Until the third set is here, it is unknown whether the first two lead to it.
    let cuts: Set<Set<ChangeSetID>> = [[tip(2)], [tip(3)]]
    let (carol, _) = try reader(cuts, Array(dora.known.prefix(first)))
    try carol.receive(Array(dora.known.dropFirst(first)))
    #expect(try carol.store.text(rome, 1) == "dora's")
    #expect(try carol.store.conflicts().isEmpty, "Dora had seen the value that she replaced")
    try cut(dora, cuts)
    #expect(try state(carol) == state(dora))
  }

  @Test func `no timer is set for sets whose time has come`() throws {
    let reader = try Device("carol")
    try reader.receive(alice.known, horizon: .zero)
    #expect(try reader.store.nextParkedClock == Clock(milliseconds: 10))
    #expect(try reader.store.nextParkedClock(after: Clock(milliseconds: 30)) == Clock(milliseconds: 40))
    #expect(try reader.store.nextParkedClock(after: Device.horizon) == nil)
    // The upper half of the clock values comes after the lower one.
    let half = Clock(raw: 1 << 63)
    var author = Author(
      position: AuthorPosition(
        circle: Device.circle, log: bob.log, sequence: 0, id: nil, clock: half, logBytes: 0,
        unseen: []),
      key: bob.key, seed: bob.nextSeed)
    let operation = OperationDraft(id: OperationID(Bytes16(9, 9)), verb: "test")
    let late = try author.write([insert(trip(9), [:])], operation: operation, wall: 10)
    try reader.receive(late, horizon: .zero)
    #expect(try reader.store.nextParkedClock == Clock(milliseconds: 10))
    #expect(try reader.store.nextParkedClock(after: Device.horizon) == late.first?.header.clock)
    #expect(try reader.store.nextParkedClock(after: half) == late.first?.header.clock)
    #expect(try reader.store.nextParkedClock(after: Clock(raw: .max)) == nil)
  }

  @Test func `a set is folded without an excluded dependency, and has seen it once it returns`() throws {
    let dora = try Device("dora")
    try dora.receive(Array(alice.known.prefix(4)))
    try dora.write(at: 200, edit(rome, [1: .text("dora's")]))
    // The first cut excludes what Dora has seen; it leads to the tip of the second.
    let cuts: Set<Set<ChangeSetID>> = [[tip(2)], [tip(5)]]
    let (carol, _) = try reader(cuts, Array(alice.known.prefix(2)) + dora.known.suffix(1))
    #expect(try carol.store.text(rome, 1) == "dora's")
    try carol.receive(Array(alice.known.suffix(3)))
    #expect(try carol.store.conflicts().isEmpty, "Dora had seen the value that she replaced")
    let late = try Device("erin")
    try late.receive(alice.known + dora.known.suffix(1))
    try cut(late, cuts)
    #expect(try state(carol) == state(late))
  }

  @Test func `a cut hides nothing before its kept tip is here`() throws {
    let dora = try Device("dora")
    try dora.receive(Array(alice.known.prefix(2)))
    try dora.write(at: 200, edit(rome, [2: .text("sunny")]))
    // Without premium the tip may never arrive.
    let before = try state(dora)
    try cut(dora, [[tip(3)]])
    #expect(try state(dora) == before)
    let (reader, placements) = try reader([[tip(3)]], dora.known)
    #expect(placements.allSatisfy { $0 == .place(folds: true) })
    #expect(try state(reader) == before)
    #expect(try !reader.receive([alice.known[2]]).isRebuilt)
    #expect(try reader.store.text(rome, 1) == "3")
    #expect(try reader.receive([alice.known[3]]).placements == [.excluded])
  }

  @Test func `of several cuts those whose kept tips are all here take effect`() throws {
    let (reader, _) = try reader([[tip(1)], [tip(2), tip(4)]], Array(alice.known.prefix(3)))
    #expect(try reader.store.text(rome, 1) == "Rome")
    #expect(reader.store.heads(.records).first?.sequence == 3)
    let dora = try Device("dora")
    try dora.receive(Array(alice.known.prefix(3)))
    try dora.write(at: 200, edit(rome, [2: .text("sunny")]))
    // What Dora has seen is certainly excluded, though the tip of the other cut is still to come.
    try reader.receive(dora.known.suffix(1))
    #expect(try reader.store.text(rome, 2) == "sunny")
    try reader.receive([alice.known[3]])
    #expect(try reader.store.text(rome, 1) == "Rome")
    #expect(reader.store.heads(.records).first { $0.log == alice.log }?.sequence == 4)
  }

  @Test(arguments: [false, true])
  func `a kept tip on another branch reverts folded sets and drops parked ones`(
    _ isLate: Bool
  ) throws {
    let copy = try Device("alice")
    try copy.receive(Array(alice.known.prefix(2)))
    try copy.write(at: 200, edit(rome, [1: .text("copy 3")]))
    try copy.write(at: 210, edit(rome, [1: .text("copy 4")]))
    let (kept, tip) = (copy.known[3].id, self.tip(3))
    let reader = try Device("carol")
    try cut(reader, [[kept], [kept, tip]])
    // The third set is stored; its time has come, or is still to come.
    try reader.receive(Array(alice.known.prefix(2)))
    try reader.receive([alice.known[2]], horizon: isLate ? Clock(milliseconds: 25) : Device.horizon)
    #expect(try reader.store.text(rome, 1) == (isLate ? "2" : "3"))
    try reader.receive(copy.known.suffix(2), horizon: isLate ? Clock(milliseconds: 25) : Device.horizon)
    #expect(try reader.store.foldParked(horizon: Device.horizon).isRebuilt == false)
    #expect(try reader.store.text(rome, 1) == "copy 4")
    #expect(try reader.store.parkedCount(.records) == 0)
    let late = try Device("dora")
    try late.receive(Array(alice.known.prefix(3)) + copy.known.suffix(2))
    try cut(late, [[kept], [kept, tip]])
    #expect(try state(reader) == state(late))
  }

  @Test func `a cut ends one branch of a fork and keeps the other`() throws {
    let copy = try Device("alice")
    try copy.receive(Array(alice.known.prefix(3)))
    for number in 1...3 { try copy.write(at: 200 + Int64(number), edit(rome, [1: .text("copy \(number)")])) }
    try bob.sync(from: copy)
    #expect(try bob.store.text(rome, 1) == "copy 3")
    try cut(bob, [[tip(5)]])
    #expect(try bob.store.text(rome, 1) == "5")
    let kept = try #require(copy.known.last?.id)
    try cut(bob, [[kept]])
    #expect(try bob.store.text(rome, 1) == "copy 3")
    #expect(bob.store.heads(.records).count == 2)
    let (reader, _) = try reader([[kept]], copy.known + Array(bob.known.suffix(4)))
    #expect(try state(reader) == state(bob))
    try cut(bob, [[kept], [tip(5)]])
    #expect(try bob.store.text(rome, 1) == "3")
    #expect(bob.store.heads(.records).count == 3)
  }

  @Test func `after a cut of a fork each set follows all its dependencies, also in a backup`() throws {
    let copy = try Device("alice")
    try copy.receive(Array(alice.known.prefix(3)))
    // Bob, who had seen the other branch, wrote before the kept one continued.
    for number in 1...3 { try copy.write(at: 200 + Int64(number), edit(rome, [1: .text("copy \(number)")])) }
    try bob.sync(from: copy)
    let kept = try #require(copy.known.last?.id)
    try cut(bob, [[kept]])
    let folder = URL.temporaryDirectory.appending(path: "wm-cuts-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appending(path: "backup").path
    let about = BackupAbout(created: 1, program: "test", device: bob.log.device, name: "bob", kept: [:])
    _ = try bob.store.backup(to: path, about: about)
    let (reader, _) = try reader([[kept]], [])
    try BackupFile(path: path).forEachPart(of: 1) { part in
      let sets = try part.map { try VerifiedChangeSet(verifying: $0) }
      #expect(try reader.receive(sets).placements == [.place(folds: true)])
    }
    #expect(try state(reader) == state(bob))
  }

  @Test(arguments: [true, false])
  func `discarded sets are deleted after a week, or at once if nothing can bring them back`(_ isFinal: Bool)
    throws
  {
    let before = try state(bob)
    try cut(bob, [[]])
    let discards = [alice.log.device: isFinal]
    let week = Limits.discardMilliseconds
    #expect(try bob.store.deleteDiscarded(discards, now: 1_000) == (isFinal ? 5 : 0))
    #expect(try bob.store.deleteDiscarded(discards, now: 1_000 + week - 1) == 0)
    #expect(try bob.store.deleteDiscarded(discards, now: 1_000 + week) == (isFinal ? 0 : 5))
    // If the cut is void after all, the sets have to arrive again.
    try lift(bob)
    #expect(try bob.store.text(rome, 1) == nil)
    try bob.receive(Array(alice.known))
    #expect(try state(bob) == before)
  }

  @Test func `a discard that is void starts a new week when it counts again`() throws {
    try cut(bob, [[]])
    let discards = [alice.log.device: false]
    let week = Limits.discardMilliseconds
    #expect(try bob.store.deleteDiscarded(discards, now: 0) == 0)
    #expect(try bob.store.deleteDiscarded([:], now: week / 2) == 0)
    #expect(try bob.store.deleteDiscarded(discards, now: week) == 0)
    #expect(try bob.store.deleteDiscarded(discards, now: week * 2) == 5)
  }

  @Test func `a cut survives a restart`() throws {
    try cut(bob, [[tip(3)]])
    let cutState = try state(bob)
    try bob.store.rebuild()
    #expect(try state(bob) == cutState)
  }

  @Test func `a start with the same cuts changes nothing`() throws {
    let folder = URL.temporaryDirectory.appending(path: "wm-cuts-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appending(path: "store.db").path
    let log = alice.log
    let cuts: Set<Set<ChangeSetID>> = [[tip(3)], [tip(4)]]
    func admit(_ store: Store, _ cuts: Set<Set<ChangeSetID>>?) throws -> Bool {
      try store.admit(by: { log == $0 ? cuts.map { .cut($0) } ?? .open : .open }, horizon: Device.horizon)
    }
    do {
      let store = try Store(path: path)
      _ = try store.commit(bob.known, horizon: Device.horizon)
      #expect(try admit(store, cuts))
      #expect(try !admit(store, cuts))
    }
    do {
      let store = try Store(path: path)
      #expect(try !admit(store, cuts))
      #expect(try store.text(rome, 1) == "3")
    }
    let store = try Store(path: path)
    #expect(try admit(store, nil))
    #expect(try store.text(rome, 1) == "5")
  }

  @Test func `a fork that is found together with sets excluded by a cut is reported`() throws {
    let copy = try Device("alice")
    try copy.receive(Array(alice.known.prefix(3)))
    try copy.write(at: 200, edit(rome, [1: .text("copy")]))
    let reader = try Device("carol")
    try cut(reader, [[tip(5)]])
    let report = try reader.receive(Array(alice.known.prefix(4)) + copy.known.suffix(1) + [alice.known[4]])
    #expect(report.isRebuilt)
    #expect(report.forks.map(\.set.id) == [copy.known.last?.id])
    #expect(report.placements.count == 6)
  }

  private struct Chance {
    var state: UInt64

    mutating func below(_ bound: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int((state >> 33) % UInt64(bound))
    }
  }

  @Test(arguments: 1...10)
  func `whenever cuts arrive, and in whatever order sets do, the result is the same`(_ seed: Int) throws {
    var chance = Chance(state: UInt64(seed))
    let copy = try Device("alice")
    try copy.receive(Array(alice.known.prefix(2)))
    var history = alice.known + bob.known.suffix(1)
    for step in 1...20 {
      let writer = [alice, copy, bob][chance.below(3)]
      if writer === bob { try bob.sync(from: [alice, copy][chance.below(2)]) }
      let key = trip(UInt64(chance.below(3) + 1))
      history += try writer.write(at: Int64(200 + step * 10), edit(key, [1: .text("\(step)")]))
    }
    let seen = alice.known[chance.below(alice.known.count)]
    history += try backdated([[edit(rome, [3: .text("lie")])], [edit(rome, [4: .text("lie")])]], seen: seen)
    let alices = history.filter { $0.header.log == alice.log }.map(\.id)
    var cuts: Set<Set<ChangeSetID>> = []
    for _ in 0...chance.below(2) {
      cuts.insert(Set((0...chance.below(2)).map { _ in alices[chance.below(alices.count)] }))
    }
    let late = try Device("carol")
    try late.receive(history)
    try cut(late, cuts)
    // Sets that are placed only because of the cut.
    try late.receive(history)
    let expected = try state(late)
    for _ in 1...4 {
      let reader = try Device("carol")
      let moment = chance.below(history.count)
      var waiting = history
      var step = 0
      var inVain = 0
      while step <= moment || inVain < waiting.count * 20 {
        if step == moment { try cut(reader, cuts) }
        step += 1
        inVain += 1
        guard !waiting.isEmpty else { continue }
        let index = chance.below(min(4, waiting.count))
        let set = waiting.remove(at: index)
        switch try reader.receive([set]).placements.first {
        case .missing, .clockConflict: waiting.append(set)
        default: inVain = 0
        }
        try #require(step < 5_000)
      }
      try cut(reader, cuts)
      #expect(try state(reader) == expected, "cut after \(moment) sets")
    }
    try lift(late)
    let open = try Device("carol")
    try open.receive(history)
    #expect(try state(late) == state(open))
  }
}
