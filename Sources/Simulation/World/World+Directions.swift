import Membership
import Records
import Replication
import Storage
import VirtualDisk
import Wire

/// A forced direction that a person has said yes to. As the node does, a device keeps it with its store until it is
/// carried out: Sources/Waymark/Node/Node+Direction.swift.
struct DirectionOrder {
  let verb: String
  let operation: OperationID
  let direction: Direction
  /// Heads of a member that keeps to no rule are among those that count.
  let isOfLiar: Bool
  let begun: Moment
}

/// What a device asks others for before a direction begins.
struct Inquiry {
  let verb: String
  let scope: Direction.Scope
  /// Those of this device, from the moment at which it began to ask.
  let own: [LogHead]
  var theirs: [LogHead] = []
  var waitsFor: Set<LinkID>
  var hasAnswer = false
  var isOfLiar = false
  /// Whom nobody hears any more as soon as it has answered.
  let leaves: Int?
}

/// Somebody decides whose records are the right ones.
extension World {
  /// A person at some device decides; now, or when it has been in use without sync for a while.
  func direct() -> Bool {
    let able = devices.filter { $0.isHonest && $0.process.map(mayDirect) == true }
    guard let device = random.pick(able), let process = device.process else { return false }
    if process.order != nil, random.happens(perThousand: 200) {
      giveUp(process)
      return true
    }
    // Where all hold the same there is nothing to decide; where all are alone there is nobody to be asked.
    guard random.happens(perThousand: 600), device.preference, now >= aloneUntil else {
      return direct(at: device)
    }
    let time = someTime()
    aloneUntil = now + time + 1_000
    prefer(device, false)
    let other = random.pick(devices.filter { $0.key != device.key && $0.process != nil }) ?? device
    for part in 1...3 { later(time * Moment(part) / 4, .end(.words([device.number, other.number]))) }
    later(time, .end(.direct(device.number)))
    return true
  }

  /// Asks a peer for what it holds, to become that; or all peers, to make them what this device is.
  ///
  /// - Returns: whether anybody was asked.
  @discardableResult
  func direct(at device: Device) -> Bool {
    guard let process = device.process, mayDirect(process) else { return false }
    let links = reachable(process)
    guard let link = preferred(links, process) else { return false }
    let isMirror = random.happens(perThousand: 600)
    let peer = peer(of: process, link)
    let leaves = isMirror && peer?.isHonest == true && random.happens(perThousand: 400)
    // More than it pushes, so that its heads are known before its sets are here.
    if leaves, let peer { writeMuch(peer) }
    guard !process.isEnded, process.links[link] != nil else { return false }
    process.inquiry = Inquiry(
      verb: isMirror ? "mirror" : "assert", scope: scope(), own: process.replicator.store.heads(.records),
      waitsFor: isMirror ? [link] : Set(links), leaves: leaves ? peer?.number : nil)
    later(Self.inquiryMilliseconds, .end(.inquiry(device.number, device.generation)))
    for link in isMirror ? [link] : links {
      process.askedAt[link] = now
      process.receive(.input(.ask(link, .records, .heads)))
    }
    return true
  }

  private func mayDirect(_ process: Process) -> Bool {
    process.isServing && process.isMember && !process.isDiskFull && !process.replicator.isSpent
      && process.inquiry == nil && process.replicator.replica.ownGate(now: process.device.wall).isPremium
  }

  /// Over which connections somebody can be asked whose records lane is open.
  private func reachable(_ process: Process) -> [LinkID] {
    let sessions = process.replicator.replica.sessions.values.filter {
      $0.device != nil && !$0.isClosing && $0.theirs?.records.isOpen == true
    }
    return sessions.map(\.link).sorted().filter { link in
      process.links[link] != nil && process.askedAt[link].map { now > $0 + Self.inquiryMilliseconds } ?? true
    }
  }

  /// Who lies is asked more often than chance would have it.
  private func preferred(_ links: [LinkID], _ process: Process) -> LinkID? {
    let liars = links.filter { peer(of: process, $0).map { $0.lies > 0 } ?? false }
    return random.happens(perThousand: 400) ? random.pick(liars) ?? random.pick(links) : random.pick(links)
  }

