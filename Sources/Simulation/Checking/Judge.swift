// Protocol/*: the promises of the chapters, checked on running nodes by code that shares nothing with them.

package import SQLite

/// Watches all honest nodes of a world and throws a `Violation` as soon as one breaks a promise.
///
/// The world tells it what happens, in the order in which it happens: a look at a store follows each step of the
/// node, with everything obeyed that the step asked for. Of each store only what is new is read. The judge reads
/// tables and bytes; it has parsers, rules and a fold of its own.
package final class Judge {
  let library = SetLibrary()
  var views: [String: NodeView] = [:]
  /// An issuer that the build under test accepts besides those of the circle.
  let extraIssuer: Name32?
  /// Statements verified so far, by id: each is read once for all nodes.
  var statements: [Name32: (bytes: [UInt8], statement: PlainStatement)] = [:]
  var ledgers: [String: NodeLedger] = [:]
  var links: [LinkKey: LinkView] = [:]
  /// Milliseconds on a clock that only goes on; nil while the world does not tell.
  package var steady: Int64?
  /// All sets that a device has ever had in its store, or a copy of it.
  var everHeld: [Name32: Set<Int>] = [:]
  /// Devices that are not honest, by name.
  var strangers: [String: Name32] = [:]
  /// What was seen to work, so that a run can show that it looked at all.
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

  /// A node runs: for the first time, or again after it ended.
  ///
  /// - Parameters:
  ///   - connection: reads the node's store; kept until `stopped`.
  ///   - wall: the node's wall clock, milliseconds since 1970.
  ///   - isPremiumHere: premium by a trait of the build or a mock purchase.
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
    // What a node that was killed had handed out before must be there.
    (ledger.said, ledger.doubts, ledger.claims, ledger.passed) = ([], [], [], [])
    (ledger.arrived, ledger.outsiders) = ([], [:])
    ledger.forgetRun()
    if mayHaveLost { ledger.unseen = [] }
    try checkSaid(self.view(node), before: nil)
  }

  /// A node has ended, or was ended; what it had shown must be there when it runs again.
  package func stopped(_ node: String) {
    dropLinks(of: node)
    // What it said before it was killed may have arrived.
    if let view = views[node], let ledger = ledgers[node], !ledger.said.isEmpty {
      let lanes = NodeState(view, library).lanes
      for said in ledger.said { ledger.remember(NodeState(certificates: said.certificates, lanes: lanes)) }
    }
    ledgers[node]?.isDown = true
    ledgers[node]?.wasCutShort = ledgers[node]?.said.isEmpty == false
    // Its volume may be gone with the process.
    if let none = try? Connection(.memory) { views[node]?.connection = none }
  }

  /// A node is gone for good: nothing is asked of it any more.
  package func removed(_ node: String) {
    dropLinks(of: node)
    views[node] = nil
    ledgers[node] = nil
  }

  /// A node has done a step and may have changed its store.
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
      // What was remembered of the store may be stale; what is in it decides.
      try readWhole(node, isStart: false)
      if violation.rule == .wentBack || violation.rule == .gate { throw violation }
    }
    try checkRateLimits(node)
    try checkSaid(view(node), before: before)
  }

  /// A look at the whole store: everything that follows from the log is computed again and compared.
  package func inspected(_ node: String, wall: Int64) throws {
    ledgers[node]?.wall = wall
    let before = stateBefore(node)
    try readWhole(node, isStart: false)
    try checkSaid(view(node), before: before)
  }

  /// What a node may lose is not held against it: its disk lied, or an older copy of its data was put back.
  package func mayHaveLost(_ node: String) {
    views[node]?.mayHaveLost = true
    ledgers[node]?.knowsSent = []
  }

  /// The data of a node runs, or has run, in another place too.
  ///
  /// - Parameter isHidden: neither can see that it is a copy, so the two may fork their log.
  package func cloned(_ node: String, isHidden: Bool = true) {
    ledger(node).hasTwin = true
    if isHidden { ledger(node).mayFork = true }
  }

  /// Time goes on, and a node may not have had a turn since: what ends by itself has ended.
  package func isNow(_ node: String, wall: Int64) { ledgers[node]?.wall = wall }

  package func preferred(_ node: String, sync: Bool) { ledger(node).prefersSync = sync }

  /// Whether a node's disk has room; while it has none, what the node learns is not in its store.
  package func hasRoom(_ node: String, _ hasRoom: Bool) {
    let ledger = ledger(node)
    if hasRoom, !ledger.hasRoom { ledger.hasRoomAgain = true }
    ledger.hasRoom = hasRoom
  }

  // MARK: What others tell

  /// A counter of a node, or of one of its peers, with the most that it may be.
  package func measured(_ node: String, _ name: String, _ value: Int, max: Int) throws {
    guard value > max else { return }
    throw Violation(.limit, node, "\(name) is \(value), at most \(max) is allowed")
  }

  /// A node has closed a session and says that the other end broke the protocol.
  package func closedAsMisbehaved(_ node: String, peer: String, cause: String) throws {
    guard views[node] != nil, views[peer] != nil else { return }
    throw Violation(.falseMisbehaviour, node, "it closed the honest node \(peer) as misbehaved: \(cause)")
  }

  /// What the world has told of a node, running or not.
  private func ledger(_ node: String) -> NodeLedger {
    if let known = ledgers[node] { return known }
    let ledger = NodeLedger()
    ledgers[node] = ledger
    return ledger
  }

  /// Where a node stood before what it did in a step, if it said something of it.
  private func stateBefore(_ node: String) -> NodeState? {
    guard let ledger = ledgers[node], !ledger.said.isEmpty || !ledger.claims.isEmpty else { return nil }
    return views[node].map { NodeState($0, library) }
  }

  func view(_ node: String) -> NodeView {
    guard let view = views[node] else { preconditionFailure("the judge does not know the node \(node)") }
    return view
  }

  func count(_ add: (inout Counts) -> Void) { add(&counts) }

  /// The honest nodes in order of names.
  var names: [String] { views.keys.sorted() }
}

