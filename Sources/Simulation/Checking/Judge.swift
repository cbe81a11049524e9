// Protocol/*: the rules of the chapters, checked on running nodes by independent code.

package import SQLite

// The judge: an independent check of every step
//
// The judge shares no code with what it checks except the SQLite connection and libsodium's primitives. It reads the
// tables of a store and the bytes of messages, and has its own CBOR reader, statement and membership rules, causality,
// merge and hashes (the `Plain…` files and SetLibrary.swift). Had it used the production fold, a bug in the fold would
// be on both sides of each comparison and never show.
//
// It keeps: `SetLibrary`, every set that any store has held, verified once; per node a `NodeView`, the store as of the
// last look, and a `NodeLedger`, which holds what the world reported and no store shows, such as messages and clocks.
//
// The world reports in order of events. Messages are reported before the look at the step that sent them:
//
//   world                                 judge, for the node alice
//   sent(summary, to bob)            ──▶  ledger: alice said that her heads hash to h
//   sent(sets [s8], to bob)          ──▶  ledger: alice sent s8
//   looked(at: alice), after the step ─▶  new statements  → members, cuts and gate, computed from all statements
//                                         new log rows    → parse and verify; author, predecessor, dependencies, clock
//                                         newly folded    → allowed to fold? Then fold their records from all writes
//                                                           and compare rows, stamps, siblings, writers, digests
//                                         ledger          → h was the hash before, during or after the step;
//                                                           s8 is stored; both only on an open lane, to a member
//
// When it recomputes what:
//   each step (`looked`)               what is new since the last look; after new cuts, the whole store
//   each write (`acknowledged`)        stored, declares all that was folded, dated correctly, in a log of its own
//   start, and now and then            the whole store: all records, digests, views, counts, undos, quarantine;
//   (`started`, `inspected`)           no set and no statement that was stored has disappeared without a reason
//   after healing (`healed`)           members hold equal statements, sets and rows, and a proof of each fork
//
// If the check of a step finds a violation, the whole store is read first: the view may have been stale, for instance
// because the log was rebuilt. A violation is reported if the whole store is wrong too; a missing statement or a
// broken gate always is.
// The judge must never be stricter than the chapters: it allows for a full disk, where cuts take effect late, for a
// copied or restored store, and for changes of state in the middle of a step.

