import Engine
import Membership
import Records
import Replication
import Sodium
import Storage
import VirtualDisk
import Wire

/// What members do that keep to no rule. They have real keys and real sessions, and send what they like on them.
extension World {
  /// Lets an adversary do something; what needs a message to be spoiled waits for the next one.
  func misbehave(_ fault: Fault) -> Bool {
    let adversaries = devices.filter { !$0.isHonest && $0.process?.isServing == true }
    guard let device = random.pick(adversaries), let process = device.process else { return false }
    if process.links.isEmpty {
      // Whoever is turned away comes again at once.
      process.receive(.peering(.hurried))
    }
    switch fault {
    case .forge, .malleate, .truncate, .garble, .hoard, .replay:
      device.mischief.append(fault)
      return true
    case .claimPremium:
      device.claimsPremium = true
      return true
    case .deaf:
      device.isDeaf = true
      return true
    case .lyingAnswer:
      // Some never answer with the truth any more.
      device.lies = random.happens(perThousand: 500) ? .max : 1 + random.below(60)
      return true
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

  /// What goes on the wire instead of a message of an adversary.
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
    let message = sender.claimsPremium ? claimingPremium(message) : message
    guard let fault = sender.mischief.first else { return [message] }
    guard let spoiled = spoil(message, fault, sender) else { return [message] }
    sender.mischief.removeFirst()
    tally.count("did \(fault)")
    return spoiled
  }

  /// What it says of its own gate is a lie from now on.
  private func claimingPremium(_ message: [UInt8]) -> [UInt8] {
    guard case .summary(var summary)? = try? Message(decoding: message), !summary.records.isOpen else {
      return message
    }
    summary.records.reason = .open
    tally.count("did \(Fault.claimPremium)")
    return Message.summary(summary).encoded
  }

  /// Whether a device hears nothing of what is new in the circle, its own revocation for one.
  func isDeaf(_ device: Device, to message: Message) -> Bool {
    guard device.isDeaf else { return false }
    switch message {
    case .statements, .statementIDs, .goodbye: break
    default: return false
    }
    tally.count("did \(Fault.deaf)")
    return true
  }

  /// What somebody waits for who has asked for sets, by the tags of Protocol/session.md: sets need not be verified here.
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
      // Some never deliver anything any more.
      sender.hoards = random.happens(perThousand: 500) ? .max : 10
      return [message]
    default:
      guard case .sets(let lane, let sets)? = try? Message(decoding: message), let first = sets.first else {
        return nil
      }
      let raw = fault == .malleate ? malleated(first.raw) : forged(first.raw)
      return [Message.encodedSets(lane, [raw] + sets.dropFirst().map(\.raw))]
    }
  }

  /// The same signature in another spelling.
  private func malleated(_ set: RawChangeSet) -> RawChangeSet {
    var signature = set.signature
    signature[63] ^= 0x80
    return RawChangeSet(header: set.header, signature: signature, body: set.body)
  }

  /// One bit is another one, in any of the three parts.
  private func forged(_ set: RawChangeSet) -> RawChangeSet {
    var parts = [set.header, set.signature, set.body]
    let part = random.below(3)
    guard !parts[part].isEmpty else { return set }
    parts[part][random.below(parts[part].count)] ^= 1 << UInt8(random.below(8))
    return RawChangeSet(header: parts[0], signature: parts[1], body: parts[2])
  }

  // MARK: Messages of its own

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

  /// Heads that nobody has.
  private func lie(_ lane: Lane, _ process: Process) -> [UInt8] {
    // What is larger than a sequence may be makes the whole message none.
    let most = random.happens(perThousand: 100) ? UInt64.max : UInt64(Int64.max)
    let heads = process.replicator.store.heads(lane).map { head in
      let sequence =
        random.happens(perThousand: 300) ? most : head.sequence &+ UInt64(random.below(1_000))
      return LogHead(
        log: head.log, sequence: sequence, id: ChangeSetID(random32()), foldedSequence: head.foldedSequence)
    }
    return Message.heads(lane, heads, complete: random.happens(perThousand: 500)).encoded
  }

  /// Promises everybody sets of every log. Who is asked for them and says nothing holds nobody up for long.
  func promiseMuch(_ number: Int) {
    guard let process = devices[number].process, process.isServing else { return }
    for link in process.links.keys.sorted() {
      for lane in Lane.allCases { process.send(lie(lane, process), to: link) }
    }
  }

  func random32() -> Bytes32 { Bytes32(random.next(), random.next(), random.next(), random.next()) }
}
