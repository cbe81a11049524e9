// Protocol/session.md, "Heads and needs"

package import Membership
package import Wire

// The exchange of sets in one lane of one session.
//
// The gates decide whether a lane is open or closed. An open lane consists of six small state machines; a lane that
// closes drops them, and one that opens starts with new ones. Two of them belong to `MissingValues.swift`.
//
//     | machine    | states                                | transitions                                         |
//     |------------|---------------------------------------|-----------------------------------------------------|
//     | KnownHeads | none → some → all                     | `heads` or sets; a complete list or an equal hash   |
//     | Receiving  | idle → requested → idle               | `want` sent; all of it stored, or `served`          |
//     |            |        requested → stalled → idle     | nothing delivered; the peer sends `heads`           |
//     | Storing    | nothing → sets(n) → nothing           | `sets` received; all of them committed              |
//     |            |           sets(n) → lastSets(n)       | `served` while sets are still being committed       |
//     | Serving    | idle → reading ⇄ congested → idle     | `want` received; link full or drained; all is sent  |
//     | Fetching-  | idle → requested → idle               | `want values` sent; `values`                        |
//     | Values     |        requested → overdue → idle     | 20 seconds passed; `values`                         |
//     | Serving-   | idle → reading → idle                 | `want values` received; `values` sent               |
//     | Values     |                                       |                                                     |
//
// Example: the peer has two more sets of log X than we have.
//
//     peer: heads [X: 7]      lacking = [X: 7]                Receiving .idle
//     we:   want X 6…7                                        Receiving .requested(X 6…7)
//     peer: sets 6, 7                                         Storing   .sets(2)
//     peer: served            too early to judge the answer:  Storing   .lastSets(2)
//     store commits 6, 7      lacking = []                    Receiving .idle, Storing .nothing
//
// `served` can arrive before the sets of the answer are committed. If the answer were judged then, the peer would
// seem to have delivered nothing and would be marked unresponsive. So `.lastSets` delays the verdict until the
// commit. A peer that really delivers nothing, or makes no progress for 20 seconds, is stalled: until it sends
// `heads`, other peers are asked instead. Without this rule, one bad peer could keep every log that it announces from
// being fetched elsewhere, because each log is requested from only one peer at a time.

/// One lane of a session: closed, or open with what each side knows of the other's sets.
package enum LaneSession: Sendable {
  /// The reason is nil until the peer has sent its summary, and while this device is not a member of the circle.
  case closed(LaneReason?)
  case open(OpenLane)

  /// Opens or closes the lane according to the new verdict. A lane that stays open keeps its state.
  ///
  /// - Returns: whether the lane has opened or closed.
  mutating func follow(_ judged: LaneSession) -> Bool {
    let hasChanged = isOpen != judged.isOpen
    if hasChanged || !judged.isOpen { self = judged }
    return hasChanged
  }

  /// The state of an open lane; nil for a closed lane, so that calls on it do nothing.
  var open: OpenLane? {
    get { if case .open(let lane) = self { lane } else { nil } }
    // Yields in place, because copying many heads for each message would be slow.
    _modify {
      var (lane, reason) = (open, reason)
      self = .closed(reason)
      defer { if let lane { self = .open(lane) } }
      yield &lane
    }
  }
}

extension LaneSession {
  package var isOpen: Bool { if case .open = self { true } else { false } }
  package var reason: LaneReason? { if case .closed(let reason) = self { reason } else { nil } }
  /// The peer's heads, as far as they are known; nil until the peer has sent any.
  package var theirs: Heads? { open?.theirs.heads }
  package var isDigestEqual: Bool? { open?.isDigestEqual }
  package var lacking: [LogKey: [ChangeSetID: LogHead]] { open?.lacking ?? [:] }
  /// The ranges that were requested from the peer and have not been delivered yet.
  package var asked: [LogKey: [Want]] { request?.wants ?? [:] }
  package var askedProgressAt: Moment? { request?.progressAt }
  package var isServing: Bool { if case .idle? = open?.serving { false } else { isOpen } }
  package var isStalled: Bool { if case .stalled? = open?.receiving { true } else { false } }
  var hasTold: Bool { if case .all? = open?.theirs { true } else { false } }
  var request: SetRequest? { open?.request }

