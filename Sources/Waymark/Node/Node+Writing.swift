import Membership
import Replication
import Storage
import Wire

extension Node {
  /// Writes what a person did: authors its change sets, commits them durably, then tells the peers.
  ///
  /// Entries of both lanes become sets of the one operation, in one transaction.
  ///
  /// - Parameter leastClock: raises the first clock of the records lane (a profile's own time of change).
  @discardableResult
  func write(
    _ verb: String, target: OperationID? = nil, _ drafts: consuming [EntryDraft], leastClock: Clock = .zero,
    id: OperationID = OperationID(random16())
  ) throws -> OperationID {
    try checkAdmitted()
    try checkIncarnation()
    try checkDisk()
    let operation = OperationDraft(id: id, verb: verb, target: target)
    var sets: [VerifiedChangeSet] = []
    var rest = consume drafts
    for lane in Lane.allCases {
      let entries = rest.filter { $0.key.kind.lane == lane }
      guard !entries.isEmpty else { continue }
      // An import may be large: the author lets go of entries once they are encoded.
      rest.removeAll { $0.key.kind.lane == lane }
      let log = LogKey(device: identity.device, incarnation: incarnation, lane: lane)
      var author = Author(
        position: try store.authorPosition(circle: circle.id, log: log), key: identity.signing)
      sets += try author.write(
        consume entries, operation: operation, wall: wall(), leastClock: leastClock)
    }
    guard !sets.isEmpty else { return operation.id }
    // One's own writes never wait for their time, however far the clock has run ahead.
    let committed: Committed
    do {
      committed = try commit(sets.map { ($0, nil) }, horizon: Clock(raw: .max))
    } catch  where isNoRoom(error) {
      diskIsFull()
      throw CommandFailure.diskFull(home)
    }
    handle(.committed(committed))
    return operation.id
  }

  /// One transaction for sets of one's own or of peers.
  func commit(_ items: [(set: VerifiedChangeSet, link: LinkID?)], horizon: Clock) throws -> Committed {
    let report = try store.commit(items.map(\.set), horizon: horizon, noting: noteDeletions)
    let placed = zip(items, report.placements).map { item, placement in
      Committed.Item(set: item.set, link: item.link, placement: placement)
    }
    didCommit(report)
    return try committed(placed, report)
  }

  func committed(_ items: [Committed.Item], _ report: CommitReport) throws -> Committed {
    let foreign = report.foldedClocks.filter { $0.key != identity.device }.values.max() ?? .zero
    return Committed(
      items: items, heads: report.heads, settingsDigest: report.settingsDigest,
      recordsDigest: report.recordsDigest, newestForeignClock: foreign,
      nextParkedClock: try store.nextParkedClock)
  }

  /// The clock up to which sets of peers fold now.
  var horizon: Clock { Clock(milliseconds: wall() + Limits.clockDriftMilliseconds) }
}
