import Engine
import Membership
import Records
import Replication
import Storage
import VirtualDisk
import Wire

/// Messages with which adversaries lie: mostly well-formed, but never true.
extension World {
  /// Returns the false messages to send in place of a message; nil to send the message unchanged.
  func lies(insteadOf message: [UInt8], by sender: Device) -> [[UInt8]]? {
    guard sender.lies > 0, let process = sender.process, !process.isEnded,
      random.happens(perThousand: lying(in: message)), let truth = try? Message(decoding: message),
      let (name, lies) = lies(insteadOf: truth, process)
    else { return nil }
    sender.lies -= 1
    tally.count("lied in \(name)")
    return lies.map(\.encoded)
  }

  /// Returns the share of messages like this one to falsify, per thousand. It depends on the message's tag (see
  /// Protocol/session.md). Frequent messages are rarely falsified, because peers disconnect from a device that breaks
  /// the rules all the time and then ask it for nothing more.
  private func lying(in message: [UInt8]) -> Int {
    guard message.count > 1, message[0] >> 5 == 4 else { return 0 }
    switch message[1] {
    case 12: return 900
    case 3...6: return 300
    case 2, 9: return 50
    default: return 0
    }
  }

  private func lies(insteadOf truth: Message, _ process: Process) -> (name: String, lies: [Message])? {
    switch truth {
    case .answer(let token, let answer): ("answers", falseAnswers(token, answer, process))
    case .refusal(let token, let reason): ("refusals", [.refusal(token: falseToken(token), reason)])
    case .heads(let lane, _, let complete):
      (
        "heads",
        [
          .heads(
            random.happens(perThousand: 900) ? lane : other(lane), falseHeads(lane, process),
            complete: complete)
        ]
      )
    case .want(let lane, _): ("wants", [.want(lane, falseWants(lane, process))])
    case .statementIDs(let ids, let reply): ("statement ids", falseIDs(ids, reply))
    case .statements(let statements, let last): ("statements", falseStatements(statements, last))
    case .state(let hash, let token, _): ("states", falseStates(hash, token))
    case .summary(let summary): ("summaries", [.summary(falseSummary(summary))])
    default: nil
    }
  }

  private func other(_ lane: Lane) -> Lane { lane == .records ? .settings : .records }

  // MARK: Answers to questions

  private func falseAnswers(_ token: UInt64, _ answer: Answer, _ process: Process) -> [Message] {
    let truth = Message.answer(token: token, answer)
    switch random.below(24) {
    // In order: a duplicate; an unknown token; the wrong lane; the wrong form; no answer, or a refusal instead.
    case 0: return [truth, truth]
    case 1: return [.answer(token: falseToken(token), answer)]
    case 2: return [.answer(token: token, changed(answer, lane: other(answer.lane)))]
    case 3: return [.answer(token: token, changed(answer, .digests([])))]
    case 4: return random.happens(perThousand: 500) ? [] : [.refusal(token: token, .clockAhead)]
    // Then: announces a continuation that never comes, or hides that there is one; names a wrong folded state.
    case 5: return [.answer(token: token, changed(answer, isDone: !answer.isDone))]
    case 6: return [.answer(token: token, changed(answer, folded: random32()))]
    default: return [.answer(token: token, changed(answer, falseContent(answer, process)))]
    }
  }

  private func changed(
    _ answer: Answer, lane: Lane? = nil, _ content: Answer.Content? = nil, folded: Bytes32? = nil,
    isDone: Bool? = nil
  ) -> Answer {
    Answer(
      lane: lane ?? answer.lane, folded: folded ?? answer.folded, isDone: isDone ?? answer.isDone,
      content: content ?? answer.content)
  }

  private func falseContent(_ answer: Answer, _ process: Process) -> Answer.Content {
    switch answer.content {
    case .heads: .heads(falseHeads(answer.lane, process))
    case .digests(let sums):
      .digests(
        sums.map {
          random.happens(perThousand: 500) ? $0 : [Bytes32.zero, Self.ones, random32()][random.below(3)]
        })
    case .bucket(let records):
      .bucket(falseKeys(records.map(\.key), answer.lane).map { RecordHash(key: $0, hash: Self.ones) })
    case .inventory(let items):
      .inventory(falseKeys(items.map(\.key), answer.lane).map(falseItem))
    }
  }

  /// Returns record keys that are false in some way: keys of records that don't exist or belong to other buckets, keys
  /// out of order or duplicated, no keys, or as many as fit.
  private func falseKeys(_ keys: [RecordKey], _ lane: Lane) -> [RecordKey] {
    let kind = lane == .records ? KindNumbers.trip : KindNumbers.setting
    switch random.below(5) {
    case 0: return []
    case 1: return keys.reversed() + keys
    case 2: return keys + [RecordKey(kind: kind, id: RecordID(Bytes16(.max, .max)))]
    case 3 where random.happens(perThousand: 200):
      return (0..<Limits.answerItemsMax).map { RecordKey(kind: kind, id: RecordID(Bytes16(UInt64($0), 0))) }
    default:
      return (0..<random.below(5)).map {
        RecordKey(kind: kind, id: RecordID(Bytes16(random.next(), UInt64($0))))
      }
    }
  }

  private func falseItem(_ key: RecordKey) -> InventoryItem {
    let stamp = Stamp(clock: Clock(raw: .max), device: DeviceKey(Self.ones), set: ChangeSetID(Self.ones))
    let times: [Int64] = [.max, .min, 0]
    let rank = WholeRecordRank(
      updatedAt: times[random.below(3)], nonEmptyFields: Limits.setItemsMax, stamp: stamp)
    return InventoryItem(key: key, hash: random32(), rank: key.kind.mergeClass == .wholeRecord ? rank : nil)
  }

