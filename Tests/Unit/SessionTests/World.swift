import Families
import Membership
import Replication
import Sodium
import Storage
import Vectors
import Wire

/// Devices whose cores exchange messages over queues in memory, under one clock that the world advances: the same
/// seed gives the same run, message by message.
final class World {
  static let start: Moment = 1_800_000_000_000

  private(set) var now = World.start
  let family: Family
  /// The quotas of devices without a grant.
  let quotas: DeviceQuotas
  private(set) var devices: [Device] = []
  private(set) var connections: [Connection] = []
  private var connectionCount: UInt64 = 0
  /// Every message that was sent, in order.
  private(set) var sent: [Sent] = []
  /// A hash over all of them.
  private(set) var trace: UInt64 = 0
  /// Intercepts a message before it is sent: returns what is sent instead.
  var meddle: ((_ from: String, _ to: String, Message) -> [Message])?
  var random: SeededRandom
  /// The minimum delay of a message in milliseconds; up to as much again is added at random.
  var latency: Moment = 5
  /// How many bytes a link carries per millisecond, and holds before it counts as full.
  var bytesPerMillisecond = 10_000
  var linkBytesMax = 256 * 1024
  var serveBytes = 64 * 1024

  struct Sent {
    let at: Moment
    let from: String
    let to: String
    let bytes: Int
    let message: Message
  }

  /// - Parameters:
  ///   - premium: devices with an entitlement that does not end soon.
  ///   - wanting: devices with records sync on; all if nil.
  init(
    _ names: [String] = ["alice", "bob", "carol"], premium: [String]? = nil, wanting: [String]? = nil,
    quotas: DeviceQuotas = .standard, seed: UInt64 = 1
  ) throws {
    self.quotas = quotas
    family = try Family(founder: names.first ?? "alice")
    random = SeededRandom(seed: seed)
    var statements = try names.dropFirst().map { try family.certificate(for: $0) }
    statements += try (premium ?? names).map { try family.entitlement(for: $0) }
    self.statements = statements
    for name in names {
      try add(name, knowing: statements, wants: wanting?.contains(name) ?? true)
    }
  }

  /// - Parameter original: the device whose data directory this one copies.
  @discardableResult
  func add(
    _ name: String, knowing statements: [Statement], wants: Bool = true, copyOf original: Device? = nil
  ) throws -> Device {
    let device = try Device(
      name, number: devices.count, family: family, knowing: statements, wants: wants,
      seed: random.next(), copyOf: original, quotas: quotas)
    devices.append(device)
    turn(device, [.started])
    return device
  }

  /// The statements that all know at the start.
  private(set) var statements: [Statement] = []

  subscript(name: String) -> Device {
    guard let device = devices.first(where: { $0.name == name }) else { fatalError("no device \(name)") }
    return device
  }

  // MARK: User actions

  @discardableResult
  func write(_ name: String, _ drafts: EntryDraft...) throws -> [VerifiedChangeSet] {
    try write(name, drafts)
  }

  @discardableResult
  func write(_ name: String, _ drafts: [EntryDraft]) throws -> [VerifiedChangeSet] {
    let device = self[name]
    let (sets, committed) = try device.write(drafts, circle: family.circle, wall: wall(device))
    turn(device, [.committed(committed)])
    return sets
  }

  func prefer(_ name: String, _ wants: Bool) { turn(self[name], [.preferenceChanged(wants)]) }

  func learn(_ name: String, _ statements: Statement...) {
    turn(self[name], [.statementsAdded(statements.map(\.bytes))])
  }

  /// One device revokes another as `waymark revoke` does; without `by` the root key signs.
  @discardableResult
  func revoke(_ name: String, on device: String, by signer: String? = nil) throws -> Statement {
    let statement = try self[device].replica.circle.revocation(
      RevocationTerms(device: self[name].key, kept: self[device].heldLogs(of: self[name])),
      by: signer.map(Family.key) ?? family.root, at: 3)
    learn(device, statement)
    return statement
  }

