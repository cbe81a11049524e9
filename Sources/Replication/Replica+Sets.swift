// Protocol/session.md, "Heads and needs", "Sets"

import Membership
import Wire

extension Replica {
  // MARK: Asking

  mutating func receivedHeads(
    _ link: LinkID, _ lane: Lane, _ heads: [LogHead], _ complete: Bool, _ now: Now,
    _ effects: inout [Effect]
  ) {
    guard let told = sessions[link]?[lane].news(in: heads, complete), told.isOpen else { return }
    // Heads are stored, looked up and compared: the price in points grows with that work.
    needless(link, points: told.isKnown ? 1 + heads.count / 16 : heads.count / 8, now, &effects)
    sessions[link]?[lane].hear(told.heads, complete)
    noteTold(link, lane, told.heads, isComplete: complete, now)
    let unsure = look(at: told.heads, link, lane)
    sessions[link]?[lane].isStalled = false
    // All at once, when the answer is here: the sets of one log may stand on those of another.
    if unsure.isEmpty { ask(link, lane, now, &effects) } else { effects.append(.lookUp(link, lane, unsure)) }
  }

  /// Notes what of some heads a peer has and this node lacks.
  ///
  /// - Returns: the tips of which only the store knows.
  private mutating func look(at told: [LogHead], _ link: LinkID, _ lane: Lane) -> [LogHead] {
    let mine = shownHeads(lane)
    var unsure: [LogHead] = []
    for (log, tips) in Dictionary(grouping: told, by: \.log).sorted(by: { $0.key < $1.key }) {
      let theirs = sessions[link]?[lane].theirs ?? Heads()
      let count = theirs.tipCount(of: log)
      let isCut = circle.isCut(log)
      var lacking: [LogHead] = []
      for tip in count > 1 ? tips : theirs.tips(of: log) {
        // What of a log that is cut may lead to a kept tip, only the store knows.
        switch isCut ? nil : mine.lacks(tip, among: count) {
        case true?: lacking.append(tip)
        case nil: unsure.append(tip)
        case false?: break
        }
      }
      if count <= 1 { sessions[link]?[lane].forgetLacking(log) }
      sessions[link]?[lane].note(lacking, of: log, isStranger: circle.isStranger(log))
    }
    return unsure
  }

  /// Devices that nobody had certified may have been by now: what peers have of them is asked for.
  mutating func welcomeStrangers() {
    for lane in Lane.allCases {
      for session in sessionsInOrder { sessions[session.link]?[lane].welcome { circle.mayAuthor($0) } }
    }
  }

  /// The store has said which tips of forked logs it lacks.
  mutating func lookedUp(
    _ link: LinkID, _ lane: Lane, _ lacking: [LogHead], _ now: Now, _ effects: inout [Effect]
  ) {
    guard let session = sessions[link], session[lane].isOpen else { return }
    for (log, tips) in Dictionary(grouping: lacking, by: \.log) {
      sessions[link]?[lane].note(tips, of: log, isStranger: circle.isStranger(log))
    }
    ask(link, lane, now, &effects)
  }

  /// Looks again at what everyone could be asked for.
  mutating func askAll(_ now: Now, _ effects: inout [Effect]) {
    for lane in Lane.allCases {
      for session in sessionsInOrder { ask(session.link, lane, now, &effects) }
    }
  }

  /// Asks a peer for what it has and this node lacks, unless another peer is sending some of it already.
  mutating func ask(_ link: LinkID, _ lane: Lane, _ now: Now, _ effects: inout [Effect]) {
    guard canKeep, let session = sessions[link], session[lane].isOpen, !session.isClosing,
      session[lane].asked.isEmpty, !session[lane].isStalled, !session[lane].isCommitting
    else { return }
    let logs = session[lane].lacking.keys.filter(circle.mayAuthor).sorted()
    let needs = session[lane].needs(of: logs, shownHeads(lane))
    let repairs = repairs(session, lane, besides: logs, now).prefix(Limits.wantsMax - needs.count)
    let wants = needs + repairs
    // What another peer is sending may be what the rest stands on: this one waits until that has come.
    guard !wants.isEmpty, !(logs + repairs.map(\.log)).contains(where: { isOnItsWay($0, lane, now) }) else {
      return
    }
    for want in repairs { sessions[link]?[lane].askedAgain[want.tip] = now.steady }
    sessions[link]?[lane].asked = Dictionary(grouping: wants, by: \.log)
    sessions[link]?[lane].askedFurtherBack = []
    sessions[link]?[lane].askedCount = wants.reduce(0) { $0 &+ $1.count }
    for want in wants { self[lane].asked[want.log] = link }
    sessions[link]?[lane].askedAt = now.steady
    sessions[link]?[lane].askedProgressAt = now.steady
    sessions[link]?[lane].hasProgress = false
    effects.append(.send(link, .want(lane, wants)))
    scheduleOverdue(link, now, &effects)
  }