  private func peer(of process: Process, _ id: LinkID) -> Device? {
    process.links[id].map { devices[$0.link.devices[1 - $0.end]] }
  }

  private func scope() -> Direction.Scope {
    switch random.below(8) {
    case 0: Direction.Scope(kind: recordKey().kind)
    case 1: Direction.Scope(trip: recordKey(number: 0))
    default: Direction.Scope()
    }
  }

  /// For how long an answer is waited for: Protocol/session.md, "Questions".
  private static let inquiryMilliseconds: Moment = 10_000

  // MARK: Answers

  /// A device has been told what a peer holds, or that it is not told.
  func heard(_ reply: Reply, from link: LinkID, by process: Process) {
    guard var inquiry = process.inquiry, inquiry.waitsFor.remove(link) != nil else { return }
    if case .answer(let answer) = reply, case .heads(let heads) = answer.content {
      inquiry.theirs += heads
      inquiry.hasAnswer = true
      if peer(of: process, link)?.isHonest == false { inquiry.isOfLiar = true }
    }
    process.inquiry = inquiry
    guard inquiry.waitsFor.isEmpty else { return }
    later(0, .end(.inquiry(process.device.number, process.device.generation)))
  }

  /// All have answered, or those that have not are waited for no longer.
  func endInquiry(_ process: Process) {
    guard let inquiry = process.inquiry else { return }
    process.inquiry = nil
    guard inquiry.hasAnswer, mayDirect(process) else { return tally.count("directions that nobody answered") }
    let isMirror = inquiry.verb == "mirror"
    // What the peers have heard from here meanwhile is this device's own.
    let own = LogKey(
      device: process.device.key, incarnation: process.replicator.incarnation, lane: .records)
    let others = isMirror ? inquiry.theirs : inquiry.theirs.filter { $0.log != own }
    let direction = Direction(
      wanted: isMirror ? others : inquiry.own, present: isMirror ? inquiry.own : others, scope: inquiry.scope)
    if let leaver = inquiry.leaves { leave(devices[leaver], asTo: process.device) }
    begin(
      DirectionOrder(
        verb: inquiry.verb, operation: OperationID(random16()), direction: direction,
        isOfLiar: inquiry.isOfLiar, begun: now), process)
  }

  /// Whoever has just told what it holds is heard by nobody for a while, and may be taken out meanwhile.
  private func leave(_ peer: Device, asTo device: Device) {
    guard !isHealing else { return }
    let time = someTime()
    divide(time) { $0 === peer }
    guard options.faults[.revoke] != nil, random.happens(perThousand: 700) else { return }
    later(time / 4, .end(.verdicts(peer.number, near: [peer.number])))
  }

  // MARK: From the yes to the end

  private func begin(_ order: DirectionOrder, _ process: Process) {
    log?(
      "  \(process.device.name) begins: \(order.verb)\n    wanted \(shown(order.direction.wanted))\n    present "
        + shown(order.direction.present))
    orders[order.operation] = order
    operations.append(order.operation)
    tally.count("directions begun")
    if order.isOfLiar { tally.count("directions by a liar's heads") }
    perhapsEndInside(process.device, perThousand: 100)
    do {
      try process.replicator.store.setMeta(Self.directionKey, order.operation.raw.bytes)
      process.order = order
      // Without sync it can't be carried out.
      prefer(process.device, true)
    } catch {
      guard !process.isEnded else { return }
      process.storeFailed(error)
    }
    if !process.isEnded { finishDirection(process) }
  }

  /// For people who look for a cause.
  private func shown(_ heads: [LogHead]) -> String {
    heads.map {
      let log = "\(name(of: $0.log.device))/\($0.log.incarnation.description.prefix(4))"
      return "\(log) \($0.sequence)/\($0.foldedSequence) \($0.id.description.prefix(6))"
    }.joined(separator: ", ")
  }

