// Protocol/*: the rules of all chapters, checked on running nodes by independent code.

package import SQLite

// The judge: an independent check of every step
//
// The judge shares no code with what it checks except the SQLite connection and libsodium's primitives. It reads the
// tables of a store and the bytes of messages, and has its own CBOR reader, statement and membership rules, causality,
// merge and hashes (the `Plain…` files and SetLibrary.swift). If it used the production fold, a bug in the fold would
// be on both sides of each comparison and would never be found.
//
// The judge keeps a `SetLibrary`, which has every set that any store has ever held, verified once. For each node it
// keeps a `NodeView`, which is the node's store as of the last look, and a `NodeLedger`, which has the facts that the
// world reported and that no store contains, such as messages and clocks.
//
// The world reports events in order. Messages are reported before the look at the step in which they were sent:
//
//   world                                 judge, for the node alice
//   sent(summary, to bob)            ──▶  ledger: alice said that her heads hash to h
//   sent(sets [s8], to bob)          ──▶  ledger: alice sent s8
//   looked(at: alice), after the step ─▶  new statements  → members, cuts and gate, computed from all statements
//                                         new log rows    → parse and verify; author, predecessor, dependencies, clock
//                                         newly folded    → allowed to fold? Then fold their records from all writes
//                                                           and compare rows, stamps, siblings, writers, digests;
//                                                           what they erased is gone from the log and the tables
//                                         ledger          → h was the hash before, during or after the step;
//                                                           s8 is stored; both only on an open lane, to a member
//
// What is checked when:
//   each step (`looked`)               everything new since the last look; after new cuts, the whole store
//   each write (`acknowledged`)        stored with all values, declares all that was folded, dated correctly, in a log
//                                      of its own
//   start, and now and then            the whole store: all records, digests, views, counts, undos, quarantine;
//   (`started`, `inspected`)           no set, statement or value that was stored has disappeared without a reason
//   after healing (`healed`)           members hold equal statements, sets and rows, and a proof of each fork
//
// If the check of a step finds a violation, the judge reads the whole store before it reports anything, because its
// view may be stale, for example after the log was rebuilt. It reports the violation only if the whole store is wrong
// too. A missing set or statement and a broken gate are always reported.
//
// The judge must never be stricter than the chapters. It allows for a full disk, on which cuts take effect late, for a
// copied or restored store, and for changes of state in the middle of a step.

