import Membership
import Records
import Replication
import SecureChannel
import Sodium
import Storage
import Synchronization
import Transport
import Wire

/// Takes this device into the circle of a ticket.
///
/// The device's new key is durable before the inviter is asked, and the new store is complete before it replaces the
/// old one. A join that is interrupted leaves everything as it was; done again, it continues with the same key.
public struct Joining: Sendable {
  private let home: Home
  private let ticket: Ticket
  private let name: String
  private let keepsFormerName: Bool
  private let wall: @Sendable () -> Moment

  /// - Parameters:
  ///   - home: the home of the new device, empty or with a store of its own.
  ///   - line: what ``Invitation/ticket`` says.
  ///   - name: what the circle is to call this device; 1 to 64 bytes.
  /// - Throws: `WaymarkError` with the code `bad_ticket` or `ticket_expired`.
  public init(home: Home, ticket line: String, name: String) throws {
    try self.init(home: home, ticket: line, name: name, wall: systemWall)
  }

  /// - Parameter keepsFormerName: whether a device that the circle knows keeps the name that it has there.
  package init(
    home: Home, ticket line: String, name: String, keepsFormerName: Bool = false,
    wall: @escaping @Sendable () -> Int64 = systemWall
  ) throws {
    self.home = home
    self.name = name
    self.keepsFormerName = keepsFormerName
    self.wall = wall
    do {
      ticket = try Ticket(line: line)
    } catch {
      throw WaymarkError(
        exitCode: ExitCode.usage, code: "bad_ticket", message: Self.sentence(error),
        next: "waymark invite, on a device of the circle; then here waymark join with what it prints")
    }
    guard wall() < ticket.expiry else { throw Self.refused(.ticketExpired) }
  }

  private static func sentence(_ error: Ticket.ParseError) -> String {
    switch error {
    case .damaged: "The ticket is damaged: a part of it is missing or mistyped."
    default: "This is not a Waymark ticket."
    }
  }

  /// What this home holds of its own and brings along; nil if there is nothing of another circle here.
  ///
  /// - Throws: `WaymarkError` with the code `store_held` while a node has the home open.
  public func preview() async throws -> JoinPreview? {
    guard home.hasStore, heldCircle() != ticket.circle else { return nil }
    let node = try WaymarkClient.open(home)
    let preview = try await node.joinPreview()
    await node.close()
    return preview
  }

  /// The ticket of a join of this home that was interrupted and can be continued; nil if there is none.
  package static func pendingTicket(in home: Home) -> String? {
    PendingJoin(home).ticket.flatMap { systemWall() < $0.expiry ? $0.line : nil }
  }

  /// Asks the inviter, builds the new store with what this device held, and puts it in place. No node may have the
  /// home open.
  ///
  /// A device that has joined with this very ticket already is left as it is: ``NewMembership/wasMember``.
  ///
  /// - Parameter isConfirmed: whether a device that is a member of this circle is to get new keys, as another member.
  /// - Throws: `WaymarkError` with the code `needs_yes` if this device is a member and that is not confirmed;
  ///   `ticket_refused`, `unreachable`, `store_held` or what else is in the way. Then everything is as it was.
  @discardableResult
  public func join(isConfirmed: Bool = false) async throws -> NewMembership {
    do {
      return try await carryOut(isConfirmed)
    } catch {
      throw WaymarkError.opening(home, error)
    }
  }

  private func carryOut(_ isConfirmed: Bool) async throws -> NewMembership {
    try home.prepare()
    // Until the new store is in its place nobody writes to the old one: that would be lost.
    let lock = try makeLock()
    defer { lock.release() }
    try home.finishReplacing(at: wall(), under: lock)
    if heldCircle() == ticket.circle { return try await joinWithStore(isConfirmed, lock) }
    let held = try heldRecords(lock)
    let (identity, circle) = try await askWithDurableKeys()
    let staged = Home(path: home.staging)
    try staged.discard()
    try staged.prepare()
    try identity.save(to: staged.deviceKey)
    try Node.makeStore(staged, circle.statements(notIn: []))
    try Store(path: staged.store).setMeta(MetaKey.joinedWith, ticket.id.bytes)
    if !held.isEmpty {
      let node = try Node(home: staged, wall: wall)
      try await node.adopt(held)
      await node.close()
    }
    try home.replace(
      Replacement(
        aside: try home.automaticBackup(before: "join", at: wall(), suffix: ""), isSameCircle: false),
      at: wall(), under: lock)
    try PendingJoin(home).discard()
    return try membership(of: identity, in: circle)
  }

