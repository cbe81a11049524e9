// Protocol/session.md, "Heads and needs"

package import Membership
package import Wire

/// One lane of a session: closed, or open with what the two sides know of one another's sets.
///
/// | of an open lane | states | changes with |
/// |---|---|---|
/// | `KnownHeads`    | none → some → all                     | `heads`, sets, an equal hash |
/// | `Receiving`     | idle → requested → idle, or → stalled | `want` sent; the last set stored, or `served` |
/// | `Storing`       | nothing → sets → last sets → nothing  | `sets` received, `served`, a commit |
/// | `Serving`       | idle → reading ⇄ congested → idle     | `want` received, sets sent, a full link drained |
///
/// A lane that closes forgets all that was under way; one that opens starts afresh.
package enum LaneSession: Sendable {
  /// The reason is nil before both sides have spoken.
  case closed(LaneReason?)
  case open(OpenLane)

  /// Opens or closes as the gates were judged now.
  ///
  /// - Returns: whether that is a change.
  mutating func follow(_ judged: LaneSession) -> Bool {
    let hasChanged = isOpen != judged.isOpen
    if hasChanged || !judged.isOpen { self = judged }
    return hasChanged
  }

  /// Nil for a closed lane, to which nothing can happen.
  var open: OpenLane? {
    get { if case .open(let lane) = self { lane } else { nil } }
    // In place: a copy of many heads for each message would be felt.
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
  /// The peer's heads as far as known; nil before it has told any.
  package var theirs: Heads? { open?.theirs.heads }
  package var isDigestEqual: Bool? { open?.isDigestEqual }
  package var lacking: [LogKey: [ChangeSetID: LogHead]] { open?.lacking ?? [:] }
  /// What the peer was asked for and has not delivered.
  package var asked: [LogKey: [Want]] { request?.wants ?? [:] }
  package var askedProgressAt: Moment? { request?.progressAt }
  package var isServing: Bool { if case .idle? = open?.serving { false } else { isOpen } }
  package var isStalled: Bool { if case .stalled? = open?.receiving { true } else { false } }
  var hasTold: Bool { if case .all? = open?.theirs { true } else { false } }
  var request: SetRequest? { open?.request }

  /// How many sets the peer has and this side lacks, as far as heads tell; nil before the peer has spoken.
  package func behind(_ mine: Heads) -> UInt64? {
    guard theirs != nil else { return nil }
    return lacking.values.lazy.flatMap(\.values).reduce(0) { $0 &+ mine.want($1).count }
  }
}

/// What the two sides of a session know of one another's sets in a lane that is open.
package struct OpenLane: Sendable {
  var theirs = KnownHeads.none
  /// Nil while it is not known.
  var isDigestEqual: Bool?
  /// Tips that the peer has announced and that are not stored here: what this side needs of it.
  private(set) var lacking: [LogKey: [ChangeSetID: LogHead]] = [:]
  /// The same of devices that no certificate names here: nothing of theirs is asked for. Apart from the rest, for a peer
  /// can invent very many.
  private var strangers: [LogKey: [ChangeSetID: LogHead]] = [:]
  /// How many sets further back a log that forked was asked for.
  private var back: [LogKey: UInt64] = [:]
  fileprivate(set) var receiving = Receiving.idle
  private(set) var storing = Storing.nothing
  private(set) var serving = Serving.idle
  /// When the peer was asked for a damaged set, on the steady clock.
  private var repairAskedAt: [ChangeSetID: Moment] = [:]
  /// Logs of others of which the peer was told, without having asked for them since.
  private var announced: Set<LogKey> = []
  /// Logs that the peer gets from others sooner: it is not told of them again unless it asks.
  private(set) var elsewhere: Set<LogKey> = []
  /// When the peer was last told all heads.
  var toldAllAt: Moment?

  var request: SetRequest? { if case .requested(let request) = receiving { request } else { nil } }

  // MARK: Heads

  /// What a list of heads says, as much of it as is kept in mind, and whether all of that is known.
  func news(in heads: [LogHead], isComplete: Bool) -> (heads: [LogHead], isKnown: Bool) {
    let known = theirs.heads ?? Heads()
    let kept = (isComplete ? Heads() : known).rememberable(heads)
    return (kept, known.hold(kept))
  }

  /// The peer tells of its heads: it may be asked again.
  mutating func told(_ heads: [LogHead], isComplete: Bool) {
    if isComplete {
      (theirs, lacking, strangers) = (.all(Heads()), [:], [:])
    }
    theirs.update { $0.observe(heads) }
    resume()
  }

  /// Notes tips that are lacking.
  mutating func note(_ tips: [LogHead], isStranger: (LogKey) -> Bool) {
    for tip in tips {
      if isStranger(tip.log) {
        strangers[tip.log, default: [:]][tip.id] = tip
      } else {
        lacking[tip.log, default: [:]][tip.id] = tip
      }
    }
  }

  /// What was lacking of logs that did not fork is looked at again.
  mutating func forgetLacking(_ logs: [LogKey]) {
    for log in logs { (lacking[log], strangers[log]) = (nil, nil) }
  }

  /// The store holds other sets than before.
  mutating func forgetLacking(butOf isKept: (LogKey) -> Bool) {
    lacking = lacking.filter { isKept($0.key) }
    strangers = [:]
  }

  /// Devices that no certificate named may be named now.
  mutating func admitStrangers(_ mayAuthor: (LogKey) -> Bool) {
    for (log, tips) in strangers where mayAuthor(log) {
      lacking[log] = tips
      strangers[log] = nil
    }
  }

  /// The peer was found to hold exactly what is here.
  mutating func level(with mine: Heads, isDigestEqual: Bool) {
    theirs = .all(mine)
    self.isDigestEqual = isDigestEqual
    // What it was told of and did not ask for, it has from somebody else.
    elsewhere.formUnion(announced)
    announced = []
    (lacking, strangers) = ([:], [:])
    back = [:]
  }

  mutating func noteAnnounced(_ logs: [LogKey]) { announced.formUnion(logs) }

  /// Sets went to the peer without having been asked for.
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

  /// What to ask for: the sets that lead to tips that are lacking, as many tips as one message names. First one of each
  /// log, so that a log that forked very often keeps no other waiting.
  func needs(of logs: [LogKey], _ mine: Heads) -> [Want] {
    let tips = logs.map { lacking[$0]?.values.sorted(by: Heads.isBefore) ?? [] }
    var wants: [Want] = []
    for tip in tips.compactMap(\.first) + tips.flatMap({ $0.dropFirst() }) {
      guard wants.count < Limits.wantsMax else { break }
      wants.append(mine.want(tip, back: back[tip.log] ?? 0))
    }
    return wants
  }

  func mayAskAgain(_ id: ChangeSetID, _ now: Now) -> Bool {
    repairAskedAt[id].map { now.steady >= $0 + Self.askAgainMilliseconds } ?? true
  }

  mutating func request(_ wants: [Want], repairs: [ChangeSetID], _ now: Now) {
    for set in repairs { repairAskedAt[set] = now.steady }
    receiving = .requested(SetRequest(wants, now))
  }

  /// The peer delivers nothing of what it was asked for: it is asked again when it tells of heads.
  ///
  /// - Returns: the logs that it was asked for.
  mutating func giveUp() -> [LogKey] {
    let logs = request.map { Array($0.wants.keys) } ?? []
    receiving = .stalled
    return logs
  }

  mutating func resume() { if case .stalled = receiving { receiving = .idle } }

  /// The peer says that its answer is over.
  mutating func answerEnded(_ mine: Heads) -> AnswerEnd {
    guard let request else { return .unasked }
    // The last sets of the answer may not be in the store yet.
    guard !storing.isUnderWay else {
      storing.end()
      return .storing
    }
    // A peer that can't send a damaged set, having lost it too, has broken no promise.
    if request.wants.values.joined().allSatisfy({ repairAskedAt[$0.tip] != nil }) { return .repairs }
    return request.hasProgress || hasDelivered(request, mine) ? .delivered : .nothing
  }

  /// Whether anything that was asked for is here now, whoever brought it.
  private func hasDelivered(_ request: SetRequest, _ mine: Heads) -> Bool {
    request.wants.values.joined().contains { holds($0, through: $0.from, mine) }
  }

  /// Whether a log has come so far. Where it forked, or a set of it is damaged, heads can't tell.
  private func holds(_ want: Want, through sequence: UInt64, _ mine: Heads) -> Bool {
    repairAskedAt[want.tip] == nil && mine.tipCount(of: want.log) == 1 && back[want.log] == nil
      && (mine[want.log]?.sequence ?? 0) >= sequence
  }

  // MARK: Storing

  mutating func store(_ count: Int) { storing.add(count) }

  /// Sets found no room on the disk: they will be asked for again.
  mutating func notKept() {
    storing = .nothing
    if case .requested = receiving { receiving = .idle }
  }

  /// Sets have found their places, or were here already, whoever brought them.
  mutating func noteArrivals(_ sets: [VerifiedChangeSet]) {
    for set in sets { noteArrival(set.id, set.header.log) }
  }

  private mutating func noteArrival(_ id: ChangeSetID, _ log: LogKey) {
    receiving.update { if $0.wants[log] != nil { $0.completed.insert(id) } }
    guard lacking[log]?.removeValue(forKey: id) != nil else { return }
    if lacking[log]?.isEmpty == true { lacking[log] = nil }
    back[log] = nil
  }

  /// Sets of the peer were looked at by the store: it has them.
  ///
  /// - Returns: how many of them nobody needed.
  mutating func noteSent(_ items: [Committed.Item], _ now: Now) -> Int {
    storing.finish(items.count)
    let redundant = items.count { !noteSent($0, now) }
    advance(to: items.map(\.head))
    return redundant
  }

  /// - Returns: whether there was any need of it.
  private mutating func noteSent(_ item: Committed.Item, _ now: Now) -> Bool {
    let log = item.set.header.log
    switch item.placement {
    case .place:
      // News that nobody asked for keep no promise.
      receiving.update { if $0.wants[log] != nil { $0.noteProgress(now) } }
    case .missing: cameTooEarly(item.set)
    case .duplicate, .excluded, .clockConflict: return request?.wants[log] != nil || back[log] != nil
    case .refused: break
    }
    return true
  }

  /// A set of the peer stands on one that is not here: what leads to it is lacking.
  private mutating func cameTooEarly(_ set: VerifiedChangeSet) {
    let header = set.header
    guard lacking[header.log] != nil || lacking.count < Limits.headsMax else { return }
    if let previous = header.previous { lacking[header.log]?[previous] = nil }
    lacking[header.log]?[set.id] = nil
    let tips = lacking[header.log, default: [:]]
    // What was asked for without end, the next list of heads tells again.
    if tips.count < Limits.earlyTipsMax, !tips.values.contains(where: { $0.sequence > header.sequence }) {
      lacking[header.log, default: [:]][set.id] =
        LogHead(log: header.log, sequence: header.sequence, id: set.id, foldedSequence: 0)
    } else if tips.isEmpty {
      lacking[header.log] = nil
    }
    // The first set that was asked for does not fit: the branch forks off further back. However many branches do, the
    // next want begins only one step earlier.
    var isFurtherBack = false
    receiving.update { isFurtherBack = $0.isFurtherBack(header.log, header.sequence) }
    if isFurtherBack { back[header.log] = min((back[header.log] ?? 4) * 4, Self.backMax) }
  }

  /// Takes off the request what is here.
  ///
  /// - Returns: the logs of which nothing is asked for any more.
  mutating func settleRequest(_ mine: Heads) -> [LogKey] {
    guard var request else { return [] }
    var done: [LogKey] = []
    for (log, wants) in request.wants {
      // Another peer may have brought more than this one was asked for.
      let rest = wants.filter { !request.completed.contains($0.tip) && !holds($0, through: $0.through, mine) }
      request.wants[log] = rest.isEmpty ? nil : rest
      if rest.isEmpty { done.append(log) }
    }
    request.completed = []
    receiving = request.wants.isEmpty ? .idle : .requested(request)
    return done
  }

  /// - Returns: whether the peer ended its answer, and the last sets of it are stored now.
  mutating func takeAnswerEnd() -> Bool { storing.takeEnd() }

  // MARK: Serving

  /// The peer asks for sets: it wants to be told of their logs.
  mutating func wanted(_ wants: [Want], servable: [Want]) -> Serving.Step? {
    let logs = wants.map(\.log)
    announced.subtract(logs)
    elsewhere.subtract(logs)
    return serving.wanted(servable)
  }

  /// Sets have been sent, and these are to follow.
  mutating func served(_ sent: [LogHead], rest: [Want], isCongested: Bool) -> Serving.Step? {
    advance(to: sent)
    return serving.served(rest: rest, isCongested: isCongested)
  }

  /// The link has room again.
  mutating func drained() -> Serving.Step? { serving.drained() }

  mutating func stopServing() { serving = .idle }

  /// Further back than any log goes that a device can hold.
  private static let backMax: UInt64 = 1 << 40
  private static let askAgainMilliseconds: Moment = 3_600_000
}

/// What a peer holds, by its own word or because it went through this session.
enum KnownHeads: Sendable {
  case none
  case some(Heads)
  /// It has told all of them, or that they are those that are here.
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
    self = .none  // So that the heads are changed in place.
    body(&heads)
    self = isComplete ? .all(heads) : .some(heads)
  }
}