  /// What a store holds of a direction that waits, when a program starts on it.
  func storedOrder(_ store: Store, _ device: Device) throws -> DirectionOrder? {
    if device.givesUp { try store.setMeta(Self.directionKey, nil) }
    device.givesUp = false
    guard device.preference, let id = try store.meta(Self.directionKey).flatMap({ OperationID(bytes: $0) })
    else { return nil }
    if orders[id] != nil { tally.count("directions taken up at a start") }
    return orders[id]
  }

  /// Carries out what a device waits for as soon as all that it needs is here.
  func finishDirection(_ process: Process) {
    guard let order = process.order, !process.isEnded, !process.isDiskFull, process.isMember,
      !process.replicator.isSpent
    else { return }
    process.order = nil
    do {
      guard try missing(order, process) == 0 else { return process.order = order }
      try carryOut(order, process)
    } catch {
      guard !process.isEnded else { return }
      process.storeFailed(error)
      // With room on the disk it is tried again, else at the next start.
      if process.isDiskFull { process.order = order }
    }
  }

  private func missing(_ order: DirectionOrder, _ process: Process) throws -> UInt64 {
    let evaluation = process.replicator.circle.evaluation
    return try process.replicator.store.missing(order.direction) { evaluation.admission(of: $0) == .open }
  }

  private func carryOut(_ order: DirectionOrder, _ process: Process) throws {
    let (device, store) = (process.device, process.replicator.store)
    perhapsEndInside(device)
    let key = OperationKey(id: order.operation, device: device.key)
    let isAgain = try store.isWritten(key)
    // What was written before may wait for what it stands on.
    let shows = try !isAgain || store.operation(key) != nil
    let plan = try store.plan(order.direction, now: device.wall).changes
    var sets: [ChangeSetID] = []
    if !isAgain, !plan.drafts.isEmpty {
      sets = try process.replicator.write(
        OperationDraft(id: order.operation, verb: order.verb), plan.drafts, leastClock: plan.leastClock,
        now: device.time)
      guard !process.isEnded else { return }
      judged { try $0.acknowledged(device, sets) }
    }
    if shows { judged { try $0.directed(device, order.direction, sets) } }
    // Between what is written and the note that it is.
    perhapsEndInside(device, perThousand: 200, after: 1..<6)
    log?("  \(device.name) is done with its \(order.verb), in \(sets.count) sets")
    tally.count("directions done")
    tally.count(sets.isEmpty ? "directions without a difference" : "directions written")
    if isAgain { tally.count("directions done twice over") }
    if now > order.begun + 1_000 { tally.count("directions that waited") }
    if try isOverCut(order.direction, process) { tally.count("directions over a log cut meanwhile") }
    try store.setMeta(Self.directionKey, nil)
  }

  /// Whether a cut has kept from coming what was wanted.
  private func isOverCut(_ direction: Direction, _ process: Process) throws -> Bool {
    let (evaluation, store) = (process.replicator.circle.evaluation, process.replicator.store)
    return try direction.wanted.contains { head in
      guard case .cut = evaluation.admission(of: head.log) else { return false }
      let tip = Want(log: head.log, from: head.sequence, through: head.sequence, tip: head.id)
      return try store.read(.records, [tip], bytesMax: 1, setsMax: 1).sets.isEmpty
    }
  }

  /// Somebody withdraws a direction: without sync it is none.
  func giveUp(_ process: Process) {
    tally.count("directions given up")
    prefer(process.device, false)
    if !process.isEnded { prefer(process.device, true) }
  }

  /// Forgets an order that is not carried out yet, as turning sync off does.
  func dropDirection(_ device: Device) {
    guard let process = device.process, !process.isEnded else { return device.givesUp = true }
    guard process.order != nil else { return }
    do {
      try process.replicator.store.setMeta(Self.directionKey, nil)
      process.order = nil
    } catch {
      if !process.isEnded { process.storeFailed(error) }
    }
  }

  /// After all faults what can come has come: what still waits does so for what nobody has, and a person withdraws it.
  func endDirections() {
    for device in devices where device.isHonest && !device.isGone {
      guard let process = device.process, let order = process.order else { continue }
      if process.isMember, !process.isDiskFull, !process.replicator.isSpent {
        judged { try $0.waits(device, order.direction) }
      }
      giveUp(process)
    }
  }

  private static let directionKey = "direction"
}
