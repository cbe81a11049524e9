import Exchange
import Foundation
import JSONDocument
import Membership
import Records
import Replication
import SecureChannel
import Wire

/// Seed inputs: the vectors of the protocol, and examples that this program generates.
enum Seeds {
  /// The size limit of a seed: short inputs are mutated faster.
  private static let bytesMax = 6_000

  @Sendable static func cbor() throws -> [[UInt8]] {
    var choices = random(1, 4_000)
    return try vectors("cbor.json") + (0..<60).map { _ in Scribe.value(&choices).encoded }
  }

  @Sendable static func messages() throws -> [[UInt8]] {
    var (scribe, choices) = (Scribe(), random(3, 4_000))
    for _ in 0..<12 { _ = scribe.write(&choices, as: [Cast.alice, Cast.mallory]) }
    let host = try Host("alice", Cast.alice, Cast.aliceTransport, knowing: [Cast.entitlement])
    let introduction = host.circle.introduction(of: host.device, wallMilliseconds: Cast.noon)?.encoded ?? []
    var messages: [Message] = [
      .introduction(introduction), Words.summary(&choices, like: host, now: Cast.noon),
      .statementIDs(host.circle.ids, reply: true), .statements([Cast.genesis.bytes], last: true),
      .sets(.records, scribe.written.filter { $0.header.log.lane == .records }.suffix(2)),
      .served(.settings), .state(.zero, token: 7, echo: true), .refusal(token: 9, .syncOff),
      .values(
        .records,
        [SetValues(id: ChangeSetID(.zero), slots: [SlotValue(slot: 1, salt: .zero, content: [0x81, 0xf5])])]),
    ]
    messages += ReasonCode.allCases.map { .goodbye($0) }
    for _ in 0..<20 { messages.append(.file(Words.file(&choices))) }
    for lane in Lane.allCases {
      messages.append(.heads(lane, Words.heads(&choices, lane, scribe.written), complete: true))
      messages.append(.want(lane, Words.wants(&choices, lane, scribe.written)))
      for _ in 0..<6 {
        messages.append(.query(Query(token: 1, lane: lane, question: Words.question(&choices))))
        messages.append(.answer(token: 1, Words.answer(&choices, lane, scribe.written)))
      }
    }
    return messages.map(\.encoded).filter { $0.count <= 2 * bytesMax }
  }

  /// For targets that read operations: any bytes will do.
  @Sendable static func operations() throws -> [[UInt8]] {
    (1...16).map { seed in
      var random = SplitMix(seed: UInt64(seed))
      return (0..<(40 * seed)).map { _ in UInt8(truncatingIfNeeded: random.next() >> (random.next() % 9)) }
    }
  }

  @Sendable static func handshakes() throws -> [[UInt8]] {
    let introduction =
      try Circle(genesis: Cast.genesis, developmentIssuer: nil)
      .introduction(of: DeviceKey(Cast.alice), wallMilliseconds: Cast.noon)?.encoded ?? []
    let length: [UInt8] = [240, UInt8(introduction.count >> 8), UInt8(introduction.count & 255)]
    let exchange: [UInt8] = [2, 2, 2, 6, 5, 1, 2, 3, 4, 5, 2, 7, 3, 9, 9, 9, 2, 8, 1, 2]
    return [
      [0, 0, 1] + exchange, [0, 1, 1] + exchange, [2, 0, 1] + length + introduction + [2, 3, 1, 2, 3, 1],
    ]
      + (try operations())
      + (try vectors("noise.json").filter { $0.count < 400 }.prefix(60).map { [3, 0, 0] + $0 })
  }

  @Sendable static func changeSets() throws -> [[UInt8]] {
    let headers = try vectors("change-sets.json").filter { $0.count > 40 }.map { [0] + $0 }
    var (scribe, choices) = (Scribe(), random(5, 8_000))
    for _ in 0..<80 { _ = scribe.write(&choices, as: [Cast.alice]) }
    let contents = scribe.written.map { set -> [UInt8] in
      var input: [UInt8] = [1, set.header.log.lane == .records ? 1 : 0]
      input += prefixed(set.raw.plan)
      input.append(7)
      for slot in 0..<set.body.slots.count {
        input += prefixed(set.body.slots.content(slot).map { Array(set.raw.values[$0]) } ?? [])
        input.append(UInt8(slot % 3))
      }
      return input
    }
    let sets = scribe.written.prefix(10).map { set in
      [2] + prefixed(set.raw.header) + prefixed(set.raw.signature) + prefixed(set.raw.plan) + set.raw.values
    }
    return headers + contents.filter { $0.count <= bytesMax } + sets + (try operations().map { [3] + $0 })
  }

  /// Bytes as `Choices.bytes(max:)` reads them.
  private static func prefixed(_ bytes: [UInt8]) -> [UInt8] {
    bytes.count < 240
      ? [UInt8(bytes.count)] + bytes : [240, UInt8(bytes.count >> 8), UInt8(bytes.count & 255)] + bytes
  }

  @Sendable static func statements() throws -> [[UInt8]] {
    try vectors("circle.json").filter { $0.count > 100 }.map { [0] + $0 }
      + (try operations().map { [1] + $0 })
  }

