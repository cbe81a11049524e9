// Protocol/session.md, "A session"

package import Wire

/// One connection to another device, from the handshake until the link is gone.
///
/// | state          | entered by                              | carries               | messages it reads |
/// |----------------|-----------------------------------------|-----------------------|-------------------|
/// | `unidentified` | the handshake                           |                       | an introduction   |
/// | `identified`   | an introduction that is accepted        | `Peer`                | all others        |
/// | `closing`      | a violation, a duplicate, a revocation  | `Peer`, if identified | none              |
///
/// With an identified peer the two sides exchange summaries, then statements (`StatementComparison`), then the sets of
/// each lane that is open (`LaneSession`). One hash of everything shows from time to time whether they agree
/// (`StateComparison`). Questions (`OutgoingQuestions`, `IncomingQuestions`) are independent of all that.
///
/// Each of these is a value that changes only by its own functions. They return what follows from a change; the replica,
/// which knows the circle and the other sessions, turns that into effects.
package struct Session: Sendable {
  enum State: Sendable {
    case unidentified
    case identified(Peer)
    /// Until the link is gone, sets that have arrived are still stored, and what the peer was asked for is still owed.
    case closing(Peer?)
  }

  enum Role: Sendable {
    /// The peer dialled.
    case responder
    /// This side dialled. A device that is out of the circle asks whether it still is, and nothing else.
    case initiator(asksToReturn: Bool)
  }

  package let link: LinkID
  package let remote: TransportKey
  /// On the wall clock.
  package let openedAt: Moment
  private var role: Role
  private var state = State.unidentified
  /// Since when there has been something here that the two have not compared, on the steady clock.
  var changedAt: Moment?

  init(link: LinkID, remote: TransportKey, role: Role, now: Moment) {
    self.link = link
    self.remote = remote
    self.role = role
    openedAt = now
  }

  // MARK: States

  package var isClosing: Bool { if case .closing = state { true } else { false } }

  package var isInitiator: Bool { if case .initiator = role { true } else { false } }

  var isAskingToReturn: Bool { if case .initiator(asksToReturn: true) = role { true } else { false } }

  mutating func identify(_ device: DeviceKey, clockSkew: Int64) {
    guard case .unidentified = state else { preconditionFailure("identified twice") }
    state = .identified(Peer(device: device, clockSkew: clockSkew))
  }

  mutating func close() { state = .closing(peer) }

  /// This device turned out to be in the circle.
  mutating func stopAskingToReturn() { if isAskingToReturn { role = .initiator(asksToReturn: false) } }

  /// Nil until the peer's certificate has been seen.
  var peer: Peer? {
    get {
      switch state {
      case .unidentified: nil
      case .identified(let peer): peer
      case .closing(let peer): peer
      }
    }
    // In place, as below: a copy of many heads for each message would be felt.
    _modify {
      var (peer, isClosing) = (peer, isClosing)
      state = .unidentified
      defer { state = isClosing ? .closing(peer) : peer.map { .identified($0) } ?? .unidentified }
      yield &peer
    }
  }

  /// The lanes of a peer that is not identified are closed, and stay so.
  package internal(set) subscript(lane: Lane) -> LaneSession {
    get { peer?[lane] ?? .closed(nil) }
    _modify {
      guard var peer else {
        var closed = LaneSession.closed(nil)
        yield &closed
        return
      }
      let isClosing = isClosing
      state = .unidentified
      defer { state = isClosing ? .closing(peer) : .identified(peer) }
      yield &peer[lane]
    }
  }

  // MARK: Comparing one hash

  /// Nothing was asked for that is still to come, in either direction.
  var isQuiet: Bool { Lane.allCases.allSatisfy { self[$0].request == nil && !self[$0].isServing } }

  var canCompare: Bool { device != nil && !isClosing && isQuiet }

  /// When what changed here is to be compared with the peer, on the steady clock; nil if nothing did.
  ///
  /// One side asks, so that the questions do not cross. The other makes sure that it does, when a question would
  /// be here.
  var comparesAt: Moment? {
    let wait = settlingMilliseconds + (isInitiator ? 0 : Self.lateMilliseconds + patience)
    return changedAt.map { $0 + wait }
  }

  /// How long a change may be on its way to the peer: a set that is announced, asked for and sent takes one and a
  /// half round trips, and a question that is sent after one arrives with it. Asked sooner, the two would follow up
  /// a difference that is about to go.
  private var settlingMilliseconds: Moment { Self.settleMilliseconds + patience }

  /// A peer that was busy once, or says what it likes, puts no comparison off for long.
  private var patience: Moment { min(roundTrip ?? 0, Self.roundTripMillisecondsMax) }

  /// Takes the peer's hash, or its consent to the one that was sent with the token.
  ///
  /// - Parameters:
  ///   - mine: the hash of this side as it is now.
  ///   - newestChangeAt: when something changed here last, on the steady clock.
  mutating func receivedState(
    _ hash: Bytes32?, _ token: UInt64, isAnswer: Bool, mine: Bytes32, newestChangeAt: Moment, _ now: Now
  ) -> StateVerdict {
    let settlesAt = newestChangeAt + settlingMilliseconds
    if isAnswer { peer?.noteRoundTrip(since: token, now) }
    // What the peer agreed with may not be what is here now: then the next comparison decides.
    guard hash != nil || peer?.states.hashAsked(token) == mine else { return .unclear }
    if hash == nil || hash == mine {
      changedAt = nil
      peer?.states.agree(on: mine)
      peer?.statements.foundEqual()
      return .equal
    }
    peer?.isInSync = false
    // In the midst of changes the two differ all the time, and what is on its way is compared at the end of it.
    guard peer?.states.differ(isSettling: now.steady < settlesAt, now) == true else { return .unclear }
    if !isInitiator { changedAt = nil }
    // It is repeated even if nothing changed here since: a list of heads that got lost must not leave the two apart.
    if isQuiet { peer?.lastSummarySent = nil }
    return .different
  }

  private static let settleMilliseconds: Moment = 20
  private static let lateMilliseconds: Moment = 40
  private static let roundTripMillisecondsMax: Moment = 500
}