/// What this side gets from the peer.
enum Receiving: Sendable {
  case idle
  case requested(SetRequest)
  /// The peer ended its answer without delivering, or was silent for too long.
  case stalled

  fileprivate mutating func update(_ body: (inout SetRequest) -> Void) {
    guard case .requested(var request) = self else { return }
    self = .idle  // So that the request is changed in place.
    body(&request)
    self = .requested(request)
  }
}

/// The sets that a peer was asked for.
struct SetRequest: Sendable {
  /// What has not come yet, by log.
  fileprivate(set) var wants: [LogKey: [Want]]
  /// How many sets it asked for.
  let count: UInt64
  /// On the steady clock, like all times here.
  private let sentAt: Moment
  fileprivate(set) var progressAt: Moment
  /// Something that was lacking has come, or it is clear that more must be asked for.
  private(set) var hasProgress = false
  /// Sets of these logs, among them tips, that have come since the wants were last looked at.
  fileprivate var completed: Set<ChangeSetID> = []
  /// Logs that turned out to fork further back.
  private var furtherBack: Set<LogKey> = []

  fileprivate init(_ wants: [Want], _ now: Now) {
    self.wants = Dictionary(grouping: wants, by: \.log)
    count = wants.reduce(0) { $0 &+ $1.count }
    (sentAt, progressAt) = (now.steady, now.steady)
  }

