import Engine
import Membership
import Records
import Replication
import Storage
import VirtualDisk
import Wire

/// Lies that adversaries tell: messages that are mostly well-formed and never true.
extension World {
  /// The false messages to send instead of a message; nil to send it unchanged.
  func lies(insteadOf message: [UInt8], by sender: Device) -> [[UInt8]]? {
    guard sender.lies > 0, let process = sender.process, !process.isEnded,
      random.happens(perThousand: lying(in: message)), let truth = try? Message(decoding: message),
      let (name, lies) = lies(insteadOf: truth, process)
    else { return nil }
    sender.lies -= 1
    tally.count("lied in \(name)")
    return lies.map(\.encoded)
  }

  /// The share of messages to falsify, per thousand, by the tags of Protocol/session.md. Frequent messages are
  /// falsified rarely: peers stop talking to a device that breaks the rules all the time, and ask it for nothing more.
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
    // A duplicate; an unknown token; the wrong lane or the wrong form; no answer, or a refusal.
    case 0: return [truth, truth]
    case 1: return [.answer(token: falseToken(token), answer)]
    case 2: return [.answer(token: token, changed(answer, lane: other(answer.lane)))]
    case 3: return [.answer(token: token, changed(answer, .digests([])))]
    case 4: return random.happens(perThousand: 500) ? [] : [.refusal(token: token, .clockAhead)]
    // Announces more that never comes, or hides that there is more; names another folded state.
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

  /// Keys of records that don't exist, of other buckets, out of order or duplicated; none; or as many as fit.
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

  /// False heads, either of existing logs or of many logs that don't exist.
  func falseHeads(_ lane: Lane, _ process: Process) -> [LogHead] {
    switch random.below(8) {
    case 0: return []
    case 1: return inventedHeads(lane, count: random.logarithmic(3, 600), of: process)
    case 2 where random.happens(perThousand: 50):
      return inventedHeads(lane, count: Limits.headsPerMessageMax, of: process)
    default:
      let heads = process.replicator.store.heads(lane).flatMap(falseHeads)
      // One sequence out of range invalidates the whole message.
      guard random.happens(perThousand: 20) else { return heads }
      return heads.map { LogHead(log: $0.log, sequence: UInt64(Int64.max) + 1, id: $0.id, foldedSequence: 0) }
    }
  }

  /// Replaces one head by a false one; sometimes by two, as if the log had forked, or by none.
  private func falseHeads(_ head: LogHead) -> [LogHead] {
    (0..<[1, 1, 1, 1, 2, 0][random.below(6)]).map { _ in
      let sequence = random.happens(perThousand: 300) ? head.sequence : falseSequence(head.sequence)
      let id = random.happens(perThousand: 500) ? head.id : ChangeSetID(random32())
      let folded = [0, sequence, min(sequence, head.foldedSequence), sequence - 1][random.below(4)]
      return LogHead(log: head.log, sequence: sequence, id: id, foldedSequence: folded)
    }
  }

  /// Heads of invented logs, by members: peers request nothing from logs of other authors.
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

  /// A wrong sequence in the valid range, which begins at 1.
  private func falseSequence(_ sequence: UInt64) -> UInt64 {
    let most = UInt64(Int64.max)
    let numbers = [
      most, most - 1, most / 2, 1 << 32, 1, sequence + 1, sequence + UInt64(random.below(1_000)),
      sequence - 1,
    ]
    return min(max(numbers[random.below(numbers.count)], 1), most)
  }

  /// Ranges of logs that don't exist, or exist only in part.
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
      // One of the hashes is wrong, or all of them are zero.
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
