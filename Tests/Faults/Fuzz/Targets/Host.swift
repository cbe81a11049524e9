import Membership
import RecordTables
import Replication
import Sodium
import Storage
import Wire

/// An honest device without sockets: its core, its store, and the shell between them, as in the node.
final class Host {
  let name: String
  let key: SigningKey
  let transport: TransportKey
  let store: Store
  private(set) var replica: Replica
  private var timers: [ReplicaTimer: (due: Moment, order: Int)] = [:]
  private var order = 0
  private var operations: UInt64 = 0
  /// Outgoing messages and closed links, in order.
  var sent: [(link: LinkID, what: Sent)] = []

  enum Sent {
    case message(Message)
    case end
  }

  init(_ name: String, _ key: SigningKey, _ transport: AgreementKey, knowing statements: [Statement]) throws {
    self.name = name
    self.key = key
    self.transport = Cast.transport(transport)
    store = try Store.inMemory()
    replica = Replica(
      device: DeviceKey(key),
      circle: try Circle(statements: [Cast.genesis] + statements, developmentIssuer: nil), preference: true,
      localPremium: .none, settings: Self.state(store, .settings), records: Self.state(store, .records),
      newestForeignClock: .zero, seed: 7)
  }

  private static func state(_ store: Store, _ lane: Lane) -> Replica.LaneState {
    Replica.LaneState(heads: store.heads(lane), digest: store.digest(lane))
  }

  var circle: Circle { replica.circle }
  var device: DeviceKey { DeviceKey(key) }

  // MARK: Events

  func handle(_ input: Input, now wall: Moment) throws {
    let now = Now(wall: wall, steady: wall)
    var effects: [Effect] = []
    replica.handle(input, now: now, into: &effects)
    while !effects.isEmpty {
      var following: [Effect] = []
      var sets: [(set: VerifiedChangeSet, link: LinkID?)] = []
      for effect in effects {
        if case .commit(let received, let link) = effect {
          sets += received.map { ($0, link) }
        } else {
          try carryOut(effect, now, &following)
        }
      }
      if !sets.isEmpty {
        try commit(sets, now, &following)
        replica.handle(.valuesMissing(try store.isAnyValueMissing), now: now, into: &following)
      }
      effects = following
    }
  }

  private func carryOut(_ effect: Effect, _ now: Now, _ following: inout [Effect]) throws {
    switch effect {
    case .send(let link, let message): sent.append((link, .message(message)))
    case .close(let link, _): sent.append((link, .end))
    case .commit, .reply: break
    case .serve(let link, let lane, let wants): try serve(link, lane, wants, now, &following)
    case .answer(let link, let query):
      let answer = try store.answer(query.lane, query.question)
      replica.handle(.answered(link, query, answer), now: now, into: &following)
    case .lookUp(let link, let lane, let tips):
      replica.handle(.lookedUp(link, lane, lacking: try store.lacking(tips)), now: now, into: &following)
    case .readMissing(let number):
      let sets = try store.missingValues(after: number, max: Limits.valuesWantedMax)
      replica.handle(.missingRead(sets), now: now, into: &following)
    case .readValues(let link, let lane, let sets):
      let found = try store.values(lane, sets, bytesMax: 64 * 1024, readMax: 64 * 1024)
      replica.handle(.valuesRead(link, lane, found), now: now, into: &following)
    case .storeValues(let values, let link):
      let hasWrong = try store.fill(values).hasWrong
      let input = Input.valuesStored(
        link, hasWrong: hasWrong, isAnyMissing: try store.isAnyValueMissing)
      replica.handle(input, now: now, into: &following)
    case .saveStatements(let added, let removed):
      try store.saveStatements(added.map { ($0.id, $0.bytes) }, removed: removed)
    case .foldParked:
      let report = try store.foldParked(horizon: Self.horizon(now))
      replica.handle(.committed(committed([], report)), now: now, into: &following)
    case .applyCuts, .keepGateFloor: break
    case .file(let effect):
      if let answer = effect.answerWithoutFiles { replica.handle(.file(answer), now: now, into: &following) }
    case .release(let lane): replica.handle(.released(lane), now: now, into: &following)
    case .schedule(let timer, let wait):
      order += 1
      timers[timer] = (now.steady + wait, order)
    case .report(let event):
      guard event == .membershipChanged else { return }
      if try store.admit(by: circle.evaluation.admission, horizon: Self.horizon(now)) {
        rebuilt(now, &following)
      }
    }
  }

  private static func horizon(_ now: Now) -> Clock {
    Clock(milliseconds: now.wall + Limits.clockDriftMilliseconds)
  }