  /// One device sends another a question over their link.
  func ask(_ from: String, _ to: String, _ lane: Lane, _ question: Question) {
    guard let connection = connections(from, to).first else {
      fatalError("\(from) is not connected to \(to)")
    }
    turn(self[from], [.ask(connection.link, lane, question)])
  }

  func wall(_ device: Device) -> Moment { now + device.clockAhead }

  func time(_ device: Device) -> Now { Now(wall: wall(device), steady: now) }

  // MARK: Links

  /// One side dials the other; nil if it would not send its introduction there.
  ///
  /// - Parameter shown: sent in place of its real introduction.
  @discardableResult
  func connect(_ from: String, _ to: String, showing shown: [UInt8]? = nil) -> Connection? {
    let (dialler, dialled) = (self[from], self[to])
    let circle = dialler.replica.circle
    guard circle.evaluation.member(transport: dialled.transport) != nil,
      let introduction = shown
        ?? circle.dialledIntroduction(of: dialler.key, wallMilliseconds: wall(dialler))?.encoded
    else { return nil }
    connectionCount += 1
    let connection = Connection(connectionCount, dialler, dialled)
    connections.append(connection)
    connection.ends[1].inbox.append((now + latency, .opening(introduction)))
    turn(dialler, [.opened(connection.link, remote: dialled.transport, introduction: nil)])
    return connection
  }

  func connectAll() {
    for (index, device) in devices.enumerated() {
      for other in devices[(index + 1)...] { connect(device.name, other.name) }
    }
  }

  /// The link breaks: messages in flight are lost.
  func cut(_ connection: Connection) {
    for end in [0, 1] {
      connection.ends[end].inbox = []
      if connection.ends[end].isOpen { connection.ends[end].inbox = [(now, .end)] }
    }
  }

  func cut(_ one: String, _ other: String) {
    for connection in connections where connection.joins(one, other) { cut(connection) }
  }

  func isConnected(_ one: String, _ other: String) -> Bool {
    connections.contains { $0.joins(one, other) && $0.isOpen }
  }

  func connections(_ one: String, _ other: String) -> [Connection] {
    connections.filter { $0.joins(one, other) && $0.isOpen }
  }

  // MARK: Time

  func run(_ milliseconds: Moment) {
    let end = now + milliseconds
    while let next = nextEvent(), next.at <= end {
      now = max(now, next.at)
      deliver(to: devices[next.device])
    }
    now = end
  }

  /// Runs until the condition holds; false if it does not within the time given.
  @discardableResult
  func run(until condition: (World) -> Bool, within milliseconds: Moment = 60_000) -> Bool {
    let end = now + milliseconds
    while !condition(self) {
      guard let next = nextEvent(), next.at <= end else {
        now = end
        return condition(self)
      }
      now = max(now, next.at)
      deliver(to: devices[next.device])
    }
    return true
  }

  private func nextEvent() -> (at: Moment, device: Int)? {
    var best: (at: Moment, device: Int)?
    func offer(_ at: Moment, _ device: Int) {
      if best.map({ (at, device) < $0 }) ?? true { best = (at, device) }
    }
    connections.removeAll { !$0.isOpen }
    for connection in connections {
      for index in [0, 1] where connection.ends[index].isOpen {
        let number = connection.ends[index].device.number
        if let first = connection.ends[index].inbox.first { offer(first.at, number) }
        if let room = connection.roomAt(for: index) { offer(room, number) }
      }
    }
    for device in devices {
      if let due = device.nextTimer { offer(due, device.number) }
    }
    return best
  }

  /// One turn of a device: everything that has arrived, then what is due.
  private func deliver(to device: Device) {
    var inputs: [Input] = []
    for connection in connections where connection.isOpen {
      for index in [0, 1]
      where connection.ends[index].device === device && connection.ends[index].isOpen {
        while let first = connection.ends[index].inbox.first, first.at <= now {
          connection.ends[index].inbox.removeFirst()
          receive(first.item, on: connection, at: index, &inputs)
        }
        if let room = connection.roomAt(for: index), room <= now {
          connection.ends[index].isFull = false
          inputs.append(.drained(connection.link))
        }
      }
    }
    inputs += device.takeTimers(now).map { .timer($0) }
    turn(device, inputs)
  }