/// What the hash of everything that a peer has sent shows.
enum StateVerdict {
  case equal
  /// The summaries show in which part.
  case different
  /// It is about an earlier state, or about one that is about to change.
  case unclear
}

extension Session {
  package var device: DeviceKey? { peer?.device }
  package var theirs: Summary? { peer?.summary }
  package var settings: LaneSession { self[.settings] }
  package var records: LaneSession { self[.records] }
  package var roundTrip: Int64? { peer?.roundTrip }
  /// How many of this side's questions for a sign of life were answered.
  package var echoes: UInt64 { peer?.echoes ?? 0 }
  /// How far the peer's wall clock is ahead of this one's, milliseconds.
  package var clockSkew: Int64? { peer?.clockSkew }
  package var isInSync: Bool { peer?.isInSync ?? false }
  package var goodbye: ReasonCode? { peer?.goodbye }
  /// Whether the two sides have compared notes and found the same statements.
  package var isCurrent: Bool { peer?.summary != nil && knowsStatements }
  var knowsStatements: Bool { peer?.statements.isDone ?? false }
}

extension Replica {
  /// Whether sets of a lane are taken from a link.
  package func isOpen(_ link: LinkID, _ lane: Lane) -> Bool { sessions[link]?[lane].isOpen ?? false }

  /// The session with a device, if it is connected.
  package func session(with device: DeviceKey) -> Session? {
    sessionsInOrder.last { $0.device == device && !$0.isClosing }
  }
}

/// What is known of the other side of a session.
struct Peer: Sendable {
  let device: DeviceKey
  var clockSkew: Int64
  var summary: Summary?
  /// The summary that the peer has of this side.
  var lastSummarySent: Summary?
  var statements = StatementComparison.notBegun
  var settings = LaneSession.closed(nil)
  var records = LaneSession.closed(nil)
  var states = StateComparison()
  /// The certificates and the digests of all open lanes were equal when they were last compared.
  var isInSync = false
  private(set) var roundTrip: Int64?
  private(set) var echoes: UInt64 = 0
  var goodbye: ReasonCode?
  var outgoing = OutgoingQuestions()
  var incoming = IncomingQuestions()

  init(device: DeviceKey, clockSkew: Int64) {
    self.device = device
    self.clockSkew = clockSkew
  }

  subscript(lane: Lane) -> LaneSession {
    _read { if lane == .settings { yield settings } else { yield records } }
    _modify { if lane == .settings { yield &settings } else { yield &records } }
  }

  /// - Returns: whether it says anything new.
  mutating func received(_ summary: Summary, _ now: Now) -> Bool {
    let isNew = self.summary?.saysTheSame(as: summary) != true
    self.summary = summary
    clockSkew = summary.wall - now.wall
    return isNew
  }

