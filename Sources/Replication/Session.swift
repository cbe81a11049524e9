// Protocol/session.md, "A session"

package import Wire

/// One connection to another device, from the handshake until the link is gone.
///
/// The state follows from `peer` and `isClosing`.
///
/// | state          | entered by                              | carries               | messages it reads |
/// |----------------|-----------------------------------------|-----------------------|-------------------|
/// | `unidentified` | the handshake                           |                       | an introduction   |
/// | `identified`   | an introduction that is accepted        | `Peer` and both lanes | all others        |
/// | `closing`      | a violation, a duplicate, a revocation  | the same, if it was   | none              |
///
/// Once the peer is identified, the two sides exchange summaries, then statements (`StatementComparison`), then the
/// sets of each open lane (`LaneSession`). From time to time they compare a single hash of their whole state
/// (`StateComparison`). Questions (`OutgoingQuestions`, `IncomingQuestions`) are independent of these exchanges.
///
/// Each of these parts is a value that changes only through its own functions. The functions return the consequences
/// of a change, and the replica, which knows the circle and the other sessions, turns these into effects.
package struct Session: Sendable {
  enum Role: Sendable {
    /// The peer dialled this side.
    case responder
    /// This side dialled. A revoked device dials only to ask whether it is still revoked.
    case initiator(asksToReturn: Bool)
  }

  package let link: LinkID
  package let remote: TransportKey
  /// When the session was opened, on the wall clock.
  package let openedAt: Moment
  /// The same on the steady clock.
  let openedAtSteady: Moment
  private var role: Role
  /// The state of the identified peer; nil until its introduction has been accepted.
  var peer: Peer?
  /// The lanes, closed while the peer is not identified. They are stored by themselves and not within an enum of the
  /// session's states, because only then can a message change them in place: copying the heads and requests of both
  /// lanes would cost more than handling the message.
  private var settingsLane = LaneSession.closed(nil)
  private var recordsLane = LaneSession.closed(nil)
  /// Until the link has ended, sets from the peer are still stored, and requests to the peer still count as
  /// outstanding.
  package private(set) var isClosing = false
  /// When this node first changed after the last comparison with the peer, on the steady clock; nil if it has not
  /// changed.
  var changedAt: Moment?

  init(link: LinkID, remote: TransportKey, role: Role, now: Now) {
    self.link = link
    self.remote = remote
    self.role = role
    openedAt = now.wall
    openedAtSteady = now.steady
  }

  // MARK: States

  package var isInitiator: Bool { if case .initiator = role { true } else { false } }

  var isAskingToReturn: Bool { if case .initiator(asksToReturn: true) = role { true } else { false } }

  mutating func identify(_ device: DeviceKey, clockSkew: Int64) {
    guard peer == nil, !isClosing else { preconditionFailure("identified twice") }
    peer = Peer(device: device, clockSkew: clockSkew)
  }

  mutating func close() { isClosing = true }

  /// Makes this an ordinary session after this device has turned out to be a member.
  mutating func stopAskingToReturn() { if isAskingToReturn { role = .initiator(asksToReturn: false) } }

  /// The session's state in one lane. While the peer is not identified, the lane is closed and changes to it are
  /// discarded.
  package internal(set) subscript(lane: Lane) -> LaneSession {
    _read { if lane == .settings { yield settingsLane } else { yield recordsLane } }
    _modify {
      guard peer != nil else {
        var closed = LaneSession.closed(nil)
        yield &closed
        return
      }
      if lane == .settings { yield &settingsLane } else { yield &recordsLane }
    }
  }

  // MARK: Comparing the state hash

  /// Whether no request for sets is outstanding in either direction.
  var isQuiet: Bool { Lane.allCases.allSatisfy { self[$0].request == nil && !self[$0].isServing } }

  var canCompare: Bool { device != nil && !isClosing && isQuiet }

  /// When to compare states with the peer after a change here, on the steady clock; nil if nothing has changed.
  ///
  /// The initiator asks first, so that the two questions do not cross. The responder asks later, and only if the
  /// initiator's question has not arrived by then.
  var comparesAt: Moment? {
    let wait = settlingMilliseconds + (isInitiator ? 0 : Self.lateMilliseconds + travelTime)
    return changedAt.map { $0 + wait }
  }

  /// How long to wait until a change has reached the peer. A set that is announced, requested and sent takes one and
  /// a half round trips. The comparison takes half a round trip to arrive, so if it is sent after one round trip, it
  /// arrives together with the set. If it were sent sooner, the two sides would follow up a difference that is about
  /// to disappear.
  private var settlingMilliseconds: Moment { Self.settleMilliseconds + travelTime }

  /// One round trip, capped so that a peer that was once busy, or that lies, cannot delay comparisons for long.
  private var travelTime: Moment { min(roundTrip ?? 0, Self.roundTripMillisecondsMax) }

  /// Handles a `state` message, which contains the peer's hash, or nil if that hash equals the one sent with the
  /// token.
  ///
  /// - Parameters:
  ///   - mine: the current hash of this side's state.
  ///   - newestChangeAt: when this node last changed, on the steady clock.
  mutating func receivedState(
    _ hash: Bytes32?, _ token: UInt64, isAnswer: Bool, mine: Bytes32, newestChangeAt: Moment, _ now: Now
  ) -> StateVerdict {
    let settlesAt = newestChangeAt + settlingMilliseconds
    if isAnswer { peer?.noteRoundTrip(since: token, now) }
    // A nil hash may mean that the peer agreed with an earlier state of this side. The next comparison decides in
    // that case.
    guard hash != nil || peer?.states.hashAsked(token) == mine else { return .unclear }
    if hash == nil || hash == mine {
      changedAt = nil
      peer?.states.agree(on: mine)
      peer?.statements.foundEqual()
      return .equal
    }
    peer?.isInSync = false
    // During a burst of changes the two sides differ all the time, so the difference is followed up only once the
    // burst is over.
    guard peer?.states.differ(isSettling: now.steady < settlesAt, now) == true else { return .unclear }
    if !isInitiator { changedAt = nil }
    // Send the summary even if it has not changed. Otherwise the two sides would never agree again if a list of heads
    // was lost.
    if isQuiet { peer?.lastSummarySent = nil }
    return .different
  }

  private static let settleMilliseconds: Moment = 20
  private static let lateMilliseconds: Moment = 40
  private static let roundTripMillisecondsMax: Moment = 500
}