/// Checks all honest nodes of a world and throws a `Violation` as soon as one breaks a rule of the protocol.
///
/// The world reports all events in order. The comment above lists what is checked and when.
package final class Judge {
  let library = SetLibrary()
  var views: [String: NodeView] = [:]
  /// An issuer that the build under test accepts in addition to the circle's issuers.
  let extraIssuer: Name32?
  /// Verified statements by id. Each statement is parsed only once for all nodes.
  var statements: [Name32: (bytes: [UInt8], statement: PlainStatement)] = [:]
  var ledgers: [String: NodeLedger] = [:]
  var links: [LinkKey: LinkView] = [:]
  /// The time of a monotonic clock, in milliseconds; nil while unknown.
  package var steady: Int64?
  /// All sets that a device or any copy of it has ever stored.
  var everHeld: [Name32: Set<Int>] = [:]
  /// The keys of adversaries, by name.
  var strangers: [String: Name32] = [:]
  var fileLedgers: [String: FileLedger] = [:]
  /// The contents of the files that users may attach.
  var knownContents: [PlainFile: [UInt8]] = [:]
  /// The id of the record with the setting `trashDays`; nil in a world without files.
  package var trashDaysKey: [UInt8]?
  /// The numbers of checks, with which a run can prove that checks took place.
  package private(set) var counts = Counts()

  package struct Counts: Sendable {
    package var looks = 0
    package var wholeLooks = 0
    /// Sets to which values that were missing have been added.
    package var filledSets = 0
    package var sets = 0
    package var records = 0
    package var messages = 0
    package var answers = 0
  }

  /// The quotas of devices without a grant, in the settings lane and in the records lane.
  package var quotas = PlainCircle.quotas

  package init(developmentIssuer: [UInt8]? = nil) { extraIssuer = developmentIssuer.flatMap { Name32($0) } }

  // MARK: Nodes

  /// Reports that a node has started, for the first time or again.
  ///
  /// - Parameters:
  ///   - connection: a connection to the node's store; kept until `stopped`.
  ///   - wall: the node's wall clock, milliseconds since 1970.
  ///   - isPremiumHere: whether the node has premium through a trait of the build or a mock purchase.
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

  /// Reports that a node has ended or was killed. Everything that it sent must be in its store when it starts again.
  package func stopped(_ node: String) {
    dropLinks(of: node)
    // Messages that the node sent before it was killed may have arrived.
    if let view = views[node], let ledger = ledgers[node], !ledger.said.isEmpty {
      let lanes = NodeState(view, library).lanes
      for said in ledger.said { ledger.remember(NodeState(certificates: said.certificates, lanes: lanes)) }
    }
    ledgers[node]?.isDown = true
    ledgers[node]?.wasCutShort = ledgers[node]?.said.isEmpty == false
    // The node's volume may go away with its process, so drop the connection to the volume.
    if let none = try? Connection(.memory) { views[node]?.connection = none }
  }

  /// Reports that a node is gone for good, so that it is no longer checked.
  package func removed(_ node: String) {
    dropLinks(of: node)
    views[node] = nil
    ledgers[node] = nil
  }

  /// Reports that a node has completed a step, and checks everything that changed.
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
      // The view may be stale, so the whole store decides.
      try readWhole(node, isStart: false)
      if violation.rule == .wentBack || violation.rule == .gate { throw violation }
    }
    try checkRateLimits(node)
    try checkSaid(view(node), before: before)
  }

  /// Reports that a node has completed a step, and checks the whole store, including everything derived from its log.
  package func inspected(_ node: String, wall: Int64) throws {
    ledgers[node]?.wall = wall
    let before = stateBefore(node)
    try readWhole(node, isStart: false)
    try checkSaid(view(node), before: before)
  }

  /// Reports that a node may have lost sets because its disk lied or an older copy of its data was restored. That is
  /// not a violation.
  package func mayHaveLost(_ node: String) {
    views[node]?.mayHaveLost = true
    (fileLedger(node).wasReplaced, fileLedger(node).hasOldClaims) = (true, true)
    ledgers[node]?.knowsSent = []
  }

  /// Reports that a copy of a node's data is or has been in use.
  ///
  /// - Parameter isHidden: whether neither copy can notice that the other exists, so that they may fork their log.
  package func cloned(_ node: String, isHidden: Bool = true) {
    ledger(node).hasTwin = true
    if isHidden { ledger(node).mayFork = true }
  }

  /// Updates the wall clock of a node that may have done nothing for a while, because entitlements may have expired.
  package func isNow(_ node: String, wall: Int64) { ledgers[node]?.wall = wall }

  package func preferred(_ node: String, sync: Bool) { ledger(node).prefersSync = sync }

  /// Reports whether a node's store reflects everything that the node has learned. It does not while the disk is full,
  /// or while the node delays applying cuts because it has just rebuilt its logs.
  package func hasRoom(_ node: String, _ hasRoom: Bool) {
    let ledger = ledger(node)
    if hasRoom, !ledger.hasRoom { ledger.hasRoomAgain = true }
    ledger.hasRoom = hasRoom
  }

  // MARK: Other reports

  /// Checks a counter of a node or of one of the node's sessions against the counter's maximum.
  package func measured(_ node: String, _ name: String, _ value: Int, max: Int) throws {
    guard value > max else { return }
    throw Violation(.limit, node, "\(name) is \(value), but the maximum is \(max)")
  }

  /// Reports that a node has closed a session because its peer broke the protocol. Throws a violation if the peer is
  /// honest.
  package func closedAsMisbehaved(_ node: String, peer: String, cause: String) throws {
    guard views[node] != nil, views[peer] != nil else { return }
    throw Violation(.falseMisbehaviour, node, "it closed the session with the honest node \(peer): \(cause)")
  }

  /// Returns the ledger of a node, whether or not the node is running; creates the ledger if needed.
  private func ledger(_ node: String) -> NodeLedger {
    if let known = ledgers[node] { return known }
    let ledger = NodeLedger()
    ledgers[node] = ledger
    return ledger
  }

  /// Returns a node's state before a step; nil if the node said nothing about its state in the step.
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