  /// - Returns: whether the summary is to be sent, because the peer does not have it.
  mutating func send(_ summary: Summary) -> Bool {
    if let lastSummarySent, lastSummarySent.saysTheSame(as: summary) { return false }
    lastSummarySent = summary
    return true
  }

  /// Tokens are times on this side's steady clock; a peer may answer with any.
  fileprivate mutating func noteRoundTrip(since token: UInt64, _ now: Now) {
    guard token <= UInt64(clamping: now.steady) else { return }
    roundTrip = now.steady - Moment(clamping: token)
    echoes &+= 1
  }
}

extension Summary {
  /// Equal but for the time of day.
  fileprivate func saysTheSame(as other: Summary) -> Bool {
    certificates == other.certificates && settings == other.settings && records == other.records
  }
}

/// How far the two sides have compared their statements. Lanes are compared only after that.
///
/// ```
/// notBegun ──request──▶ requested ──answered──▶ done
///     └──── found equal, or the peer's answer ────▲
/// ```
/// Done once is done for the session; statements that come later are requested again.
enum StatementComparison: Sendable {
  case notBegun
  /// The ids of this side's statements went out at this time on the steady clock.
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

  /// In a flood of statements the two sides differ all the time: then not every difference is followed up.
  ///
  /// - Returns: whether to send the ids now.
  mutating func request(_ now: Now) -> Bool {
    if let last, !last.isAnswered || now.steady < last.at + Limits.statementIDsMilliseconds { return false }
    self = isDone ? .done(last: Request(at: now.steady, isAnswered: false)) : .requested(now.steady)
    return true
  }

  /// The peer has sent the last of what this side lacks.
  mutating func answered() { self = .done(last: last.map { Request(at: $0.at, isAnswered: true) }) }

  mutating func foundEqual() { self = .done(last: last) }
}

/// Comparing one hash of everything that both sides should have in common.
struct StateComparison: Sendable {
  /// What this side asked about last; the hash is nil if two different ones went with the token.
  private var asked: (token: UInt64, hash: Bytes32?)?
  /// The hash that both sides were last found to have in common.
  private(set) var agreed: Bytes32?
  /// Since when the states have differed, or when that was last followed up, on the steady clock.
  private var differsSince: Moment?

  /// - Returns: the token of the question.
  mutating func ask(_ hash: Bytes32, _ now: Now) -> UInt64 {
    let token = UInt64(clamping: now.steady)
    // Of two questions in one millisecond an answer would not say which it means.
    let isClear = asked?.token != token || asked?.hash == hash
    asked = (token, isClear ? hash : nil)
    return token
  }

  /// The hash that this side asked about with a token.
  func hashAsked(_ token: UInt64) -> Bytes32? { asked.flatMap { $0.token == token ? $0.hash : nil } }

  mutating func agree(on hash: Bytes32) { (agreed, differsSince) = (hash, nil) }

  /// - Returns: whether to follow the difference up.
  mutating func differ(isSettling: Bool, _ now: Now) -> Bool {
    let since = differsSince ?? now.steady
    differsSince = since
    guard !isSettling || now.steady >= since + Self.changingMilliseconds else { return false }
    differsSince = now.steady
    return true
  }

  private static let changingMilliseconds: Moment = 1_000
}

/// The questions that this side puts to the peer. Only the newest one is waited for.
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

/// What the peer asked last: a newer question takes the place of an older one.
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
    /// The shell reads for an answer, not necessarily to this question: a newer one may have come since.
    case reading(Query)
  }

  private var state = State.none
  private var answeredAt: Moment?

  mutating func received(_ query: Query) {
    if case .reading = state { state = .reading(query) } else { state = .waiting(query) }
  }

  /// The question to answer next.
  var waiting: Query? { if case .waiting(let query) = state { query } else { nil } }

  /// How long the peer has to wait for its next answer.
  func pause(_ now: Now) -> Moment? {
    answeredAt.map { $0 + Limits.answerMillisecondsMin - now.steady }.flatMap { $0 > 0 ? $0 : nil }
  }

  mutating func read() { if case .waiting(let query) = state { state = .reading(query) } }

  /// The shell has read; nothing is sent of it where the link is full.
  ///
  /// - Returns: whether the answer is to the newest question.
  mutating func answered(_ query: Query, isSendable: Bool, _ now: Now) -> Bool {
    guard case .reading(let newest) = state else { return false }
    state = .waiting(newest)
    if isSendable { answeredAt = now.steady }
    return newest == query
  }

  /// The question is answered or refused.
  mutating func finish() { state = .none }
}
