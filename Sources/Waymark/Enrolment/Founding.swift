package import Membership
import Replication
import Sodium
import Storage
package import Wire

/// The keys and the first statement of a new circle.
package struct Founding: Sendable {
  let identity: Identity
  let root: SigningKey
  let genesis: Statement
  package let name: String
  private let made: Int64

  /// - Parameters:
  ///   - issuers: public keys whose entitlements the circle accepts from the start; at most two.
  ///   - now: milliseconds since 1970.
  /// - Throws: `WaymarkError` if the name can't be one.
  package init(name: String, issuers: [DeviceKey] = [], now: Int64) throws {
    self.name = name
    made = now
    identity = try Identity.generate()
    root = try SigningKey()
    let body = Genesis(
      root: DeviceKey(root), device: identity.device, transport: identity.transportKey, name: name,
      issuers: issuers, created: now, nonce: random16())
    do {
      genesis = try Statement(signing: body, with: root)
    } catch {
      throw WaymarkError.badValue("name", name, allowed: "1 to 64 bytes without control characters")
    }
  }

  /// Makes the keys and the store of the founder in a directory.
  ///
  /// - Returns: the folder to which keys went that were here without a store; nil if there were none.
  /// - Throws: `WaymarkError` of code `already_there` if there is a store, `store_held` if one is being made.
  @discardableResult
  package func write(to home: Home) throws -> String? {
    try home.prepare()
    try Self.checkIsEmpty(home)
    let lock = try HomeLock(home)
    defer { lock.release() }
    // Another process may have made one before this had the lock.
    try Self.checkIsEmpty(home)
    // A store may have been lost, and the root key is all that lets anybody into its circle again.
    let aside = try home.setKeysAside(at: made, under: lock)
    try identity.save(to: home.deviceKey)
    try RootKey.save(root, to: home.rootKey)
    try NewStore.make(home, [genesis], isLocked: true)
    return aside
  }

  private static func checkIsEmpty(_ home: Home) throws {
    guard home.hasStore else { return }
    throw WaymarkError(
      exitCode: ExitCode.failed, code: .alreadyThere,
      message: "There is a Waymark store in \(home.path) already.",
      next: "\(waymark: "status"), or another --home")
  }
}

/// A device that a circle has taken in, before it has a store.
package struct Admission: Sendable {
  let identity: Identity
  let statements: [Statement]

  /// Makes its keys and its store in a directory.
  package func write(to home: Home) throws {
    try home.prepare()
    try identity.save(to: home.deviceKey)
    try NewStore.make(home, statements)
  }

  /// Admits a new device to the circle of a node as a ticket does, but without a ticket: with a certificate that the
  /// node signs and that spreads.
  ///
  /// - Throws: `WaymarkError` if the node is not an admin, or the circle has no room.
  package static func make(_ name: String, as role: Role, by node: isolated Node) throws -> Admission {
    let identity = try Identity.generate()
    // The proof is for the ticket's channel, and `welcome` does not look at it.
    let request = JoinRequest(
      key: identity.signing, transport: identity.transportKey, name: name, handshakeHash: [])
    let (reply, certificate) = try node.circle.welcome(
      request, role: role, by: node.identity.signing, at: node.wall())
    guard case .accepted = reply, let certificate else {
      if case .refused(let refusal) = reply { throw WaymarkError.refused(refusal) }
      throw WaymarkError.refused(.other)
    }
    node.handle(.statementsAdded([certificate.bytes]))
    return Admission(identity: identity, statements: node.circle.statements(notIn: []))
  }
}
