import Membership
import Records
import Replication
import SQLite
import Storage
import VirtualDisk
import Wire

extension Scenario {
  // MARK: Statements and cuts

  static let cuts = [
    Scenario(
      "statements are added, one is removed",
      given: { stage in
        try stage.save(try stage.cast.entitlement(1))
      },
      steps: [
        { stage in
          let (new, old) = (try stage.cast.entitlement(2), try stage.cast.entitlement(1))
          try stage.store.saveStatements([(new.id, new.bytes)], removed: [old.id])
        }
      ]),
    Scenario(
      "a revocation reverts sets",
      given: {
        try bobsTrips($0)
      },
      steps: [
        { stage in
          try stage.save(try revocation(of: stage, keeping: 2))
        },
        {
          try $0.admit()
        },
        {
          try $0.write(at: 40, insert(trip(9), [1: .text("Lima")]))
        },
      ]),
    Scenario(
      "a revocation keeps everything that is here",
      given: {
        try bobsTrips($0)
      },
      steps: [
        { stage in
          try stage.save(try revocation(of: stage, keeping: 4))
        },
        {
          try $0.admit()
        },
      ]),
    Scenario(
      "a revocation is voided",
      given: { stage in
        try bobsTrips(stage)
        try stage.save(try revocation(of: stage, keeping: 2))
        try stage.admit()
      },
      steps: [
        { stage in
          try stage.store.saveStatements([], removed: [try revocation(of: stage, keeping: 2).id])
        },
        {
          try $0.admit()
        },
      ]),
    Scenario(
      "sets of a revoked device arrive late",
      given: { stage in
        try bobsTrips(stage, heard: 1)
        try stage.save(try revocation(of: stage, keeping: 3))
        try stage.admit()
      },
      steps: [
        {
          try $0.hear("trips")
        }
      ]),
    Scenario(
      "sets dated by a fast clock are restamped",
      given: { stage in
        try trips(stage, 1...2)
        let ahead = try stage.alice.draft(
          on: stage.store, at: 5_000_000, [edit(trip(1), [1: .text("Roma")])])
        try stage.commit(ahead, horizon: Clock(raw: .max))
      },
      steps: [
        {
          try reauthor($0, isCut: true)
        },
        {
          try $0.write(at: 600_000, edit(trip(2), [1: .text("Oslo")]))
        },
      ]),
    Scenario(
      "own unsent sets are re-authored",
      given: { stage in
        try trips(stage, 1...3)
      },
      steps: [
        {
          try reauthor($0, isCut: false)
        }
      ]),
  ]

  /// Bob writes four trips, and Alice receives the first ones.
  private static func bobsTrips(_ stage: Stage, heard count: Int = 4) throws {
    for number in 1...4 as ClosedRange<UInt64> {
      try stage.bobWrites("trips", at: Moment(number), insert(trip(number), [1: .text("Trip \(number)")]))
    }
    let sets = stage.heard["trips"] ?? []
    try stage.commit(Array(sets.prefix(count)))
    if count < sets.count { return }
    try stage.write(at: 20, edit(trip(4), [2: .text("sunny")]))
  }

  private static func revocation(of stage: Stage, keeping sequence: Int) throws -> Membership.Statement {
    let tip = (stage.heard["trips"] ?? [])[sequence - 1].id
    let kept = KeptLog(incarnation: stage.bob.incarnation, lane: .records, tips: [tip])
    return try stage.cast.revocation(of: "bob", kept: [kept])
  }

  /// Ends our own log after its first set, or where it runs ahead, and re-authors the rest in another.
  private static func reauthor(_ stage: Stage, isCut: Bool) throws {
    let (store, log) = (try stage.store, stage.alice.log(.records))
    let ended =
      isCut
      ? try store.logsAhead(of: log.device, horizon: Cast.horizon) : [EndedLog(log: log, tip: nil)]
    let next = Writer("alice", stage.cast, incarnation: 2)
    var statements = try store.statements().map { try Membership.Statement($0) }
    let cuts = isCut ? try ended.map { try stage.cast.logCut($0.log, tip: $0.tip?.id) } : []
    statements += cuts
    let evaluation = try Circle(statements: statements).evaluation
    let admission: ((LogKey) -> Admission)? = isCut ? { evaluation.admission(of: $0) } : nil
    let order = Reauthoring(
      circle: stage.cast.circle, ended: ended, incarnation: next.incarnation,
      time: isCut ? .now(500_000) : .asWritten, admission: admission, horizon: Cast.horizon)
    _ = try store.reauthor(order, by: { Author(position: $0, key: next.key, seed: { Bytes16(5, 5) }) }) { _ in
      try store.addStatements(cuts.map { ($0.id, $0.bytes) })
    }
    stage.alice = next
  }