  private func falseToken(_ token: UInt64) -> UInt64 {
    [0, token &- 1, token &+ 1, .max, UInt64(Int64.max)][random.below(5)]
  }

  private static let ones = Bytes32(.max, .max, .max, .max)

  // MARK: Heads and wants

  /// Returns false heads, either of existing logs or of many logs that don't exist.
  func falseHeads(_ lane: Lane, _ process: Process) -> [LogHead] {
    switch random.below(8) {
    case 0: return []
    case 1: return inventedHeads(lane, count: random.logarithmic(3, 600), of: process)
    case 2 where random.happens(perThousand: 50):
      return inventedHeads(lane, count: Limits.headsPerMessageMax, of: process)
    default:
      let heads = process.replicator.store.heads(lane).flatMap(falseHeads)
      // A single sequence that is out of range invalidates the whole message.
      guard random.happens(perThousand: 20) else { return heads }
      return heads.map { LogHead(log: $0.log, sequence: UInt64(Int64.max) + 1, id: $0.id, foldedSequence: 0) }
    }
  }

  /// Returns a false head to replace a true one; sometimes two, as if the log had forked, or none.
  private func falseHeads(_ head: LogHead) -> [LogHead] {
    (0..<[1, 1, 1, 1, 2, 0][random.below(6)]).map { _ in
      let sequence = random.happens(perThousand: 300) ? head.sequence : falseSequence(head.sequence)
      let id = random.happens(perThousand: 500) ? head.id : ChangeSetID(random32())
      let folded = [0, sequence, min(sequence, head.foldedSequence), sequence - 1][random.below(4)]
      return LogHead(log: head.log, sequence: sequence, id: id, foldedSequence: folded)
    }
  }

  /// Returns heads of invented logs whose authors are members, because peers request nothing from other authors' logs.
  private func inventedHeads(_ lane: Lane, count: Int, of process: Process) -> [LogHead] {
    let members = process.replicator.circle.evaluation.members.keys.sorted()
    let isHigh = random.happens(perThousand: 500)
    return (0..<count).map { _ in
      let log = LogKey(
        device: random.pick(members) ?? process.device.key, incarnation: Incarnation(random16()), lane: lane)
      let sequence = isHigh ? UInt64(Int64.max) : falseSequence(1)
      return LogHead(
        log: log, sequence: sequence, id: ChangeSetID(random32()), foldedSequence: isHigh ? sequence : 0)
    }
  }

  /// Returns a wrong sequence within the valid range, which begins at 1.
  private func falseSequence(_ sequence: UInt64) -> UInt64 {
    let most = UInt64(Int64.max)
    let numbers = [
      most, most - 1, most / 2, 1 << 32, 1, sequence + 1, sequence + UInt64(random.below(1_000)),
      sequence - 1,
    ]
    return min(max(numbers[random.below(numbers.count)], 1), most)
  }

  /// Returns ranges of log entries that don't exist, or exist only in part.
  private func falseWants(_ lane: Lane, _ process: Process) -> [Want] {
    let heads = falseHeads(lane, process).filter { $0.sequence <= UInt64(Int64.max) }.prefix(Limits.wantsMax)
    return heads.map { head in
      let from = [1, head.sequence, max(head.foldedSequence, 1)][random.below(3)]
      return Want(log: head.log, from: from, through: head.sequence, tip: head.id)
    }
  }

  // MARK: Statements and hashes

  private func falseIDs(_ ids: [StatementID], _ reply: Bool) -> [Message] {
    switch random.below(4) {
    case 0: [.statementIDs([], reply: reply)]
    case 1: [.statementIDs(ids + ids, reply: reply)]
    case 2:
      [.statementIDs((0..<random.logarithmic(1, 500)).map { _ in StatementID(random32()) }, reply: reply)]
    default: [.statementIDs(ids, reply: reply), .statementIDs(ids, reply: !reply)]
    }
  }

  private func falseStatements(_ statements: [[UInt8]], _ last: Bool) -> [Message] {
    switch random.below(4) {
    case 0: [.statements([], last: true)]
    case 1: [.statements(statements, last: !last)]
    case 2: [.statements(statements, last: last), .statements(statements, last: last)]
    default: [.statements(Array(statements.dropLast()), last: last)]
    }
  }

  private func falseStates(_ hash: Bytes32?, _ token: UInt64) -> [Message] {
    switch random.below(4) {
    case 0: [.state(nil, token: falseToken(token), echo: false)]
    case 1: [.state(random32(), token: falseToken(token), echo: random.happens(perThousand: 500))]
    case 2: [.state(hash, token: token, echo: false), .state(hash, token: token, echo: false)]
    default: [.state(hash ?? random32(), token: .max, echo: true)]
    }
  }

  private func falseSummary(_ summary: Summary) -> Summary {
    var summary = summary
    for lane in Lane.allCases where random.happens(perThousand: 500) {
      // Make one of the hashes wrong, or set all of them to zero.
      switch random.below(4) {
      case 0: summary[lane].heads = random32()
      case 1: summary[lane].folded = random32()
      case 2: summary[lane].digest = random32()
      default: (summary[lane].heads, summary[lane].folded, summary[lane].digest) = (.zero, .zero, .zero)
      }
    }
    if random.happens(perThousand: 200) { summary.certificates = random32() }
    if random.happens(perThousand: 300) {
      summary.wall = [0, Limits.timeMillisecondsMax, summary.wall + 86_400_000][random.below(3)]
    }
    return summary
  }
}