  /// Returns how many of the peer's sets this side lacks, as far as heads can tell; nil until the peer has sent any
  /// heads.
  package func behind(_ mine: Heads) -> UInt64? {
    guard theirs != nil else { return nil }
    return lacking.values.lazy.flatMap(\.values).reduce(0) { $0 &+ mine.want($1).count }
  }
}

/// The state of an open lane: what each side knows of the other's sets, and what is being transferred.
package struct OpenLane: Sendable {
  var theirs = KnownHeads.none
  /// Whether both sides' digests were equal when last compared; nil until they have been compared.
  var isDigestEqual: Bool?
  /// Tips that the peer announced and that are missing here: they determine which sets to request from the peer.
  private(set) var lacking: [LogKey: [ChangeSetID: LogHead]] = [:]
  /// Missing tips in logs of devices without a certificate. These tips are not requested. They are kept apart from
  /// `lacking`, because a peer can invent any number of them.
  private var strangers: [LogKey: [ChangeSetID: LogHead]] = [:]
  /// For each forked log, how many sets before our oldest tip the next request begins.
  private var back: [LogKey: UInt64] = [:]
  fileprivate(set) var receiving = Receiving.idle
  private(set) var storing = Storing.nothing
  private(set) var serving = Serving.idle
  private(set) var fetchingValues = FetchingValues.idle
  var servingValues = ServingValues.idle
  /// When the peer was last asked for each damaged set, on the steady clock.
  private var repairAskedAt: [ChangeSetID: Moment] = [:]
  /// Logs of other devices that were announced to the peer and that the peer has not requested since.
  private var announced: Set<LogKey> = []
  /// Logs that the peer receives sooner from other peers. They are not announced to it until it requests them.
  private(set) var elsewhere: Set<LogKey> = []
  /// When all heads were last sent to the peer, on the steady clock.
  var toldAllAt: Moment?
  /// Tips in logs with sets beyond the quota that turned out to be within it, so that they are on another branch.
  private var within: [LogKey: Set<ChangeSetID>] = [:]

  var request: SetRequest? { if case .requested(let request) = receiving { request } else { nil } }

  // MARK: Heads

  /// Returns those heads in a list that this side has room to remember, and whether it already knows all of them.
  func news(in heads: [LogHead], isComplete: Bool) -> (heads: [LogHead], isKnown: Bool) {
    let known = theirs.heads ?? Heads()
    let kept = (isComplete ? Heads() : known).rememberable(heads)
    return (kept, known.hold(kept))
  }

  /// Records the heads that the peer announced. If the peer was stalled, it may now be asked again.
  mutating func told(_ heads: [LogHead], isComplete: Bool) {
    if isComplete {
      (theirs, lacking, strangers) = (.all(Heads()), [:], [:])
    }
    theirs.update { $0.observe(heads) }
    resume()
  }

  /// Records announced tips that are missing here.
  mutating func note(_ tips: [LogHead], isStranger: (LogKey) -> Bool) {
    for tip in tips {
      if isStranger(tip.log) {
        strangers[tip.log, default: [:]][tip.id] = tip
      } else {
        lacking[tip.log, default: [:]][tip.id] = tip
      }
    }
  }

  /// Clears the missing tips of these logs before they are compared again.
  mutating func forgetLacking(_ logs: [LogKey]) {
    for log in logs { (lacking[log], strangers[log]) = (nil, nil) }
  }

  /// Clears the missing tips after the store was rebuilt, except for the given logs.
  mutating func forgetLacking(butOf isKept: (LogKey) -> Bool) {
    lacking = lacking.filter { isKept($0.key) }
    strangers = [:]
  }

  /// Moves the missing tips of newly certified devices to `lacking`, so that they are requested.
  mutating func admitStrangers(_ mayAuthor: (LogKey) -> Bool) {
    for (log, tips) in strangers where mayAuthor(log) {
      lacking[log] = tips
      strangers[log] = nil
    }
  }

  /// Records that the peer holds exactly the same sets as this side.
  mutating func level(with mine: Heads, isDigestEqual: Bool) {
    theirs = .all(mine)
    self.isDigestEqual = isDigestEqual
    // The peer has not requested the logs that are still in `announced`, so it received them from other peers.
    elsewhere.formUnion(announced)
    announced = []
    (lacking, strangers) = ([:], [:])
    (back, within) = ([:], [:])
  }

  mutating func noteAnnounced(_ logs: [LogKey]) { announced.formUnion(logs) }

  /// Records sets that were pushed to the peer.
  mutating func pushed(_ heads: [LogHead]) { advance(to: heads) }

  private mutating func advance(to heads: [LogHead]) {
    theirs.update { theirs in for head in heads { theirs.advance(to: head) } }
  }

  mutating func forgetSources() {
    announced = []
    elsewhere = []
  }

  // MARK: Receiving

  var mayRequest: Bool {
    guard case .idle = receiving else { return false }
    return !storing.isUnderWay
  }

  /// Returns the ranges to request for missing tips, at most as many as fit in one message. One tip of each log comes
  /// first, so that a log with very many branches does not delay the others.
  ///
  /// - Parameter isFull: whether sets of a log are known to be beyond the quota. Of such a log, a tip is requested alone
  ///   until it is known to be within the quota.
  func needs(of logs: [LogKey], _ mine: Heads, isFull: (LogKey) -> Bool) -> [Want] {
    let tips = logs.map { lacking[$0]?.values.sorted(by: Heads.isBefore) ?? [] }
    var wants: [Want] = []
    for tip in tips.compactMap(\.first) + tips.flatMap({ $0.dropFirst() }) {
      guard wants.count < Limits.wantsMax else { break }
      let isAlone = isFull(tip.log) && within[tip.log]?.contains(tip.id) != true
      wants.append(isAlone ? Self.want(only: tip) : mine.want(tip, back: back[tip.log] ?? 0))
    }
    return wants
  }

  private static func want(only tip: LogHead) -> Want {
    Want(log: tip.log, from: tip.sequence, through: tip.sequence, tip: tip.id)
  }

  /// Reduces the request for a log to its tips, because a set of it turned out to be beyond the quota. The sets between
  /// that set and a tip are probably beyond it too.
  ///
  /// - Returns: the new request; nil if little is still to come.
  mutating func shortenRequest(_ log: LogKey, behind sequence: UInt64) -> [Want]? {
    var shortened: [Want]?
    receiving.update { request in
      guard let wants = request.wants[log],
        wants.contains(where: { $0.from < $0.through && $0.through > sequence &+ Limits.overQuotaRestMax })
      else { return }
      let alone = wants.map {
        Self.want(only: LogHead(log: log, sequence: $0.through, id: $0.tip, foldedSequence: 0))
      }
      request.wants[log] = alone
      shortened = alone
    }
    return shortened
  }

  func mayAskAgain(_ id: ChangeSetID, _ now: Now) -> Bool {
    repairAskedAt[id].map { now.steady >= $0 + Self.askAgainMilliseconds } ?? true
  }

  mutating func request(_ wants: [Want], repairs: [ChangeSetID], _ now: Now) {
    for set in repairs { repairAskedAt[set] = now.steady }
    receiving = .requested(SetRequest(wants, now))
  }

  /// Abandons the request. The peer is not asked again until it sends `heads`.
  ///
  /// - Returns: the logs that were requested.
  mutating func giveUp() -> [LogKey] {
    let logs = request.map { Array($0.wants.keys) } ?? []
    receiving = .stalled
    return logs
  }

  mutating func resume() { if case .stalled = receiving { receiving = .idle } }

  /// Judges the peer's answer when it ends.
  mutating func answerEnded(_ mine: Heads) -> AnswerEnd {
    guard let request else { return .unasked }
    // The last sets of the answer may not be committed yet.
    guard !storing.isUnderWay else {
      storing.end()
      return .storing
    }
    // A set that is damaged here may be lost at the peer too, so the peer is not blamed for failing to send it.
    if request.wants.values.joined().allSatisfy({ repairAskedAt[$0.tip] != nil }) { return .repairs }
    return request.hasProgress || hasDelivered(request, mine) ? .delivered : .nothing
  }

  /// Whether the beginning of any requested range is stored by now, whichever peer sent it.
  private func hasDelivered(_ request: SetRequest, _ mine: Heads) -> Bool {
    request.wants.values.joined().contains { holds($0, through: $0.from, mine) }
  }

  /// Whether a log is stored up to a sequence. False where heads can't tell, because the log forked or the set was
  /// damaged.
  private func holds(_ want: Want, through sequence: UInt64, _ mine: Heads) -> Bool {
    repairAskedAt[want.tip] == nil && mine.tipCount(of: want.log) == 1 && back[want.log] == nil
      && (mine[want.log]?.sequence ?? 0) >= sequence
  }

  // MARK: Storing

  mutating func store(_ count: Int) { storing.add(count) }

  /// Resets the request after a full disk has prevented sets from being stored. They are requested again later.
  mutating func notKept() {
    storing = .nothing
    if case .requested = receiving { receiving = .idle }
  }

  /// Records sets that are stored or no longer needed, regardless of which peer sent them.
  mutating func noteArrivals(_ sets: [VerifiedChangeSet]) {
    for set in sets { noteArrival(set.id, set.header.log) }
  }

  private mutating func noteArrival(_ id: ChangeSetID, _ log: LogKey) {
    receiving.update { if $0.wants[log] != nil { $0.completed.insert(id) } }
    guard lacking[log]?.removeValue(forKey: id) != nil else { return }
    if lacking[log]?.isEmpty == true { (lacking[log], within[log]) = (nil, nil) }
    back[log] = nil
  }

  /// Records the store's verdict on sets that this peer sent.
  ///
  /// - Returns: how many of them were redundant.
  mutating func noteSent(_ items: [Committed.Item], _ now: Now) -> Int {
    storing.finish(items.count)
    let redundant = items.count { !noteSent($0, now) }
    advance(to: items.map(\.head))
    return redundant
  }

  /// - Returns: whether the set was useful, or was requested.
  private mutating func noteSent(_ item: Committed.Item, _ now: Now) -> Bool {
    let log = item.set.header.log
    switch item.placement {
    case .place:
      // Counts as progress only if the log was requested: a pushed set of another log does not.
      receiving.update { if $0.wants[log] != nil { $0.noteProgress(now) } }
    case .missing: cameTooEarly(item.set)
    case .beyondQuota:
      let isRequested = request?.wants[log] != nil
      // The peer delivered what it was asked for.
      receiving.update { if $0.wants[log] != nil { $0.noteProgress(now) } }
      return isRequested
    case .duplicate, .excluded, .clockConflict: return request?.wants[log] != nil || back[log] != nil
    case .refused: break
    }
    return true
  }

  /// Handles a set whose predecessor or one of whose dependencies is missing here. The sets that lead to it must be
  /// requested.
  private mutating func cameTooEarly(_ set: VerifiedChangeSet) {
    let header = set.header
    guard lacking[header.log] != nil || lacking.count < Limits.headsMax else { return }
    if let previous = header.previous { lacking[header.log]?[previous] = nil }
    lacking[header.log]?[set.id] = nil
    let tips = lacking[header.log, default: [:]]
    // The number of tips is bounded; any tip that is left out here is announced again with the next list of heads.
    if tips.count < Limits.earlyTipsMax, !tips.values.contains(where: { $0.sequence > header.sequence }) {
      lacking[header.log, default: [:]][set.id] =
        LogHead(log: header.log, sequence: header.sequence, id: set.id, foldedSequence: 0)
      // A set beyond the quota would have been dropped as such.
      if within.count < Limits.headsMax, (within[header.log]?.count ?? 0) < Limits.earlyTipsMax {
        within[header.log, default: []].insert(set.id)
      }
    } else if tips.isEmpty {
      lacking[header.log] = nil
    }
    // The first requested set does not fit, so the branch must fork off further back. Go back one step per request,
    // even if several branches of the log need it.
    var isFurtherBack = false
    receiving.update { isFurtherBack = $0.isFurtherBack(header.log, header.sequence) }
    if isFurtherBack { back[header.log] = min((back[header.log] ?? 4) * 4, Self.backMax) }
  }

  /// Removes ranges that are now stored from the request.
  ///
  /// - Returns: the logs that are complete.
  mutating func settleRequest(_ mine: Heads) -> [LogKey] {
    guard var request else { return [] }
    var done: [LogKey] = []
    for (log, wants) in request.wants {
      // Another peer may have delivered more of a log than this peer was asked for.
      let rest = wants.filter { !request.completed.contains($0.tip) && !holds($0, through: $0.through, mine) }
      request.wants[log] = rest.isEmpty ? nil : rest
      if rest.isEmpty { done.append(log) }
    }
    request.completed = []
    receiving = request.wants.isEmpty ? .idle : .requested(request)
    return done
  }

  /// - Returns: whether the peer has ended its answer and the store has judged the last of its sets.
  mutating func takeAnswerEnd() -> Bool { storing.takeEnd() }

  // MARK: Serving

  /// Handles the peer's request for sets. From now on, the requested logs are announced to the peer again.
  mutating func wanted(_ wants: [Want], servable: [Want]) -> Serving.Step? {
    let logs = wants.map(\.log)
    announced.subtract(logs)
    elsewhere.subtract(logs)
    return serving.wanted(servable)
  }

  /// Records which sets were sent to the peer. The ranges in `rest` are still to be sent.
  mutating func served(_ sent: [LogHead], rest: [Want], isCongested: Bool) -> Serving.Step? {
    advance(to: sent)
    return serving.served(rest: rest, isCongested: isCongested)
  }

  mutating func drained() -> Serving.Step? { serving.drained() }

  mutating func stopServing() { serving = .idle }

  // MARK: Missing values

  mutating func fetchValues(_ sets: [SetSlots], dueAt: Moment) {
    fetchingValues = .requested(Dictionary(uniqueKeysWithValues: sets.map { ($0.id, $0) }), dueAt: dueAt)
  }

  /// Stops waiting for requested values.
  mutating func giveUpValues() { if let sets = fetchingValues.sets { fetchingValues = .overdue(sets) } }

  /// Records that the peer has answered the request for missing values.
  mutating func valuesAnswered() { fetchingValues = .idle }

  /// The upper bound of `back`: more sets than any stored log can have.
  private static let backMax: UInt64 = 1 << 40
  private static let askAgainMilliseconds: Moment = 3_600_000
}

