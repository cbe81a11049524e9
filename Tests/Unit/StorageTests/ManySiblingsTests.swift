import Foundation
import RecordTables
import Records
import Replication
import SQLite
import Storage
import Testing
import Wire

/// A member that writes one cell concurrently as often as it can: each write must cost the same.
@Suite struct ManySiblingsTests {
  private static let record = trip(1)

  /// A set, with what it wrote and its whole causal past.
  private struct Written {
    let set: VerifiedChangeSet
    let past: Set<ChangeSetID>
    let text: String
  }

  /// Sets of one device under many incarnations.
  private struct Writers {
    let device: Device
    private(set) var all: [Written] = []

    init() throws { device = try Device("mallory") }

    /// Writes the title of the record once more.
    ///
    /// - Parameters:
    ///   - last: the set that it follows; nil begins a log.
    mutating func write(
      in incarnation: UInt64, after last: Int?, seeing seen: [Int] = [], at wall: Moment, _ text: String
    ) throws {
      let log = LogKey(
        device: device.log.device, incarnation: Incarnation(Bytes16(77, incarnation)), lane: .records)
      let before = last.map { all[$0] }
      let declared = seen.map { all[$0] }
      let unseen = declared.map(\.set.header).enumerated().map { index, header in
        Dependency(
          device: header.log.device, incarnation: header.log.incarnation, sequence: header.sequence,
          id: declared[index].set.id)
      }
      let newest = declared.map(\.set.header.clock).max() ?? .zero
      let position = AuthorPosition(
        circle: Device.circle, log: log, sequence: before?.set.header.sequence ?? 0,
        id: before?.set.id, clock: max(before?.set.header.clock ?? .zero, newest),
        logBytes: before?.set.logBytes ?? 0, unseen: unseen.sorted())
      var author = Author(position: position, key: device.key, seed: device.nextSeed)
      let operation = OperationDraft(id: OperationID(Bytes16(8, UInt64(all.count))), verb: "test")
      let entry = insert(ManySiblingsTests.record, [1: .text(text)])
      let set = try author.write([entry], operation: operation, wall: wall)[0]
      // The declared dependencies of a set, with everything before them in their logs, without what it had already
      // seen.
      var past: Set<ChangeSetID> = [set.id]
      past.formUnion(before?.past ?? [])
      for other in declared { past.formUnion(other.past.intersection(path(of: other))) }
      all.append(Written(set: set, past: past, text: text))
    }

    /// A set and its predecessors in its own log.
    private func path(of written: Written) -> Set<ChangeSetID> {
      var path: Set<ChangeSetID> = []
      var next: ChangeSetID? = written.set.id
      while let id = next, let found = all.first(where: { $0.set.id == id }) {
        path.insert(id)
        next = found.set.header.previous
      }
      return path
    }
  }

  @Test(arguments: [[0, 1, 2, 3], [3, 2, 1, 0]])
  func `each concurrent write of a cell adds one row and changes no other`(order: [Int]) throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "store-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.path + "/store.db"
    let bob = try Device("bob", Store(path: path))
    let counter = try Connection(.file(path))
    try counter.execute(
      """
      CREATE TABLE work(what TEXT);
      CREATE TRIGGER sibling_added AFTER INSERT ON siblings BEGIN INSERT INTO work VALUES ('added'); END;
      CREATE TRIGGER sibling_changed AFTER UPDATE ON siblings BEGIN INSERT INTO work VALUES ('changed'); END;
      CREATE TRIGGER sibling_deleted AFTER DELETE ON siblings BEGIN INSERT INTO work VALUES ('deleted'); END;
      """)
    func count(_ what: String) throws -> Int64 {
      try counter.with("SELECT count(*) FROM work WHERE what = '\(what)'") {
        try $0.step() ? $0.integer(0) : 0
      }
    }
    var writers = try Writers()
    for number in 0..<400 as Range<UInt64> {
      // Half of them have the same content in turn, so that a new winner could change what counts as a conflict.
      let text = number.isMultiple(of: 2) ? "Rome" : number.isMultiple(of: 3) ? "Roma" : "\(number)"
      try writers.write(in: number, after: nil, at: Moment(1_000 + number), text)
    }
    for part in order {
      try bob.receive(writers.all[part * 100..<part * 100 + 100].map(\.set))
    }
    // The life of the record and its title.
    #expect(try count("added") == 2 * 399)
    #expect(try count("changed") == 0)
    #expect(try count("deleted") == 0)
    let title = try #require(try bob.store.conflicts().first { $0.field == 1 })
    #expect(title.losers.count == 399 - writers.all.count(where: { $0.text == writers.all[399].text }) + 1)
    try bob.write(at: 5_000, insert(Self.record, [1: .text("Roma")]))
    #expect(try count("deleted") == 2 * 399)
    #expect(try bob.store.conflictCount() == 0)
  }

  @Test(arguments: 1...12 as ClosedRange<UInt64>)
  func `the siblings of a cell are the writes that no other has seen, however many there are`(seed: UInt64)
    throws
  {
    var random = SplitMix(seed: seed)
    var writers = try Writers()
    // The newest set of each log, or of each branch of it.
    var tips: [(incarnation: UInt64, set: Int)] = []
    for number in 0..<120 as Range<UInt64> {
      let seen = (0..<random.below(4)).map { _ in Int(random.below(max(number, 1))) }.filter { $0 < number }
      var last: Int?
      var incarnation = number
      if !tips.isEmpty, random.below(3) == 0 {
        let tip = Int(random.below(UInt64(tips.count)))
        (incarnation, last) = (tips[tip].incarnation, tips[tip].set)
        // Sometimes the log forks there.
        if random.below(2) == 0 { tips.remove(at: tip) }
      }
      let log = Incarnation(Bytes16(77, incarnation))
      var logs: Set<Incarnation> = [log]
      let others = seen.filter { logs.insert(writers.all[$0].set.header.log.incarnation).inserted }
      try writers.write(
        in: incarnation, after: last, seeing: others, at: Moment(1_000 + random.below(500)), "\(number)")
      tips.append((incarnation, Int(number)))
    }
    let bob = try Device("bob")
    var rest = writers.all[...]
    while !rest.isEmpty {
      let part = rest.prefix(1 + Int(random.below(20)))
      let report = try bob.receive(part.map(\.set))
      #expect(report.placements.allSatisfy { $0 == .place(folds: true) })
      rest = rest.dropFirst(part.count)
    }
    let seen = writers.all.reduce(into: Set<ChangeSetID>()) { $0.formUnion($1.past.subtracting([$1.set.id])) }
    let maximal = Set(writers.all.map(\.set.id)).subtracting(seen)
    let conflict = try #require(try bob.store.conflicts().first { $0.field == 1 })
    #expect(Set(conflict.losers.map(\.stamp.set)).union([conflict.winner.stamp.set]) == maximal)
    #expect(maximal.count > 20)
    let again = try Device("carol")
    try again.receive(writers.all.map(\.set))
    #expect(try dump(again.store) == dump(bob.store))
  }
}