  @Sendable static func purchases() throws -> [[UInt8]] {
    let tokens = try strings("purchase.json").filter { text in
      text.utf8.count <= bytesMax && text.utf8.count { $0 == UInt8(ascii: ".") } == 2
    }
    let payloads = tokens.compactMap { token in
      Base64.decode(canonical: token.utf8.split(separator: UInt8(ascii: "."))[1], .url)
    }
    let shown = try vectors("purchase.json").filter { $0.starts(with: [0x83, 12]) }.map { [2] + $0 }
    return tokens.map { [0] + Array($0.utf8) } + payloads.map { [1] + $0 } + shown
      + (try operations().map { [3] + $0 })
  }

  @Sendable static func beacons() throws -> [[UInt8]] {
    try vectors("beacons.json").filter { $0.count > 100 }.map { [0] + $0 }
      + (try operations().map { [1] + $0 })
  }

  @Sendable static func codes() throws -> [[UInt8]] {
    let datagrams = try vectors("pairing-code.json").filter { $0.count == CodeAnnouncement.bytes }
    let announcement = CodeAnnouncement.sealed(
      host: Bytes16(0, 0xffff_0a00_0001), port: 7_433, name: "laptop", by: Cast.eve)
    let codes = ["482913", "482 913", "4-8-2-9-1-3", "48291", "4829130", "٤٨٢٩١٣"].map { Array($0.utf8) }
    // The joiner's share, the inviter's answer and the messages of the handshake arrive whole, then the ticket.
    let exchange: [UInt8] = [2, 2, 2, 2, 2, 6, 5, 1, 2, 3, 4, 5, 2, 2]
    return (datagrams + [announcement]).map { [0] + $0 } + codes.map { [3] + $0 }
      + [[4, 1, 0] + exchange, [4, 0, 0] + exchange, [4, 1, 2] + exchange, [4, 1, 3] + exchange]
      + [[6, 1, 3, 1, 2, 3], [7, 1, 2, 3, 1, 2, 3]]
      + (try operations().flatMap { operations in [1, 2, 5, 6, 7].map { [$0] + operations } })
  }

  @Sendable static func tickets() throws -> [[UInt8]] {
    let lines = try strings("circle.json").filter { $0.hasPrefix("waymark1") }.map { [0] + Array($0.utf8) }
    let messages = try vectors("circle.json").filter { $0.count > 60 }
    let ticket = Ticket(
      circle: Cast.circle, transport: Cast.transports[0], addresses: ["10.0.0.1:7433"], secret: Bytes16(1, 2),
      expiry: Cast.noon)
    return lines + [[0] + Array(ticket.line.utf8)] + messages.flatMap { [[3] + $0, [4] + $0] }
      + (try operations().map { [5] + $0 })
  }

  @Sendable static func ritualist() throws -> [[UInt8]] {
    try (1...6).map { try trimmed(SampleData.ritualist(seed: $0, size: small($0))) }
  }

  @Sendable static func travelingSnails() throws -> [[UInt8]] {
    try (1...6).map { try trimmed(SampleData.travelingSnails(seed: $0, size: small($0))) }
  }

  /// The same file with short pictures and attachments.
  private static func trimmed(_ file: [UInt8]) throws -> [UInt8] { shortened(try JSON.parse(file)).bytes() }

  private static func shortened(_ json: JSON) -> JSON {
    switch json {
    case .string(let text) where text.utf8.count > 200: "aGVsbG8="
    case .array(let items): .array(items.map(shortened))
    case .object(let members): .object(members.map { JSON.Member($0.key, shortened($0.value)) })
    default: json
    }
  }

  private static func small(_ seed: UInt64) -> SampleData.Size {
    var size = SampleData.Size()
    (size.habits, size.logs, size.trips, size.items) = (
      1 + Int(seed % 2), Int(seed), Int(seed % 3), Int(seed % 4)
    )
    return size
  }

  @Sendable static func backups() throws -> [[UInt8]] {
    let forged = try operations().map { [$0[0], 0] + $0 }
    var choices = Choices(Array(forged.last?.dropFirst(2) ?? []))
    let path = FileManager.default.temporaryDirectory.appending(path: "seed-\(UUID().uuidString)")
    try ForgedBackup(&choices).write(to: path.path)
    defer { try? FileManager.default.removeItem(at: path) }
    return forged + [[0, 1] + [UInt8](try Data(contentsOf: path))]
  }

  // MARK: Vectors

  /// Every byte string in a vector file.
  private static func vectors(_ name: String) throws -> [[UInt8]] {
    try strings(name).compactMap { bytesFromHexadecimal($0) }.filter { !$0.isEmpty && $0.count <= bytesMax }
  }

  /// Every text in a vector file, without duplicates, in order.
  private static func strings(_ name: String) throws -> [String] {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let file = root.appending(path: "Protocol/vectors").appending(path: name)
    var known: Set<String> = []
    var found: [String] = []
    collect(try JSON.parse([UInt8](try Data(contentsOf: file))), &known, &found)
    return found
  }

  private static func collect(_ json: JSON, _ known: inout Set<String>, _ found: inout [String]) {
    switch json {
    case .string(let text): if known.insert(text).inserted { found.append(text) }
    case .array(let items): for item in items { collect(item, &known, &found) }
    case .object(let members): for member in members { collect(member.value, &known, &found) }
    default: break
    }
  }

  static func random(_ seed: UInt64, _ count: Int) -> Choices {
    var random = SplitMix(seed: seed)
    return Choices((0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) })
  }
}
