import Engine
import Membership
import Replication
import Storage
import VirtualDisk
import Wire

/// The phase after the faults, in which everything works again and all members must converge.
extension World {
  /// Ends all faults. Their effects remain.
  func heal() {
    isHealing = true
    healedAt = now
    weather = Weather()
    for device in devices where !device.isGone {
      device.disk.clearFaults()
      device.disk.faults.changesUntilStop = nil
      device.isDoomedToPowerLoss = false
      device.clock.correct()
      guard device.isHonest || random.happens(perThousand: 500) else {
        stop(device, .killed, restartAfter: nil)
        device.isGone = true
        continue
      }
      device.mischief = []
      device.fileLies = [:]
      let paused = device.pausedPeers.sorted()
      device.pausedPeers = []
      if device.hoards > 1_000 { later(5_000 + Moment(random.below(60_000)), .end(.promises(device.number))) }
      // Copies of devices keep their preference, because they will be retired. Some other devices turn sync on only
      // later.
      if device.twinNumber == nil, device.preference || random.happens(perThousand: 600) {
        prefer(device, true)
      }
      device.isResting = false
      guard let process = device.process else {
        later(0, .start(device.number))
        continue
      }
      process.effectsUntilStop = nil
      process.turnMilliseconds = 2
      resume(process)
      for peer in paused { process.handle(.resumed(peer)) }
    }
    takeTurns()
    if random.happens(perThousand: 600) { later(5_000, .end(.line)) }
    // The user enters the addresses of all other devices.
    for device in devices {
      device.addressBook = devices.filter { $0 !== device && !$0.isGone }.map(\.address)
      guard let process = device.process else { continue }
      for address in device.addressBook { process.handle(.addressGiven(address)) }
      process.receive(.peering(.hurried))
    }
  }

  /// Runs copies of a device in turns. If they ran at the same time, they would keep replacing each other's links. The
  /// user, who was warned about the copy, writes on both copies and then retires one of them.
  private func takeTurns() {
    let twins = devices.filter { $0.twinNumber != nil && !$0.isGone }
    for twin in twins {
      let others = devices.filter { $0.key == twin.key && $0 !== twin && !$0.isGone }.map(\.number)
      stop(twin, .killed, restartAfter: nil)
      twin.isResting = true
      for turn in 1...Self.turns {
        let (rests, runs) = turn % 2 == 1 ? (others, [twin.number]) : ([twin.number], others)
        let start = Moment(turn) * Self.turnMilliseconds
        later(start, .end(.turn(rests: rests, runs: runs, isLast: turn == Self.turns)))
        // Write before any peer has announced which other sets exist in the copy's log, and after that.
        for wait in [12 + random.below(30), random.below(110_000), 120_000 + random.below(110_000)] {
          later(start + Moment(wait), .end(.words(runs)))
        }
      }
    }
    if !twins.isEmpty { turnsEnd = now + Moment(Self.turns) * Self.turnMilliseconds }
  }

  func change(rests: [Int], runs: [Int], isLast: Bool) {
    for device in rests.map({ devices[$0] }) {
      stop(device, .killed, restartAfter: nil)
      device.isResting = true
      if isLast { device.isGone = true }
    }
    for device in runs.map({ devices[$0] }) {
      device.isResting = false
      later(10, .start(device.number))
    }
  }

