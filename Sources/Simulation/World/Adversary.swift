import Engine
import Membership
import Records
import Replication
import Sodium
import Storage
import VirtualDisk
import Wire

/// Adversaries: members that break the rules. They have real keys and real sessions, and send arbitrary messages.
extension World {
  /// Makes an adversary act. A fault that spoils a message takes effect on a later message of the adversary. Returns
  /// false if nothing could be done.
  func misbehave(_ fault: Fault) -> Bool {
    let adversaries = devices.filter { !$0.isHonest && $0.process?.isServing == true }
    guard let device = random.pick(adversaries), let process = device.process else { return false }
    grantSometimes(device)
    if process.links.isEmpty {
      // An adversary without connections was probably rejected, so let it dial again at once.
      process.receive(.peering(.hurried))
    }
    switch fault {
    case .forge, .malleate, .truncate, .garble, .hoard, .replay:
      device.mischief.append(fault)
      return true
    case .withhold:
      // An adversary withholds values of its own sets now, or of any sets that it forwards later.
      if random.happens(perThousand: 500) { return sendSets(fault, process) }
      device.mischief.append(fault)
      return true
    case .claimPremium:
      device.claimsPremium = true
      return true
    case .deaf:
      device.isDeaf = true
      return true
    case .lyingAnswer:
      // Some adversaries lie from now on without end.
      device.lies = random.happens(perThousand: 500) ? .max : 1 + random.below(60)
      return true
    case .falseLeaf, .falseList, .withholdLeaf, .falseHolder: return lieAboutFiles(fault, process)
    case .trickle: return beginTrickle(process)
    case .storm:
      for link in links.values.sorted(by: { $0.id < $1.id }) where link.devices.contains(device.number) {
        breakLink(link)
      }
      process.receive(.peering(.hurried))
      return true
    case .lie, .unsolicited, .oversize: return sendNonsense(fault, process)
    case .closedLane: return useClosedLane(process)
    default: return sendSets(fault, process)
    }
  }

  // MARK: Spoiled messages

  /// Returns the messages that go on the wire in place of a message. An honest sender's message is not changed.
  func meddled(_ message: [UInt8], from sender: Device, to receiver: Device) -> [[UInt8]] {
    guard !sender.isHonest else { return [message] }
    if random.happens(perThousand: 50) { sender.captured.append(message) }
    if sender.captured.count > 20 { sender.captured.removeFirst() }
    if sender.hoards > 0, isDelivery(message) {
      sender.hoards -= 1
      tally.count("hoarded")
      return []
    }
    if sender.trickle != nil, isDelivery(message) {
      tally.count("held back for a trickle")
      return []
    }
    if let lies = lies(insteadOf: message, by: sender) { return lies }
    if let lies = lies(aboutFiles: message, by: sender) { return lies }
    if let wrong = wrongValues(insteadOf: message) { return [wrong] }
    let message = sender.claimsPremium ? claimingPremium(message) : message
    guard let fault = sender.mischief.first else { return [message] }
    guard let spoiled = spoil(message, fault, sender) else { return [message] }
    sender.mischief.removeFirst()
    tally.count("did \(fault)")
    return spoiled
  }

  /// Returns an answer with values of which some are wrong or left out, in place of one with the right values; nil for
  /// any other message, and now and then.
  private func wrongValues(insteadOf message: [UInt8]) -> [UInt8]? {
    guard message.count > 2, message[0] >> 5 == 4, message[1] == 14,
      case .values(let lane, let sets)? = try? Message(decoding: message), !sets.isEmpty,
      random.happens(perThousand: 500)
    else { return nil }
    tally.count("sent wrong values")
    guard random.happens(perThousand: 500) else {
      return Message.values(lane, Array(sets.dropLast())).encoded
    }
    let wrong = sets.map { set in
      SetValues(
        id: set.id,
        slots: set.slots.map { slot in
          SlotValue(slot: slot.slot, salt: slot.salt, content: slot.content + [0xf6])
        })
    }
    return Message.values(lane, wrong).encoded
  }

  /// Changes a summary to claim that the sender's records lane is open.
  private func claimingPremium(_ message: [UInt8]) -> [UInt8] {
    guard case .summary(var summary)? = try? Message(decoding: message), !summary.records.isOpen else {
      return message
    }
    summary.records.reason = .open
    tally.count("did \(Fault.claimPremium)")
    return Message.summary(summary).encoded
  }

  /// Whether a deaf device ignores a message. Such a device learns of no statements, not even of its own revocation.
  func isDeaf(_ device: Device, to message: Message) -> Bool {
    guard device.isDeaf else { return false }
    switch message {
    case .statements, .statementIDs, .goodbye: break
    default: return false
    }
    tally.count("did \(Fault.deaf)")
    return true
  }