  /// Whether it is long in coming. Nobody waits for it any more: a peer could bring a set of its own now and then, and
  /// all that it has promised never.
  func isSlow(_ now: Now) -> Bool { now.steady >= sentAt + Limits.patienceMilliseconds }

  /// When the peer is given up, unless it delivers something before.
  var overdueAt: Moment { progressAt + Limits.overdueMilliseconds }

  fileprivate mutating func noteProgress(_ now: Now) {
    progressAt = now.steady
    hasProgress = true
  }

  /// Whether the first set that was asked for of a log does not fit, for the first time in this request.
  fileprivate mutating func isFurtherBack(_ log: LogKey, _ sequence: UInt64) -> Bool {
    guard sequence > 1, wants[log]?.contains(where: { $0.from == sequence }) == true,
      furtherBack.insert(log).inserted
    else { return false }
    hasProgress = true
    return true
  }
}

/// What the end of a peer's answer means.
enum AnswerEnd {
  case unasked
  /// Its last sets are not stored yet: that decides.
  case storing
  case delivered
  /// It was asked for damaged sets alone, and need not have them.
  case repairs
  case nothing
}

/// Sets of the peer on their way into the store: what they bring is not asked for again.
enum Storing: Sendable {
  case nothing
  case sets(Int)
  /// The peer has ended its answer behind them.
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

/// What the peer gets from this side.
enum Serving: Sendable {
  case idle
  /// The shell reads and sends; this was asked for meanwhile.
  case reading(next: [Want])
  /// The link is full.
  case congested(rest: [Want])

  /// What to do next.
  enum Step {
    case read([Want])
    /// Everything that was asked for was sent.
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
    // The lane has closed and opened since: the peer has forgotten what it asked for before.
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

  /// A newer want of a log takes the place of the older ones; one message may ask for several tips of a log.
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
  /// What the peer announced of itself.
  case theirs(ReasonCode)
  /// The peer announces an open lane, but its certificates do not allow it.
  case peerNotPremium(GateReason)
}

extension GateReason {
  /// What is said on the wire of one's own closed gate.
  var code: ReasonCode {
    switch self {
    case .freeTier: .freeTier
    case .entitlementExpired: .entitlementExpired
    case .entitlementNotYetValid: .entitlementNotYetValid
    case .syncOff: .syncOff
    case .revoked, .notAMember: .notAMember
    }
  }
}
