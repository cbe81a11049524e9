import Engine
import Membership
import Records
import Replication
import Sodium
import Storage
import VirtualDisk
import Wire

/// Invalid change sets written by adversaries. They are signed with real keys, and each is wrong in a different way.
extension World {
  /// Sends invalid sets to one or more peers; returns false if nothing could be sent.
  func sendSets(_ fault: Fault, _ process: Process) -> Bool {
    let links = process.links.keys.sorted()
    guard !links.isEmpty else { return false }
    let lane: Lane = random.happens(perThousand: 500) ? .records : .settings
    var sent = false
    for (number, link) in links.enumerated() {
      // To fork a log, send each peer a different branch. Send other faults to the first peer and sometimes to more.
      let isFork = fault == .equivocate || fault == .branches || fault == .manyBranches
      // Values that are wrong or missing at one peer may be right at another.
      let isOfValues = fault == .otherValues || fault == .withhold
      guard isFork || isOfValues || number == 0 || random.happens(perThousand: 300) else { continue }
      guard let sets = sets(fault, lane, number, process), !sets.isEmpty else { continue }
      process.send(Message.encodedSets(lane, sets), to: link)
      sent = true
    }
    return sent
  }

  private func sets(_ fault: Fault, _ lane: Lane, _ number: Int, _ process: Process) -> [RawChangeSet]? {
    switch fault {
    case .sloppy, .otherPlan, .wrongLane, .unknownAuthor, .past, .unreadable, .otherValues, .withhold,
      .logBytes, .otherTree:
      return handmade(fault, lane, number, process)
    case .strangeProfile where random.happens(perThousand: 500):
      return lane == .records ? handmade(fault, lane, number, process) : nil
    case .equivocate where random.happens(perThousand: 250): return atTheEnd(of: lane, number, process)
    case .branches:
      guard let position = position(lane, process) else { return nil }
      return written(position, lane, number, process.device, count: 1 + random.below(12))
    case .manyBranches: return manyBranches(lane, number, process)
    default:
      guard var position = position(lane, process) else { return nil }
      spoil(&position, fault)
      return author(fault, position, lane, number, process.device)
    }
  }

  /// Returns the end of this device's log, or the start of a new log.
  ///
  /// - Parameter sibling: an incarnation whose number the new log's one gets; nil for any number.
  func position(
    _ lane: Lane, _ process: Process, isFresh: Bool = false, numberOf sibling: Incarnation? = nil
  ) -> AuthorPosition? {
    let incarnation =
      if let sibling {
        Incarnation(random: random16(), number: sibling.number)
      } else {
        isFresh ? Incarnation(random16()) : process.replicator.incarnation
      }
    let log = LogKey(device: process.device.key, incarnation: incarnation, lane: lane)
    guard var position = try? process.replicator.store.authorPosition(circle: authority.circle, log: log)
    else {
      return nil
    }
    // An adversary does not keep to its quota.
    position.logBytesMax = .max
    return position
  }

  /// Returns forty branches of one tree: they follow one set, or begin logs whose incarnations have one number.
  private func manyBranches(_ lane: Lane, _ number: Int, _ process: Process) -> [RawChangeSet]? {
    guard let shared = position(lane, process) else { return nil }
    let areLogs = random.happens(perThousand: 300)
    return (0..<40).flatMap { branch -> [RawChangeSet] in
      var start: AuthorPosition? = shared
      if areLogs { start = position(lane, process, numberOf: process.replicator.incarnation) }
      guard let start else { return [] }
      return written(start, lane, 40 * number + branch, process.device, count: 1 + random.below(2)) ?? []
    }
  }

  private func spoil(_ position: inout AuthorPosition, _ fault: Fault) {
    switch fault {
    case .foreign: position.circle = CircleID(random32())
    case .gap:
      position.sequence &+= UInt64(1 + random.below(5))
      if position.id == nil { position.id = ChangeSetID(random32()) }
    case .brokenLink:
      position.id = ChangeSetID(random32())
      position.sequence = max(position.sequence, 1)
    case .unknownDependency:
      position.unseen = [
        Dependency(
          device: devices[0].key, incarnation: Incarnation(random16()), sequence: 1,
          id: ChangeSetID(random32()))
      ]
    default: break
    }
  }