  private func receive(
    _ item: Connection.Item, on connection: Connection, at index: Int, _ inputs: inout [Input]
  ) {
    guard connection.ends[index].isOpen else { return }
    let remote = connection.ends[1 - index].device.transport
    switch item {
    case .opening(let introduction):
      inputs.append(.opened(connection.link, remote: remote, introduction: introduction))
    case .message(let bytes):
      guard let message = try? Message(decoding: bytes) else {
        connection.ends[index].device.invalidMessages += 1
        return hangUp(connection, index)
      }
      inputs.append(.received(connection.link, message))
    case .end:
      connection.ends[index].isOpen = false
      inputs.append(.closed(connection.link))
    }
  }

  // MARK: Turns

  func turn(_ device: Device, _ inputs: [Input]) {
    guard !inputs.isEmpty else { return }
    var effects: [Effect] = []
    for input in inputs { device.replica.handle(input, now: time(device), into: &effects) }
    while !effects.isEmpty {
      var following: [Effect] = []
      var sets: [(set: VerifiedChangeSet, link: LinkID?)] = []
      for effect in effects {
        if case .commit(let received, let link) = effect {
          sets += received.map { ($0, link) }
        } else {
          carryOut(effect, device, &following)
        }
      }
      if !sets.isEmpty {
        for input in device.yieldToRemote(to: sets.map(\.set), wall: wall(device)) {
          device.replica.handle(input, now: time(device), into: &following)
        }
        let committed = device.commit(sets, wall: wall(device))
        device.replica.handle(.committed(committed), now: time(device), into: &following)
      }
      if let news = device.missingNews() { device.replica.handle(news, now: time(device), into: &following) }
      effects = following
    }
  }

  private func carryOut(_ effect: Effect, _ device: Device, _ following: inout [Effect]) {
    switch effect {
    case .send(let link, let message): send(message, from: device, link)
    case .close(let link, let cause):
      device.closes.append(cause)
      if let (connection, index) = find(link, device) { hangUp(connection, index) }
    case .commit: break
    case .serve(let link, let lane, let wants):
      let part = device.read(lane, wants, bytesMax: serveBytes)
      if !part.sets.isEmpty { send(.sets(lane, part.sets), from: device, link) }
      let input = Input.served(
        link, lane, sent: part.heads, rest: part.rest, isCongested: isCongested(link, device))
      device.replica.handle(input, now: time(device), into: &following)
    case .answer(let link, let query):
      let answer = isCongested(link, device) ? nil : device.answer(query)
      device.replica.handle(.answered(link, query, answer), now: time(device), into: &following)
    case .reply(_, let reply): device.replies.append(reply)
    case .lookUp(let link, let lane, let tips):
      let input = Input.lookedUp(link, lane, lacking: device.lacking(tips))
      device.replica.handle(input, now: time(device), into: &following)
    case .readMissing(let number):
      device.replica.handle(.missingRead(device.missing(after: number)), now: time(device), into: &following)
    case .readValues(let link, let lane, let sets):
      let found = isCongested(link, device) ? nil : device.values(lane, sets)
      device.replica.handle(.valuesRead(link, lane, found), now: time(device), into: &following)
    case .storeValues(let values, let link):
      device.replica.handle(device.fill(values, from: link), now: time(device), into: &following)
    case .saveStatements(let added, let removed): device.save(added, removed)
    case .foldParked:
      let committed = device.foldParked(wall: wall(device))
      device.replica.handle(.committed(committed), now: time(device), into: &following)
    // This world applies cuts as soon as their statements arrive.
    case .applyCuts: break
    case .keepGateFloor: break
    case .file(let effect):
      if let answer = effect.answerWithoutFiles {
        device.replica.handle(.file(answer), now: time(device), into: &following)
      }
    case .release(let lane):
      device.unsent = device.unsent.filter { $0.key.lane != lane }
      device.replica.handle(.released(lane), now: time(device), into: &following)
    case .schedule(let timer, let wait): device.schedule(timer, at: now + wait)
    case .report(let event):
      device.events.append(event)
      if event == .membershipChanged, let rebuilt = device.admit(wall: wall(device)) {
        device.replica.handle(rebuilt, now: time(device), into: &following)
      }
    }
  }

