import Membership
import Replication
import SQLite
import Testing
import Wire

@testable import LogStorage

/// Lists that a store keeps as text next to its logs: which cuts they reflect, and which sets are damaged.
@Suite struct LogListTests {
  private func log(_ number: UInt64, _ lane: Lane = .records) -> LogKey {
    LogKey(
      device: DeviceKey(Bytes32(0, 0, 0, number % 2)), incarnation: Incarnation(Bytes16(number, 1)),
      lane: lane)
  }

  private func id(_ number: UInt64) -> ChangeSetID { ChangeSetID(Bytes32(number, 0, 0, 1)) }

  // MARK: Cuts

  private var ends: [LogKey: LogEnd] {
    [
      log(1): LogEnd(cuts: [[id(1)]], line: nil),
      log(2): LogEnd(cuts: [[id(3), id(1), id(2)], [id(2)], [id(9), id(4)]], line: nil),
      log(3): LogEnd(cuts: [[]], line: nil),
      log(4): LogEnd(cuts: [], line: 17),
      log(5): LogEnd(cuts: [], line: 0),
      log(6): LogEnd(cuts: [[id(5)], [id(6)]], line: .max),
      log(1, .settings): LogEnd(cuts: [[id(7)]], line: 3),
    ]
  }

  private func applied(_ ends: [LogKey: LogEnd]) -> AppliedCuts {
    AppliedCuts(Set(ends.keys).union([log(99)])) { ends[$0] }
  }

  @Test func `the cuts that a store reflects are read as they were written`() {
    let written = applied(ends)
    let read = AppliedCuts(stored: written.bytes)
    for (log, end) in ends { #expect(read[log] == end && written[log] == end) }
    #expect(read[log(99)] == nil, "no statement ends it")
    #expect(read.bytes == written.bytes)
    #expect(read.difference(to: written).isEmpty && written.difference(to: read).isEmpty)
    #expect(AppliedCuts(stored: nil).bytes.isEmpty)
    // A line that can't be read is left out, and the others are read.
    let damaged = AppliedCuts(stored: Array("x y\n\n".utf8) + written.bytes + Array("zz zz 1 [zz]\n".utf8))
    #expect(damaged.bytes == written.bytes)
  }

  @Test func `whatever changes in the end of a log is a difference, and nothing else is`() {
    let old = applied(ends)
    #expect(Set(AppliedCuts(stored: nil).difference(to: old)) == Set(ends.keys))
    #expect(Set(old.difference(to: AppliedCuts(stored: nil))) == Set(ends.keys))
    let changes: [(LogKey, LogEnd?)] = [
      (log(1), nil),
      (log(1), LogEnd(cuts: [[id(2)]], line: nil)),
      (log(1), LogEnd(cuts: [[]], line: nil)),
      (log(1), LogEnd(cuts: [[id(1)]], line: 1)),
      (log(2), LogEnd(cuts: [[id(3), id(1), id(2)], [id(9), id(4)]], line: nil)),
      (log(3), LogEnd(cuts: [], line: 5)),
      (log(4), LogEnd(cuts: [], line: 18)),
      (log(6), LogEnd(cuts: [[id(5), id(6)]], line: .max)),
      (log(7), LogEnd(cuts: [[id(1)]], line: nil)),
    ]
    for (log, end) in changes {
      var next = ends
      next[log] = end
      #expect(old.difference(to: applied(next)) == [log])
      #expect(applied(next).difference(to: old) == [log])
    }
  }

  @Test func `cuts are added for logs that have none, and no known one is replaced`() {
    let (one, other) = (log(1), log(2))
    var known = applied([one: LogEnd(cuts: [[id(8)]], line: nil)])
    let isNew = known.add(applied(ends))
    #expect(isNew && known[one] == LogEnd(cuts: [[id(8)]], line: nil) && known[other] == ends[other])
    let isNewAgain = known.add(applied(ends))
    #expect(!isNewAgain)
  }

  // MARK: Damaged sets

  @Test func `damaged sets are kept across starts until their bytes are replaced`() throws {
    let connection = try Connection(.memory)
    try connection.execute(MetaTable.sql)
    var damage = try DamagedSets(connection)
    #expect(damage.sorted.isEmpty)
    let sets = [
      DamagedSet(id: id(1), log: log(2), sequence: 7, isUnfolded: true),
      DamagedSet(id: id(2), log: log(2), sequence: 3),
      DamagedSet(id: id(3), log: log(1, .settings), sequence: .max / 2),
    ]
    for set in sets { damage.add(set) }
    try damage.save(connection)
    #expect(try DamagedSets(connection).sorted == [sets[1], sets[0], sets[2]])

    damage.remove(id(1))
    damage.remove(id(99))
    try damage.save(connection)
    #expect(try DamagedSets(connection).sorted == [sets[1], sets[2]])
    for set in sets { damage.remove(set.id) }
    try damage.save(connection)
    #expect(try DamagedSets(connection).sorted.isEmpty, "an empty list is saved too")
  }

  @Test func `a set whose writes are missing stays marked, however often it is found again`() throws {
    let connection = try Connection(.memory)
    try connection.execute(MetaTable.sql)
    var damage = try DamagedSets(connection)
    let (folded, unfolded) = (
      DamagedSet(id: id(1), log: log(1), sequence: 7),
      DamagedSet(id: id(1), log: log(1), sequence: 7, isUnfolded: true)
    )
    damage.add(folded)
    try damage.save(connection)
    damage.add(unfolded)
    try damage.save(connection)
    #expect(try DamagedSets(connection).sorted == [unfolded])
    damage = try DamagedSets(connection)
    damage.add(folded)
    try damage.save(connection)
    #expect(damage.sorted == [unfolded])
    #expect(try DamagedSets(connection).sorted == [unfolded])
    damage.remove(id(1))
    damage.add(folded)
    #expect(damage.sorted == [folded], "the bytes were replaced, and damaged again")
  }
}
