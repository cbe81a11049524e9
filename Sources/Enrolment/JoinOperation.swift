public import Home
import Membership
import Replication
import Storage
import Wire

/// Takes this device into the circle of a ticket.
///
/// The device's new key is durable before the inviter is asked, and the new store is complete before it replaces the
/// old one. A join that is interrupted leaves everything as it was; done again, it continues with the same key.
public struct JoinOperation: Sendable {
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
        exitCode: ExitCode.usage, code: .badTicket, message: Self.sentence(error),
        next:
          "\(waymark: "invite", on: "a device of the circle"); then here \(waymark: "join") with what it prints"
      )
    }
    guard wall() < ticket.expiry else { throw WaymarkError.refused(.ticketExpired) }
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
  @concurrent
  public func preview() async throws -> JoinPreview? {
    guard home.hasStore, heldCircle() != ticket.circle else { return nil }
    do {
      let replica = try OfflineReplica(opening: home, systemWall)
      defer { replica.close() }
      return try JoinPreview(of: replica.store)
    } catch {
      throw WaymarkError.opening(home, error)
    }
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

  @concurrent
  private func carryOut(_ isConfirmed: Bool) async throws -> NewMembership {
    try home.prepare()
    // Until the new store is in its place nobody writes to the old one: that would be lost.
    let lock = try makeLock()
    defer { lock.release() }
    try home.finishReplacing(at: wall(), under: lock)
    if heldCircle() == ticket.circle { return try await joinWithStore(isConfirmed, lock) }
    let held = try heldRecords(lock)
    let (identity, circle) = try await askWithDurableKeys()
    let staged = try StagedStore(home, identity, wall, under: lock)
    try NewStore.make(staged.home, circle.statements(notIn: []), joinedWith: ticket.id)
    if !held.isEmpty { try staged.withReplica { try $0.write("join", held) } }
    try staged.replacePresent(isSameCircle: false)
    try PendingJoin(home).discard()
    return try membership(of: identity, in: circle)
  }

  private func makeLock() throws -> HomeLock {
    do {
      return try HomeLock(home)
    } catch let failure as WaymarkError where failure.code == .storeHeld && heldCircle() == ticket.circle {
      throw WaymarkError(
        exitCode: failure.exitCode, code: failure.code,
        message:
          "The store of this device is of this circle already, and its node is running; nothing was done.",
        next: "\(waymark: "status"); if this device was revoked, end its node, then \(waymark: "join")")
    }
  }

  // MARK: Asking

  /// Asks with keys that are durable: those of an interrupted join of this circle, else new ones.
  private func askWithDurableKeys(formerName: String? = nil) async throws -> (Identity, Circle) {
    let pending = PendingJoin(home)
    let (identity, isNew) = try pending.identity(for: ticket)
    do {
      return (identity, try await ask(identity, formerName))
    } catch let failure as WaymarkError where failure.code == .keyInUse && !isNew {
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
    guard let member = circle.evaluation.members[identity.device] else { throw WaymarkError.refused(.other) }
    return NewMembership(
      circle: circle.id, device: identity.device, name: member.name, rewritten: rewritten)
  }

  // MARK: The circle of the store that is here

  /// The circle of the store; nil if there is none, or it can't be read.
  private func heldCircle() -> CircleID? {
    guard home.hasStore, let diagnostics = try? StoreDiagnostics(path: home.store) else { return nil }
    return diagnostics.circle
  }

  /// The store is of the ticket's circle already: it stays, and nothing is written again. Keys that wait for
  /// admission are admitted, a member is left alone, keys that were revoked or lost are replaced.
  private func joinWithStore(_ isConfirmed: Bool, _ lock: HomeLock) async throws -> NewMembership {
    let diagnostics = try StoreDiagnostics(path: home.store)
    // Before the ticket is used: the key file may need a passphrase.
    let present = try presentIdentity()
    if let present, let waiting = diagnostics.meta(MetaKey.waiting).flatMap({ AwaitedAdmission(bytes: $0) }),
      waiting.device == present.device
    {
      return try await admitWaiting(waiting, present, lock)
    }
    let circle = try Circle(statements: try diagnostics.statements.map { try Statement($0) })
    if let present, let member = circle.evaluation.members[present.device] {
      if diagnostics.meta(MetaKey.joinedWith) == ticket.id.bytes {
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
    } catch let failure as WaymarkError where failure.code == .keyInUse {
      return false
    } catch let failure as WaymarkError where PairingExchange.saysLittle.contains(failure.code) {
      return true
    }
  }

  private static func memberAlready(_ name: String) -> WaymarkError {
    .needsYes(
      "This device (\(name)) is in this circle already; nothing was done. Joining again gives it new keys and makes "
        + "it another member: “\(name)” stays in the circle until an admin revokes it. Join again?",
      next: "\(waymark: "status"); or \(waymark: "join --yes"), to become another member all the same")
  }

  private func admitWaiting(
    _ waiting: AwaitedAdmission, _ identity: Identity, _: HomeLock
  ) async throws -> NewMembership {
    // Before the ticket is used: the store may be damaged.
    let store = try home.openStore(isLocked: true)
    let circle = try await ask(identity, waiting.name)
    let joined = try membership(of: identity, in: circle)
    try store.admitKeys(by: circle.statements(notIn: []), with: ticket.id)
    try? store.rest()
    return joined
  }

  private func joinWithNewKeys(
    replacing old: DeviceKey?, called formerName: String?, _ lock: HomeLock
  ) async throws -> NewMembership {
    let (identity, circle) = try await askWithDurableKeys(formerName: formerName)
    let rewritten = try StagedStore(home, identity, wall, under: lock).replaceKeys(
      of: old, statements: circle.statements(notIn: []), joinedWith: ticket.id)
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
    } catch let error as WaymarkError where [.passphraseNeeded, .wrongPassphrase].contains(error.code) {
      throw WaymarkError(
        exitCode: ExitCode.badKey, code: error.code, message: error.message,
        next: "if it is forgotten, move that file away and join again; or " + (error.next ?? "try again"))
    } catch {
      return nil
    }
  }

  private func heldRecords(_: HomeLock) throws -> [EntryDraft] {
    guard home.hasStore else { return [] }
    return try home.openStore(isLocked: true).visibleDrafts()
  }
}