/// What this side knows of the peer's heads: the peer announced them, or sets that were sent or received in this
/// session imply them.
enum KnownHeads: Sendable {
  case none
  case some(Heads)
  /// All of the peer's heads: the peer has sent a complete list, or its hash has shown that they equal ours.
  case all(Heads)

  var heads: Heads? {
    switch self {
    case .none: nil
    case .some(let heads), .all(let heads): heads
    }
  }

  mutating func update(_ body: (inout Heads) -> Void) {
    var heads = heads ?? Heads()
    let isComplete = if case .all = self { true } else { false }
    self = .none  // Keeps the reference unique, so that the heads are changed in place.
    body(&heads)
    self = isComplete ? .all(heads) : .some(heads)
  }
}

/// This side's request for sets from the peer.
enum Receiving: Sendable {
  case idle
  case requested(SetRequest)
  /// The peer ended its answer without delivering anything, or was silent for too long.
  case stalled

  fileprivate mutating func update(_ body: (inout SetRequest) -> Void) {
    guard case .requested(var request) = self else { return }
    self = .idle  // Keeps the reference unique, so that the request is changed in place.
    body(&request)
    self = .requested(request)
  }
}

/// A request for sets that was sent to the peer.
struct SetRequest: Sendable {
  /// The ranges that are not complete yet, by log.
  fileprivate(set) var wants: [LogKey: [Want]]
  /// How many sets were requested.
  let count: UInt64
  /// When the request was sent, on the steady clock, like all times here.
  private let sentAt: Moment
  fileprivate(set) var progressAt: Moment
  /// Whether a requested set has arrived, or it has turned out that earlier sets must be requested first.
  private(set) var hasProgress = false
  /// Sets in the requested logs that have arrived since `settleRequest` last ran. Some of them may be requested tips.
  fileprivate var completed: Set<ChangeSetID> = []
  /// Logs whose branch turned out to fork off before the first requested set.
  private var furtherBack: Set<LogKey> = []

