import Families
import Membership
import RecordTables
import Records
import Replication
import Sodium
import Storage
import Wire

/// One core with its store: a node without sockets.
final class Device {
  let name: String
  let number: Int
  let signing: SigningKey
  let key: DeviceKey
  let transport: TransportKey
  let store: Store
  var incarnation: Incarnation
  /// The newest set of each own log that may have been sent, since the last start.
  var unsent: [LogKey: LogHead] = [:]
  /// Forks that its store has found.
  private(set) var forks: [Fork] = []
  var replica: Replica
  /// How far its wall clock is ahead of the world's.
  var clockAhead: Moment = 0
  var events: [ReplicaEvent] = []
  var closes: [CloseCause] = []
  /// The results of the questions that it asked.
  var replies: [Reply] = []
  private(set) var answersRead = 0
  var invalidMessages = 0
  /// Sets that arrived although they were already here.
  private(set) var duplicates = 0
  private var timers: [ReplicaTimer: (due: Moment, order: Int)] = [:]
  private var timerCount = 0
  private var operations: UInt64 = 0

  init(
    _ name: String, number: Int, family: Family, knowing statements: [Statement], wants: Bool, seed: UInt64,
    copyOf original: Device? = nil, quotas: DeviceQuotas = .standard
  ) throws {
    self.name = name
    self.number = number
    signing = original?.signing ?? Family.key(name)
    key = DeviceKey(signing)
    transport = original?.transport ?? Family.transport(of: name)
    store = try Store.inMemory()
    incarnation = original?.incarnation ?? Incarnation(Bytes16(UInt64(number) + 1, 1))
    if let original { try store.copy(from: original.store) }
    replica = Replica(
      device: key,
      circle: try Circle(statements: [family.genesis] + statements, developmentIssuer: nil, quotas: quotas),
      preference: wants, localPremium: .none,
      settings: Replica.LaneState(heads: store.heads(.settings), digest: store.digest(.settings)),
      records: Replica.LaneState(heads: store.heads(.records), digest: store.digest(.records)),
      newestForeignClock: .zero, seed: seed)
    if quotas != .standard { _ = admit(wall: World.start) }
  }

  /// Whether it stores and sends sets beyond any quota.
  var ignoresQuotas = false { didSet { _ = admit(wall: World.start) } }

  // MARK: Store

  func write(
    _ drafts: [EntryDraft], circle: CircleID, wall: Moment
  ) throws -> ([VerifiedChangeSet], Committed) {
    operations += 1
    let operation = OperationDraft(
      id: OperationID(Bytes16(UInt64(number) + 1, operations)), verb: "test")
    var sets: [VerifiedChangeSet] = []
    for lane in Lane.allCases {
      let entries = drafts.filter { $0.key.kind.lane == lane }
      guard !entries.isEmpty else { continue }
      let log = LogKey(device: key, incarnation: incarnation, lane: lane)
      var author = Author(
        position: try store.authorPosition(circle: circle, log: log), key: signing,
        seed: Family.seed)
      sets += try author.write(entries, operation: operation, wall: wall)
    }
    return (sets, commit(sets.map { ($0, nil) }, horizon: Clock(raw: .max)))
  }

  func commit(_ items: [(set: VerifiedChangeSet, link: LinkID?)], wall: Moment) -> Committed {
    commit(items, horizon: Clock(milliseconds: wall + Limits.clockDriftMilliseconds))
  }

  private func commit(_ items: [(set: VerifiedChangeSet, link: LinkID?)], horizon: Clock) -> Committed {
    let report = obeyed { try store.commit(items.map(\.set), horizon: horizon) }
    forks += report.forks
    duplicates += report.placements.count { $0 == .duplicate }
    let placed = zip(items, report.placements).map { item, placement in
      Committed.Item(set: item.set, link: item.link, placement: placement)
    }
    return committed(placed, report)
  }

  func foldParked(wall: Moment) -> Committed {
    let horizon = Clock(milliseconds: wall + Limits.clockDriftMilliseconds)
    return committed([], obeyed { try store.foldParked(horizon: horizon) })
  }

  private func committed(_ items: [Committed.Item], _ report: CommitReport) -> Committed {
    let foreign = report.foldedClocks.filter { $0.key != key }.values.max() ?? .zero
    return Committed(
      items: items, heads: report.heads, goneHeads: report.goneHeads, settingsDigest: report.settingsDigest,
      recordsDigest: report.recordsDigest, newestForeignClock: foreign,
      nextParkedClock: report.nextParkedClock)
  }

  func read(
    _ lane: Lane, _ wants: [Want], bytesMax: Int
  ) -> (sets: [VerifiedChangeSet], heads: [LogHead], rest: [Want]) {
    obeyed {
      let part = try store.read(lane, wants, bytesMax: bytesMax, setsMax: 2_048)
      let heads = part.sets.map { LogHead(log: $0.log, sequence: $0.sequence, id: $0.id, foldedSequence: 0) }
      return (try part.sets.map { try VerifiedChangeSet(stored: $0.raw, id: $0.id) }, heads, part.rest)
    }
  }

  /// Returned instead of stored sets, where those would take too long to write.
  var answerHeads: [LogHead]?

  func answer(_ query: Query) -> Answer {
    answersRead += 1
    if let answerHeads, query.question == .heads {
      return Answer(lane: query.lane, folded: .zero, isDone: true, content: .heads(answerHeads))
    }
    return obeyed { try store.answer(query.lane, query.question) }
  }

