import JSONDocument
import Membership
import Replication
import Sodium
import Storage
import Wire

/// Sessions: Alice and Bob talk and write, and Mallory, a member with keys of her own, sends both whatever the
/// operations in the input describe. No core or store stops; each core's state matches its store; and once Mallory
/// has left, the two agree on everything.
func fuzzSession(_ input: [UInt8]) throws {
  var choices = Choices(input)
  let first = choices.byte()
  var play = try Play(malloryIsAdmin: first & 1 == 1, isThorough: first & 12 == 12)
  if first & 2 == 0 { try play.begin() }
  for _ in 0..<48 where !choices.isAtEnd { try play.step(&choices) }
  for host in play.stage.hosts { try host.check() }
  try play.end()
}

/// One run: the stage, and Mallory's knowledge and links.
private struct Play {
  private(set) var stage: Stage
  private var scribe = Scribe()
  private var notary = Notary([Cast.mallory, Cast.eve])
  /// Mallory's link to each host.
  private var links: [LinkID?] = [nil, nil]
  private var statements: [Statement] = []

  private let isThorough: Bool

  init(malloryIsAdmin: Bool, isThorough: Bool) throws {
    stage = try Stage(malloryIsAdmin: malloryIsAdmin)
    self.isThorough = isThorough
  }

  /// Everybody is connected and has compared heads: the state where most runs begin.
  mutating func begin() throws {
    try stage.connectHosts()
    for host in stage.hosts.indices { try dial(host, introduction: ownIntroduction(of: host)) }
    try stage.run(50)
  }

  mutating func step(_ choices: inout Choices) throws {
    let host = choices.below(2)
    switch choices.below(16) {
    case 0: scribe.note(try stage.write(&choices, at: host))
    case 1: try stage.run(Moment(choices.byte()) * 50)
    case 2: try stage.deliver(choices.below(16))
    case 3: if choices.flag() { try stage.cutHosts() } else { try stage.connectHosts() }
    case 4: try reconnect(&choices, host)
    case 5: try stage.happen(.preferenceChanged(choices.flag()), at: host)
    case 6: try ask(&choices, host)
    case 7: try say(choices.bytes(max: 4_000), to: host)
    case 8: try bend(&choices, to: host)
    case 9, 10, 11: try saySets(&choices, to: host)
    default: if let message = try message(&choices, about: host) { try say(message.encoded, to: host) }
    }
  }

  /// Mallory leaves; the two meet again, and agree.
  mutating func end() throws {
    try stage.hangUpMallory()
    try stage.cutHosts()
    for host in stage.hosts.indices { try stage.happen(.preferenceChanged(true), at: host) }
    try stage.connectHosts()
    try stage.run(30_000)
    for host in stage.hosts { try host.check() }
    try checkAgreement()
    // A rebuild takes as long as everything else together.
    if isThorough { try StoreCheck.check(stage.hosts[0].store) }
  }

  private func checkAgreement() throws {
    let (alice, bob) = (stage.hosts[0], stage.hosts[1])
    for host in stage.hosts {
      // Mallory may have been an admin and have used it to revoke a member, or to certify another transport key for
      // it.
      for other in stage.hosts {
        guard host.circle.evaluation.members[other.device]?.transport == other.transport else { return }
      }
    }
    try require(alice.circle.setHash == bob.circle.setHash, "Alice and Bob hold different statements")
    try require(
      alice.replica.session(with: bob.device) != nil, "Alice and Bob are no longer connected")
    for lane in Lane.allCases where lane == .settings || isPremium {
      try require(
        alice.store.heads(lane) == bob.store.heads(lane),
        "\(lane): Alice has \(alice.store.heads(lane)) and Bob \(bob.store.heads(lane))")
      try require(
        alice.store.digest(lane) == bob.store.digest(lane), "\(lane): equal heads and unequal digests")
    }
    try StoreCheck.checkEqual(alice.store, bob.store)
    try require(
      alice.replica.session(with: bob.device)?.isInSync == true, "Alice and Bob are equal but not in sync")
  }

  private var isPremium: Bool {
    stage.hosts.allSatisfy { $0.replica.ownGate(now: stage.now).isOpen }
  }

  // MARK: Links

  private func ownIntroduction(of host: Int) -> [UInt8] {
    let circle = stage.hosts[host].circle
    let introduction = circle.introduction(of: DeviceKey(Cast.mallory), wallMilliseconds: stage.now)
    return introduction?.encoded ?? []
  }

  private mutating func dial(_ host: Int, introduction: [UInt8]?) throws {
    links[host] = try stage.connectMallory(to: host, introduction: introduction)
  }