  fileprivate init(_ wants: [Want], _ now: Now) {
    self.wants = Dictionary(grouping: wants, by: \.log)
    count = wants.reduce(0) { $0 &+ $1.count }
    (sentAt, progressAt) = (now.steady, now.steady)
  }

  /// Whether the request is old enough to ask other peers too, even though it makes progress. Otherwise a peer could
  /// send a set now and then and never deliver the rest.
  func isSlow(_ now: Now) -> Bool { now.steady >= sentAt + Limits.patienceMilliseconds }

  /// When the request is abandoned, unless the peer makes progress before then.
  var overdueAt: Moment { progressAt + Limits.overdueMilliseconds }

  fileprivate mutating func noteProgress(_ now: Now) {
    progressAt = now.steady
    hasProgress = true
  }

  /// Records that the first requested set of a log does not fit. Returns false if this was already known, or if the
  /// set is not the first one requested.
  fileprivate mutating func isFurtherBack(_ log: LogKey, _ sequence: UInt64) -> Bool {
    guard sequence > 1, wants[log]?.contains(where: { $0.from == sequence }) == true,
      furtherBack.insert(log).inserted
    else { return false }
    hasProgress = true
    return true
  }
}

/// The verdict on a peer's answer when it ends.
enum AnswerEnd {
  case unasked
  /// Sets from the answer are still being committed; the outcome of the commit decides.
  case storing
  case delivered
  /// Only damaged sets were requested, and the peer may not have them.
  case repairs
  case nothing
}