  /// Writes sets with the real `Author`, but from a position or draft that was spoiled.
  private func author(
    _ fault: Fault, _ position: AuthorPosition, _ lane: Lane, _ number: Int, _ device: Device
  ) -> [RawChangeSet]? {
    var author = Author(position: position, key: device.keys.signing, seed: random16)
    var value = Value.text("adversary \(number)")
    if fault == .poison {
      value =
        [
          .text("\u{0}"), .bytes([UInt8](repeating: 0xff, count: 40_000)),
          .array([.array([.array([.null])])]),
          .integer(.min), .float(-.greatestFiniteMagnitude),
        ][random.below(5)]
    }
    var draft = EntryDraft(.insert, key(lane, number), [(1, value)])
    if fault == .strangeProfile {
      guard lane == .records else { return nil }
      draft = strangeProfile(device)
    }
    var wall = device.wall
    if fault == .future {
      let ahead: [Moment] = [1_000, Self.driftMilliseconds + Moment(random.below(10_000)), 365 * 86_400_000]
      wall += ahead[random.below(3)]
    }
    let operation = OperationDraft(id: OperationID(random16()), verb: "adversary")
    return try? author.write([draft], operation: operation, wall: wall).map(\.raw)
  }

  /// Writes a chain of sets. Chains for different peers start at the same position, so the log forks there.
  func written(
    _ position: AuthorPosition, _ lane: Lane, _ number: Int, _ device: Device, count: Int
  ) -> [RawChangeSet]? {
    var author = Author(position: position, key: device.keys.signing, seed: random16)
    var sets: [RawChangeSet] = []
    for step in 0..<count {
      let draft = EntryDraft(.insert, key(lane, number), [(1, .text("branch \(number) \(step)"))])
      let operation = OperationDraft(id: OperationID(random16()), verb: "adversary")
      sets += (try? author.write([draft], operation: operation, wall: device.wall).map(\.raw)) ?? []
    }
    return sets
  }

  func key(_ lane: Lane, _ number: Int) -> RecordKey {
    RecordKey(
      kind: lane == .records ? KindNumbers.trip : KindNumbers.setting,
      id: RecordID(Bytes16(UInt64(random.below(8)) << 60, UInt64(number))))
  }

  /// Returns a draft of a profile with a modification time that no clock can have shown.
  private func strangeProfile(_ device: Device) -> EntryDraft {
    let times = [device.wall + 365 * 86_400_000, .max, .min, 0, device.wall + 1]
    return EntryDraft(
      .put, FixedRecords.profile,
      [
        (Fields.wholeRecordUpdatedAt, .integer(times[random.below(5)])),
        (2, random.happens(perThousand: 500) ? .null : .text("adversary")),
        (3, .text(random.happens(perThousand: 500) ? "" : "x")),
      ])
  }

  /// The clock drift that Protocol/limits.md tolerates.
  static let driftMilliseconds: Moment = 600_000

  // MARK: Handmade sets

  /// Returns a set whose clock is near the maximum, so that few sets can follow it. Each peer gets a different set.
  private func atTheEnd(of lane: Lane, _ number: Int, _ process: Process) -> [RawChangeSet]? {
    guard var position = position(lane, process) else { return nil }
    position.unseen = Array(position.unseen.prefix(Limits.dependenciesMax))
    let clock = Clock(raw: UInt64.max - 2 - UInt64(random.below(100)))
    return [signed(&position, clock, plain(lane, word: "end \(number)"), by: process.device.keys.signing)]
  }

  /// Returns sets that the real `Author` would refuse to write, in a new log.
  ///
  /// - Parameter number: the number of the peer that gets the sets. For faults that concern values, all peers get the
  ///   same sets with different values.
  private func handmade(_ fault: Fault, _ lane: Lane, _ number: Int, _ process: Process) -> [RawChangeSet]? {
    let device = process.device
    if number > 0, let sets = device.copies[fault] {
      return random.happens(perThousand: 300) ? sets : sets.map { changed($0, fault) }
    }
    guard var position = position(lane, process, isFresh: true) else { return nil }
    var key = device.keys.signing
    let clock = Clock.ticking(after: position.clock, wall: device.wall)
    position.unseen = Array(position.unseen.prefix(Limits.dependenciesMax))
    switch fault {
    case .unknownAuthor:
      guard let nobody = try? Authority.key(random.next(), "nobody") else { return nil }
      key = nobody
      position.log = LogKey(device: DeviceKey(nobody), incarnation: position.log.incarnation, lane: lane)
      return [signed(&position, clock, plain(lane), by: key)]
    case .past:
      // The set's clock is lower than a dependency's, or not higher than its predecessor's.
      if !position.unseen.isEmpty, random.happens(perThousand: 500) {
        return [signed(&position, Clock(milliseconds: 1), plain(lane), by: key)]
      }
      position.unseen = []
      let first = signed(&position, clock, plain(lane), by: key)
      let earlier = random.happens(perThousand: 500) ? clock : Clock(milliseconds: device.wall - 1_000)
      return [first, signed(&position, earlier, plain(lane), by: key)]
    case .otherPlan:
      let set = signed(&position, clock, plain(lane), by: key)
      let other = plain(lane, key: self.key(lane, 1))
      return [
        RawChangeSet(header: set.header, signature: set.signature, plan: other.plan, values: set.values)
      ]
    case .otherValues, .withhold:
      let set = signed(&position, clock, manySlots(lane), by: key)
      device.copies[fault] = [set]
      return [changed(set, fault)]
    case .logBytes, .otherTree:
      let first = signed(&position, clock, plain(lane), by: key)
      if fault == .logBytes {
        let wrong = [
          0, position.logBytes + 1, position.logBytes - 1, Limits.logBytesMax, Limits.logBytesMax + 1,
        ]
        position.logBytes = wrong[random.below(wrong.count)]
      } else {
        // The next set names a predecessor in a log of another number.
        let own = position.log.incarnation
        let number = (own.number + random.below(3)) % Limits.incarnationsMax + 1
        position.log = LogKey(
          device: position.log.device, incarnation: Incarnation(random: own.raw, number: number), lane: lane)
      }
      return [first, signed(&position, clock.next, plain(lane), by: key)]
    case .wrongLane:
      return [signed(&position, clock, plain(lane == .records ? .settings : .records), by: key)]
    case .unreadable: return [signed(&position, clock, oddSlot(lane), by: key)]
    case .strangeProfile: return [signed(&position, clock, falseRank(device), by: key)]
    default:
      switch random.below(5) {
      case 0: return [signed(&position, clock, plain(lane), by: key, isOdd: true)]
      case 1: return [oddValues(signed(&position, clock, plain(lane), by: key))]
      default: return [signed(&position, clock, oddPlan(lane), by: key)]
      }
    }
  }

