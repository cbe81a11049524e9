// Joining a circle with a ticket: the steps, and the state after an interruption
//
//   step                                          if interrupted here
//   1  lock the home; finish an earlier           nothing has changed
//      replacement; read the records held here
//   2  create keys; save them and the ticket      join-pending/ holds keys that no circle has certified
//      durably in join-pending/
//   3  ask the inviter, who certifies the keys    the circle may have a member without a store
//   4  build the new store in joining/: the       joining/ is incomplete; the next start discards it
//      circle's statements, then the records
//      held here as one operation `join`
//   5  write joining/ready                        ── the join is committed ──
//   6  move the old store and copies of the old   the next start of a node, join or restore repeats
//      keys to backups/, the new ones into place  this step; each of its moves may be repeated
//   7  remove join-pending/                       joining with the same ticket again removes it
//
// Before step 5, the old store and keys are untouched. The circle never gets two members for one device: after an
// interruption in steps 2 to 4, the next join with this ticket, or with a later one for the same circle, loads the keys
// from join-pending/. If the inviter has already certified these keys, it answers with the statements again. If the
// keys were revoked in between, they are refused (`key_in_use`), and the join creates new keys, but only once.
//
// If the present store already belongs to the ticket's circle, no records are copied (`joinWithStore`). What the join
// does depends on this device:
//
//   its keys await admission (after a restore)        asks with these keys, and saves the statements
//   it is a member that joined with this ticket       does nothing: `wasMember`
//   it is a member according to its store             asks whether it still is one; if so, `needs_yes`
//   it was revoked, its keys are lost, or the user    gives a copy of the store new keys, steps 2 to 7
//   has confirmed
//
// In the last case, content that the revocation excluded is re-authored with the new keys (`StagedStore.replaceKeys`).

import Backups
public import Home
import Membership
import Reasons
import Replication
import Storage
import Wire

/// Joins this device to the circle of a ticket.
///
/// The device's new keys are durable before the inviter is asked, and the new store is complete before it replaces the
/// old one. A join that is interrupted before that replacement leaves everything as it was, and repeating the join
/// continues with the same keys.
public struct JoinOperation: Sendable {
  private let home: Home
  private let ticket: Ticket
  private let name: String
  private let keepsFormerName: Bool
  private let wall: @Sendable () -> Moment

  /// - Parameters:
  ///   - home: the home of the new device, which may be empty or have a store already.
  ///   - line: the text of ``Invitation/ticket``.
  ///   - name: the name that the circle should give this device; 1 to 64 bytes.
  /// - Throws: `WaymarkError` with the code `bad_value`, `bad_ticket` or `ticket_expired`.
  public init(home: Home, ticket line: String, name: String) throws {
    try self.init(home: home, ticket: line, name: name, wall: systemWall)
  }

  /// Prepares to join with a code: looks on the local network for the device that shows it, and exchanges the code for
  /// a ticket. Each call uses one of the three tries that the inviting device allows.
  ///
  /// - Parameters:
  ///   - home: the home of the new device, which may be empty or have a store already.
  ///   - code: the six digits of ``CodeInvitation/code``, as a person typed them.
  ///   - inviter: the name of the inviting device, if several on the network show a code.
  ///   - address: the `ADDR:PORT` of the inviting device, for a network without broadcast; nil to search for it.
  ///   - name: the name that the circle should give this device; 1 to 64 bytes.
  /// - Throws: `WaymarkError` with the code `bad_value` if one of the values is invalid, `no_offer` if no device shows a
  ///   code, `several_offers` if `inviter` is needed, `wrong_code`, `code_refused` if the inviting device does not
  ///   offer the code any more, or `unreachable`.
  public init(
    home: Home, code: String, on inviter: String? = nil, at address: String? = nil, name: String
  ) async throws {
    guard let pairing = CodePairing(code) else {
      throw WaymarkError.badValue("code", code, allowed: "expected six digits")
    }
    try Self.check(name)
    let ticket = try await pairing.ticket(at: address, on: inviter) { _, _ in }
    try self.init(home: home, ticket: ticket, name: name)
  }

