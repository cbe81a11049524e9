public import Foundation
import Membership
import Replication
import Sodium
import Storage
import Wire

/// Takes this device into the circle of its store by the root key, with nobody else's help: it becomes an admin.
///
/// A member keeps its keys; a device that was revoked gets new ones, since revoked keys never return.
public struct Readmission: Sendable {
  private let home: Home
  private let name: String?
  private let hostName: String
  private let rootKey: String
  private let wall: @Sendable () -> Int64

  /// - Parameters:
  ///   - home: the home of this device, with a store.
  ///   - rootKey: the file of the circle's root key.
  ///   - name: what this device is to be called, if it never had a name.
  ///   - renames: whether it is to be called so also if it had one.
  public init(home: Home, rootKey: URL, name: String, renames: Bool = false) {
    self.init(
      home: home, name: renames ? name : nil, hostName: name, rootKey: rootKey.path(percentEncoded: false))
  }

  /// - Parameters:
  ///   - name: what this device is to be called; nil leaves it its name.
  ///   - hostName: its name if it never had one.
  package init(
    home: Home, name: String?, hostName: String, rootKey: String,
    wall: @escaping @Sendable () -> Int64 = systemWall
  ) {
    self.home = home
    self.name = name
    self.hostName = hostName
    self.rootKey = rootKey
    self.wall = wall
  }

  /// Certifies this device by the root key. No node may have the home open.
  ///
  /// - Throws: `WaymarkError` with the code `no_store`, `store_held`, `already_admin`, or `root_key` if the key is
  ///   another circle's.
  @discardableResult
  public func join() async throws -> NewMembership {
    do {
      return try await carryOut()
    } catch {
      throw WaymarkError.opening(home, error)
    }
  }

  private func carryOut() async throws -> NewMembership {
    guard home.hasStore || home.isReplacing else { throw noStore }
    try home.finishReplacing(at: wall())
    let node = try WaymarkClient.open(home)
    let standing: Standing
    do { standing = try await node.standing() } catch {
      await node.close()
      throw error
    }
    var rewritten = 0
    let identity = standing.keepsKeys ? node.identity : try Identity.generate()
    do {
      let certificate = try certificate(for: identity, standing)
      if standing.keepsKeys {
        try await node.readmitted(by: certificate)
        await node.close()
      } else {
        await node.close()
        // What was written meanwhile comes along: the store is copied under the lock.
        let lock = try HomeLock(home)
        defer { lock.release() }
        rewritten = try await home.replaceKeys(
          of: node.identity.device, with: identity, statements: standing.statements + [certificate],
          wall: wall, under: lock)
      }
      return NewMembership(
        circle: standing.circle.id, device: identity.device, name: name(standing, identity),
        rewritten: rewritten)
    } catch {
      await node.close()
      throw error
    }
  }

  /// What this device is before.
  struct Standing: Sendable {
    let circle: Circle
    let keepsKeys: Bool
    /// What the circle calls it already.
    let name: String?
    var statements: [Statement] { circle.statements(notIn: []) }
  }

  private func certificate(for identity: Identity, _ standing: Standing) throws -> Statement {
    let root = try RootKey.read(
      rootKey, at: home, of: standing.circle, home.passphrases, for: "Joining without a ticket")
    guard
      standing.circle.evaluation.isMember(identity.device)
        || standing.circle.evaluation.members.count < Limits.devicesMax
    else { throw Joining.refused(.circleFull) }
    let body = DeviceCertificate(
      circle: standing.circle.id, issuer: DeviceKey(root), device: identity.device,
      transport: identity.transportKey, name: name(standing, identity), role: .admin, issued: wall())
    do {
      return try Statement(signing: body, with: root)
    } catch {
      throw WaymarkError.badValue(
        "name", name(standing, identity), allowed: "1 to 64 bytes without control characters")
    }
  }

  private func name(_ standing: Standing, _ identity: Identity) -> String {
    standing.circle.evaluation.freeName(name ?? standing.name ?? hostName, for: identity.device)
  }

  private var noStore: WaymarkError {
    WaymarkError(
      exitCode: ExitCode.noStore, code: "no_store",
      message: "There is no Waymark store in \(home.path); the root key takes in a device that has one.",
      next: "waymark restore FILE --root-key FILE, or waymark join TICKET")
  }
}

extension Node {
  /// - Throws: if this device is an admin already.
  func standing() throws -> Readmission.Standing {
    if member?.role == .admin {
      throw WaymarkError.failed(
        "already_admin", "This device is an admin of the circle already.", next: "waymark members")
    }
    let keepsKeys = member != nil || waiting != nil
    return Readmission.Standing(
      circle: circle, keepsKeys: keepsKeys,
      name: circle.evaluation.known(identity.device)?.name ?? waiting?.name)
  }

  func readmitted(by certificate: Statement) throws {
    if waiting != nil {
      try admitted(by: [certificate])
    } else {
      handle(.statementsAdded([certificate.bytes]))
    }
  }
}

extension Home {
  /// Gives the store other keys, which its circle has taken in. The old keys and the store as it was go aside.
  ///
  /// What a revocation leaves out of the old device's logs is written again, so that nothing is lost that its
  /// owner wrote before the device knew; gives the number of such records.
  ///
  /// - Parameter joinedWith: the ticket, if there was one.
  func replaceKeys(
    of old: DeviceKey?, with identity: Identity, statements: [Statement], joinedWith: TicketID? = nil,
    wall: @escaping @Sendable () -> Int64, under lock: HomeLock
  ) async throws -> Int {
    let staged = Home(path: staging)
    try staged.discard()
    try staged.prepare()
    try identity.save(to: staged.deviceKey)
    try copyStore(to: staged, under: lock)
    try Node.makeStore(staged, statements)
    try Store(path: staged.store).setMeta(MetaKey.joinedWith, joinedWith?.bytes)
    let written = try old.map { try Store(path: staged.store).states(writtenBy: $0) } ?? [:]
    var rewritten = 0
    if !written.isEmpty {
      let node = try Node(
        home: staged, identity: identity, store: try Store(path: staged.store), in: .machine(wall: wall),
        log: .silent)
      rewritten = try await node.bringBack(written)
      await node.close()
    }
    try replace(
      Replacement(aside: try automaticBackup(before: "join", at: wall(), suffix: ""), isSameCircle: true),
      at: wall(), under: lock)
    return rewritten
  }
}

extension Node {
  /// Writes again what is not as it was; gives the number of records.
  func bringBack(_ wanted: [RecordKey: WantedRecord]) throws -> Int {
    let plan = try store.plan(wanted, now: wall())
    if !plan.drafts.isEmpty { try write("join", plan.drafts, leastClock: plan.leastClock) }
    return Set(plan.drafts.map(\.key)).count
  }
}