/// The number of the peer's sets that are being committed. Nothing more is requested until the commit is done.
enum Storing: Sendable {
  case nothing
  case sets(Int)
  /// The peer ended its answer after these sets.
  case lastSets(Int)

  private var count: Int {
    switch self {
    case .nothing: 0
    case .sets(let count), .lastSets(let count): count
    }
  }

  private var isLast: Bool { if case .lastSets = self { true } else { false } }

  var isUnderWay: Bool { count > 0 }

  fileprivate mutating func add(_ more: Int) { self = isLast ? .lastSets(count + more) : .sets(count + more) }

  fileprivate mutating func end() { self = .lastSets(count) }

  fileprivate mutating func finish(_ done: Int) {
    let rest = max(0, count - done)
    self = isLast ? .lastSets(rest) : rest > 0 ? .sets(rest) : .nothing
  }

  fileprivate mutating func takeEnd() -> Bool {
    guard case .lastSets(0) = self else { return false }
    self = .nothing
    return true
  }
}

/// The peer's request for sets, as this side serves it.
enum Serving: Sendable {
  case idle
  /// The shell is reading and sending sets; `next` was requested in the meantime.
  case reading(next: [Want])
  /// The link is full; `rest` is sent once the link has drained.
  case congested(rest: [Want])

  /// The next step to take.
  enum Step {
    case read([Want])
    /// Everything requested has been sent.
    case finish
  }

