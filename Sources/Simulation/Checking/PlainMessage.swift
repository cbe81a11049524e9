// Protocol/session.md, "Messages": the parts that the judge checks.

enum PlainMessage {
  /// The part of a summary about one lane.
  struct LaneSays: Equatable {
    let reason: Int
    let state: LaneState
  }

  case summary(certificates: Name32, settings: LaneSays, records: LaneSays)
  case heads(lane: Int, [Name32], isComplete: Bool)
  case want(lane: Int)
  case sets(lane: Int, [PlainRawSet])
  /// A state hash. A message without a hash confirms the hash that came with the token. If `asks` is true, the token is
  /// the sender's own, and the sender asks for an answer.
  case state(Name32?, token: UInt64, asks: Bool)
  case query(PlainQuestion)
  case answer(PlainAnswer)
  case wantValues(lane: Int)
  /// The sets and the slots of which values are sent.
  case values(lane: Int, [(id: Name32, slots: [Int])])
  case file(PlainFileMessage)
  /// A message that is not checked further: introduction, statements, statement ids, served, goodbye or refusal.
  case other

  init(_ bytes: [UInt8]) throws(PlainRefusal) {
    guard bytes.count <= 1_048_576 else { throw PlainRefusal("message", "more than 1 MiB") }
    let item = try PlainItem.read(bytes, itemsMax: 200_000)
    guard let parts = item.array, let tag = parts.first?.unsigned, (1...19).contains(tag)
    else {
      throw PlainRefusal("message", "an unknown tag")
    }
    let counts: [UInt64: ClosedRange<Int>] = [
      1: 1...1, 2: 4...4, 3: 2...2, 4: 2...2, 5: 3...3, 6: 2...2, 7: 2...2, 8: 1...1, 9: 3...3, 10: 1...1,
      11: 3...3, 12: 2...5, 13: 2...2, 14: 2...2, 15: 4...4, 16: 3...3, 17: 3...3, 18: 3...3, 19: 1...1,
    ]
    guard counts[tag]?.contains(parts.count - 1) == true else {
      throw PlainRefusal("message", "tag \(tag) with \(parts.count - 1) parts")
    }
    guard let message = Self.message(tag, Array(parts.dropFirst()), bytes) else {
      throw PlainRefusal("message", "tag \(tag) with malformed parts")
    }
    self = message
  }

  /// Whether the message may be sent to a device that is not a member, for example to tell it that it was revoked.
  var isForAnybody: Bool { if case .other = self { true } else { false } }

  private static func message(_ tag: UInt64, _ parts: [PlainItem], _ bytes: [UInt8]) -> PlainMessage? {
    switch tag {
    case 2:
      guard let certificates = parts[0].name32(in: bytes), parts[1].unsigned != nil,
        let settings = LaneSays(parts[2], bytes), let records = LaneSays(parts[3], bytes)
      else { return nil }
      return .summary(certificates: certificates, settings: settings, records: records)
    case 5:
      guard let lane = lane(parts[0]), let isComplete = parts[1].bool, let list = parts[2].array else {
        return nil
      }
      let ids = list.compactMap { head in
        head.array.flatMap { $0.count == 5 ? $0[3].name32(in: bytes) : nil }
      }
      return ids.count == list.count ? .heads(lane: lane, ids, isComplete: isComplete) : nil
    case 6: return lane(parts[0]).map { .want(lane: $0) }
    case 7: return lane(parts[0]).flatMap { sets($0, parts[1], bytes) }
    case 9:
      guard let token = parts[1].unsigned, let echo = parts[2].bool, let hash = parts[0].bytes(in: bytes)
      else {
        return nil
      }
      guard hash.isEmpty else {
        return parts[0].name32(in: bytes).map { .state($0, token: token, asks: echo) }
      }
      return echo ? nil : .state(nil, token: token, asks: false)
    case 11: return PlainQuestion(parts, bytes).map { .query($0) }
    case 13: return lane(parts[0]).map { .wantValues(lane: $0) }
    case 14: return lane(parts[0]).flatMap { values($0, parts[1], bytes) }
    case 15...19: return PlainFileMessage(tag, parts, bytes).map { .file($0) }
    case 12: return parts.count == 5 ? PlainAnswer(parts, bytes).map { .answer($0) } : .other
    default: return .other
    }
  }

  private static func lane(_ item: PlainItem) -> Int? { item.unsigned.flatMap { $0 <= 1 ? Int($0) : nil } }

  private static func values(_ lane: Int, _ list: PlainItem, _ bytes: [UInt8]) -> PlainMessage? {
    guard let items = list.array else { return nil }
    var found: [(id: Name32, slots: [Int])] = []
    for item in items {
      guard let parts = item.array, parts.count == 2, let id = parts[0].name32(in: bytes),
        let slots = parts[1].array
      else { return nil }
      let numbers = slots.compactMap { slot in
        slot.array.flatMap { $0.count == 3 ? $0[0].unsigned.map { Int(clamping: $0) } : nil }
      }
      guard numbers.count == slots.count, !slots.isEmpty else { return nil }
      found.append((id, numbers))
    }
    return .values(lane: lane, found)
  }

  private static func sets(_ lane: Int, _ list: PlainItem, _ bytes: [UInt8]) -> PlainMessage? {
    guard let items = list.array else { return nil }
    var found: [PlainRawSet] = []
    for item in items {
      let strings = (item.array ?? []).compactMap { $0.bytes(in: bytes).map { Array($0) } }
      guard strings.count == 4, item.array?.count == 4 else { return nil }
      found.append(
        PlainRawSet(header: strings[0], signature: strings[1], plan: strings[2], values: strings[3]))
    }
    return .sets(lane: lane, found)
  }
}

extension PlainMessage.LaneSays {
  init?(_ item: PlainItem, _ bytes: [UInt8]) {
    guard let parts = item.array, parts.count == 4, let reason = parts[0].unsigned, reason <= 255,
      let heads = parts[1].name32(in: bytes), let folded = parts[2].name32(in: bytes),
      let digest = parts[3].name32(in: bytes)
    else { return nil }
    self.init(reason: Int(reason), state: LaneState(heads: heads, folded: folded, digest: digest))
  }
}

/// The hashes that describe a node's state in a lane.
struct LaneState: Hashable {
  let heads: Name32
  let folded: Name32
  let digest: Name32
}
