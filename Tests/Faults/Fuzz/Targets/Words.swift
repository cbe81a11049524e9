import FileFormat
import Membership
import Replication
import Wire

/// Parts of messages, valid and invalid.
enum Words {
  static func question(_ choices: inout Choices) -> Question {
    switch choices.below(4) {
    case 0: .heads
    case 1: .digests
    case 2: .bucket(choices.byte(), after: choices.flag() ? Scribe.key(&choices, .records) : nil)
    default:
      .inventory(after: choices.flag() ? Scribe.key(&choices, choices.flag() ? .records : .settings) : nil)
    }
  }

  static func file(_ choices: inout Choices) -> FileMessage {
    let sizes = [0, 1, 65_536, 65_537, 200_000, Limits.fileBytesMax]
    let file = FileReference(
      size: choices.pick(sizes), id: FileID(Bytes32(0, 0, 0, UInt64(choices.below(4)))))
    guard let file else { return .filesHere(.question([])) }
    switch choices.below(5) {
    case 0 where file.leafCount > 0:
      let first = choices.below(file.leafCount)
      let count = 1 + choices.below(min(file.leafCount - first, Limits.leavesPerRequestMax))
      let part = choices.flag() ? FilePart.bytes : .list
      return .wantLeaves(LeafRequest(file: file, part: part, leaves: first..<first + count))
    case 1 where file.leafCount > 0:
      return .leafList(file, first: 0, [Bytes32](repeating: .zero, count: min(file.leafCount, 4)))
    case 2 where file.leafCount > 0:
      let index = choices.below(file.leafCount)
      let bytes = [UInt8](repeating: choices.byte(), count: file.range(ofLeaf: index).count)
      return .leafBytes(FileLeaf(file, index, bytes[...]))
    case 3:
      let role = choices.pick([FilesHere.Role.question, .answer, .announcement])
      return .filesHere(FilesHere(role: role, keepsAll: role != .question && choices.flag(), files: [file]))
    default: return .noSuchFile(file)
    }
  }

  /// A position in a log: an existing one, one past its end, or one in a log that does not exist.
  private static func place(
    _ choices: inout Choices, _ lane: Lane, _ sets: [VerifiedChangeSet]
  ) -> (log: LogKey, sequence: UInt64, id: ChangeSetID) {
    let inLane = sets.filter { $0.header.log.lane == lane }
    if !inLane.isEmpty, choices.below(4) > 0 {
      let set = choices.pick(inLane)
      let sequence = choices.below(4) == 3 ? max(1, choices.number() >> 1) : set.header.sequence
      let id = choices.below(4) == 3 ? ChangeSetID(Bytes32(0, 0, 0, choices.number())) : set.id
      return (set.header.log, sequence, id)
    }
    let log = LogKey(
      device: DeviceKey(choices.pick(Cast.everyone)), incarnation: choices.pick(Scribe.incarnations),
      lane: lane)
    return (log, max(1, choices.number() >> 1), ChangeSetID(Bytes32(0, 0, 0, UInt64(choices.byte()))))
  }

  static func heads(_ choices: inout Choices, _ lane: Lane, _ sets: [VerifiedChangeSet]) -> [LogHead] {
    (0..<choices.below(6)).map { _ in
      let (log, sequence, id) = place(&choices, lane, sets)
      let folded = choices.flag() ? sequence : min(sequence, choices.number())
      return LogHead(log: log, sequence: sequence, id: id, foldedSequence: folded)
    }
  }

  static func wants(_ choices: inout Choices, _ lane: Lane, _ sets: [VerifiedChangeSet]) -> [Want] {
    (0..<choices.below(6)).map { _ in
      let (log, sequence, id) = place(&choices, lane, sets)
      let from = choices.flag() ? 1 : max(1, min(sequence, choices.number()))
      return Want(log: log, from: from, through: sequence, tip: id)
    }
  }

  static func ids(_ choices: inout Choices, _ circle: Circle) -> [StatementID] {
    var ids = choices.flag() ? circle.ids : []
    for _ in 0..<choices.below(4) { ids.append(StatementID(Bytes32(0, 0, 0, choices.number()))) }
    if choices.flag(), !ids.isEmpty { ids.remove(at: choices.below(ids.count)) }
    return ids
  }

  /// What a host itself would send, with some of it invented.
  static func summary(_ choices: inout Choices, like host: Host, now: Moment) -> Message {
    func state(_ lane: Lane, _ choices: inout Choices) -> Summary.LaneState {
      let held = host.replica[lane]
      return Summary.LaneState(
        reason: choices.below(4) == 3 ? choices.pick(reasons) : .open,
        heads: choices.flag() ? held.heads.storedHash : Bytes32(0, 0, 0, choices.number()),
        folded: choices.flag() ? held.heads.foldedHash : .zero,
        digest: choices.flag() ? held.digest.sum : .zero)
    }
    let wall = choices.below(4) == 3 ? Moment(choices.number() >> 16) : now
    return .summary(
      Summary(
        certificates: choices.flag() ? host.circle.setHash : .zero, wall: wall,
        settings: state(.settings, &choices), records: state(.records, &choices)))
  }

  private static let reasons = ReasonCode.allCases.filter { $0 != .notAMember }

  static func answer(_ choices: inout Choices, _ lane: Lane, _ sets: [VerifiedChangeSet]) -> Answer {
    let content: Answer.Content
    switch choices.below(4) {
    case 0: content = .heads(heads(&choices, lane, sets))
    case 1: content = .digests((0..<256).map { Bytes32(0, 0, 0, UInt64($0)) })
    case 2:
      content = .bucket(
        (0..<choices.below(4)).map { _ in RecordHash(key: Scribe.key(&choices, lane), hash: .zero) })
    default:
      content = .inventory(
        (0..<choices.below(4)).map { _ in
          let rank = WholeRecordRank(
            updatedAt: Int64(bitPattern: choices.number()), nonEmptyFields: choices.below(30), stamp: .zero)
          return InventoryItem(
            key: Scribe.key(&choices, lane), hash: .zero, rank: choices.flag() ? rank : nil)
        })
    }
    return Answer(lane: lane, folded: .zero, isDone: choices.flag(), content: content)
  }
}
