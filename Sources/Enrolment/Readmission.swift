public import Platform
public import Home
import Membership
import Reasons
import Replication
import Sodium
import Storage
import Wire

/// Readmits this device to the circle of its store with the root key, without help from another device. The device
/// becomes an admin.
///
/// A member keeps its keys. A device that was revoked gets new keys, because revoked keys are never admitted again.
public struct Readmission: Sendable {
  private let home: Home
  private let name: String?
  private let hostName: String
  private let rootKey: String
  private let wall: @Sendable () -> Int64

  /// - Parameters:
  ///   - home: the home of this device, with a store.
  ///   - rootKey: the file with the circle's root key.
  ///   - name: the name to give this device if it never had one.
  ///   - renames: whether to use the name even if the device had one.
  public init(home: Home, rootKey: URL, name: String, renames: Bool = false) {
    self.init(
      home: home, name: renames ? name : nil, hostName: name, rootKey: rootKey.path(percentEncoded: false))
  }

  /// - Parameters:
  ///   - name: a new name for this device; nil keeps its name.
  ///   - hostName: the name to give this device if it never had one.
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

  /// Certifies this device with the root key. No node may have the home open.
  ///
  /// - Throws: `WaymarkError` with the code `no_store`, `store_held`, `already_admin`, or `root_key` if the key
  ///   belongs to another circle.
  @discardableResult
  public func join() async throws -> NewMembership {
    do {
      return try await carryOut()
    } catch {
      throw WaymarkError.opening(home, error)
    }
  }

  @concurrent
  private func carryOut() async throws -> NewMembership {
    guard home.hasStore || home.isReplacing else { throw noStore }
    let replica = try OfflineReplica(opening: home, wall)
    defer { replica.close() }
    let prior = try PriorMembership(of: replica)
    let identity = prior.keepsKeys ? replica.identity : try Identity.generate()
    let certificate = try certificate(for: identity, prior)
    var rewritten = 0
    if replica.waiting != nil {
      try replica.store.admitKeys(by: [certificate])
    } else if prior.keepsKeys {
      try replica.add(certificate)
    } else {
      replica.close()
      // The store is copied under the lock, so that changes written in the meantime are included.
      let lock = try HomeLock(home)
      defer { lock.release() }
      rewritten = try StagedStore(home, identity, wall, under: lock).replaceKeys(
        of: replica.identity.device, statements: prior.statements + [certificate])
    }
    return NewMembership(
      circle: prior.circle.id, device: identity.device, name: name(prior, identity),
      rewritten: rewritten)
  }

  /// The membership of this device before it is readmitted.
  struct PriorMembership: Sendable {
    let circle: Circle
    let keepsKeys: Bool
    /// The name that the circle has for this device or, while its keys await admission, the name in the store; nil if
    /// there is none.
    let name: String?
    var statements: [Statement] { circle.statements(notIn: []) }

    /// - Throws: `WaymarkError` if this device is already an admin.
    init(of replica: OfflineReplica) throws {
      circle = replica.circle
      let device = replica.identity.device
      let member = circle.evaluation.members[device]
      if member?.role == .admin {
        throw WaymarkError.failed(
          .alreadyAdmin, "This device is already an admin of the circle.",
          next: "\(waymark: "members"); if others reject it, it needs new keys: \(waymark: "join TICKET")")
      }
      keepsKeys = member != nil || replica.waiting != nil
      name = circle.evaluation.known(device)?.name ?? replica.waiting?.name
    }
  }

  private func certificate(for identity: Identity, _ prior: PriorMembership) throws -> Statement {
    let root = try RootKey.read(
      rootKey, at: home, of: prior.circle, home.passphrases, for: "Joining without a ticket")
    guard
      prior.circle.evaluation.isMember(identity.device)
        || prior.circle.evaluation.members.count < Limits.devicesMax
    else { throw WaymarkError.refused(.circleFull) }
    let body = DeviceCertificate(
      circle: prior.circle.id, issuer: DeviceKey(root), device: identity.device,
      transport: identity.transportKey, name: name(prior, identity), role: .admin, issued: wall())
    do {
      return try Statement(signing: body, with: root)
    } catch {
      throw WaymarkError.badValue(
        "name", name(prior, identity), allowed: "1 to 64 bytes without control or invisible characters")
    }
  }

  private func name(_ prior: PriorMembership, _ identity: Identity) -> String {
    prior.circle.evaluation.freeName(name ?? prior.name ?? hostName, for: identity.device)
  }

  private var noStore: WaymarkError {
    WaymarkError(
      exitCode: ExitCode.noStore, code: .noStore,
      message: "There is no Waymark store in \(home.path); the root key can't admit a device without one.",
      next: "\(waymark: "restore FILE --root-key FILE"), or \(waymark: "join TICKET")")
  }
}