  private func serve(
    _ link: LinkID, _ lane: Lane, _ wants: [Want], _ now: Now, _ following: inout [Effect]
  ) throws {
    let part = try store.read(lane, wants, bytesMax: 64 * 1024, setsMax: 4)
    let sets = try part.sets.map { try VerifiedChangeSet(stored: $0.raw, id: $0.id) }
    if !sets.isEmpty { sent.append((link, .message(.sets(lane, sets)))) }
    let heads = part.sets.map { LogHead(log: $0.log, sequence: $0.sequence, id: $0.id, foldedSequence: 0) }
    replica.handle(
      .served(link, lane, sent: heads, rest: part.rest, isCongested: false), now: now, into: &following)
  }

  private func commit(
    _ sets: [(set: VerifiedChangeSet, link: LinkID?)], _ now: Now, _ following: inout [Effect]
  ) throws {
    let report = try store.commit(sets.map(\.set), horizon: Self.horizon(now))
    let items = zip(sets, report.placements).map {
      Committed.Item(set: $0.set, link: $0.link, placement: $1)
    }
    replica.handle(.committed(committed(items, report)), now: now, into: &following)
    if report.isRebuilt { rebuilt(now, &following) }
    let proofs = report.forks.compactMap { fork in
      try? ForkProof.statement(
        circle: circle.id, (fork.set.raw.header, fork.set.raw.signature),
        (fork.sibling.raw.header, fork.sibling.raw.signature))
    }
    if !proofs.isEmpty {
      replica.handle(.statementsAdded(proofs.map(\.bytes)), now: now, into: &following)
    }
  }

  private func committed(_ items: [Committed.Item], _ report: CommitReport) -> Committed {
    Committed(
      items: items, heads: report.heads, goneHeads: report.goneHeads, settingsDigest: report.settingsDigest,
      recordsDigest: report.recordsDigest,
      newestForeignClock: report.foldedClocks.filter { $0.key != device }.values.max() ?? .zero,
      nextParkedClock: report.nextParkedClock)
  }

  private func rebuilt(_ now: Now, _ following: inout [Effect]) {
    let input = Input.rebuilt(
      settings: Self.state(store, .settings), records: Self.state(store, .records),
      newestForeignClock: store.newestFoldedClock(otherThan: device))
    replica.handle(input, now: now, into: &following)
  }

  // MARK: Time

  var nextTimer: Moment? { timers.values.map(\.due).min() }

  func fireTimers(now: Moment) throws {
    let due = timers.filter { $0.value.due <= now }.sorted { $0.value.order < $1.value.order }
    for (timer, _) in due { timers[timer] = nil }
    for (timer, _) in due { try handle(.timer(timer), now: now) }
  }

  // MARK: The person

  /// Writes something, as long as the circle allows this device to write.
  func write(_ choices: inout Choices, now: Moment) throws -> [VerifiedChangeSet] {
    guard circle.evaluation.isMember(device) else { return [] }
    operations += 1
    let lane: Lane = choices.flag() ? .records : .settings
    let log = LogKey(device: device, incarnation: Scribe.incarnations[0], lane: lane)
    let drafts = Scribe.drafts(&choices, lane)
    let seed = Bytes16(9, operations)
    var author = Author(
      position: try store.authorPosition(circle: circle.id, log: log), key: key, seed: { seed })
    let operation = OperationDraft(id: OperationID(Bytes16(9, operations)), verb: "test")
    guard let sets = try? author.write(drafts, operation: operation, wall: now), !sets.isEmpty else {
      return []
    }
    let report = try store.commit(sets, horizon: Clock(raw: .max))
    let items = zip(sets, report.placements).map { Committed.Item(set: $0, link: nil, placement: $1) }
    try require(report.placements.allSatisfy(\.isPlace), "an own write was not placed: \(report.placements)")
    try handle(.committed(committed(items, report)), now: now)
    return sets
  }

  /// The core's state matches the store's content.
  func check() throws {
    for lane in Lane.allCases {
      try require(
        replica[lane].heads == Heads(store.heads(lane)), "\(name)'s core and store have different heads")
      try require(
        replica[lane].digest == store.digest(lane), "\(name)'s core and store have different digests")
    }
    let kept = try store.statements().map { try Statement($0).id }
    try require(
      Set(kept).isSubset(of: circle.ids), "\(name)'s store holds statements that its circle does not")
  }
}

extension Placement {
  fileprivate var isPlace: Bool { if case .place = self { true } else { false } }
}