  /// Signs a set without checking anything, and advances the position past it.
  private func signed(
    _ position: inout AuthorPosition, _ clock: Clock, _ content: HandmadeContent, by key: SigningKey,
    isOdd: Bool = false
  ) -> RawChangeSet {
    let header = ChangeSetHeader(
      circle: position.circle, log: position.log, sequence: position.sequence + 1, previous: position.id,
      clock: clock, dependencies: position.unseen, operation: OperationID(random16()),
      logBytes: position.logBytes, content: content.summary)
    var bytes = header.encoded
    if isOdd {
      // The version is the map's first entry. Encode its value 2 in two bytes, or write the entry twice.
      if random.happens(perThousand: 500) {
        bytes.replaceSubrange(2..<3, with: [0x18, 0x02])
      } else {
        bytes.replaceSubrange(0..<1, with: [bytes[0] + 1, bytes[1], bytes[2]])
      }
    }
    (position.sequence, position.id) = (header.sequence, ChangeSetID(header: bytes))
    position.logBytes &+= UInt64(header.declaredBytes(headerBytes: bytes.count))
    position.unseen = []
    return RawChangeSet(
      header: bytes, signature: key.sign(prefix: ChangeSetPrefix.signature.bytes, bytes), plan: content.plan,
      values: content.values)
  }

  // MARK: A closed lane

  /// Uses the records lane on links on which the lane is closed: sends sets, requests sets, or announces heads.
  func useClosedLane(_ process: Process) -> Bool {
    let closed = process.replicator.replica.sessions.values.filter {
      $0.device != nil && !$0.isClosing && !$0[.records].isOpen
    }
    var hasUsed = false
    for session in closed.sorted(by: { $0.link < $1.link }) {
      if useClosedLane(session.link, process) { hasUsed = true }
    }
    if hasUsed { tally.count("did \(Fault.closedLane)") }
    return hasUsed
  }

  private func useClosedLane(_ id: LinkID, _ process: Process) -> Bool {
    guard let (link, end) = process.links[id], let peer = devices[link.devices[1 - end]].process,
      !peer.isEnded
    else { return false }
    // Commit one violation at a time: the peer may close the link at the first, and would never see the next.
    switch random.below(3) {
    case 0:
      let wants = peer.replicator.store.heads(.records).prefix(Limits.wantsMax).map {
        Want(log: $0.log, from: 1, through: $0.sequence, tip: $0.id)
      }
      guard !wants.isEmpty else { return false }
      process.send(Message.want(.records, Array(wants)).encoded, to: id)
    case 1:
      process.send(
        Message.heads(.records, peer.replicator.store.heads(.records), complete: true).encoded, to: id)
    default:
      // Send sets without dependencies, which the peer could fold at once; sometimes in a message for the open lane.
      guard var position = position(.records, process, isFresh: true) else { return false }
      position.unseen = []
      guard let sets = author(.closedLane, position, .records, 0, process.device) else { return false }
      let lane: Lane = random.happens(perThousand: 500) ? .records : .settings
      process.send(Message.encodedSets(lane, sets), to: id)
    }
    return true
  }
}