/// The result of comparing state hashes with a peer.
enum StateVerdict {
  case equal
  /// The two sides differ; the summaries show in which part.
  case different
  /// The comparison concerned an earlier state, or a state that is about to change.
  case unclear
}

extension Session {
  package var device: DeviceKey? { peer?.device }
  package var theirs: Summary? { peer?.summary }
  package var settings: LaneSession { self[.settings] }
  package var records: LaneSession { self[.records] }
  package var roundTrip: Int64? { peer?.roundTrip }
  /// How many of this side's `state` questions the peer has answered.
  package var echoes: UInt64 { peer?.echoes ?? 0 }
  /// When the newest question about the state that the peer has answered was asked, on our steady clock; nil if the
  /// peer has answered none. Everything that the peer sent before that answer has been handled.
  package var newestAnswered: Moment? { peer?.newestAnswered }
  /// How many milliseconds the peer's wall clock is ahead of ours.
  package var clockSkew: Int64? { peer?.clockSkew }
  package var isInSync: Bool { peer?.isInSync ?? false }
  package var goodbye: ReasonCode? { peer?.goodbye }
  /// Whether the peer has sent a summary and the two sides have exchanged their statements.
  package var isCurrent: Bool { peer?.summary != nil && knowsStatements }
  var knowsStatements: Bool { peer?.statements.isDone ?? false }
}

