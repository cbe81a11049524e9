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
/// The new store and keys are laid beside the old and take their place at once when they are complete, so that
/// a join that is interrupted leaves everything as it was.
public struct Joining: Sendable {
  private let home: Home
  private let ticket: Ticket
  private let name: String
  private let wall: @Sendable () -> Moment

  /// - Parameters:
  ///   - home: the home of the new device, empty or with a store of its own.
  ///   - line: what ``Invitation/ticket`` says.
  ///   - name: what the circle is to call this device; 1 to 64 bytes.
  /// - Throws: `WaymarkError` with the code `bad_ticket` or `ticket_expired`.
  public init(home: Home, ticket line: String, name: String) throws {
    try self.init(home: home, ticket: line, name: name, wall: systemWall)
  }

  package init(
    home: Home, ticket line: String, name: String, wall: @escaping @Sendable () -> Int64
  ) throws {
    self.home = home
    self.name = name
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

  /// Asks the inviter, lays the new store, writes what this device held into it, and puts it in its place. No node
  /// may have the home open.
  ///
  /// - Throws: `WaymarkError` with the code `ticket_refused`, `unreachable`, `store_held` or another of what is in the
  ///   way; then all is as it was.
  @discardableResult
  public func join() async throws -> NewMembership {
    do {
      return try await carryOut()
    } catch {
      throw WaymarkError.opening(home, error)
    }
  }

  private func carryOut() async throws -> NewMembership {
    try home.prepare()
    // Until the new store is in its place nobody writes to the old one: that would be lost.
    let lock = try HomeLock(home)
    defer { lock.release() }
    try home.finishReplacing(at: wall(), under: lock)
    if heldCircle() == ticket.circle {
      do {
        return try await joinWithStore(lock)
      } catch let failure as WaymarkError where failure.code == "ticket_spent" {
        throw WaymarkError.failed(
          failure.code, "The ticket has been used, and this store is of its circle already.",
          next: "waymark status")
      }
    }
    let held = try heldRecords(lock)
    let identity = try Identity.generate()
    let circle = try await PairingExchange(ticket: ticket, identity: identity, name: name).run()
    guard let member = circle.evaluation.members[identity.device] else {
      throw Self.refused(.other)
    }
    let staged = Home(path: home.staging)
    try staged.discard()
    try staged.prepare()
    try identity.save(to: staged.deviceKey)
    try Node.makeStore(staged, circle.statements(notIn: []))
    if !held.isEmpty {
      let node = try Node(home: staged, wall: wall)
      try await node.adopt(held)
      await node.close()
    }
    try home.replace(
      Replacement(
        aside: try home.automaticBackup(before: "join", at: wall(), suffix: ""), isSameCircle: false),
      at: wall(), under: lock)
    return NewMembership(circle: circle.id, device: identity.device, name: member.name)
  }

  // MARK: The circle of the store that is here

  /// The circle of the store; nil if there is none, or it can't be read.
  private func heldCircle() -> CircleID? {
    guard home.hasStore, let glance = try? StoreGlance(path: home.store) else { return nil }
    return glance.circle
  }

  /// The store is of the ticket's circle already: it stays, and nothing is written again. Keys that wait for
  /// admission are taken in, any others give way to new ones.
  private func joinWithStore(_ lock: HomeLock) async throws -> NewMembership {
    let waiting = try StoreGlance(path: home.store).meta(MetaKey.waiting).flatMap {
      AwaitedAdmission(bytes: $0)
    }
    if let waiting, try Identity.load(from: home).device == waiting.device {
      let node = try Node(home: home, under: lock, wall: wall)
      do {
        let joined = try await admit(node)
        await node.close()
        return joined
      } catch {
        await node.close()
        throw error
      }
    }
    return try await joinWithNewKeys(lock)
  }

  private func admit(_ node: Node) async throws -> NewMembership {
    let identity = node.identity
    let circle = try await PairingExchange(ticket: ticket, identity: identity, name: name).run()
    guard let member = circle.evaluation.members[identity.device] else { throw Self.refused(.other) }
    try await node.admitted(by: circle.statements(notIn: []))
    return NewMembership(circle: circle.id, device: identity.device, name: member.name)
  }

  private func joinWithNewKeys(_ lock: HomeLock) async throws -> NewMembership {
    // Before the ticket is spent: it may need a passphrase.
    let old = try formerDevice()
    let identity = try Identity.generate()
    let circle = try await PairingExchange(ticket: ticket, identity: identity, name: name).run()
    guard let member = circle.evaluation.members[identity.device] else { throw Self.refused(.other) }
    let rewritten = try await home.replaceKeys(
      of: old, with: identity, statements: circle.statements(notIn: []), wall: wall, under: lock)
    return NewMembership(circle: circle.id, device: identity.device, name: member.name, rewritten: rewritten)
  }

  /// Whose logs this store has written; nil if the key is lost or damaged.
  private func formerDevice() throws -> DeviceKey? {
    do {
      return try Identity.load(from: home).device
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

  static func refused(_ refusal: JoinRefusal) -> WaymarkError {
    let (code, message): (String, String) =
      switch refusal {
      case .ticketSpent: ("ticket_spent", "The ticket has been used by another device.")
      case .ticketExpired: ("ticket_expired", "The ticket has expired.")
      case .circleFull: ("circle_full", "The circle has no room for another device.")
      case .keyInUse: ("key_in_use", "The circle knows these keys already.")
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
  private static let saysLittle = ["unreachable", "ticket_refused", "wrong_device"]
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
    let joined = try await joining.join()
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
