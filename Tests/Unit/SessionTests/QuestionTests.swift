import Families
import Membership
import Records
import Replication
import Storage
import Testing
import Wire

@Suite struct QuestionTests {
  private let world: World

  init() throws {
    world = try World(["alice", "bob"])
    world.connect("alice", "bob")
    world.run(500)
  }

  /// Bob, who has turned sync off, asks Alice.
  private func ask(_ question: Question, _ lane: Lane = .records) throws -> Answer {
    let before = world["bob"].replies.count
    world.ask("bob", "alice", lane, question)
    try #require(world.run(until: { $0["bob"].replies.count > before }, within: 1_000))
    guard case .answer(let answer)? = world["bob"].replies.last else {
      throw Refused(reply: world["bob"].replies.last)
    }
    return answer
  }

  private struct Refused: Error { let reply: Reply? }

  private func refusal(_ question: Question = .heads) -> LaneReason? {
    do {
      _ = try ask(question)
      return nil
    } catch let refused as Refused {
      guard case .refused(let reason)? = refused.reply else { return nil }
      return reason
    } catch {
      return nil
    }
  }

  // MARK: Answers

  @Test func `a device without sync learns what a peer has folded`() throws {
    world.prefer("bob", false)
    try world.write("alice", insert(record(1)), insert(record(2)))
    world.run(500)
    #expect(world["bob"].count(.records) == 0)
    let answer = try ask(.heads)
    #expect(answer.content == .heads(world["alice"].store.heads(.records)))
    #expect(answer.folded == Heads(world["alice"].store.heads(.records)).foldedHash)
    guard case .digests(let sums) = try ask(.digests).content else { return #expect(Bool(false)) }
    #expect(sums == world["alice"].store.digestBuckets(.records).map(\.sum))
    #expect(world["bob"].count(.records) == 0, "only the answers were sent")
  }

  @Test func `the records of a bucket add up to its sum, including deleted ones`() throws {
    try world.write("alice", (1...40).map { insert(record($0)) })
    try world.write("alice", delete(record(7)), edit(record(8), "Florence"))
    let sums = world["alice"].store.digestBuckets(.records)
    for bucket: UInt8 in [7, 8, 9, 200] {
      let answer = try ask(.bucket(bucket, after: nil))
      guard case .bucket(let records) = answer.content else { return #expect(Bool(false)) }
      #expect(answer.isDone && records.count == (bucket < 41 ? 1 : 0))
      var sum = Digest.empty
      for record in records { sum.add(record.hash) }
      #expect(sum == sums[Int(bucket)])
    }
  }

  @Test func `a start before or after a bucket returns nothing of other buckets`() throws {
    try world.write("alice", (1...40).map { insert(record($0)) })
    let wanted: [UInt64: [RecordKey]] = [3: [record(8)], 8: [], 12: []]
    for (place, wanted) in wanted {
      guard case .bucket(let records) = try ask(.bucket(8, after: record(place))).content else {
        return #expect(Bool(false))
      }
      #expect(records.map(\.key) == wanted)
    }
  }

  @Test func `an inventory lists visible records, and equal data of any author has equal hashes`() throws {
    world.cut("alice", "bob")
    world.run(100)
    try world.write("alice", insert(record(1)), insert(record(2), "Oslo"), insert(record(3), "gone"))
    try world.write("alice", delete(record(3)))
    try world.write("bob", insert(record(1)), insert(record(2), "Bergen"))
    world.prefer("bob", false)
    world.connect("bob", "alice")
    world.run(500)
    guard case .inventory(let theirs) = try ask(.inventory(after: nil)).content,
      case .inventory(let own) = try world["bob"].store.answer(.records, .inventory(after: nil)).content
    else { return #expect(Bool(false)) }
    #expect(theirs.map(\.key) == [record(1), record(2)])
    #expect(theirs[0] == own[0])
    #expect(theirs[1].hash != own[1].hash)
  }

  @Test func `a field that was cleared counts like one that was never written`() throws {
    try world.write("alice", insert(record(1)), insert(record(2)))
    try world.write("alice", EntryDraft(.put, record(2), [(5, .null)]))
    guard case .inventory(let items) = try ask(.inventory(after: nil)).content else {
      return #expect(Bool(false))
    }
    #expect(items.count == 2 && items[0].hash == items[1].hash)
  }

  @Test func `an inventory contains the rank of the profile, and omits unchanged seeds`() throws {
    guard case .inventory(let none) = try ask(.inventory(after: nil)).content else {
      return #expect(Bool(false))
    }
    #expect(none.isEmpty)
    let profile = FixedRecords.profile
    try world.write(
      "alice", EntryDraft(.put, profile, [(1, .integer(700)), (2, .text("Ann")), (3, .text(""))]))
    guard case .inventory(let items) = try ask(.inventory(after: nil)).content else {
      return #expect(Bool(false))
    }
    #expect(items.map(\.key) == [profile])
    #expect(items[0].rank?.updatedAt == 700 && items[0].rank?.nonEmptyFields == 2)
    #expect(items[0].rank?.stamp.device == world["alice"].key)
  }

  @Test func `a large inventory comes in pages, each of which continues where the one before ended`() throws {
    world.prefer("bob", false)
    let count = Limits.answerItemsMax + 200
    let keys = (1...UInt64(count)).map { number in
      RecordKey(kind: KindNumbers.trip, id: RecordID(Bytes16(number << 40, number)))
    }
    for start in stride(from: 0, to: count, by: 500) {
      try world.write("alice", keys[start..<min(start + 500, count)].map { insert($0) })
    }
    var found: [RecordKey] = []
    var pages = 0
    while pages < 5 {
      let answer = try ask(.inventory(after: found.last))
      guard case .inventory(let items) = answer.content else { return #expect(Bool(false)) }
      found += items.map(\.key)
      pages += 1
      if answer.isDone { break }
    }
    #expect(pages == 2 && found == keys.sorted())
  }

  // MARK: Gate

  @Test func `any member may ask about settings`() throws {
    let world = try World(["alice", "bob"], premium: [])
    world.connect("alice", "bob")
    try world.write("alice", insert(setting(1)))
    world.run(500)
    world.ask("bob", "alice", .settings, .heads)
    world.run(100)
    guard case .answer(let answer)? = world["bob"].replies.first else { return #expect(Bool(false)) }
    #expect(answer.content == .heads(world["alice"].store.heads(.settings)))
  }

  @Test(arguments: [["alice"], ["bob"], []])
  func `questions about records need premium at both ends`(premium: [String]) throws {
    let world = try World(["alice", "bob"], premium: premium)
    world.connect("alice", "bob")
    world.run(500)
    world.ask("bob", "alice", .records, .heads)
    world.run(100)
    guard case .refused(let reason)? = world["bob"].replies.first else { return #expect(Bool(false)) }
    #expect(reason == (premium == ["bob"] ? .peerNotPremium(.freeTier) : .mine(.freeTier)))
    #expect(!world.sent.contains { $0.message.isQuery })
  }

  @Test func `a peer without sync answers nothing about its records`() throws {
    world.prefer("alice", false)
    world.run(100)
    #expect(refusal() == .theirs(.syncOff))
  }

  @Test func `a lane with more heads than fit into an answer is refused, and its digests are sent`() throws {
    let heads = (0...Limits.headsPerMessageMax).map { number in
      let log = LogKey(
        device: world["alice"].key, incarnation: Incarnation(Bytes16(7, UInt64(number))), lane: .records)
      return LogHead(log: log, sequence: 1, id: ChangeSetID(Bytes32(0, 0, 0, 1)), foldedSequence: 1)
    }
    world["alice"].answerHeads = heads
    #expect(refusal() == .theirs(.tooManyHeads))
    guard case .digests = try ask(.digests).content else { return #expect(Bool(false)) }
    world["alice"].answerHeads = Array(heads.dropLast())
    #expect(try ask(.heads).content == .heads(Array(heads.dropLast())))
    #expect(world.isConnected("alice", "bob"))
  }

  @Test func `the reason for too many heads closes a lane like any number without a meaning there`() throws {
    let lane = Summary.LaneState(reason: .tooManyHeads, heads: .zero, folded: .zero, digest: .zero)
    let summary = Summary(certificates: .zero, wall: World.start, settings: lane, records: lane)
    guard case .summary(let read) = try Message(decoding: Message.summary(summary).encoded) else {
      return #expect(Bool(false))
    }
    #expect(read.records.reason == .paused)
  }

  @Test func `a free device that asks all the same is refused`() throws {
    let world = try World(["alice", "bob"], premium: ["alice"])
    world.connect("alice", "bob")
    try world.write("alice", insert(record(1)))
    world.run(500)
    let query = Query(token: 1, lane: .records, question: .inventory(after: nil))
    world.inject(.query(query), from: "bob", to: "alice")
    world.run(100)
    #expect(!world.sent.contains { $0.message.isAnswer })
    #expect(world.sent.contains { if case .refusal(1, .peerNotPremium) = $0.message { true } else { false } })
  }

  @Test func `an answer that arrives after premium has ended is dropped`() throws {
    let end = World.start + 2_000
    let world = try World(["alice", "bob"], premium: ["alice"])
    let entitlement = try world.family.entitlement(for: "bob", 0..<end)
    world.learn("bob", entitlement)
    world.connect("alice", "bob")
    world.run(end - world.now - 100)
    world.meddle = { _, _, message in
      if message.isAnswer { world.latency = 1_000 }
      return [message]
    }
    world.ask("bob", "alice", .records, .heads)
    world.run(5_000)
    guard case .refused(.mine(.entitlementExpired))? = world["bob"].replies.first else {
      return #expect(Bool(false), "\(world["bob"].replies)")
    }
  }

  // MARK: Hostile peers

  private static let hash = Bytes32(1, 2, 3, 4)
  private static func page(
    _ keys: [RecordKey], lane: Lane = .records, isDone: Bool = true, rank: WholeRecordRank? = nil
  ) -> Answer {
    Answer(
      lane: lane, folded: hash, isDone: isDone,
      content: .inventory(keys.map { InventoryItem(key: $0, hash: hash, rank: rank) }))
  }

  private static let rank = WholeRecordRank(updatedAt: 1, nonEmptyFields: 1, stamp: .zero)

  @Test(arguments: [
    page([record(2), record(1)]), page([record(5), record(5)]), page([record(1)]), page([], isDone: false),
    page([setting(9)]), page([record(9)], lane: .settings), page([record(9)], rank: rank),
    page([FixedRecords.profile]),
    Answer(lane: .records, folded: hash, isDone: true, content: .heads([])),
    Answer(lane: .records, folded: hash, isDone: true, content: .bucket([])),
  ])
  func `an answer that no correct device gives ends the session`(answer: Answer) throws {
    world.meddle = { from, _, message in
      guard from == "alice", case .answer(let token, _) = message else { return [message] }
      return [.answer(token: token, answer)]
    }
    world.ask("bob", "alice", .records, .inventory(after: record(1)))
    world.run(200)
    #expect(world["bob"].replies.isEmpty)
    #expect(world["bob"].closes.contains { if case .misbehaved = $0 { true } else { false } })
  }

  @Test(arguments: [RecordKey](arrayLiteral: record(3), record(5)))
  func `a bucket contains nothing of another, and nothing before its start`(key: RecordKey) throws {
    world.meddle = { from, _, message in
      guard from == "alice", case .answer(let token, _) = message else { return [message] }
      let content = Answer.Content.bucket([RecordHash(key: key, hash: Self.hash)])
      return [
        .answer(token: token, Answer(lane: .records, folded: Self.hash, isDone: true, content: content))
      ]
    }
    world.ask("bob", "alice", .records, .bucket(3, after: record(3)))
    world.run(200)
    #expect(!world.isConnected("alice", "bob"))
  }

  @Test func `an answer without a question ends the session, a late one is dropped`() throws {
    _ = try ask(.heads)
    let answer = Self.page([])
    world.inject(.answer(token: 1, answer), from: "alice", to: "bob")
    world.run(200)
    #expect(world.isConnected("alice", "bob") && world["bob"].replies.count == 1)
    world.inject(.refusal(token: 2, .syncOff), from: "alice", to: "bob")
    world.run(200)
    #expect(!world.isConnected("alice", "bob"))
  }

  @Test func `a peer that asks endlessly gets one answer at a time, at a limited rate`() throws {
    try world.write("alice", insert(record(1)))
    world.run(500)
    var answers: [UInt64] = []
    world.meddle = { _, _, message in
      guard case .answer(let token, _) = message else { return [message] }
      answers.append(token)
      return []
    }
    for round in 1...100 {
      for token in 1...10 {
        let query = Query(token: UInt64(round * 10 + token), lane: .records, question: .heads)
        world.inject(.query(query), from: "bob", to: "alice")
      }
      world.run(10)
    }
    let most = 1_000 / Int(Limits.answerMillisecondsMin) + 1
    #expect(answers.count <= most, "\(answers.count) in a second")
    #expect(world["alice"].answersRead <= most, "the store is not read in vain")
    world.run(1_000)
    #expect(answers.count >= 20 && answers.last == 1_010, "the newest question is answered")
    #expect(world.isConnected("alice", "bob"))
  }

  @Test func `a question waits until the link has room`() throws {
    for _ in 1...2 { _ = try ask(.heads) }
    var answers: [Moment] = []
    world.meddle = { _, _, message in
      if message.isAnswer { answers.append(world.now) }
      return [message]
    }
    world.bytesPerMillisecond = 1
    world.linkBytesMax = 1_000
    for token: UInt64 in [1, 2] {
      let query = Query(token: token, lane: .settings, question: .digests)
      world.inject(.query(query), from: "bob", to: "alice")
      world.run(100)
    }
    #expect(answers.count == 1)
    world.run(20_000)
    try #require(answers.count == 2)
    #expect(answers[1] - answers[0] > 8_000, "\(answers)")
  }

  @Test(
    arguments: [
      [0x84, 0x0b, 0x01, 0x01, 0x81, 0x04],  // question 4
      [0x84, 0x0b, 0x01, 0x01, 0x82, 0x00, 0x00],  // heads, with an extra part
      [0x84, 0x0b, 0x01, 0x01, 0x83, 0x02, 0x19, 0x01, 0x00, 0xf6],  // bucket 256
      [0x84, 0x0b, 0x01, 0x01, 0x82, 0x03, 0x82, 0x00, 0x50],  // kind 0
      [0x84, 0x0b, 0x20, 0x01, 0x81, 0x00],  // a negative token
      [0x83, 0x0c, 0x01, 0x00],  // an invalid refusal
      [0x86, 0x0c, 0x01, 0x01, 0x58, 0x20] + Array(repeating: 0, count: 32) + [
        0xf5, 0x82, 0x03, 0x9a, 1, 0, 0, 0,
      ],
      [0x86, 0x0c, 0x01, 0x01, 0x58, 0x20] + Array(repeating: 0, count: 32) + [0xf5, 0x82, 0x01, 0x40],
    ] as [[UInt8]])
  func `bytes that are not a question or an answer are refused`(bytes: [UInt8]) throws {
    #expect(throws: MessageError.self) { try Message(decoding: bytes) }
  }

  @Test func `questions and answers are decoded as they were encoded`() throws {
    let queries: [Question] = [
      .heads, .digests, .bucket(255, after: nil), .bucket(0, after: record(0)), .inventory(after: nil),
      .inventory(after: FixedRecords.profile),
    ]
    for question in queries {
      let query = Query(token: .max, lane: .records, question: question)
      guard case .query(query) = try Message(decoding: Message.query(query).encoded) else {
        #expect(Bool(false), "\(question)")
        continue
      }
    }
    try world.write("alice", insert(record(1)), EntryDraft(.put, FixedRecords.profile, [(1, .integer(-5))]))
    for question in [.heads, .digests, .bucket(1, after: nil), .inventory(after: nil)] as [Question] {
      let answer = try world["alice"].store.answer(.records, question)
      guard case .answer(7, answer) = try Message(decoding: Message.answer(token: 7, answer).encoded) else {
        #expect(Bool(false), "\(question)")
        continue
      }
    }
  }
}