  /// Both lanes share one timer: it rings for the one that is due first, however often the other is asked meanwhile.
  private func scheduleOverdue(_ link: LinkID, _ now: Now, _ effects: inout [Effect]) {
    let lanes = Lane.allCases.compactMap { sessions[link]?[$0] }.filter { !$0.asked.isEmpty }
    guard let oldest = lanes.map(\.askedProgressAt).min() else { return }
    effects.append(
      .schedule(.overdue(link), after: max(oldest + Limits.overdueMilliseconds - now.steady, 1)))
  }

  /// A peer that promised sets and delivers none loses its turn; others are asked, also beside one that is slow.
  mutating func overdue(_ link: LinkID, _ now: Now, _ effects: inout [Effect]) {
    for lane in Lane.allCases {
      guard let session = sessions[link], !session[lane].asked.isEmpty else { continue }
      if now.steady >= session[lane].askedProgressAt + Limits.overdueMilliseconds {
        brokePromise(link, now)
        giveUp(link, lane, now, &effects)
      } else if isSlow(session[lane], now) {
        for other in sessionsInOrder where other.link != link { ask(other.link, lane, now, &effects) }
      }
    }
    scheduleOverdue(link, now, &effects)
  }

  private mutating func giveUp(_ link: LinkID, _ lane: Lane, _ now: Now, _ effects: inout [Effect]) {
    for log in sessions[link]?[lane].asked.keys ?? [:].keys where self[lane].asked[log] == link {
      self[lane].asked[log] = nil
    }
    sessions[link]?[lane].asked = [:]
    sessions[link]?[lane].isStalled = true
    for session in sessionsInOrder where session.link != link { ask(session.link, lane, now, &effects) }
  }

  mutating func receivedServed(
    _ link: LinkID, _ lane: Lane, _ now: Now, _ effects: inout [Effect]
  ) {
    guard let session = sessions[link], !session[lane].asked.isEmpty else {
      return needless(link, now, &effects)
    }
    // The last sets of the answer may not be in the store yet.
    if session[lane].isCommitting {
      sessions[link]?[lane].isServed = true
      return
    }
    let hasDelivered = session[lane].hasProgress || session[lane].hasDelivered(shownHeads(lane))
    let isRepair = session[lane].isAskedForRepairsOnly
    if !hasDelivered, !isRepair { brokePromise(link, now) }
    giveUp(link, lane, now, &effects)
    // What came may have opened the way for more; a peer that sent nothing at all stays stalled.
    if hasDelivered || isRepair {
      sessions[link]?[lane].isStalled = false
      ask(link, lane, now, &effects)
    }
  }

  // MARK: Receiving

  /// Ingress: nothing of a closed lane, of another circle, or of an author without a certificate gets in.
  mutating func receivedSets(
    _ link: LinkID, _ lane: Lane, _ sets: [VerifiedChangeSet], _ now: Now, _ effects: inout [Effect]
  ) {
    judgeLanes(link, now, &effects)
    guard let session = sessions[link] else { return }
    // Sets that were under way when the lane closed; they come again when it opens.
    guard session[lane].isOpen, canKeep else { return }
    for set in sets {
      guard set.header.circle == circle.id else {
        return drop(link, .misbehaved("a change set of another circle"), &effects)
      }
      guard set.header.log.lane == lane else {
        return drop(link, .misbehaved("a change set of another lane"), &effects)
      }
    }
    let admitted = sets.filter { circle.mayAuthor($0.header.log) }
    guard !admitted.isEmpty else { return }
    sessions[link]?[lane].committing += admitted.count
    effects.append(.commit(admitted, from: link))
  }

  /// What links brought found no room: whoever has it is asked again when there is some.
  mutating func notKept(_ links: [LinkID]) {
    canKeep = false
    for lane in Lane.allCases {
      for link in links {
        sessions[link]?[lane].committing = 0
        sessions[link]?[lane].isServed = false
        sessions[link]?[lane].asked = [:]
      }
      self[lane].asked = self[lane].asked.filter { !links.contains($0.value) }
    }
  }

  mutating func roomAgain(_ now: Now, _ effects: inout [Effect]) {
    canKeep = true
    // Own sets of a copy could not be stored until now: they have the whole time to come before anything is released.
    for lane in withheld.keys { withheld[lane]?.toldAt = nil }
    for link in sessions.keys {
      for lane in Lane.allCases { sessions[link]?[lane].isStalled = false }
    }
    askAll(now, &effects)
    effects.append(.foldParked)
    scheduleSettle(now, &effects)
  }

