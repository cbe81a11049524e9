import Engine
import LogStorage
import Membership
import Records
import Replication
import Storage
import VirtualDisk
import Wire

/// An override that a user has confirmed, with the facts that the simulator needs to judge it.
struct ConfirmedOverride {
  let request: OverrideRequest
  /// Whether the override uses heads received from an adversary.
  let isOfLiar: Bool
  let begun: Moment
  /// Whether the override's change sets are already in the store.
  var isWritten = false
  /// Whether the override's change sets are stored but not folded, because they depend on parked sets. If so, the judge
  /// can't check the override yet.
  var isHidden = false
}

/// The questions to peers that precede an override.
struct Inquiry {
  let verb: String
  let scope: Revert.Scope
  /// The heads of the asking device when it began to ask.
  let own: [LogHead]
  var theirs: [LogHead] = []
  var waitsFor: Set<LinkID>
  var hasAnswer = false
  var isOfLiar = false
  /// The number of the device that is cut off as soon as it has answered; nil for none.
  let leaves: Int?
}

/// Overrides, with which users decide whose records are right.
extension World {
  /// Begins an override on some device, either now or after the device has been used without sync for a while. Returns
  /// false if no device can begin one.
  func direct() -> Bool {
    let able = devices.filter { $0.isHonest && $0.process.map(mayDirect) == true }
    guard let device = random.pick(able), let process = device.process else { return false }
    if process.replicator.override.pending != nil, random.happens(perThousand: 200) {
      giveUp(process)
      return true
    }
    // An override needs differences, which arise without sync, and a peer to ask. So turn sync off on only one device
    // at a time.
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

  /// Asks one peer for its heads, in order to mirror that peer, or asks all peers, in order to assert this device's
  /// records.
  ///
  /// - Returns: whether any peer was asked.
  @discardableResult
  func direct(at device: Device) -> Bool {
    guard let process = device.process, mayDirect(process) else { return false }
    let links = reachable(process)
    guard let link = preferred(links, process) else { return false }
    let isMirror = random.happens(perThousand: 600)
    let peer = peer(of: process, link)
    let leaves = isMirror && peer?.isHonest == true && random.happens(perThousand: 400)
    // Write more than is pushed, so that this device learns the heads before the sets arrive.
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

  /// Returns the links to peers that have announced an open records lane and have no unanswered question.
  private func reachable(_ process: Process) -> [LinkID] {
    let sessions = process.replicator.replica.sessions.values.filter {
      $0.device != nil && !$0.isClosing && $0.theirs?.records.isOpen == true
    }
    return sessions.map(\.link).sorted().filter { link in
      process.links[link] != nil && process.askedAt[link].map { now > $0 + Self.inquiryMilliseconds } ?? true
    }
  }

  /// Returns a random link, with a preference for peers that lie.
  private func preferred(_ links: [LinkID], _ process: Process) -> LinkID? {
    let liars = links.filter { peer(of: process, $0).map { $0.lies > 0 } ?? false }
    return random.happens(perThousand: 400) ? random.pick(liars) ?? random.pick(links) : random.pick(links)
  }

  private func peer(of process: Process, _ id: LinkID) -> Device? {
    process.links[id].map { devices[$0.link.devices[1 - $0.end]] }
  }

  private func scope() -> Revert.Scope {
    switch random.below(8) {
    case 0: Revert.Scope(kind: recordKey().kind)
    case 1: Revert.Scope(trip: recordKey(number: 0))
    default: Revert.Scope()
    }
  }

  /// The timeout of a question: Protocol/session.md, "Questions".
  private static let inquiryMilliseconds: Moment = 10_000

  // MARK: Answers

  /// Handles a peer's answer or refusal.
  func received(_ reply: Reply, from link: LinkID, by process: Process) {
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

  /// Begins the override once all peers have answered or timed out.
  func endInquiry(_ process: Process) {
    guard let inquiry = process.inquiry else { return }
    process.inquiry = nil
    guard inquiry.hasAnswer, mayDirect(process) else {
      return mark("overrides without an answer", on: process.device)
    }
    let isMirror = inquiry.verb == "mirror"
    // "Overrides", step 2: peers' heads of this device's own log don't count.
    let own = LogKey(
      device: process.device.key, incarnation: process.replicator.incarnation, lane: .records)
    let others = isMirror ? inquiry.theirs : inquiry.theirs.filter { $0.log != own }
    let revert = Revert(
      wanted: isMirror ? others : inquiry.own, present: isMirror ? inquiry.own : others, scope: inquiry.scope)
    if let leaver = inquiry.leaves { leave(devices[leaver], asTo: process.device) }
    let request = OverrideRequest(
      verb: inquiry.verb, operation: OperationID(random16()), peer: nil, asked: process.device.wall,
      revert: revert)
    begin(ConfirmedOverride(request: request, isOfLiar: inquiry.isOfLiar, begun: now), process)
  }

  /// For a while, cuts off the peer that has just answered. The peer may be revoked during that time.
  private func leave(_ peer: Device, asTo device: Device) {
    guard !isHealing else { return }
    let time = someTime()
    divide(time) { $0 === peer }
    guard options.faults[.revoke] != nil, random.happens(perThousand: 700) else { return }
    later(time / 4, .end(.verdicts(peer.number, near: [peer.number])))
  }

  // MARK: From the confirmation to the end

  private func begin(_ confirmed: ConfirmedOverride, _ process: Process) {
    let request = confirmed.request
    log?(
      "  \(process.device.name) begins: \(request.verb)\n    wanted \(shown(request.revert.wanted))\n    present "
        + shown(request.revert.present))
    overrides[request.operation] = confirmed
    operations.append(request.operation)
    mark("overrides begun", on: process.device)
    if confirmed.isOfLiar { mark("overrides by a liar's heads", on: process.device) }
    perhapsEndInside(process.device, perThousand: 100)
    do {
      try process.replicator.begin(request)
      // An override needs sync.
      prefer(process.device, true)
    } catch {
      guard !process.isEnded else { return }
      if !(error is WriteRefusal || error is ChangeSetError) { process.replicator.storeFailed(error) }
    }
    if !process.isEnded { process.replicator.finishOverride(now: process.device.time) }
  }

  /// Describes heads in a short form, for debugging.
  private func shown(_ heads: [LogHead]) -> String {
    heads.map {
      let log = "\(name(of: $0.log.device))/\($0.log.incarnation.description.prefix(4))"
      return "\(log) \($0.sequence)/\($0.foldedSequence) \($0.id.description.prefix(6))"
    }.joined(separator: ", ")
  }

  func noted(_ event: OverrideEvent, by device: Device) {
    guard let process = device.process, !process.isEnded else { return }
    switch event {
    case .began, .dropped: break
    case .ready(let request):
      judged { try $0.stepped(device) }
      perhapsEndInside(device)
      noteWritten(request, by: process)
    case .written(let request, let sets): written(request, sets, by: process)
    case .finished: mark("overrides done", on: device)
    }
  }

  /// Records whether an override that is about to be written is already in the store, and whether it is folded.
  private func noteWritten(_ request: OverrideRequest, by process: Process) {
    let store = process.replicator.store
    let key = OperationKey(id: request.operation, device: process.device.key)
    do {
      let isWritten = try store.isWritten(key)
      overrides[request.operation]?.isWritten = isWritten
      overrides[request.operation]?.isHidden = try isWritten && store.operation(key) == nil
    } catch {
      // The disk can't be read now, so the override can't be judged.
      overrides[request.operation]?.isHidden = true
    }
  }

  private func written(_ request: OverrideRequest, _ sets: [ChangeSetID], by process: Process) {
    let device = process.device
    guard let confirmed = overrides[request.operation] else { return }
    if !sets.isEmpty { judged { try $0.acknowledged(device, sets) } }
    if !confirmed.isHidden { judged { try $0.directed(device, request.revert, sets) } }
    // Perhaps kill the process after it has written the sets but before it has recorded that they are written.
    perhapsEndInside(device, perThousand: 200, after: 1..<6)
    log?("  \(device.name) finished its \(request.verb) in \(sets.count) sets")
    mark(sets.isEmpty ? "overrides without a difference" : "overrides written", on: device)
    if confirmed.isWritten { mark("overrides applied twice", on: device) }
    if now > confirmed.begun + 1_000 { mark("overrides that waited", on: device) }
    if (try? isOverCut(request.revert, process)) == true {
      mark("overrides over a log cut meanwhile", on: device)
    }
  }

  /// Whether a cut has prevented a wanted head from arriving.
  private func isOverCut(_ revert: Revert, _ process: Process) throws -> Bool {
    let (evaluation, store) = (process.replicator.circle.evaluation, process.replicator.store)
    return try revert.wanted.contains { head in
      guard case .cut = evaluation.admission(of: head.log) else { return false }
      let tip = Want(log: head.log, from: head.sequence, through: head.sequence, tip: head.id)
      return try store.read(.records, [tip], bytesMax: 1, setsMax: 1).sets.isEmpty
    }
  }

  /// Cancels an override: turning sync off drops it.
  func giveUp(_ process: Process) {
    mark("overrides given up", on: process.device)
    prefer(process.device, false)
    if !process.isEnded { prefer(process.device, true) }
  }

  /// Drops a pending override, as turning sync off does.
  func dropOverride(_ device: Device) {
    guard let process = device.process, !process.isEnded else { return device.givesUp = true }
    do { try process.replicator.dropOverride() } catch {
      if !process.isEnded { process.replicator.storeFailed(error) }
    }
  }

  /// Cancels all pending overrides after healing. Everything that exists has arrived by then, so an override that is
  /// still pending must be waiting for sets that nobody has.
  func endOverrides() {
    for device in devices where device.isHonest && !device.isGone {
      guard let process = device.process, let request = process.replicator.override.pending else { continue }
      if process.isMember, !process.isDiskFull, !process.replicator.isSpent {
        judged { try $0.waits(device, request.revert) }
      }
      giveUp(process)
    }
  }
}