  fileprivate mutating func wanted(_ wants: [Want]) -> Step? {
    switch self {
    case .idle: return read(Self.adding(wants, to: []))
    case .reading(let next): self = .reading(next: Self.adding(wants, to: next))
    case .congested(let rest): self = .congested(rest: Self.adding(wants, to: rest))
    }
    return nil
  }

  fileprivate mutating func served(rest: [Want], isCongested: Bool) -> Step? {
    // The lane has closed and reopened in the meantime, so the peer no longer waits for these sets.
    guard case .reading(let next) = self else { return nil }
    let wants = Self.adding(next, to: rest)
    if rest.isEmpty, next.isEmpty {
      self = .idle
      return .finish
    }
    guard isCongested else { return read(wants) }
    self = .congested(rest: wants)
    return nil
  }

  fileprivate mutating func drained() -> Step? {
    guard case .congested(let rest) = self else { return nil }
    return read(rest)
  }

  private mutating func read(_ wants: [Want]) -> Step {
    self = .reading(next: [])
    return .read(wants)
  }

  /// Combines two lists of wants. Newer wants for a log replace older ones, but one message may request several tips
  /// of one log.
  private static func adding(_ wants: [Want], to older: [Want]) -> [Want] {
    let logs = Set(wants.map(\.log))
    var tips: Set<ChangeSetID> = []
    let newest = wants.reversed().filter { tips.insert($0.tip).inserted }.reversed()
    return Array((older.filter { !logs.contains($0.log) } + newest).prefix(Limits.wantsMax))
  }
}

/// Why a lane between two devices is closed.
package enum LaneReason: Hashable, Sendable {
  case mine(GateReason)
  /// The reason that the peer gave for closing its own side, or for refusing a question.
  case theirs(ReasonCode)
  /// According to the statements held here, the peer does not have premium, whatever it announces.
  case peerNotPremium(GateReason)
}

extension GateReason {
  /// The code that tells a peer why our gate is closed.
  var code: ReasonCode {
    switch self {
    case .freeTier, .purchaseUnjudged, .entitlementWithdrawn: .freeTier
    case .entitlementExpired, .purchaseRefunded, .purchaseUnconfirmed: .entitlementExpired
    case .entitlementNotYetValid: .entitlementNotYetValid
    case .syncOff: .syncOff
    case .revoked, .notAMember: .notAMember
    }
  }
}