  private func find(_ link: LinkID, _ device: Device) -> (Connection, Int)? {
    guard let connection = connections.first(where: { $0.link == link }) else { return nil }
    return (connection, connection.ends[0].device === device ? 0 : 1)
  }

  private func isCongested(_ link: LinkID, _ device: Device) -> Bool {
    guard let (connection, index) = find(link, device) else { return false }
    return connection.isCongested(index, bytesMax: linkBytesMax)
  }

  /// Messages sent earlier still arrive; those in the other direction are not read any more.
  private func hangUp(_ connection: Connection, _ index: Int) {
    guard connection.ends[index].isOpen else { return }
    connection.ends[index].inbox = [(now, .end)]
    connection.ends[index].hasHungUp = true
    let last = connection.ends[1 - index].inbox.last?.at ?? now
    connection.ends[1 - index].inbox.append((max(last, now + latency), .end))
  }

  private func send(_ message: Message, from device: Device, _ link: LinkID) {
    guard let (connection, index) = find(link, device), connection.ends[index].isOpen,
      !connection.ends[index].hasHungUp, !connection.ends[1 - index].hasHungUp
    else { return }
    let peer = connection.ends[1 - index].device
    for message in meddle?(device.name, peer.name, message) ?? [message] {
      let bytes = message.encoded
      note(Sent(at: now, from: device.name, to: peer.name, bytes: bytes.count, message: message), bytes)
      let travels = latency + Moment(random.below(Int(latency) + 1))
      let transfer = Moment(bytes.count / bytesPerMillisecond)
      let before = connection.ends[1 - index].inbox.last?.at ?? now
      connection.ends[1 - index].inbox.append(
        (max(before, now + travels) + transfer, .message(bytes)))
    }
  }

  /// Puts bytes on a link that no core would send.
  func inject(_ bytes: [UInt8], from: String, to: String) {
    guard let connection = connections(from, to).first,
      let index = connection.ends.firstIndex(where: { $0.device.name == to })
    else { return }
    let before = connection.ends[index].inbox.last?.at ?? now
    connection.ends[index].inbox.append((max(before, now + latency), .message(bytes)))
  }

  func inject(_ message: Message, from: String, to: String) {
    inject(message.encoded, from: from, to: to)
  }

  private func note(_ entry: Sent, _ bytes: [UInt8]) {
    sent.append(entry)
    let line = Array("\(trace) \(entry.at) \(entry.from) \(entry.to) ".utf8) + bytes
    trace = Blake2b256.hash(line).0
  }

  func forgetTraffic() { sent = [] }
}

/// Two ends of a link and the messages in flight to each.
final class Connection {
  enum Item {
    case opening([UInt8])
    case message([UInt8])
    case end
  }

  struct End {
    let device: Device
    var isOpen = true
    var hasHungUp = false
    /// Messages in flight to this end.
    var inbox: [(at: Moment, item: Item)] = []
    /// Whether this end was told that its link is full.
    var isFull = false
  }

  let link: LinkID
  var ends: [End]

  init(_ number: UInt64, _ dialler: Device, _ dialled: Device) {
    link = LinkID(number)
    ends = [End(device: dialler), End(device: dialled)]
  }

  var isOpen: Bool { ends.contains { $0.isOpen } }

  func joins(_ one: String, _ other: String) -> Bool {
    Set(ends.map(\.device.name)) == Set([one, other])
  }

  func isCongested(_ index: Int, bytesMax: Int) -> Bool {
    var bytes = 0
    for case (_, .message(let message)) in ends[1 - index].inbox { bytes += message.count }
    if bytes > bytesMax { ends[index].isFull = true }
    return ends[index].isFull
  }

  /// When a full link has room for this end again: here, when everything on it has arrived.
  func roomAt(for index: Int) -> Moment? {
    guard ends[index].isFull, ends[index].isOpen else { return nil }
    return ends[1 - index].inbox.last?.at ?? 0
  }
}