  private func makeLock() throws -> HomeLock {
    do {
      return try HomeLock(home)
    } catch let failure as WaymarkError where failure.code == "store_held" && heldCircle() == ticket.circle {
      throw WaymarkError(
        exitCode: failure.exitCode, code: failure.code,
        message:
          "The store of this device is of this circle already, and its node is running; nothing was done.",
        next: "waymark status; if this device was revoked, end its node, then waymark join")
    }
  }

  // MARK: Asking

  /// Asks with keys that are durable: those of an interrupted join of this circle, else new ones.
  private func askWithDurableKeys(formerName: String? = nil) async throws -> (Identity, Circle) {
    let pending = PendingJoin(home)
    let (identity, isNew) = try pending.identity(for: ticket)
    do {
      return (identity, try await ask(identity, formerName))
    } catch let failure as WaymarkError where failure.code == Self.keyInUse && !isNew {
      // Revoked since the join was interrupted; revoked keys are never admitted again.
      let identity = try pending.makeIdentity(for: ticket)
      return (identity, try await ask(identity, formerName))
    }
  }

  /// The circle, which has certified these keys.
  private func ask(_ identity: Identity, _ formerName: String?) async throws -> Circle {
    let name = keepsFormerName ? formerName ?? name : name
    return try await PairingExchange(ticket: ticket, identity: identity, name: name).run()
  }

  private func membership(
    of identity: Identity, in circle: Circle, rewritten: Int = 0
  ) throws -> NewMembership {
    guard let member = circle.evaluation.members[identity.device] else { throw Self.refused(.other) }
    return NewMembership(
      circle: circle.id, device: identity.device, name: member.name, rewritten: rewritten)
  }

  // MARK: The circle of the store that is here

  /// The circle of the store; nil if there is none, or it can't be read.
  private func heldCircle() -> CircleID? {
    guard home.hasStore, let glance = try? StoreGlance(path: home.store) else { return nil }
    return glance.circle
  }

  /// The store is of the ticket's circle already: it stays, and nothing is written again. Keys that wait for
  /// admission are admitted, a member is left alone, keys that were revoked or lost are replaced.
  private func joinWithStore(_ isConfirmed: Bool, _ lock: HomeLock) async throws -> NewMembership {
    let glance = try StoreGlance(path: home.store)
    // Before the ticket is used: the key file may need a passphrase.
    let present = try presentIdentity()
    if let present, let waiting = glance.meta(MetaKey.waiting).flatMap({ AwaitedAdmission(bytes: $0) }),
      waiting.device == present.device
    {
      return try await admitWaiting(waiting, lock)
    }
    let circle = try Circle(statements: try glance.statements.map { try Statement($0) })
    if let present, let member = circle.evaluation.members[present.device] {
      if glance.meta(MetaKey.joinedWith) == ticket.id.bytes {
        try PendingJoin(home).discard()
        return NewMembership(
          circle: circle.id, device: present.device, name: member.name, wasMember: true)
      }
      if !isConfirmed, try await isStillMember(present) { throw Self.memberAlready(member.name) }
    }
    return try await joinWithNewKeys(
      replacing: present?.device, called: present.flatMap { circle.evaluation.known($0.device) }?.name, lock)
  }

  /// Asks the inviter whether a device that takes itself for a member is one; it may have been revoked without having
  /// received that. An inviter that can't be asked does not count against it. The ticket is not spent.
  private func isStillMember(_ identity: Identity) async throws -> Bool {
    do {
      _ = try await ask(identity, nil)
      return true
    } catch let failure as WaymarkError where failure.code == Self.keyInUse {
      return false
    } catch let failure as WaymarkError where PairingExchange.saysLittle.contains(failure.code) {
      return true
    }
  }

  private static func memberAlready(_ name: String) -> WaymarkError {
    .needsYes(
      "This device (\(name)) is in this circle already; nothing was done. Joining again gives it new keys and makes "
        + "it another member: “\(name)” stays in the circle until an admin revokes it. Join again?",
      next: "waymark status; or waymark join --yes, to become another member all the same")
  }

  private func admitWaiting(_ waiting: AwaitedAdmission, _ lock: HomeLock) async throws -> NewMembership {
    let node = try Node(home: home, under: lock, wall: wall)
    do {
      let identity = node.identity
      let circle = try await ask(identity, waiting.name)
      let joined = try membership(of: identity, in: circle)
      try await node.admitted(by: circle.statements(notIn: []), with: ticket.id)
      await node.close()
      return joined
    } catch {
      await node.close()
      throw error
    }
  }