/// What the world has told of a node, which its store does not say.
final class NodeLedger {
  var prefersSync = false
  var isPremiumHere = false
  var hasRoom = true
  /// What it learnt meanwhile is to be in its store at the next look.
  var hasRoomAgain = false
  /// It ended in the midst of a step: where it stood when it last spoke shows when it runs again.
  var wasCutShort = false
  /// It has ended and does not run again yet.
  var isDown = false
  /// Its wall clock at the last step.
  var wall: Int64 = 0
  /// Whether two data directories may have written the same log; or have been, the one a copy of the other.
  var mayFork = false
  var hasTwin = false
  /// Sets that have come since the last look, of both lanes.
  var arrived: Set<Name32> = []
  /// Incarnations of its own of which others have brought sets since it started.
  var elsewhere: Set<Name16> = []
  /// What it has written since it started, and when a peer first told where it stands.
  var fresh: Set<Name32> = []
  var toldAt: Int64?
  /// Over which connections it was told since it started, and of which lanes heads.
  var tellers: Set<UInt64> = []
  var toldLanes: Set<Int> = []
  /// Sets that could be folded and wait, and since when, on the steady clock.
  var dueSince: [Int: Int64] = [:]
  var lookedAt: Int64 = 0
  /// When it was last known whom it waits for, and when it did something after a time in which it did nothing.
  var awaitedAt: Int64 = 0
  var restedAt: Int64 = 0
  /// Of its own logs the newest sets that may have been sent, when a step began that brings sets of them.
  var mayHaveSent: [PlainLog: UInt64] = [:]
  /// Own sets that others have brought since it started, and what they have told of their heads.
  var brought: Set<Name32> = []
  var told: Set<Name32> = []
  /// Tips of its own logs that it lacked when its first peer told of them, by connection, before anything new was shown.
  var promised: [UInt64: Set<Int>] = [:]
  /// Of which states peers have asked whether it has the same, by connection and token.
  var heardStates: [UInt64: [UInt64: Set<Name32>]] = [:]
  /// What peers have asked, by connection and token, and what it has answered since the last look.
  var questions: [UInt64: [UInt64: PlainQuestion]] = [:]
  var answers: [(to: String, PlainQuestion, PlainAnswer)] = []
  /// The state hashes that it has told while its disk was full, and that its store never showed.
  var saidWithoutRoom: Set<Name32> = []
  /// To whom that is no member it has sent in this step what only members get; the hash of its statements before it.
  var outsiders: [String: Name32] = [:]
  /// How many statements its beliefs were compared with.
  var believed = 0
  var acknowledged: Set<Name32> = []
  /// Own sets that it has sent to somebody, and those of them of which its data may say so: an older copy does not.
  var sent: Set<Name32> = []
  var knowsSent: Set<Name32> = []
  /// Sets of the records lane that came while the lane was open; nil while the world does not tell what arrives.
  var admitted: Set<Name32>?
  /// Sets of the records lane that came while it was closed, and from whom, since the last look.
  var turnedAway: [Name32: (from: String, link: UInt64)] = [:]
  /// Where it stood when it last said so, the newest last.
  private(set) var states: [NodeState] = []
  /// What it has said of itself, sent, and perhaps should not have sent since the last look.
  var said: [(to: String, certificates: Name32, SaidState)] = []
  var unseen: [(id: Name32, to: String, wasHeld: Bool)] = []
  var doubts: [Doubt] = []
  /// With whom it has said that it is in sync, one of these each time; and over which connection, if the records lane
  /// is open there.
  var claims: [(peers: [String], certificates: Name32, openLink: UInt64?)] = []

  /// Where its lanes stood in the midst of the step.
  var passed: [[LaneState]] = []

  func forgetStep() {
    (said, unseen, doubts, claims, passed) = ([], [], [], [], [])
    (arrived, outsiders, mayHaveSent, answers) = ([], [:], [:], [])
  }

  /// A new process knows nothing of what its predecessor heard.
  func forgetRun() {
    (elsewhere, fresh, toldAt, believed, tellers, toldLanes) = ([], [], nil, 0, [], [])
    (dueSince, mayHaveSent, brought, told, promised, questions) = ([:], [:], [], [], [:], [:])
  }

  func remember(_ state: NodeState) {
    if states.last == state { return }
    states.append(state)
    // A link that is held up may bring what was said long ago.
    if states.count > 4_096 { states.removeFirst(1_024) }
  }
}