  private mutating func reconnect(_ choices: inout Choices, _ host: Int) throws {
    if choices.flag(), let link = links[host] { try stage.hangUp(link) }
    switch choices.below(4) {
    case 0:
      try dial(host, introduction: nil)
      try say(Message.introduction(ownIntroduction(of: host)).encoded, to: host)
    case 1: try dial(host, introduction: choices.bytes(max: 2_000))
    default: try dial(host, introduction: ownIntroduction(of: host))
    }
  }

  private mutating func say(_ bytes: [UInt8], to host: Int) throws {
    if links[host].map({ stage.isOpen($0) }) != true {
      try dial(host, introduction: ownIntroduction(of: host))
    }
    guard let link = links[host] else { return }
    try stage.say(bytes, on: link)
  }

  /// A host sends Mallory a request, which she may answer later.
  private mutating func ask(_ choices: inout Choices, _ host: Int) throws {
    guard let link = links[host], stage.isOpen(link) else { return }
    try stage.happen(.ask(link, choices.flag() ? .records : .settings, Words.question(&choices)), at: host)
  }

  // MARK: Mallory's messages

  /// A message that she received, or one of her own, with a few bytes changed.
  private mutating func bend(_ choices: inout Choices, to host: Int) throws {
    let own = try message(&choices, about: host)
    let heard = stage.heard
    guard let message = choices.flag() && !heard.isEmpty ? choices.pick(heard) : own else { return }
    var bytes = message.encoded
    for _ in 0..<choices.below(4) {
      let place = Int(choices.number() & 0xffff)
      if place < bytes.count { bytes[place] ^= choices.byte() }
    }
    try say(bytes, to: host)
  }

  private mutating func saySets(_ choices: inout Choices, to host: Int) throws {
    let authors = choices.below(8) == 7 ? [Cast.eve] : [Cast.mallory]
    for _ in 0..<choices.below(3) { _ = scribe.write(&choices, as: authors) }
    guard !scribe.written.isEmpty else { return }
    let lane: Lane = choices.below(3) == 0 ? .settings : .records
    let inLane = scribe.written.filter { $0.header.log.lane == lane }
    let sets =
      choices.below(4) == 3
      ? (0..<choices.below(4)).map { _ in choices.pick(scribe.written) }
      : Array(inLane.suffix(choices.below(8)))
    try say(Message.sets(lane, sets).encoded, to: host)
  }

  private mutating func message(_ choices: inout Choices, about host: Int) throws -> Message? {
    let lane: Lane = choices.flag() ? .records : .settings
    switch choices.below(12) {
    case 0: return .heads(lane, Words.heads(&choices, lane, scribe.written), complete: choices.flag())
    case 1: return .want(lane, Words.wants(&choices, lane, scribe.written))
    case 2: return .served(lane)
    case 3: return try statementMessage(&choices)
    case 4: return .statementIDs(Words.ids(&choices, stage.hosts[host].circle), reply: choices.flag())
    case 5: return Words.summary(&choices, like: stage.hosts[host], now: stage.now)
    case 6: return .query(Query(token: choices.number(), lane: lane, question: Words.question(&choices)))
    case 7: return .answer(token: choices.number(), Words.answer(&choices, lane, scribe.written))
    case 8:
      return .state(
        choices.flag() ? .zero : Bytes32(1, 2, 3, 4), token: choices.number(), echo: choices.flag())
    case 9: return .file(Words.file(&choices))
    case 10: return values(&choices, lane)
    default:
      let reason = choices.pick(ReasonCode.allCases)
      return choices.flag() ? .goodbye(reason) : .refusal(token: choices.number(), reason)
    }
  }

  /// A request for values of written sets, or an answer with values that were not necessarily requested.
  private func values(_ choices: inout Choices, _ lane: Lane) -> Message {
    var ids: Set<ChangeSetID> = []
    let sets = scribe.written.suffix(1 + choices.below(6)).filter { ids.insert($0.id).inserted }
    let slots = [choices.below(3), 3 + choices.below(900)]
    if choices.flag(), !sets.isEmpty {
      return .wantValues(
        lane,
        sets.map { SetSlots(log: $0.header.log, sequence: $0.header.sequence, id: $0.id, slots: slots) })
    }
    return .values(
      lane,
      sets.map { set in
        let wrong = SlotValue(slot: slots[0], salt: .zero, content: [0x80])
        return SetValues(id: set.id, slots: [set.body.slots.value(slots[0], in: set.raw.values) ?? wrong])
      })
  }

  private mutating func statementMessage(_ choices: inout Choices) throws -> Message {
    for _ in 0..<choices.below(3) {
      if let statement = try notary.statement(&choices) { statements.append(statement) }
    }
    return .statements(statements.suffix(1 + choices.below(4)).map(\.bytes), last: choices.flag())
  }
}