  private func joinWithNewKeys(
    replacing old: DeviceKey?, called formerName: String?, _ lock: HomeLock
  ) async throws -> NewMembership {
    let (identity, circle) = try await askWithDurableKeys(formerName: formerName)
    let rewritten = try await home.replaceKeys(
      of: old, with: identity, statements: circle.statements(notIn: []), joinedWith: ticket.id, wall: wall,
      under: lock)
    try PendingJoin(home).discard()
    var joined = try membership(of: identity, in: circle, rewritten: rewritten)
    joined.formerMember = old.flatMap { circle.evaluation.members[$0] }.map {
      DeviceReference(device: $0.device, name: $0.name)
    }
    return joined
  }

  /// The keys of this home; nil if they are lost or damaged.
  private func presentIdentity() throws -> Identity? {
    do {
      return try Identity.load(from: home)
    } catch let error as HomeError where [.passphraseNeeded, .wrongPassphrase].contains(error.code) {
      throw WaymarkError(
        exitCode: ExitCode.badKey, code: error.code.rawValue, message: error.message,
        next: "if it is forgotten, move that file away and join again; or " + (error.next ?? "try again"))
    } catch {
      return nil
    }
  }

  private func heldRecords(_: HomeLock) throws -> [EntryDraft] {
    guard home.hasStore else { return [] }
    return try Node.openStore(home, isLocked: true).visibleDrafts()
  }

  private static let keyInUse = "key_in_use"

  static func refused(_ refusal: JoinRefusal) -> WaymarkError {
    let (code, message): (String, String) =
      switch refusal {
      case .ticketSpent: ("ticket_spent", "The ticket has been used by another device.")
      case .ticketExpired: ("ticket_expired", "The ticket has expired.")
      case .circleFull: ("circle_full", "The circle has no room for another device.")
      case .keyInUse: (keyInUse, "The circle knows these keys already.")
      case .notAdmin: ("not_admin", "The inviting device is no admin of its circle any more.")
      case .badProof, .other: ("refused", "The inviting device refused.")
      }
    return WaymarkError.failed(
      code, message,
      next: "waymark invite, on a device of the circle; then here waymark join with the new ticket")
  }
}

extension Node {
  /// What a join would carry over, by kind.
  func joinPreview() throws -> JoinPreview {
    let drafts = try store.visibleDrafts()
    let counts = Registry.kinds.map { kind in
      JoinPreview.Count(
        kind: RecordKind(rawValue: kind.name), count: drafts.filter { $0.key.kind == kind.number }.count,
        plural: kind.plural)
    }
    return JoinPreview(counts: counts.filter { $0.count > 0 })
  }

  /// Writes the records that this device held before it joined, as one operation that can be undone.
  func adopt(_ drafts: [EntryDraft]) throws { try write("join", drafts) }
}

extension Store {
  /// Every visible record and setting as an insert into another circle; untouched seeds stay behind.
  func visibleDrafts() throws -> [EntryDraft] {
    var drafts: [EntryDraft] = []
    for kind in Registry.kinds {
      try forEach(RecordQuery(kind.number)) { row in
        guard !row.isUntouchedSeed else { return }
        let isFixed = Merge.isFixed(row.key, Fields.life)
        let life: [(field: FieldNumber, value: Value)] = isFixed ? [] : [(Fields.life, .bool(true))]
        let fields = row.fields.filter { !Merge.isFixed(row.key, $0.key) }
          .map { (field: $0.key, value: $0.value) }
        if !(life + fields).isEmpty { drafts.append(EntryDraft(.put, row.key, life + fields)) }
      }
    }
    return drafts
  }
}

/// The joiner's side of pairing: dials the ticket's addresses one after the other.
struct PairingExchange: Sendable {
  let ticket: Ticket
  let identity: Identity
  let name: String

  func run() async throws -> Circle {
    var failures: [WaymarkError] = []
    for address in ticket.addresses {
      do {
        return try await ask(address)
      } catch let error as WaymarkError where Self.saysLittle.contains(error.code) {
        failures.append(error)
        guard failures.count(where: { $0.code != "unreachable" }) < Self.refusalsMax else { break }
      }
    }
    throw failures.first { $0.code != "unreachable" } ?? failures.first
      ?? .unreachable("the ticket names no address")
  }

  /// At an address of the inviter there may be another machine by now, or another node of the same one: what does not
  /// come from the inviter is worth a try elsewhere. It can't be told from an inviter that does not know the ticket.
  static let saysLittle = ["unreachable", "ticket_refused", "wrong_device"]
  /// The inviter closes pairing for a while after ten that did not fit.
  private static let refusalsMax = 4