  /// - Parameter keepsFormerName: whether a device that has a name already, in this circle or in another one, keeps it.
  package init(
    home: Home, ticket line: String, name: String, keepsFormerName: Bool = false,
    wall: @escaping @Sendable () -> Int64 = systemWall
  ) throws {
    try Self.check(name)
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
          "\(waymark: "invite", on: "a device of the circle"); then here \(waymark: "join") with that ticket"
      )
    }
    guard wall() < ticket.expiry else { throw WaymarkError.refused(.ticketExpired) }
  }

  private static func check(_ name: String) throws {
    guard isName(name), name.contains(where: { !$0.isWhitespace }) else {
      throw WaymarkError.badValue(
        "name", name, allowed: "1 to 64 bytes without control or invisible characters, and not only spaces")
    }
  }

  private static func sentence(_ error: Ticket.ParseError) -> LocalizableText {
    switch error {
    case .damaged: "The ticket is damaged: part of it is missing or mistyped."
    default: "This is not a Waymark ticket."
    }
  }

  /// Returns the records of this home that a join would carry over; nil if the home has no store of another circle.
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

  /// Returns the ticket of an interrupted join of this home that can be continued; nil if there is none, or if it has
  /// expired.
  package static func pendingTicket(in home: Home) -> String? {
    PendingJoin(home).ticket.flatMap { systemWall() < $0.expiry ? $0.line : nil }
  }

  /// Asks the inviter, builds the new store with the records that this device held, and puts the new store in place.
  /// No node may have the home open.
  ///
  /// A device that has already joined with this ticket is left unchanged: ``NewMembership/wasMember``.
  ///
  /// - Parameter isConfirmed: whether a device that is already a member of this circle should get new keys and become
  ///   another member.
  /// - Throws: `WaymarkError` with the code `needs_yes` if this device is already a member and `isConfirmed` is false;
  ///   with `ticket_refused`, `unreachable`, `store_held` or another code for other failures. In each case, nothing
  ///   has changed.
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
    // Until the new store is in place, nothing may write to the old one, because those changes would be lost.
    let lock = try makeLock()
    defer { lock.release() }
    try home.finishReplacing(at: wall(), under: lock)
    if heldCircle() == ticket.circle { return try await joinWithStore(isConfirmed, lock) }
    let held = try heldRecords(lock)
    let (identity, circle) = try await askWithDurableKeys(formerName: nameInFormerCircle)
    let staged = try StagedStore(home, identity, wall, under: lock)
    try NewStore.make(
      staged.home, circle.statements(notIn: []), joinedWith: ticket.id, adding: home.apps)
    if !held.isEmpty {
      try staged.takeFiles(namedBy: held)
      try staged.withReplica { try $0.write("join", held) }
    }
    try staged.replacePresent(isSameCircle: false)
    // The join is complete. The next start removes what is left of it.
    try? PendingJoin(home).discard()
    return try membership(of: identity, in: circle)
  }

  private func makeLock() throws -> HomeLock {
    do {
      return try HomeLock(home)
    } catch let failure as WaymarkError where failure.code == .storeHeld && heldCircle() == ticket.circle {
      throw WaymarkError(
        exitCode: failure.exitCode, code: failure.reason,
        message:
          "This device's store already belongs to this circle, and its node is running; nothing was done.",
        next: "\(waymark: "status"); if this device was revoked: "
          + home.advice(stopping: home.storeHolder) + ", then \(waymark: "join TICKET")")
    }
  }

  // MARK: Asking the inviter

  /// Asks the inviter with durable keys: those of an interrupted join of the ticket's circle, or else new keys.
  private func askWithDurableKeys(formerName: String? = nil) async throws -> (Identity, Circle) {
    let pending = PendingJoin(home)
    let (identity, isNew) = try pending.identity(for: ticket)
    do {
      return (identity, try await ask(identity, formerName))
    } catch let failure as WaymarkError where failure.reason == .keyInUse && !isNew {
      // The keys were revoked after the join was interrupted, and revoked keys are never admitted again.
      let identity = try pending.makeIdentity(for: ticket)
      return (identity, try await ask(identity, formerName))
    }
  }

  /// Asks the inviter to certify these keys; returns the circle.
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

  // MARK: A store of the same circle

  /// Returns the circle of the present store; nil if there is no store, or if it can't be read.
  private func heldCircle() -> CircleID? {
    guard home.hasStore, let diagnostics = try? StoreDiagnostics(path: home.store) else { return nil }
    return diagnostics.circle
  }

  /// Joins when the present store already belongs to the ticket's circle. The store stays, and its records are not
  /// copied. Keys that await admission are admitted, a member is left unchanged, and keys that were revoked or lost
  /// are replaced.
  private func joinWithStore(_ isConfirmed: Bool, _ lock: HomeLock) async throws -> NewMembership {
    let diagnostics = try StoreDiagnostics(path: home.store)
    // Load the keys before the ticket is used, because the key file may need a passphrase.
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

  /// Asks the inviter whether this device, which is a member according to its own store, still is one. The device may
  /// have been revoked without having received the revocation. If the inviter can't be asked, the device counts as a
  /// member. The ticket is not spent.
  private func isStillMember(_ identity: Identity) async throws -> Bool {
    do {
      _ = try await ask(identity, nil)
      return true
    } catch let failure as WaymarkError where failure.reason == .keyInUse {
      return false
    } catch let failure as WaymarkError where PairingExchange.saysLittle.contains(failure.reason) {
      return true
    }
  }

  private static func memberAlready(_ name: String) -> WaymarkError {
    .needsYes(
      "This device (\(name)) is already in this circle; nothing was done. Joining again gives it new keys "
        + "and makes it another member: “\(name)” stays in the circle until an admin revokes it. Join again?",
      next: "\(waymark: "status"); or \(waymark: "join --yes"), to become another member anyway")
  }

  private func admitWaiting(
    _ waiting: AwaitedAdmission, _ identity: Identity, _: HomeLock
  ) async throws -> NewMembership {
    // Open the store before the ticket is used, because the store may be damaged.
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
    // The join is complete. The next start removes what is left of it.
    try? PendingJoin(home).discard()
    var joined = try membership(of: identity, in: circle, rewritten: rewritten)
    joined.formerMember = old.flatMap { circle.evaluation.members[$0] }.map {
      DeviceReference(device: $0.device, name: $0.name)
    }
    return joined
  }

  /// Returns the keys of this home; nil if they are lost or damaged.
  private func presentIdentity() throws -> Identity? {
    do {
      return try Identity.load(from: home)
    } catch let error as WaymarkError where [.passphraseNeeded, .wrongPassphrase].contains(error.code) {
      throw WaymarkError(
        exitCode: ExitCode.badKey, code: error.reason, message: error.message,
        next: "if you forgot it, move the key file away and join again; or " + (error.next ?? "try again"))
    } catch let error as WaymarkError where error.isKeyElsewhere(than: home) {
      throw error
    } catch {
      return nil
    }
  }

  /// The name of this device in the circle that it leaves; nil if there is none, or if reading it needs a passphrase.
  private var nameInFormerCircle: String? {
    guard keepsFormerName, home.hasStore, [.plain, .kept].contains(home.keyStates.device),
      let identity = try? Identity.load(from: home),
      let diagnostics = try? StoreDiagnostics(path: home.store),
      let circle = try? Circle(statements: try diagnostics.statements.map { try Statement($0) })
    else { return nil }
    return circle.evaluation.known(identity.device)?.name
  }

  private func heldRecords(_: HomeLock) throws -> [EntryDraft] {
    guard home.hasStore else { return [] }
    return try home.openStore(isLocked: true).visibleDrafts()
  }
}