/// Checks all honest nodes of a world and throws a `Violation` as soon as one breaks a rule of the protocol.
///
/// The world reports what happens in order. The comment above lists what is recomputed and when.
package final class Judge {
  let library = SetLibrary()
  var views: [String: NodeView] = [:]
  /// An issuer that the build under test accepts in addition to those of the circle.
  let extraIssuer: Name32?
  /// Verified statements by id: each is parsed once for all nodes.
  var statements: [Name32: (bytes: [UInt8], statement: PlainStatement)] = [:]
  var ledgers: [String: NodeLedger] = [:]
  var links: [LinkKey: LinkView] = [:]
  /// The time of a monotonic clock, in milliseconds; nil while unknown.
  package var steady: Int64?
  /// All sets that a device, or a copy of it, has ever stored.
  var everHeld: [Name32: Set<Int>] = [:]
  /// The keys of adversaries, by name.
  var strangers: [String: Name32] = [:]
  /// Counts of checks, so that a run can prove that checks took place.
  package private(set) var counts = Counts()

  package struct Counts: Sendable {
    package var looks = 0
    package var wholeLooks = 0
    package var sets = 0
    package var records = 0
    package var messages = 0
    package var answers = 0
  }

  package init(developmentIssuer: [UInt8]? = nil) { extraIssuer = developmentIssuer.flatMap { Name32($0) } }

  // MARK: Nodes

  /// A node has started, for the first time or again.
  ///
  /// - Parameters:
  ///   - connection: a connection to the node's store; kept until `stopped`.
  ///   - wall: the node's wall clock, milliseconds since 1970.
  ///   - isPremiumHere: whether it has premium by a trait of the build or a mock purchase.
  package func started(
    _ node: String, device: [UInt8], connection: Connection, wall: Int64, prefersSync: Bool,
    isPremiumHere: Bool = false
  ) throws {
    guard let device = Name32(device) else { preconditionFailure("a device key of 32 bytes is needed") }
    let ledger = ledger(node)
    ledger.prefersSync = prefersSync
    ledger.isPremiumHere = isPremiumHere
    ledger.wall = wall
    let view = views[node] ?? NodeView(node, device: device, connection: connection)
    let isNew = view.device != device
    views[node] = isNew ? NodeView(node, device: device, connection: connection) : view
    views[node]?.connection = connection
    let mayHaveLost = view.mayHaveLost
    try readWhole(node, isStart: true)
    for said in ledger.said where ledger.wasCutShort {
      ledger.remember(
        NodeState(certificates: said.certificates, lanes: NodeState(self.view(node), library).lanes))
    }
    ledger.wasCutShort = false
    ledger.isDown = false
    // Everything that a killed node had sent before must be stored.
    (ledger.said, ledger.doubts, ledger.claims, ledger.passed) = ([], [], [], [])
    (ledger.arrived, ledger.outsiders) = ([], [:])
    ledger.forgetRun()
    if mayHaveLost { ledger.unseen = [] }
    try checkSaid(self.view(node), before: nil)
  }

  /// A node has ended or was killed. What it had sent must be in its store when it starts again.
  package func stopped(_ node: String) {
    dropLinks(of: node)
    // What it sent before it was killed may have arrived.
    if let view = views[node], let ledger = ledgers[node], !ledger.said.isEmpty {
      let lanes = NodeState(view, library).lanes
      for said in ledger.said { ledger.remember(NodeState(certificates: said.certificates, lanes: lanes)) }
    }
    ledgers[node]?.isDown = true
    ledgers[node]?.wasCutShort = ledgers[node]?.said.isEmpty == false
    // Its volume may go away with the process, so drop the connection to it.
    if let none = try? Connection(.memory) { views[node]?.connection = none }
  }

  /// A node is gone for good and is no longer checked.
  package func removed(_ node: String) {
    dropLinks(of: node)
    views[node] = nil
    ledgers[node] = nil
  }

  /// A node has done a step: checks what changed.
  package func looked(at node: String, wall: Int64) throws {
    ledgers[node]?.wall = wall
    counts.looks += 1
    let before = stateBefore(node)
    do {
      if ledgers[node]?.hasRoomAgain == true {
        ledgers[node]?.hasRoomAgain = false
        try readWhole(node, isStart: false)
      } else {
        try readNews(node)
      }
    } catch let violation as Violation {
      // The view may be stale; the whole store decides.
      try readWhole(node, isStart: false)
      if violation.rule == .wentBack || violation.rule == .gate { throw violation }
    }
    try checkRateLimits(node)
    try checkSaid(view(node), before: before)
  }

  /// A node has done a step: checks the whole store against everything derived from its log.
  package func inspected(_ node: String, wall: Int64) throws {
    ledgers[node]?.wall = wall
    let before = stateBefore(node)
    try readWhole(node, isStart: false)
    try checkSaid(view(node), before: before)
  }

  /// A node may have lost sets, which is no violation: its disk lied, or an older copy of its data was restored.
  package func mayHaveLost(_ node: String) {
    views[node]?.mayHaveLost = true
    ledgers[node]?.knowsSent = []
  }

  /// A copy of a node's data is, or has been, in use.
  ///
  /// - Parameter isHidden: whether neither can notice that there is a copy, so that they may fork their log.
  package func cloned(_ node: String, isHidden: Bool = true) {
    ledger(node).hasTwin = true
    if isHidden { ledger(node).mayFork = true }
  }

  /// Updates the wall clock of a node that may have done nothing since: entitlements may have expired.
  package func isNow(_ node: String, wall: Int64) { ledgers[node]?.wall = wall }

  package func preferred(_ node: String, sync: Bool) { ledger(node).prefersSync = sync }

  /// Sets whether a node's disk has room. While it is full, what the node learns is not in its store.
  package func hasRoom(_ node: String, _ hasRoom: Bool) {
    let ledger = ledger(node)
    if hasRoom, !ledger.hasRoom { ledger.hasRoomAgain = true }
    ledger.hasRoom = hasRoom
  }

  // MARK: Other reports

  /// Checks a counter of a node, or of one of its sessions, against its maximum.
  package func measured(_ node: String, _ name: String, _ value: Int, max: Int) throws {
    guard value > max else { return }
    throw Violation(.limit, node, "\(name) is \(value), the maximum is \(max)")
  }

  /// A node has closed a session because its peer broke the protocol.
  package func closedAsMisbehaved(_ node: String, peer: String, cause: String) throws {
    guard views[node] != nil, views[peer] != nil else { return }
    throw Violation(.falseMisbehaviour, node, "it closed the session with the honest node \(peer): \(cause)")
  }

  /// The ledger of a node, running or not.
  private func ledger(_ node: String) -> NodeLedger {
    if let known = ledgers[node] { return known }
    let ledger = NodeLedger()
    ledgers[node] = ledger
    return ledger
  }

  /// The state of a node before a step; nil if it said nothing about its state in the step.
  private func stateBefore(_ node: String) -> NodeState? {
    guard let ledger = ledgers[node], !ledger.said.isEmpty || !ledger.claims.isEmpty else { return nil }
    return views[node].map { NodeState($0, library) }
  }

  func view(_ node: String) -> NodeView {
    guard let view = views[node] else { preconditionFailure("the judge does not know the node \(node)") }
    return view
  }

  func count(_ add: (inout Counts) -> Void) { add(&counts) }

  /// The names of all honest nodes, sorted.
  var names: [String] { views.keys.sorted() }
}

