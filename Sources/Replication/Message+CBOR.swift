// Protocol/session.md, "Messages"

import Sodium
package import Wire

/// The reason why a message is rejected. The session is closed then.
package enum MessageError: Error, Hashable, Sendable {
  case malformed(WireError)
  case changeSet(ChangeSetError)
}

extension Message {
  private enum Tag {
    static let introduction = 1
    static let summary = 2
    static let statementIDs = 3
    static let statements = 4
    static let heads = 5
    static let want = 6
    static let sets = 7
    static let served = 8
    static let state = 9
    static let goodbye = 10
    static let query = 11
    static let answer = 12
    static let wantValues = 13
    static let values = 14

    /// The tags that this version uses or reserves. Greater ones belong to newer versions.
    static let knownMax = 19
  }

  /// The maximum number of CBOR items in a message. Lists of heads need the most items.
  package static let itemsMax = 200_000
  private static let listMax = 32_768
  /// The maximum number of parts of a message of a newer version, with its tag.
  private static let partsMax = 16

  package var encoded: [UInt8] {
    var writer = CBORWriter(reserving: 512)
    switch self {
    case .introduction(let bytes):
      writer.begin(Tag.introduction, 1)
      writer.byteString(bytes)
    case .summary(let summary):
      writer.begin(Tag.summary, 4)
      writer.byteString(summary.certificates)
      writer.unsigned(UInt64(clamping: summary.wall))
      writer.laneState(summary.settings)
      writer.laneState(summary.records)
    case .statementIDs(let ids, let reply):
      writer.begin(Tag.statementIDs, 2)
      writer.bool(reply)
      writer.list(ids) { $0.byteString($1.raw) }
    case .statements(let statements, let last):
      writer.begin(Tag.statements, 2)
      writer.bool(last)
      writer.list(statements) { $0.byteString($1) }
    case .heads(let lane, let heads, let complete):
      writer.begin(Tag.heads, 3)
      writer.unsigned(UInt64(lane.rawValue))
      writer.bool(complete)
      writer.list(heads) { $0.head($1) }
    case .want(let lane, let wants):
      writer.begin(Tag.want, 2)
      writer.unsigned(UInt64(lane.rawValue))
      writer.list(wants) { $0.want($1) }
    case .sets(let lane, let sets): return Self.encodedSets(lane, sets.map(\.raw))
    case .served(let lane):
      writer.begin(Tag.served, 1)
      writer.unsigned(UInt64(lane.rawValue))
    case .state(let hash, let token, let echo):
      writer.begin(Tag.state, 3)
      writer.byteString(hash?.bytes ?? [])
      writer.unsigned(token)
      writer.bool(echo)
    case .goodbye(let reason):
      writer.begin(Tag.goodbye, 1)
      writer.unsigned(UInt64(reason?.rawValue ?? .max))
    case .query(let query):
      writer.begin(Tag.query, 3)
      writer.unsigned(query.token)
      writer.unsigned(UInt64(query.lane.rawValue))
      writer.question(query.question)
    case .answer(let token, let answer):
      writer.begin(Tag.answer, 5)
      writer.unsigned(token)
      writer.unsigned(UInt64(answer.lane.rawValue))
      writer.byteString(answer.folded)
      writer.bool(answer.isDone)
      writer.content(answer.content)
    case .wantValues(let lane, let sets):
      writer.begin(Tag.wantValues, 2)
      writer.unsigned(UInt64(lane.rawValue))
      writer.setSlots(sets)
    case .values(let lane, let sets):
      writer.begin(Tag.values, 2)
      writer.unsigned(UInt64(lane.rawValue))
      writer.setValues(sets)
    case .file(let message): return message.encoded
    case .unknown(let bytes): return bytes
    case .refusal(let token, let reason):
      writer.begin(Tag.answer, 2)
      writer.unsigned(token)
      writer.unsigned(UInt64(reason.rawValue))
    }
    return writer.bytes
  }

  /// Encodes a `sets` message from stored bytes, without decoding them.
  package static func encodedSets(_ lane: Lane, _ sets: [RawChangeSet]) -> [UInt8] {
    var writer = CBORWriter(reserving: sets.reduce(64) { $0 + $1.byteCount + 16 })
    writer.begin(Tag.sets, 2)
    writer.unsigned(UInt64(lane.rawValue))
    writer.list(sets) { writer, set in
      writer.array(4)
      writer.byteString(set.header)
      writer.byteString(set.signature)
      writer.byteString(set.plan)
      writer.byteString(set.values)
    }
    return writer.bytes
  }

  /// Decodes a message and verifies the change sets in it.
  package init(decoding bytes: [UInt8]) throws(MessageError) {
    let parsed: Parsed
    do throws(WireError) {
      parsed = try Parsed(bytes)
    } catch {
      throw .malformed(error)
    }
    switch parsed {
    case .message(let message): self = message
    case .sets(let lane, let raw): self = .sets(lane, try verified(raw))
    }
  }