  /// Connects devices in a line. In a full mesh, a link that has silently stopped delivering would go unnoticed.
  ///
  /// Does nothing unless all members stay until the end. Records pass only through devices with premium, so those
  /// devices are next to each other.
  func standInLine() {
    let honest = devices.filter { $0.isHonest && !$0.isGone }
    guard revoked.isEmpty, honest.allSatisfy({ $0.twinNumber == nil && $0.process?.isServing == true })
    else { return }
    let gates = honest.map { $0.process?.replicator.replica.ownGate(now: $0.wall) }
    guard gates.allSatisfy({ $0?.isOpen != true || ($0?.validUntil ?? 0) > Self.farFuture }) else { return }
    let premium = zip(honest, gates).filter { $1?.isOpen == true }.map(\.0).shuffled(using: &random)
    let free = zip(honest, gates).filter { $1?.isOpen != true }.map(\.0).shuffled(using: &random)
    // When an inquiry of a free device ended, the device would turn sync on, but could get no records from its free
    // neighbours.
    for device in free { device.process?.inquiry = nil }
    let line = (premium + free).map(\.number)
    for (place, one) in line.enumerated() {
      for other in line.dropFirst(place + 2) {
        weather.blocked[.init(from: one, to: other)] = now + Self.healingMilliseconds
        weather.blocked[.init(from: other, to: one)] = now + Self.healingMilliseconds
        for link in links.values.sorted(by: { $0.id < $1.id }) where Set(link.devices) == [one, other] {
          breakLink(link)
        }
      }
    }
    tally.count("stood in line")
  }

  /// A time later than any clock reaches in a run.
  private static let farFuture: Moment = start + 15 * 365 * 86_400_000

  /// A user writes on copies of a device, and may restart them afterwards.
  func writeWords(at numbers: [Int]) {
    for device in numbers.map({ devices[$0] }) where device.process?.isServing == true {
      if random.happens(perThousand: 700) {
        writeLastWord(device, alsoSettings: random.happens(perThousand: 500))
      }
      if random.happens(perThousand: 300) { stop(device, .killed, restartAfter: 10 + random.wait(1_000)) }
    }
  }

  private static let turns = 4
  private static let turnMilliseconds: Moment = 5 * 60_000

  /// Runs until all honest members hold the same state.
  func converge() throws {
    while let turnsEnd, now < turnsEnd {
      guard try step() else { break }
      if Int(now) % 64 == 0 { cure() }
    }
    try converge(within: Self.healingMilliseconds, "after all faults ended")
  }

  /// Lets every member write once more, and checks that all others receive the write. This finds sessions that only
  /// look alive.
  func lastWords() throws {
    weather.blocked = [:]
    endOverrides()
    for device in devices where !device.isGone && !device.preference { prefer(device, true) }
    for process in members() {
      writeLastWord(process.device)
      if random.happens(perThousand: 300) { writeMuch(process.device) }
    }
    try converge(
      within: Self.lastWordsMilliseconds, "after every member wrote once more on a healthy network")
  }

  private func converge(within milliseconds: Moment, _ phase: String) throws {
    let deadline = now + milliseconds
    let last = events + Self.healingEventsMax
    var nextLook = now + 2_000
    while now < deadline, events < last {
      guard try step() else { break }
      guard now >= nextLook else { continue }
      nextLook = now + 1_000
      cure()
      if differences().isEmpty { return }
    }
    let differences = differences()
    guard !differences.isEmpty else { return }
    for device in devices { log?(describe(device)) }
    throw Failure(
      .liveness,
      "not converged \((now - (deadline - milliseconds)) / 1_000) seconds \(phase): "
        + differences.prefix(4).joined(separator: "; "))
  }

  /// Describes the state of a device, for debugging.
  private func describe(_ device: Device) -> String {
    guard let process = device.process else {
      return "\(device.name): \(device.isGone ? "gone" : "not running")"
    }
    let peers = process.replicator.replica.connectedDevices().map(name).sorted().joined(separator: " ")
    let dials = process.peering.addresses.map {
      "\($0.address)\($0.isDialling ? " now" : " in \($0.nextAttempt - now)") \($0.lastFailure?.rawValue ?? "")"
    }
    return
      "\(device.name): member \(process.isMember), with [\(peers)], dials [\(dials.joined(separator: ", "))]\n"
      + describe(process.replicator.circle, of: device)
  }