extension Replica {
  /// Whether a lane of a link is open.
  package func isOpen(_ link: LinkID, _ lane: Lane) -> Bool { sessions[link]?[lane].isOpen ?? false }

  /// The session with a device, if it is connected.
  package func session(with device: DeviceKey) -> Session? {
    sessionsInOrder.last { $0.device == device && !$0.isClosing }
  }
}

/// The state of a session with an identified peer.
struct Peer: Sendable {
  let device: DeviceKey
  var clockSkew: Int64
  /// The last summary that the peer sent.
  var summary: Summary?
  /// The last summary sent to the peer.
  var lastSummarySent: Summary?
  var statements = StatementComparison.notBegun
  var states = StateComparison()
  /// Whether the certificates and the digests of all open lanes were equal when last compared.
  var isInSync = false
  private(set) var roundTrip: Int64?
  private(set) var echoes: UInt64 = 0
  private(set) var newestAnswered: Moment?
  var goodbye: ReasonCode?
  var outgoing = OutgoingQuestions()
  var incoming = IncomingQuestions()

  init(device: DeviceKey, clockSkew: Int64) {
    self.device = device
    self.clockSkew = clockSkew
  }

  /// - Returns: whether the summary differs from the peer's previous one.
  mutating func received(_ summary: Summary, _ now: Now) -> Bool {
    let isNew = self.summary?.saysTheSame(as: summary) != true
    self.summary = summary
    clockSkew = summary.wall - now.wall
    return isNew
  }

  /// - Returns: whether to send the summary, because it differs from the last one sent.
  mutating func send(_ summary: Summary) -> Bool {
    if let lastSummarySent, lastSummarySent.saysTheSame(as: summary) { return false }
    lastSummarySent = summary
    return true
  }

  /// Records the round trip of an answered question. A token is the time on our steady clock at which the question
  /// was sent, but a peer may answer with any number.
  fileprivate mutating func noteRoundTrip(since token: UInt64, _ now: Now) {
    guard token <= UInt64(clamping: now.steady) else { return }
    let asked = Moment(clamping: token)
    roundTrip = now.steady - asked
    newestAnswered = max(newestAnswered ?? asked, asked)
    echoes &+= 1
  }
}

extension Summary {
  /// Whether two summaries are equal apart from the wall clock.
  fileprivate func saysTheSame(as other: Summary) -> Bool {
    certificates == other.certificates && settings == other.settings && records == other.records
  }
}

/// The progress of comparing statements. Lanes are compared only once this comparison is done.
///
/// ```
/// notBegun ──request──▶ requested ──answered──▶ done
///     └──── found equal, or the peer's answer ────▲
/// ```
/// The comparison stays done for the rest of the session. If statements differ later, the lists of ids are exchanged
/// again.
enum StatementComparison: Sendable {
  case notBegun
  /// This side sent the ids of its statements at this time on the steady clock.
  case requested(Moment)
  case done(last: Request?)

  struct Request: Sendable {
    let at: Moment
    var isAnswered: Bool
  }

  var isDone: Bool { if case .done = self { true } else { false } }

  private var last: Request? {
    switch self {
    case .notBegun: nil
    case .requested(let moment): Request(at: moment, isAnswered: false)
    case .done(let last): last
    }
  }

  /// Starts an exchange, unless one is already under way or the last one began too recently. During a flood of
  /// statements the two sides differ all the time, and following up every difference would be too costly.
  ///
  /// - Returns: whether to send the ids now.
  mutating func request(_ now: Now) -> Bool {
    if let last, !last.isAnswered || now.steady < last.at + Limits.statementIDsMilliseconds { return false }
    self = isDone ? .done(last: Request(at: now.steady, isAnswered: false)) : .requested(now.steady)
    return true
  }

  /// Records that the peer has sent the last of the statements that this side lacked.
  mutating func answered() { self = .done(last: last.map { Request(at: $0.at, isAnswered: true) }) }