  private func ask(_ address: String) async throws -> Circle {
    guard let endpoint = Endpoint(address) else { throw WaymarkError.unreachable(address) }
    var secret = ticket.preSharedKey
    defer { wipe(&secret) }
    let ticket = ticket
    let key = try SymmetricKey(secret)
    let answer = Answer()
    let link = try Link(
      dialing: endpoint,
      role: .initiator(.pairing(ticket: ticket.id), presharedKey: key) { $0 == ticket.transport ? [] : nil },
      settings: identity.linkSettings, handlers: handlers(answer))
    let bytes: [UInt8] = try await withCheckedThrowingContinuation { continuation in
      answer.await(continuation)
      link.start()
    }
    return try circle(bytes)
  }

  private func handlers(_ answer: Answer) -> LinkHandlers<Inbound> {
    LinkHandlers(
      opened: { link, opening in
        let request = JoinRequest(
          key: identity.signing, transport: identity.transportKey, name: name,
          handshakeHash: opening.handshakeHash.bytes)
        link.send(request.encoded)
      },
      received: { link in
        for case .pairing(let bytes) in link.takeInbox() { answer.resolve(.success(bytes)) }
        link.close()
      },
      closed: { link, end in
        for case .pairing(let bytes) in link.takeInbox() { answer.resolve(.success(bytes)) }
        answer.resolve(.failure(failure(end)))
      })
  }

  private func failure(_ end: LinkEnd) -> WaymarkError {
    switch end {
    case .handshakeFailed, .closedByPeer, .truncated:
      .failed(
        "ticket_refused",
        "The inviting device does not accept the ticket: it was used, has expired, or is wrong.",
        next: "waymark invite, on that device; then here waymark join with the new ticket")
    case .notAuthorized:
      .failed(
        "wrong_device", "Another device answers at the address of the ticket.",
        next: "waymark invite, on a device of the circle; then here waymark join with the new ticket")
    case .versionMismatch(let theirs):
      .failed(
        "newer_protocol", "The inviting device speaks version \(theirs) of the protocol, this one version 1.",
        next: "install the newer Waymark here; this one is: waymark version")
    default: .unreachable(ticket.addresses.joined(separator: ", "))
    }
  }

  private func circle(_ bytes: [UInt8]) throws -> Circle {
    switch try JoinReply(bytes) {
    case .refused(let refusal): throw Joining.refused(refusal)
    case .accepted(let statements):
      guard
        let circle = Circle.joined(
          statements, ticket: ticket, device: identity.device, transport: identity.transportKey)
      else {
        throw WaymarkError.failed(
          "wrong_circle", "The answer is not of the circle of the ticket.",
          next: "waymark invite, on a device of the circle; then here waymark join with the new ticket")
      }
      return circle
    }
  }

  /// Hands over the first of several outcomes.
  private final class Answer: Sendable {
    private let continuation = Mutex<CheckedContinuation<[UInt8], any Error>?>(nil)

    func await(_ continuation: CheckedContinuation<[UInt8], any Error>) {
      self.continuation.withLock { $0 = continuation }
    }

    func resolve(_ result: Result<[UInt8], any Error>) {
      let waiting = continuation.withLock { held in
        defer { held = nil }
        return held
      }
      waiting?.resume(with: result)
    }
  }
}

extension WaymarkError {
  static func unreachable(_ address: String) -> WaymarkError {
    .failed(
      "unreachable", "The inviting device can't be reached at \(address).",
      next: "see that it runs, or that invite still waits, and that both are on one network")
  }
}

extension Node {
  /// `join`: takes this device into the circle of a ticket and gives the command's document.
  ///
  /// - Parameters:
  ///   - isConfirmed: whether the person has agreed to carry over what this device holds of its own; without
  ///     that, a store with records is left as it is and the failure asks for `--yes`.
  ///   - events: hears `preview` with what would be carried over.
  package static func join(
    ticket: String, home: Home, name: String, isConfirmed: Bool,
    events: @escaping @Sendable (JSON) -> Void = { _ in }
  ) async throws -> JSON {
    let joining = try Joining(home: home, ticket: ticket, name: name)
    if let preview = try await joining.preview(), preview.total > 0 {
      events(preview.json)
      guard isConfirmed else {
        throw WaymarkError.needsYes(
          "This device holds \(preview.total) records of its own; joining writes them again in the new circle.",
          next: "waymark join TICKET --yes")
      }
    }
    let joined = try await joining.join(isConfirmed: isConfirmed)
    return document(
      "join",
      [
        .init("circle", .string(joined.circle.description)),
        .init("device", .string(joined.device.description)), .init("name", .string(joined.name)),
      ])
  }
}

extension JoinPreview {
  fileprivate var json: JSON {
    [
      "type": "preview",
      "counts": .object(counts.map { JSON.Member($0.plural, .integer($0.count)) }),
    ]
  }
}