  /// Describes the certificates and revocations that a device knows, and which of them it sends when it dials, for
  /// debugging.
  private func describe(_ circle: Circle, of device: Device) -> String {
    let shown = circle.dialledIntroduction(of: device.key, wallMilliseconds: device.wall)?.chain ?? []
    var lines: [String] = []
    for statement in circle.statements(notIn: []) {
      if case .deviceCertificate(let body) = statement.content {
        lines.append(
          "  \(statement.id.description.prefix(6)): \(name(of: body.issuer)) certifies \(name(of: body.device))"
        )
      }
      guard case .revocation(let body) = statement.content else { continue }
      let isVoid = circle.evaluation.isVoid(statement)
      let counts = circle.evaluation.revocations[body.device]?.contains { $0.id == statement.id } == true
      lines.append(
        "  \(statement.id.description.prefix(6)): \(name(of: body.issuer)) revokes \(name(of: body.device)), "
          + "\(statement.bytes.count) bytes, \(counts ? "counts" : "does not count")\(isVoid ? ", void" : "")"
          + (shown.contains(statement.bytes) ? ", sent when dialling" : "")
          + ", keeps \(body.valid.map { $0.description.prefix(6) })")
    }
    let members = circle.evaluation.members.keys.map(name).sorted().joined(separator: " ")
    let bytes = shown.reduce(0) { $0 + $1.count }
    return (["  members [\(members)], chain of \(shown.count), \(bytes) bytes"] + lines).joined(
      separator: "\n")
  }

  /// Restamps changes on each device whose clock ran ahead, as the user is told to do.
  private func cure() {
    for device in devices where device.isHonest { _ = restamp(device) }
  }

  /// A generous limit: twenty rounds of comparing state take two minutes, and a dial may be delayed for up to five.
  private static let healingMilliseconds: Moment = 30 * 60_000
  private static let lastWordsMilliseconds: Moment = 8 * 60_000
  private static let healingEventsMax = 400_000

  // MARK: Differences between members

  /// Returns the running honest devices that must converge: those that are members according to the union of the
  /// statements of all members.
  func members() -> [Process] {
    let honest = devices.compactMap { $0.isHonest ? $0.process : nil }
    guard var circle = honest.first(where: \.isMember)?.replicator.circle else { return [] }
    for process in honest where process.isMember {
      circle.insert(process.replicator.circle.statements(notIn: []))
    }
    // A device that knows it is revoked sends nothing to peers, so statements that only it holds are lost, unless the
    // others still count it as a member.
    var silent = honest.filter { !$0.isMember }
    while let next = silent.firstIndex(where: { circle.evaluation.isMember($0.device.key) }) {
      circle.insert(silent.remove(at: next).replicator.circle.statements(notIn: []))
    }
    // Everyone ignores a device that the union of these statements revokes, so statements that only that device holds
    // must not count. Repeat without such devices until the set of members no longer changes.
    var found = honest.filter { circle.evaluation.isMember($0.device.key) }
    for _ in 0..<4 {
      guard var union = found.first?.replicator.circle else { return found }
      for process in found { union.insert(process.replicator.circle.statements(notIn: [])) }
      let next = honest.filter { union.evaluation.isMember($0.device.key) }
      if next.map(\.device.number) == found.map(\.device.number) { return talking(found, among: honest) }
      found = next
    }
    // Each group of devices has revoked the others, which never receive those revocations. A user has to decide which
    // group continues.
    return Array(found.prefix(1))
  }

  /// Returns the members that the first member can reach, directly or through others.
  ///
  /// A device never dials a device that it believes to be revoked. Two devices may believe this of each other, if each
  /// lacks a statement, held only by the other, that revokes the revoker. They then stay apart until a user helps.
  private func talking(_ members: [Process], among honest: [Process]) -> [Process] {
    var reached = Array(members.prefix(1))
    var next = 0
    while next < reached.count {
      let one = reached[next]
      next += 1
      for other in honest where !reached.contains(where: { $0 === other }) && talk(one, other) {
        reached.append(other)
      }
    }
    return members.filter { member in reached.contains { $0 === member } }
  }