  /// A decoded message whose change sets have not been verified yet.
  private enum Parsed {
    case message(Message)
    case sets(Lane, [RawChangeSet])

    init(_ bytes: [UInt8]) throws(WireError) {
      var reader = CBORReader(bytes, itemsMax: Message.itemsMax)
      let count = try reader.array(max: Message.partsMax)
      // What follows an empty array is no tag, even if it looks like one of a newer version.
      guard count > 0 else { throw .unexpected(offset: 0) }
      let tag = try reader.unsigned(max: 255)
      if try Message.isNewer(tag, count - 1, reader) {
        self = .message(.unknown(bytes))
        return
      }
      if tag == Tag.sets, count == 3 {
        let (lane, raw) = try reader.rawSets()
        self = .sets(lane, raw)
      } else {
        self = .message(try Message.parsed(tag, count - 1, &reader))
      }
      try reader.end()
    }
  }

  /// Whether a message belongs to a newer version, because its tag or its lane is unknown. What follows is not read.
  private static func isNewer(_ tag: Int, _ parts: Int, _ reader: CBORReader) throws(WireError) -> Bool {
    var ahead = reader
    switch (tag, parts) {
    case (Tag.heads, 3), (Tag.want, 2), (Tag.sets, 2), (Tag.served, 1), (Tag.wantValues, 2), (Tag.values, 2):
      break
    case (Tag.query, 3): _ = try ahead.unsigned()
    default: return tag > Tag.knownMax
    }
    return try ahead.unsigned() > UInt64(Lane.records.rawValue)
  }

  private static func parsed(
    _ tag: Int, _ parts: Int, _ reader: inout CBORReader
  ) throws(WireError) -> Message {
    switch (tag, parts) {
    case (Tag.introduction, 1): return .introduction(try reader.byteString(max: Limits.frameBytesMax))
    case (Tag.summary, 4):
      return .summary(
        Summary(
          certificates: try reader.bytes32(), wall: try reader.moment(),
          settings: try reader.laneState(), records: try reader.laneState()))
    case (Tag.statementIDs, 2):
      let reply = try reader.bool()
      return .statementIDs(
        try reader.list(max: listMax) { r throws(WireError) in StatementID(try r.bytes32()) }, reply: reply)
    case (Tag.statements, 2):
      let last = try reader.bool()
      let statements = try reader.list(max: listMax) { r throws(WireError) in
        try r.byteString(max: Limits.branchProofBytesMax)
      }
      return .statements(statements, last: last)
    case (Tag.heads, 3):
      let lane = try reader.lane()
      let complete = try reader.bool()
      let heads = try reader.list(max: Limits.headsPerMessageMax) { r throws(WireError) in try r.head(lane) }
      return .heads(lane, heads, complete: complete)
    case (Tag.want, 2):
      let lane = try reader.lane()
      return .want(lane, try reader.list(max: Limits.wantsMax) { r throws(WireError) in try r.want(lane) })
    case (Tag.served, 1): return .served(try reader.lane())
    case (Tag.state, 3):
      return try reader.state()
    case (Tag.goodbye, 1):
      // A newer version may send a reason that is unknown here. The connection ends in any case.
      return .goodbye(UInt8(exactly: try reader.unsigned()).flatMap(ReasonCode.init))
    case (Tag.query, 3):
      return .query(
        Query(token: try reader.unsigned(), lane: try reader.lane(), question: try reader.question()))
    case (Tag.answer, 5):
      let token = try reader.unsigned()
      let lane = try reader.lane()
      return .answer(
        token: token,
        Answer(
          lane: lane, folded: try reader.bytes32(), isDone: try reader.bool(),
          content: try reader.content(lane, headsMax: Limits.headsPerMessageMax)))
    case (Tag.answer, 2): return .refusal(token: try reader.unsigned(), try reader.refusalReason())
    case (Tag.wantValues, 2):
      let lane = try reader.lane()
      return .wantValues(lane, try reader.setSlots(lane))
    case (Tag.values, 2): return .values(try reader.lane(), try reader.setValues())
    case (FileMessage.Tag.all, _): return .file(try FileMessage(tag: tag, parts: parts, &reader))
    default: throw .unexpected(offset: 0)
    }
  }
}

private func verified(_ raw: [RawChangeSet]) throws(MessageError) -> [VerifiedChangeSet] {
  var sets: [VerifiedChangeSet] = []
  sets.reserveCapacity(raw.count)
  for set in raw {
    do throws(ChangeSetError) {
      sets.append(try VerifiedChangeSet(verifying: set))
    } catch {
      throw .changeSet(error)
    }
  }
  return sets
}

extension CBORWriter {
  mutating func begin(_ tag: Int, _ parts: Int) {
    array(parts + 1)
    unsigned(UInt64(tag))
  }

