// Protocol/session.md, "Questions"

/// A question to a peer about a lane.
struct PlainQuestion {
  let token: UInt64
  let lane: Int
  let form: Form
  let bucket: Int
  /// The key after which the answer begins; nil to begin with the first.
  let after: PlainKey?

  enum Form: UInt64 {
    case heads, digests, bucket, inventory
  }

  init?(_ parts: [PlainItem], _ bytes: [UInt8]) {
    guard parts.count == 3, let token = parts[0].unsigned, let lane = parts[1].unsigned, lane <= 1,
      let question = parts[2].array, let form = question.first?.unsigned.flatMap({ Form(rawValue: $0) }),
      question.count == [1, 1, 3, 2][Int(form.rawValue)]
    else { return nil }
    (self.token, self.lane, self.form) = (token, Int(lane), form)
    bucket = form == .bucket ? Int(question[1].unsigned ?? 0) : 0
    after = question.count > 1 ? question.last.flatMap { PlainKey($0.array ?? [], bytes) } : nil
  }
}

/// A device's answer to a question.
struct PlainAnswer {
  let token: UInt64
  let lane: Int
  /// The hash of the folded heads for which the answer is valid.
  let folded: Name32
  let isDone: Bool
  let content: Content

  enum Content: Equatable {
    case heads([Head])
    case digests([UInt8])
    /// Records, each with a hash: in the answer for a bucket, the hash that the record adds to the digest; in an
    /// inventory, the hash of the record's contents.
    case records([Record])
  }

  struct Head: Equatable {
    let id: Name32
    let sequence: UInt64
    let foldedSequence: UInt64
  }

  struct Record: Equatable {
    let key: PlainKey
    let hash: Name32
  }

  init?(_ parts: [PlainItem], _ bytes: [UInt8]) {
    guard parts.count == 5, let token = parts[0].unsigned, let lane = parts[1].unsigned, lane <= 1,
      let folded = parts[2].name32(in: bytes), let isDone = parts[3].bool, let content = parts[4].array,
      content.count == 2, let read = Self.content(content, bytes)
    else { return nil }
    (self.token, self.lane, self.folded, self.isDone) = (token, Int(lane), folded, isDone)
    self.content = read
  }

  private static func content(_ parts: [PlainItem], _ bytes: [UInt8]) -> Content? {
    switch parts[0].unsigned {
    case 0: return all(parts[1]) { head($0, bytes) }.map { .heads($0) }
    case 1: return parts[1].bytes(in: bytes).map { .digests(Array($0)) }
    case 2, 3: return all(parts[1]) { record($0, bytes) }.map { .records($0) }
    default: return nil
    }
  }

  private static func all<Item>(_ list: PlainItem, _ read: ([PlainItem]) -> Item?) -> [Item]? {
    guard let list = list.array else { return nil }
    let items = list.compactMap { $0.array.flatMap(read) }
    return items.count == list.count ? items : nil
  }

  private static func head(_ parts: [PlainItem], _ bytes: [UInt8]) -> Head? {
    guard parts.count == 5, let sequence = parts[2].unsigned, let id = parts[3].name32(in: bytes),
      let folded = parts[4].unsigned
    else { return nil }
    return Head(id: id, sequence: sequence, foldedSequence: folded)
  }

  private static func record(_ parts: [PlainItem], _ bytes: [UInt8]) -> Record? {
    guard parts.count == 3 || parts.count == 8, let key = PlainKey(Array(parts[..<2]), bytes),
      let hash = parts[2].name32(in: bytes)
    else { return nil }
    return Record(key: key, hash: hash)
  }
}

extension PlainKey {
  /// Parses a kind and an id.
  init?(_ parts: [PlainItem], _ bytes: [UInt8]) {
    guard parts.count == 2, let kind = parts[0].unsigned, kind <= 12_287, let id = parts[1].name16(in: bytes)
    else { return nil }
    self.init(kind: Int(kind), id: id)
  }
}