  private func talk(_ one: Process, _ other: Process) -> Bool {
    let (mine, theirs) = (one.replicator.circle, other.replicator.circle)
    return mine.evaluation.isMember(other.device.key) || theirs.evaluation.isMember(one.device.key)
      || mine.ids == theirs.ids
  }

  private func differences() -> [String] {
    let waiting = devices.filter { !$0.isGone && $0.isHonest && $0.process == nil }
    guard waiting.isEmpty else { return ["\(waiting[0].name) has not started"] }
    let members = members()
    if let full = members.first(where: \.isDiskFull) {
      return ["\(full.device.name) has not checked for free space"]
    }
    // Within a minute, a timer folds the sets that became due when the clocks were corrected.
    if now < healedAt + 62_000, let late = members.first(where: { !$0.waitsByRight }) {
      return ["\(late.device.name) has not folded all sets that its clock allows"]
    }
    var found: [String] = []
    // Two copies of a device that run at the same time replace each other's links, but receive everything from other
    // members.
    for process in members.dropFirst() { found += differences(members[0], process, .settings) }
    let premium = premium(members)
    for process in premium.dropFirst() { found += differences(premium[0], process, .records) }
    return found
  }

  /// Returns the members between which the records lane is open.
  func premium(_ members: [Process]) -> [Process] {
    members.filter {
      $0.replicator.replica.ownGate(now: $0.device.wall).isOpen && !$0.keepsBack(.records)
    }
  }

  private func differences(_ one: Process, _ other: Process, _ lane: Lane) -> [String] {
    let names = "\(one.device.name) and \(other.device.name)"
    let (first, second) = (one.replicator, other.replicator)
    if first.circle.ids != second.circle.ids { return ["\(names) hold different statements"] }
    // A device that has used up its incarnations can't send its unsent sets.
    if lane == .settings, one.keepsBack(lane) || other.keepsBack(lane) { return [] }
    let (mine, theirs) = (first.store.heads(lane), second.store.heads(lane))
    if mine != theirs {
      // Sets that a device folded while its clock was years ahead stay folded. Other devices still have them parked.
      if mine.map(\.tip) == theirs.map(\.tip), one.waitsByRight, other.waitsByRight { return [] }
      return ["\(names) have different heads of \(lane): \(Self.first(mine, theirs))"]
    }
    if first.store.digest(lane) != second.store.digest(lane) {
      return ["\(names) have unequal digests of \(lane)"]
    }
    return []
  }

  private static func first(_ mine: [LogHead], _ theirs: [LogHead]) -> String {
    let only = (Set(mine).symmetricDifference(theirs)).sorted {
      ($0.log, $0.sequence) < ($1.log, $1.sequence)
    }
    return only.prefix(2).map {
      "\($0.log.device.description.prefix(6)) \($0.sequence)/\($0.foldedSequence) at \(mine.contains($0) ? "first" : "second")"
    }.joined(separator: ", ")
  }
}

extension LogHead {
  /// The head with its folded sequence set to 0, for comparing only the ends of logs.
  fileprivate var tip: LogHead { LogHead(log: log, sequence: sequence, id: id, foldedSequence: 0) }
}

extension Process {
  /// Whether no parked set is due yet.
  fileprivate var waitsByRight: Bool {
    let due = Clock(milliseconds: device.wall + World.driftMilliseconds)
    return ((try? replicator.store.nextParkedClock) ?? nil).map { $0 > due } ?? true
  }

  /// Whether the device's own sets stay unsent because it has used up its incarnations.
  func keepsBack(_ lane: Lane) -> Bool {
    replicator.isSpent && !replicator.unsent.unsent(lane, in: replicator.store).isEmpty
  }
}