/// Facts about a node that the world reported and that the node's store does not contain.
final class NodeLedger {
  var prefersSync = false
  var isPremiumHere = false
  var hasRoom = true
  /// Whether the disk has just got room again. If so, the next look must find everything in the store that the node
  /// learned while the disk was full.
  var hasRoomAgain = false
  /// Whether the node has received values by themselves since the last look.
  var mayHaveFilled = false
  /// Whether the node ended in the middle of a step. The state that it sent last is then read from its store only when
  /// it starts again.
  var wasCutShort = false
  /// Whether the node has ended and has not started again yet.
  var isDown = false
  /// The node's wall clock at the last step.
  var wall: Int64 = 0
  /// Whether a copy of the node's data may have written the same log.
  var mayFork = false
  /// Whether a copy of the node's data exists or has existed.
  var hasTwin = false
  /// The sets of both lanes received since the last look.
  var arrived: Set<Name32> = []
  /// The device's own incarnations for which, since the node started, peers have sent sets that the node did not write
  /// itself.
  var elsewhere: Set<Name16> = []
  /// The sets that the node has written since it started.
  var fresh: Set<Name32> = []
  /// The time at which, after the node's start, a peer first reported what it holds; nil if none has.
  var toldAt: Int64?
  /// The connections on which peers have reported what they hold since the node started.
  var tellers: Set<UInt64> = []
  /// The lanes for which peers have sent heads since the node started.
  var toldLanes: Set<Int> = []
  /// The parked sets that could be folded, each with the time on the steady clock when this was first noticed.
  var dueSince: [Int: Int64] = [:]
  /// When `checkRateLimits` was last called.
  var lookedAt: Int64 = 0
  /// When `awaited` was last called.
  var awaitedAt: Int64 = 0
  /// When the node last resumed after a time without activity.
  var restedAt: Int64 = 0
  /// The newest sequence of each own log that may have been sent. Read at the beginning of a step in which the node
  /// receives sets of its own device.
  var mayHaveSent: [PlainLog: UInt64] = [:]
  /// The sets of the node's own device that peers have sent since the node started.
  var brought: Set<Name32> = []
  /// The heads that peers have announced since the node started.
  var told: Set<Name32> = []
  /// The heads of the node's own logs that were missing when the first peer announced them, by connection. Until they
  /// arrive or are withdrawn, the node's new sets must stay withheld.
  var promised: [UInt64: Set<Int>] = [:]
  /// The states that peers have asked the node to compare, by connection and token.
  var heardStates: [UInt64: [UInt64: Set<Name32>]] = [:]
  /// The questions that peers have asked, by connection and token.
  var questions: [UInt64: [UInt64: PlainQuestion]] = [:]
  /// The node's answers since the last look.
  var answers: [(to: String, PlainQuestion, PlainAnswer)] = []
  /// The state hashes that the node sent while its disk was full. Its store may never have had these states.
  var saidWithoutRoom: Set<Name32> = []
  /// The devices that are not members but were sent messages meant for members in this step. Each has the hash of the
  /// node's statements as of the last look.
  var outsiders: [String: Name32] = [:]
  /// The number of statements when the node's beliefs were last compared.
  var believed = 0
  var acknowledged: Set<Name32> = []
  /// The node's own sets that it has sent.
  var sent: Set<Name32> = []
  /// The own sets that, according to the node's data, have been sent. After an older copy of the data was restored,
  /// these are fewer than `sent`.
  var knowsSent: Set<Name32> = []
  /// The sets of the records lane received while the lane was open; nil until the first message is reported.
  var admitted: Set<Name32>?
  /// The sets of the records lane received while the lane was closed, with their senders, since the last look.
  var turnedAway: [Name32: (from: String, link: UInt64)] = [:]
  /// The states that the node had when it sent something about its state, newest last.
  private(set) var states: [NodeState] = []
  /// What the node has said about its state since the last look.
  var said: [(to: String, certificates: Name32, SaidState)] = []
  /// The sets that the node has sent since the last look.
  var unseen: [(id: Name32, to: String, wasHeld: Bool)] = []
  /// The highest clock of other devices' sets received since the last look. Such a set may have moved the time of the
  /// gate although it is no longer folded at the end of the step, because its log was excluded in the same step.
  var arrivedClock: UInt64 = 0
  /// Whether `arrivedClock` counts for the time of the gate.
  var countsArrivedClock = false
  /// The messages since the last look that the node may have sent on a closed lane.
  var doubts: [Doubt] = []
  /// The node's claims, since the last look, to be in sync with one of `peers`. `openLink` is the connection if the
  /// records lane is open on it; otherwise nil.
  var claims: [(peers: [String], certificates: Name32, openLink: UInt64?)] = []

  /// The intermediate states of the node's lanes within the step.
  var passed: [[LaneState]] = []

  func forgetStep() {
    (said, unseen, doubts, claims, passed) = ([], [], [], [], [])
    (arrived, outsiders, mayHaveSent, answers, arrivedClock) = ([], [:], [:], [], 0)
  }

  /// Forgets everything that the previous process received and wrote.
  func forgetRun() {
    (elsewhere, fresh, toldAt, believed, tellers, toldLanes) = ([], [], nil, 0, [], [])
    (dueSince, mayHaveSent, brought, told, promised, questions) = ([:], [:], [], [], [:], [:])
  }

  func remember(_ state: NodeState) {
    if states.last == state { return }
    states.append(state)
    // Keep many states, because a delayed link may deliver old messages.
    if states.count > 4_096 { states.removeFirst(1_024) }
  }
}