/// What the world reported about a node and its store does not show.
final class NodeLedger {
  var prefersSync = false
  var isPremiumHere = false
  var hasRoom = true
  /// Whether the disk has just got room again: the next look must find everything learned meanwhile in the store.
  var hasRoomAgain = false
  /// Whether it ended in the middle of a step. The state that it last sent shows in its store when it starts again.
  var wasCutShort = false
  /// Whether it has ended and not started again yet.
  var isDown = false
  /// Its wall clock at the last step.
  var wall: Int64 = 0
  /// Whether a copy of its data may have written the same log.
  var mayFork = false
  /// Whether a copy of its data exists or has existed.
  var hasTwin = false
  /// Sets of both lanes received since the last look.
  var arrived: Set<Name32> = []
  /// Its own incarnations for which peers have sent sets since it started.
  var elsewhere: Set<Name16> = []
  /// Sets that it has written since it started.
  var fresh: Set<Name32> = []
  /// When a peer first told what it holds, since it started.
  var toldAt: Int64?
  /// The connections on which peers have told what they hold since it started.
  var tellers: Set<UInt64> = []
  /// The lanes for which peers have sent heads since it started.
  var toldLanes: Set<Int> = []
  /// Parked sets that could be folded, and since when, on the steady clock.
  var dueSince: [Int: Int64] = [:]
  /// When `checkRateLimits` was last called.
  var lookedAt: Int64 = 0
  /// When `awaited` was last called.
  var awaitedAt: Int64 = 0
  /// When it last resumed after a time without activity.
  var restedAt: Int64 = 0
  /// The newest sequence of each own log that may have been sent, as of the start of a step that receives own sets.
  var mayHaveSent: [PlainLog: UInt64] = [:]
  /// Own sets that peers have sent since it started.
  var brought: Set<Name32> = []
  /// Heads that peers have announced since it started.
  var told: Set<Name32> = []
  /// Heads of its own logs that it lacked when its first peer announced them, by connection: until they arrive or are
  /// withdrawn, its new sets must stay withheld.
  var promised: [UInt64: Set<Int>] = [:]
  /// States that peers have asked it to compare, by connection and token.
  var heardStates: [UInt64: [UInt64: Set<Name32>]] = [:]
  /// Questions of peers, by connection and token.
  var questions: [UInt64: [UInt64: PlainQuestion]] = [:]
  /// Its answers since the last look.
  var answers: [(to: String, PlainQuestion, PlainAnswer)] = []
  /// State hashes that it sent while its disk was full; its store may never have shown them.
  var saidWithoutRoom: Set<Name32> = []
  /// Devices that are not members and were sent messages for members in this step, with the hash of the statements as
  /// of the last look.
  var outsiders: [String: Name32] = [:]
  /// The number of statements when its beliefs were last compared.
  var believed = 0
  var acknowledged: Set<Name32> = []
  /// Own sets that it has sent.
  var sent: Set<Name32> = []
  /// Those of them that its data shows as sent; a restored older copy does not.
  var knowsSent: Set<Name32> = []
  /// Sets of the records lane received while the lane was open; nil until the first message is reported.
  var admitted: Set<Name32>?
  /// Sets of the records lane received while it was closed, with their senders, since the last look.
  var turnedAway: [Name32: (from: String, link: UInt64)] = [:]
  /// Its states when it sent something about them, the newest last.
  private(set) var states: [NodeState] = []
  /// What it has said about its state since the last look.
  var said: [(to: String, certificates: Name32, SaidState)] = []
  /// Sets that it has sent since the last look.
  var unseen: [(id: Name32, to: String, wasHeld: Bool)] = []
  /// What it may have sent on a closed lane since the last look.
  var doubts: [Doubt] = []
  /// Its claims to be in sync with one of `peers` since the last look. `openLink` is the connection, if the records
  /// lane is open on it.
  var claims: [(peers: [String], certificates: Name32, openLink: UInt64?)] = []

  /// Intermediate states of its lanes within the step.
  var passed: [[LaneState]] = []

  func forgetStep() {
    (said, unseen, doubts, claims, passed) = ([], [], [], [], [])
    (arrived, outsiders, mayHaveSent, answers) = ([], [:], [:], [])
  }

  /// Forgets what the previous process had received.
  func forgetRun() {
    (elsewhere, fresh, toldAt, believed, tellers, toldLanes) = ([], [], nil, 0, [], [])
    (dueSince, mayHaveSent, brought, told, promised, questions) = ([:], [:], [], [], [:], [:])
  }

  func remember(_ state: NodeState) {
    if states.last == state { return }
    states.append(state)
    // Keep many: a delayed link may deliver old messages.
    if states.count > 4_096 { states.removeFirst(1_024) }
  }
}