  mutating func list<Item>(_ items: [Item], _ write: (inout CBORWriter, Item) -> Void) {
    array(items.count)
    for item in items { write(&self, item) }
  }

  fileprivate mutating func laneState(_ state: Summary.LaneState) {
    array(4)
    unsigned(UInt64(state.reason.rawValue))
    byteString(state.heads)
    byteString(state.folded)
    byteString(state.digest)
  }

  mutating func head(_ head: LogHead) {
    array(5)
    byteString(head.log.device.raw)
    byteString(head.log.incarnation.raw)
    unsigned(head.sequence)
    byteString(head.id.raw)
    unsigned(head.foldedSequence)
  }

  fileprivate mutating func want(_ want: Want) {
    array(5)
    byteString(want.log.device.raw)
    byteString(want.log.incarnation.raw)
    unsigned(want.from)
    unsigned(want.through)
    byteString(want.tip.raw)
  }
}

extension CBORReader {
  /// Reads a `state` message. A message without a hash agrees with the hash that it answers, so it can't ask for an
  /// echo.
  fileprivate mutating func state() throws(WireError) -> Message {
    let start = offset
    let bytes = try byteString(max: Bytes32.count)
    let hash = Bytes32(bytes)
    let (token, echo) = (try unsigned(), try bool())
    guard hash != nil || bytes.isEmpty && !echo else { throw .unexpected(offset: start) }
    return .state(hash, token: token, echo: echo)
  }

  mutating func list<Item>(
    max: Int, _ read: (inout CBORReader) throws(WireError) -> Item
  ) throws(WireError) -> [Item] {
    let count = try array(max: max)
    var items: [Item] = []
    for _ in 0..<count { items.append(try read(&self)) }
    return items
  }

  mutating func lane() throws(WireError) -> Lane {
    try unsigned(max: 1) == 0 ? .settings : .records
  }

  fileprivate mutating func moment() throws(WireError) -> Moment {
    let start = offset
    let value = try unsigned()
    guard value < UInt64(1) << 48 else { throw .limit(offset: start) }
    return Moment(value)
  }

  mutating func sequence(least: UInt64) throws(WireError) -> UInt64 {
    let start = offset
    let value = try unsigned()
    guard value >= least, value <= UInt64(Int64.max) else { throw .limit(offset: start) }
    return value
  }

  fileprivate mutating func laneState() throws(WireError) -> Summary.LaneState {
    try array(exactly: 4)
    // An unknown reason, sent by a newer version, means that the lane is closed.
    var reason = ReasonCode(rawValue: UInt8(try unsigned(max: 255))) ?? .paused
    // This reason is defined only for refusals. In the state of a lane, it means that the lane is closed, like an
    // unknown reason.
    if reason == .tooManyHeads { reason = .paused }
    return Summary.LaneState(
      reason: reason, heads: try bytes32(), folded: try bytes32(), digest: try bytes32())
  }

  /// Reads the reason why a question is refused. An unknown reason, sent by a newer version, is still a refusal.
  fileprivate mutating func refusalReason() throws(WireError) -> ReasonCode {
    let start = offset
    let reason = ReasonCode(rawValue: UInt8(try unsigned(max: 255))) ?? .paused
    guard reason != .open else { throw .unexpected(offset: start) }
    return reason
  }

  mutating func head(_ lane: Lane) throws(WireError) -> LogHead {
    try array(exactly: 5)
    let log = LogKey(device: DeviceKey(try bytes32()), incarnation: Incarnation(try bytes16()), lane: lane)
    let start = offset
    let sequence = try sequence(least: 1)
    let id = ChangeSetID(try bytes32())
    let folded = try self.sequence(least: 0)
    guard folded <= sequence else { throw .unexpected(offset: start) }
    return LogHead(log: log, sequence: sequence, id: id, foldedSequence: folded)
  }

  fileprivate mutating func want(_ lane: Lane) throws(WireError) -> Want {
    try array(exactly: 5)
    let log = LogKey(device: DeviceKey(try bytes32()), incarnation: Incarnation(try bytes16()), lane: lane)
    let start = offset
    let from = try sequence(least: 1)
    let through = try sequence(least: 1)
    guard from <= through else { throw .unexpected(offset: start) }
    return Want(log: log, from: from, through: through, tip: ChangeSetID(try bytes32()))
  }

  fileprivate mutating func rawSets() throws(WireError) -> (Lane, [RawChangeSet]) {
    let lane = try lane()
    let sets = try list(max: Limits.messageBytesMax / 256) { reader throws(WireError) in
      try reader.array(exactly: 4)
      return RawChangeSet(
        header: try reader.byteString(max: Limits.setBytesMax),
        signature: try reader.byteString(max: Signature.byteCount),
        plan: try reader.byteString(max: Limits.setBytesMax),
        values: try reader.byteString(max: VerifiedChangeSet.valuesBytesMax))
    }
    return (lane, sets)
  }
}