  /// Whether a message is `sets` or `served`, for which a requesting peer waits. Looks only at the message's tag (see
  /// Protocol/session.md), to avoid decoding and verifying sets.
  func isDelivery(_ message: [UInt8]) -> Bool {
    message.count > 1 && message[0] >> 5 == 4 && [7, 8].contains(message[1])
  }

  private func spoil(_ message: [UInt8], _ fault: Fault, _ sender: Device) -> [[UInt8]]? {
    switch fault {
    case .truncate: return [Array(message.dropLast(1 + random.below(max(message.count - 1, 1))))]
    case .garble:
      var bytes = message
      for _ in 0...random.below(3) where !bytes.isEmpty {
        bytes[random.below(bytes.count)] ^= 1 << UInt8(random.below(8))
      }
      return [bytes]
    case .replay: return sender.captured.isEmpty ? nil : sender.captured + [message]
    case .hoard:
      // Some adversaries deliver nothing from now on.
      sender.hoards = random.happens(perThousand: 500) ? .max : 10
      return [message]
    default:
      guard case .sets(let lane, let sets)? = try? Message(decoding: message), let first = sets.first else {
        return nil
      }
      guard fault != .withhold else { return withheld(sets).map { [Message.encodedSets(lane, $0)] } }
      let raw = fault == .malleate ? malleated(first.raw) : forged(first.raw)
      return [Message.encodedSets(lane, [raw] + sets.dropFirst().map(\.raw))]
    }
  }

  /// Returns the sets without some of their values; nil if they have none.
  private func withheld(_ sets: [VerifiedChangeSet]) -> [RawChangeSet]? {
    guard sets.contains(where: { $0.body.slots.count > 0 }) else { return nil }
    return sets.map { set in
      let slots = Set((0..<set.body.slots.count).filter { _ in random.happens(perThousand: 500) })
      return RawChangeSet(
        header: set.raw.header, signature: set.raw.signature, plan: set.raw.plan,
        values: set.values(without: slots))
    }
  }

  /// Returns the set with its signature in a non-canonical encoding, in which a bit of the scalar that must be zero is
  /// set.
  private func malleated(_ set: RawChangeSet) -> RawChangeSet {
    var signature = set.signature
    signature[63] ^= 0x80
    return RawChangeSet(header: set.header, signature: signature, plan: set.plan, values: set.values)
  }

  /// Returns the set with one bit flipped in its header, signature, plan or values.
  private func forged(_ set: RawChangeSet) -> RawChangeSet {
    var parts = [set.header, set.signature, set.plan, set.values]
    let part = random.below(4)
    guard !parts[part].isEmpty else { return set }
    parts[part][random.below(parts[part].count)] ^= 1 << UInt8(random.below(8))
    return RawChangeSet(header: parts[0], signature: parts[1], plan: parts[2], values: parts[3])
  }

  // MARK: Unsolicited messages

  private func sendNonsense(_ fault: Fault, _ process: Process) -> Bool {
    guard let link = random.pick(process.links.keys.sorted()) else { return false }
    let lane: Lane = random.happens(perThousand: 500) ? .records : .settings
    let message: [UInt8]
    switch fault {
    case .lie: message = lie(lane, process)
    case .oversize: message = [UInt8](repeating: 0x80, count: Limits.messageBytesMax + 1)
    default:
      switch random.below(4) {
      case 0: message = Message.served(lane).encoded
      case 1: message = Message.state(random32(), token: random.next(), echo: true).encoded
      case 2: message = Message.goodbye(.diskFull).encoded
      default: message = Message.statementIDs([StatementID(random32())], reply: true).encoded
      }
    }
    process.send(message, to: link)
    return true
  }

  /// Returns a message with false heads of all logs that the adversary knows.
  private func lie(_ lane: Lane, _ process: Process) -> [UInt8] {
    // A single sequence that is out of range invalidates the whole message.
    let most = random.happens(perThousand: 100) ? UInt64.max : UInt64(Int64.max)
    let heads = process.replicator.store.heads(lane).map { head in
      let sequence =
        random.happens(perThousand: 300) ? most : head.sequence &+ UInt64(random.below(1_000))
      return LogHead(
        log: head.log, sequence: sequence, id: ChangeSetID(random32()), foldedSequence: head.foldedSequence)
    }
    return Message.heads(lane, heads, complete: random.happens(perThousand: 500)).encoded
  }

  /// Announces sets of every log to all peers. If the adversary then delivers nothing, that must not delay its peers
  /// for long.
  func promiseMuch(_ number: Int) {
    guard let process = devices[number].process, process.isServing else { return }
    for link in process.links.keys.sorted() {
      for lane in Lane.allCases { process.send(lie(lane, process), to: link) }
    }
  }

  func random32() -> Bytes32 { Bytes32(random.next(), random.next(), random.next(), random.next()) }
}