  // MARK: Upkeep

  static let upkeep = [
    Scenario(
      "the write-ahead log is checkpointed",
      given: {
        try trips($0, 1...4)
      },
      steps: [
        {
          try $0.store.checkpoint()
        }
      ]),
    Scenario(
      "the write-ahead log restarts after a checkpoint",
      given: { stage in
        try trips(stage, 1...4)
        try stage.store.checkpoint()
      },
      steps: [
        {
          try $0.write(at: 40, edit(trip(1), [1: .text("Roma")]))
        },
        {
          try $0.store.checkpoint()
        },
        {
          try $0.write(at: 50, edit(trip(2), [1: .text("Oslo")]))
        },
      ]),
    Scenario(
      "the write-ahead log is preallocated, and outgrows it",
      given: { try trips($0, 1...2) },
      steps: [
        { try $0.store.reserveLog(3 << 14) },
        { try $0.write(at: 40, edit(trip(1), [1: .text("Roma")])) },
        { try $0.store.checkpoint() },
        { try $0.store.reserveLog(1 << 16) },
        { try $0.write(at: 50, edit(trip(2), [1: .text("Oslo")])) },
      ]),
    Scenario(
      "the write-ahead log is checkpointed during a read",
      given: { stage in
        try trips(stage, 1...3)
        try stage.beginReading()
      },
      steps: [
        { try $0.write(at: 40, edit(trip(1), [1: .text("Roma")])) },
        { try $0.store.checkpoint() },
        { stage in
          stage.endReading()
          try stage.store.checkpoint()
        },
      ]),
    Scenario(
      "a small value is stored, replaced and deleted",
      steps: [
        {
          try $0.store.setMeta("word", [1, 2, 3])
        },
        {
          try $0.store.setMeta("word", [4])
        },
        {
          try $0.store.setMeta("word", nil)
        },
      ]),
    Scenario(
      "the log is folded again",
      given: {
        try trips($0, 1...5)
      },
      steps: [
        {
          _ = try $0.store.rebuild()
        }
      ]),
    Scenario(
      "a store is created from a backup's sets", isFounded: false,
      given: { stage in
        for number in 1...6 as ClosedRange<UInt64> {
          try stage.bobWrites("all", at: Moment(number), insert(trip(number), [1: .text("Trip \(number)")]))
        }
      },
      steps: [
        {
          try $0.open()
        },
        { stage in
          let cast = stage.cast
          try stage.save(cast.genesis, try cast.certificate("alice"), try cast.certificate("bob"))
        },
        {
          try $0.admit()
        },
        { stage in
          try stage.commit(Array((stage.heard["all"] ?? []).prefix(3)))
        },
        { stage in
          try stage.commit(Array((stage.heard["all"] ?? []).suffix(3)))
        },
        {
          try $0.store.checkpoint()
        },
        {
          $0.close()
          try $0.start()
        },
      ]),
  ]
}

extension Stage {
  /// Observes one state of the store from now on.
  func beginReading() throws {
    let reader = try Connection(on: volume, Self.path, isReadOnly: true)
    try reader.setUpReadOnly()
    try reader.execute("BEGIN")
    _ = try reader.with("SELECT count(*) FROM change_sets") { try $0.step() }
    self.reader = reader
  }

  func endReading() { reader = nil }

  /// Leaves the state that a program with fewer kinds of records would.
  func pretendOlderRegistry() throws {
    let other = try Connection(on: volume, Self.path)
    try other.setUp()
    try other.execute(
      """
      UPDATE meta SET value = 'older' WHERE key = 'derived';
      DROP VIEW trips; DROP TABLE trip_rows; CREATE TABLE trip_rows(id)
      """)
  }
}