  /// Applies what the statements admit; returns what the core must be told if that changed the store.
  func admit(wall: Moment) -> Input? {
    let (evaluation, device) = (replica.circle.evaluation, key)
    let horizon = Clock(milliseconds: wall + Limits.clockDriftMilliseconds)
    let admission = { (log: LogKey) in evaluation.admission(of: log, at: device) }
    let quota = { [ignoresQuotas] (author: DeviceKey, lane: Lane) in
      ignoresQuotas ? DeviceQuotas.unlimited : evaluation.quota(of: author, lane, at: device)
    }
    guard obeyed({ try store.admit(by: admission, quota: quota, horizon: horizon) }) else { return nil }
    return .rebuilt(
      settings: Replica.LaneState(heads: store.heads(.settings), digest: store.digest(.settings)),
      records: Replica.LaneState(heads: store.heads(.records), digest: store.digest(.records)),
      newestForeignClock: store.newestFoldedClock(otherThan: key))
  }

  /// All local tips of another device's logs.
  func heldLogs(of other: Device) -> [KeptLog] {
    let heads = Lane.allCases.flatMap { store.heads($0) }.filter { $0.log.device == other.key }
    return Dictionary(grouping: heads, by: \.log).map { log, heads in
      KeptLog(incarnation: log.incarnation, lane: log.lane, tips: heads.map(\.id))
    }
  }

  var isMember: Bool { replica.circle.evaluation.isMember(key) }

  func lacking(_ tips: [LogHead]) -> [LogHead] { obeyed { try store.lacking(tips) } }

  func missing(after number: Int64) -> [MissingSlots] {
    obeyed { try store.missingValues(after: number, max: Limits.valuesWantedMax) }
  }

  func values(_ lane: Lane, _ sets: [SetSlots]) -> [SetValues] {
    obeyed {
      try store.values(
        lane, sets, bytesMax: Limits.messageBytesMax - 1_024, readMax: Limits.valueReadBytesMax)
    }
  }

  func fill(_ values: [ArrivedValues], from link: LinkID) -> Input {
    obeyed {
      let hasWrong = try store.fill(values).hasWrong
      return .valuesStored(link, hasWrong: hasWrong, isAnyMissing: try store.isAnyValueMissing)
    }
  }

  /// The state of the list of missing values that the core was last told; see `Replicator.tellMissing`.
  private var toldMissing: Int?

  func missingNews() -> Input? {
    guard toldMissing != store.missingVersion else { return nil }
    toldMissing = store.missingVersion
    return .valuesMissing(obeyed { try store.isAnyValueMissing })
  }

  func save(_ added: [Statement], _ removed: [StatementID]) {
    obeyed { try store.saveStatements(added.map { ($0.id, $0.bytes) }, removed: removed) }
  }

  private func obeyed<Result>(_ body: () throws -> Result) -> Result {
    do { return try body() } catch { fatalError("the store of \(name) refused: \(error)") }
  }

  // MARK: Timers

  func schedule(_ timer: ReplicaTimer, at moment: Moment) {
    timerCount += 1
    timers[timer] = (moment, timerCount)
  }

  var nextTimer: Moment? { timers.values.map(\.due).min() }

  func takeTimers(_ now: Moment) -> [ReplicaTimer] {
    let due = timers.filter { $0.value.due <= now }.sorted { $0.value.order < $1.value.order }
    for (timer, _) in due { timers[timer] = nil }
    return due.map(\.key)
  }

  // MARK: Questions

  func session(with peer: Device) -> Session? { replica.session(with: peer.key) }

  func isInSync(with peer: Device) -> Bool { session(with: peer)?.isInSync ?? false }

  func isOpen(_ lane: Lane, with peer: Device) -> Bool { session(with: peer)?[lane].isOpen ?? false }

  func count(_ lane: Lane) -> UInt64 { store.changeSetCount(lane) }

  /// The content of the lanes, in comparable form.
  func state(_ lanes: [Lane] = Lane.allCases) -> [String] {
    var lines = lanes.map { "\($0) \(store.digest($0).sum)" }
    lines += lanes.flatMap { store.heads($0).map { "\($0)" } }
    if lanes.contains(.records) { lines += obeyed { try store.conflicts().map { "\($0.id)" }.sorted() } }
    return lines
  }

  var conflictCount: Int { obeyed { try store.conflictCount() } }

  func name(_ key: RecordKey) -> String? {
    guard case .text(let text)? = obeyed({ try store.record(key)?[1] }) else { return nil }
    return text
  }

  func reported(_ matches: (ReplicaEvent) -> Bool) -> Int { events.count(where: matches) }
}

extension Message {
  var setCount: Int { if case .sets(_, let sets) = self { sets.count } else { 0 } }

  var isSets: Bool { if case .sets = self { true } else { false } }
  var isServed: Bool { if case .served = self { true } else { false } }
  var isWant: Bool { if case .want = self { true } else { false } }
  var isHeads: Bool { if case .heads = self { true } else { false } }
  var isState: Bool { if case .state = self { true } else { false } }
  var isAnswer: Bool { if case .answer = self { true } else { false } }
  var isQuery: Bool { if case .query = self { true } else { false } }
  var isGoodbye: Bool { if case .goodbye = self { true } else { false } }
}

extension Store {
  /// Receives everything that another store holds.
  func copy(from other: Store) throws {
    for lane in Lane.allCases {
      let wants = other.heads(lane).map {
        Want(log: $0.log, from: 1, through: $0.sequence, tip: $0.id)
      }
      let part = try other.read(lane, wants, bytesMax: .max, setsMax: .max)
      _ = try commit(
        try part.sets.map { try VerifiedChangeSet(stored: $0.raw, id: $0.id) }, horizon: Clock(raw: .max))
    }
  }
}
