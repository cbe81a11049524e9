import Families
import LogStorage
import Membership
import RecordTables
import Records
import Replication
import SQLite
import Storage
import Wire

@testable import Engine

/// What can be observed of a node, as lines of text, with sets and trips by their positions in the script.
struct Observation {
  /// Members, heads, records, conflicts and digest.
  let lines: [String]
  /// The slots without values in the log, by set.
  let absent: [Mask]
  /// The sets in quarantine.
  let quarantined: Mask
  /// The sets that are stored.
  let stored: Mask
  /// The logs with a proof of a fork.
  let provenForks: Set<LogKey>
  /// What does not show, and may lead to other states later: quarantine, tolerated gaps, applied cuts, absent values.
  let hidden: String

  init(_ node: Node, _ world: SignedWorld) throws {
    let store = node.store
    var absent = [Mask](repeating: 0, count: world.sets.count)
    stored = try Self.sets("change_sets", store, world, &absent)
    quarantined = try Self.sets("quarantine", store, world, &absent)
    self.absent = absent
    let evaluation = node.replicator.circle.evaluation
    provenForks = Set(evaluation.forkProofs.map(\.log))
    lines =
      try Self.members(evaluation) + Self.statements(node) + Self.heads(node, world)
      + Self.rows(store, world) + Self.conflicts(store, world)
      + [Self.totals(store), Self.missing(store, world)]
    hidden =
      try "\(quarantined) \(absent) \(store.logs.toleratedGaps().count) \(provenForks.count) "
      + String(decoding: MetaTable.bytes("cuts", store.connection) ?? [], as: UTF8.self)
  }

  /// The sets that a node holds, in its logs or in quarantine.
  static func held(_ node: Node, _ world: SignedWorld) throws -> Mask {
    try node.store.connection.with("SELECT id FROM change_sets UNION SELECT id FROM quarantine") { row in
      var found: Mask = 0
      while try row.step() {
        guard let id = ChangeSetID(bytes: row.bytes(0)), let position = world.positions[id] else {
          throw UnexpectedSet()
        }
        found = found.with(position)
      }
      return found
    }
  }

  /// Reads the sets of a table, and notes which slots have no value.
  private static func sets(
    _ table: String, _ store: Store, _ world: SignedWorld, _ absent: inout [Mask]
  ) throws -> Mask {
    try store.connection.with("SELECT id, field_values FROM \(table)") { row in
      var found: Mask = 0
      while try row.step() {
        guard let id = ChangeSetID(bytes: row.bytes(0)), let position = world.positions[id],
          let slots = world.forms[position][row.bytes(1)]
        else { throw UnexpectedSet() }
        found = found.with(position)
        absent[position] = slots
      }
      return found
    }
  }

  struct UnexpectedSet: Error {}

  // MARK: Circle

  private static func members(_ evaluation: Evaluation) -> [String] {
    SignedWorld.devices.map { actor, device in
      switch evaluation.status(of: device) {
      case .member(let member): "\(actor) is \(member.role == .admin ? "an admin" : "a member")"
      case .revoked: "\(actor) is revoked"
      case .unknown: "\(actor) is unknown"
      }
    }
  }

  private static func statements(_ node: Node) throws -> [String] {
    let circle = node.replicator.circle
    let isSaved = try node.store.statements() == circle.statements(notIn: []).map(\.bytes)
    let others = circle.count - circle.evaluation.forkProofs.count
    return [
      "\(others) statements, \(isSaved ? "all" : "not all") stored, "
        + (node.isConnected ? "connected" : "not connected")
    ]
  }

  // MARK: Logs

  private static func heads(_ node: Node, _ world: SignedWorld) throws -> [String] {
    let store = node.store
    let heads = store.heads(.records)
    let state = node.replicator.replica.records
    let isSame = state.heads.sorted == heads && state.digest == store.digest(.records)
    let log = LogKey(
      device: node.replicator.device, incarnation: node.replicator.incarnation, lane: .records)
    let position = try store.authorPosition(circle: SignedWorld.family.circle, log: log)
    let unseen = position.unseen.map { "\(world.positions[$0.id] ?? -1)" }.sorted()
    return heads.map { "head \(world.positions[$0.id] ?? -1) folded through \($0.foldedSequence)" }.sorted()
      + [
        "to declare: \(unseen.joined(separator: " "))",
        "newest clock \(position.clock.raw) \(node.replicator.replica.newestForeignClock.raw), "
          + (isSame ? "announced" : "not announced"),
      ]
  }

  // MARK: Records

  private static func rows(_ store: Store, _ world: SignedWorld) throws -> [String] {
    try world.trips.compactMap { trip in
      guard let row = try store.record(SignedWorld.trip(trip)) else { return nil }
      let cells = try store.origins(of: row).sorted { $0.key < $1.key }.map { field, stamp in
        let set = world.positions[stamp.set] ?? -1
        return field == 0 ? "life by \(set)" : "\(field)=\(text(row[field])) by \(set)"
      }
      let life = row.life.map { $0 ? "alive" : "dead" } ?? "unborn"
      guard row.isVisible == (row.life == true) else { return "trip \(trip) \(life), but not so visible" }
      return "trip \(trip) \(life): \(cells.joined(separator: ", "))"
    }
  }

  private static func text(_ value: Value?) -> String {
    switch value {
    case .text(let text)?: text
    case nil, .null?: "-"
    case .bool(let isAlive)?: isAlive ? "alive" : "dead"
    default: "?"
    }
  }

  private static func conflicts(_ store: Store, _ world: SignedWorld) throws -> [String] {
    try store.conflicts().map { conflict in
      let trip = world.trips.first { SignedWorld.trip($0) == conflict.record } ?? -1
      let winner = world.positions[conflict.winner.stamp.set] ?? -1
      let losers = conflict.losers.map { (set: world.positions[$0.stamp.set] ?? -1, $0.content) }
        .sorted { $0.set < $1.set }
      guard case .value(let shown) = conflict.winner.content else {
        return "conflict trip \(trip) deleted by \(winner), hides \(losers.map(\.set))"
      }
      let texts = losers.map { set, content in
        if case .value(let value) = content { "\(text(value)) by \(set)" } else { "?" }
      }
      return "conflict trip \(trip) \(conflict.field ?? 0): \(text(shown)) by \(winner), not \(texts)"
    }.sorted()
  }

  private static func missing(_ store: Store, _ world: SignedWorld) throws -> String {
    let slots = try store.missingValues(after: 0, max: 100).flatMap { missing in
      missing.set.slots.map { (world.positions[missing.set.id] ?? -1, $0) }
    }
    let texts = slots.sorted { $0 < $1 }.map { "\($0).\($1)" }
    return "missing values: \(texts.joined(separator: " "))"
  }

  private static func totals(_ store: Store) throws -> String {
    let visible = try store.visibleCounts()[KindNumbers.trip] ?? 0
    return "\(visible) trips, digest \(hexadecimal(store.digest(.records).sum.bytes))"
  }
}