  // MARK: Serving

  mutating func receivedWants(
    _ link: LinkID, _ lane: Lane, _ wants: [Want], _ now: Now, _ effects: inout [Effect]
  ) {
    judgeLanes(link, now, &effects)
    guard let session = sessions[link], session[lane].isOpen else { return }
    sessions[link]?[lane].getsHere(wants.map(\.log))
    let served = wants.filter(mayServe)
    sessions[link]?[lane].add(served)
    if !session[lane].isServing { serve(link, lane, &effects) }
  }

  /// Has the shell read what the peer waits for.
  private mutating func serve(_ link: LinkID, _ lane: Lane, _ effects: inout [Effect]) {
    guard let wants = sessions[link]?[lane].serving else { return }
    sessions[link]?[lane].serving = []
    sessions[link]?[lane].isServing = true
    effects.append(.serve(link, lane, wants))
  }

  mutating func served(
    _ link: LinkID, _ lane: Lane, _ sent: [LogHead], _ rest: [Want], _ isCongested: Bool,
    _ now: Now, _ effects: inout [Effect]
  ) {
    judgeLanes(link, now, &effects)
    guard let session = sessions[link] else { return }
    guard session[lane].isOpen, !session.isClosing else {
      sessions[link]?[lane].isServing = false
      return
    }
    var theirs = session[lane].theirs ?? Heads()
    for head in sent { theirs.advance(to: head) }
    sessions[link]?[lane].theirs = theirs
    let asked = session[lane].serving
    sessions[link]?[lane].serving = rest
    sessions[link]?[lane].add(asked)
    if rest.isEmpty, asked.isEmpty {
      sessions[link]?[lane].isServing = false
      effects.append(.send(link, .served(lane)))
    } else if !isCongested {
      serve(link, lane, &effects)
    }
  }

  /// Back-pressure: a full link is served on when it has room again.
  mutating func drained(_ link: LinkID, _ now: Now, _ effects: inout [Effect]) {
    judgeLanes(link, now, &effects)
    guard let session = sessions[link], !session.isClosing else { return }
    for lane in Lane.allCases where session[lane].isServing && !session[lane].serving.isEmpty {
      serve(link, lane, &effects)
    }
    answer(link, now, &effects)
  }

}

extension LaneSession {
  /// Whether anything that was asked for is here now, whoever brought it.
  fileprivate func hasDelivered(_ heads: Heads) -> Bool {
    asked.values.joined().contains { want in
      askedAgain[want.tip] == nil && heads.tipCount(of: want.log) == 1 && back[want.log] == nil
        && (heads[want.log]?.sequence ?? 0) >= want.from
    }
  }

  /// What to ask for: the sets that lead to tips that are lacking, as many tips as one message names. First one of each
  /// log, so that a log that forked very often keeps no other waiting.
  fileprivate func needs(of logs: [LogKey], _ mine: Heads) -> [Want] {
    let tips = logs.map { lacking[$0]?.values.sorted(by: Heads.isBefore) ?? [] }
    var wants: [Want] = []
    for tip in tips.compactMap(\.first) + tips.flatMap({ $0.dropFirst() }) {
      guard wants.count < Limits.wantsMax else { break }
      wants.append(mine.want(tip, back: back[tip.log] ?? 0))
    }
    return wants
  }

  /// What a list of heads says, as much of it as is kept in mind.
  fileprivate func news(
    in heads: [LogHead], _ isComplete: Bool
  ) -> (heads: [LogHead], isKnown: Bool, isOpen: Bool) {
    let known = theirs ?? Heads()
    let kept = (isComplete ? Heads() : known).rememberable(heads)
    return (kept, known.hold(kept), isOpen)
  }

  /// Takes over what the peer tells of its heads.
  fileprivate mutating func hear(_ heads: [LogHead], _ isComplete: Bool) {
    if isComplete {
      (theirs, lacking, strangers) = (Heads(), [:], [:])
      hasTold = true
    } else if theirs == nil {
      theirs = Heads()
    }
    theirs?.hear(heads)
  }

  /// Notes tips of a log that are lacking.
  fileprivate mutating func note(_ tips: [LogHead], of log: LogKey, isStranger: Bool) {
    guard !tips.isEmpty else { return }
    for tip in tips {
      if isStranger {
        strangers[log, default: [:]][tip.id] = tip
      } else {
        lacking[log, default: [:]][tip.id] = tip
      }
    }
  }