  mutating func foundEqual() { self = .done(last: last) }
}

/// The comparison of a single hash over everything that both sides should have in common.
struct StateComparison: Sendable {
  /// This side's last question. The hash is nil if two different hashes were sent with the same token.
  private var asked: (token: UInt64, hash: Bytes32?)?
  /// The last hash on which both sides agreed.
  private(set) var agreed: Bytes32?
  /// When the states began to differ, or when the difference was last followed up, on the steady clock.
  private var differsSince: Moment?

  /// - Returns: the token of the question.
  mutating func ask(_ hash: Bytes32, _ now: Now) -> UInt64 {
    let token = UInt64(clamping: now.steady)
    // Two questions in the same millisecond have the same token, so an answer to either would be ambiguous.
    let isClear = asked?.token != token || asked?.hash == hash
    asked = (token, isClear ? hash : nil)
    return token
  }

  /// Returns the hash that was sent with a token; nil if the token is not the last one, or if it is ambiguous.
  func hashAsked(_ token: UInt64) -> Bytes32? { asked.flatMap { $0.token == token ? $0.hash : nil } }

  mutating func agree(on hash: Bytes32) { (agreed, differsSince) = (hash, nil) }

  /// - Returns: whether to follow up the difference now.
  mutating func differ(isSettling: Bool, _ now: Now) -> Bool {
    let since = differsSince ?? now.steady
    differsSince = since
    guard !isSettling || now.steady >= since + Self.changingMilliseconds else { return false }
    differsSince = now.steady
    return true
  }

  private static let changingMilliseconds: Moment = 1_000
}

/// The questions that this side asks the peer. Only the answer to the newest question is awaited.
struct OutgoingQuestions: Sendable {
  private var awaited: Query?
  private var lastToken: UInt64 = 0

  enum AnswerMatch {
    case query(Query)
    case tooLate
    case neverAsked
  }

  mutating func ask(_ lane: Lane, _ question: Question) -> Query {
    lastToken += 1
    let query = Query(token: lastToken, lane: lane, question: question)
    awaited = query
    return query
  }

  mutating func answered(_ token: UInt64) -> AnswerMatch {
    guard token > 0, token <= lastToken else { return .neverAsked }
    guard let query = awaited, query.token == token else { return .tooLate }
    awaited = nil
    return .query(query)
  }
}

/// The peer's question to this side. A newer question replaces an older one.
///
/// ```
/// none ──received──▶ waiting ──read──▶ reading ──answered, or refused──▶ none
///                       ▲                 │
///                       └── the link is full, or a newer question came ─┘
/// ```
struct IncomingQuestions: Sendable {
  private enum State {
    case none
    case waiting(Query)
    /// The shell is reading an answer, possibly to an older question that this one has replaced.
    case reading(Query)
  }

  private var state = State.none
  private var answeredAt: Moment?

  mutating func received(_ query: Query) {
    if case .reading = state { state = .reading(query) } else { state = .waiting(query) }
  }

  /// The question to answer next.
  var waiting: Query? { if case .waiting(let query) = state { query } else { nil } }

  /// Returns how long the peer must still wait for its next answer; nil if it need not wait.
  func pause(_ now: Now) -> Moment? {
    answeredAt.map { $0 + Limits.answerMillisecondsMin - now.steady }.flatMap { $0 > 0 ? $0 : nil }
  }

  mutating func read() { if case .waiting(let query) = state { state = .reading(query) } }

  /// Records that the shell has read an answer; it cannot be sent if the link is congested.
  ///
  /// - Returns: whether the answer is to the newest question.
  mutating func answered(_ query: Query, isSendable: Bool, _ now: Now) -> Bool {
    guard case .reading(let newest) = state else { return false }
    state = .waiting(newest)
    if isSendable { answeredAt = now.steady }
    return newest == query
  }

  /// Clears the question after it was answered or refused.
  mutating func finish() { state = .none }
}