  /// What was lacking of a log that did not fork is looked at again.
  fileprivate mutating func forgetLacking(_ log: LogKey) { (lacking[log], strangers[log]) = (nil, nil) }

  fileprivate mutating func welcome(_ mayAuthor: (LogKey) -> Bool) {
    for (log, tips) in strangers where mayAuthor(log) {
      lacking[log] = tips
      strangers[log] = nil
    }
  }

  /// How many sets the peer has and this side lacks, as far as heads tell; nil before the peer has spoken.
  package func behind(_ mine: Heads) -> UInt64? {
    guard theirs != nil else { return nil }
    return lacking.values.lazy.flatMap(\.values).reduce(0) { $0 &+ mine.want($1).count }
  }

  /// The peer was found to hold exactly what is here.
  mutating func isLevel(with mine: Heads) {
    theirs = mine
    // What it was told of and did not ask for, it has from somebody else.
    elsewhere.formUnion(announced)
    announced = []
    hasTold = true
    (lacking, strangers) = ([:], [:])
    back = [:]
  }

  /// The peer asks for sets of these logs: it wants to be told of them.
  mutating func getsHere(_ logs: [LogKey]) {
    announced.subtract(logs)
    elsewhere.subtract(logs)
  }

  mutating func forgetSources() {
    announced = []
    elsewhere = []
  }

  /// Takes off the list what was asked for and is here.
  ///
  /// - Returns: the logs of which nothing is asked for any more.
  mutating func settleAsked(_ mine: Heads) -> [LogKey] {
    var done: [LogKey] = []
    for (log, wants) in asked {
      let rest = wants.filter { !hasArrived($0, mine) }
      asked[log] = rest.isEmpty ? nil : rest
      if rest.isEmpty { done.append(log) }
    }
    completed = []
    return done
  }

  private func hasArrived(_ want: Want, _ mine: Heads) -> Bool {
    if completed.contains(want.tip) { return true }
    // A damaged set is in the heads all the time.
    if askedAgain[want.tip] != nil { return false }
    // Another peer may have brought more than this one was asked for.
    return mine.tipCount(of: want.log) == 1 && back[want.log] == nil
      && (mine[want.log]?.sequence ?? 0) >= want.through
  }

  /// The peer delivers what it was asked for.
  mutating func noteProgress(_ now: Now) {
    askedProgressAt = now.steady
    hasProgress = true
  }

  /// The peer has what it has sent.
  mutating func advance(to head: LogHead) {
    if theirs == nil { theirs = Heads() }
    theirs?.advance(to: head)
  }

  /// A set of the peer has found its place, or was here already.
  mutating func arrived(_ id: ChangeSetID, _ log: LogKey) {
    if asked[log] != nil { completed.insert(id) }
    guard lacking[log]?.removeValue(forKey: id) != nil else { return }
    if lacking[log]?.isEmpty == true { lacking[log] = nil }
    back[log] = nil
  }

  /// A set of the peer stands on one that is not here: what leads to it is lacking.
  mutating func cameTooEarly(_ set: VerifiedChangeSet) {
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
    guard !askedFurtherBack.contains(header.log), header.sequence > 1,
      asked[header.log]?.contains(where: { $0.from == header.sequence }) == true
    else { return }
    askedFurtherBack.insert(header.log)
    back[header.log] = min((back[header.log] ?? 4) * 4, Self.backMax)
    hasProgress = true
  }

  /// Further back than any log goes that a device can hold.
  private static let backMax: UInt64 = 1 << 40

  /// A newer want of a log takes the place of the older ones; one message may ask for several tips of a log.
  fileprivate mutating func add(_ wants: [Want]) {
    let logs = Set(wants.map(\.log))
    var tips: Set<ChangeSetID> = []
    let newest = wants.reversed().filter { tips.insert($0.tip).inserted }.reversed()
    serving = Array((serving.filter { !logs.contains($0.log) } + newest).prefix(Limits.wantsMax))
  }
}

extension Circle {
  /// Whether sets of a log may enter: its author is certified, and if the log is cut, something of it is kept.
  /// Which of its sets, the store decides.
  func mayAuthor(_ log: LogKey) -> Bool {
    switch evaluation.admission(of: log) {
    case .open: true
    case .cut(let cuts): cuts.contains { !$0.isEmpty }
    case .unknownDevice: false
    }
  }

  /// Whether a cut ends a log, so that heads alone don't tell what of it is lacking.
  func isCut(_ log: LogKey) -> Bool {
    if case .cut = evaluation.admission(of: log) { true } else { false }
  }

  /// Whether a log is of a device that no certificate names.
  func isStranger(_ log: LogKey) -> Bool { evaluation.admission(of: log) == .unknownDevice }
}
