import Platform
package import Home
package import Membership
import Reasons
package import Sodium
import Storage
package import Wire

/// A new circle: its keys, and its first statement, which is the genesis.
package struct CircleCreation: Sendable {
  package let identity: Identity
  package let root: SigningKey
  package let genesis: Statement
  /// The key with which the founder issues premium to the circle, and its first entitlement; nil for none.
  private let premium: (key: SigningKey, entitlement: Statement, end: Int64)?
  package let name: String
  private let made: Int64

  /// - Parameters:
  ///   - issuers: public keys whose entitlements the circle accepts from the start; at most two, or one with premium.
  ///   - hasPremium: whether the circle issues premium to itself, for a year.
  ///   - now: milliseconds since 1970.
  /// - Throws: `WaymarkError` if the name is invalid.
  package init(name: String, issuers: [DeviceKey] = [], hasPremium: Bool = false, now: Int64) throws {
    try self.init(
      name: name, issuers: issuers, hasPremium: hasPremium, identity: try Identity.generate(), now: now)
  }

  init(
    name: String, issuers: [DeviceKey], hasPremium: Bool = false, identity: Identity, now: Int64
  ) throws {
    self.name = name
    made = now
    self.identity = identity
    root = try SigningKey()
    let issuer = hasPremium ? try SigningKey() : nil
    let body = Genesis(
      root: DeviceKey(root), device: identity.device, transport: identity.transportKey, name: name,
      issuers: (issuer.map { [DeviceKey($0)] } ?? []) + issuers, created: now, nonce: random16())
    do {
      genesis = try Statement(signing: body, with: root)
    } catch {
      throw WaymarkError.badValue(
        "name", name, allowed: "1 to 64 bytes without control or invisible characters")
    }
    let circle = genesis.circle
    premium = try issuer.flatMap { key in
      try OwnPremium.endToIssue(after: nil, at: now).map { end in
        let entitlement = try OwnPremium.entitlement(
          of: circle, until: end, serial: random16(), at: now, with: key)
        return (key, entitlement, end)
      }
    }
  }

  /// Writes the founder's keys and store to a directory. They are complete before the first of them appears there, so a
  /// founding that is interrupted, or for which the disk has no room, leaves no node that can't be opened.
  ///
  /// - Throws: `WaymarkError` with the code `already_there` if the directory has a store already, or `store_held` if
  ///   another process is creating one.
  @discardableResult
  package func write(to home: Home) throws -> NewMembership {
    try home.prepare()
    try Self.checkIsEmpty(home)
    let lock = try HomeLock(home)
    defer { lock.release() }
    try home.finishReplacing(at: made, under: lock)
    // Another process may have created a store before this process acquired the lock.
    try Self.checkIsEmpty(home)
    let staged = home.moved(to: home.staging)
    try staged.discard()
    try staged.prepare()
    do { try writeKeysAndStore(to: staged) } catch {
      try? staged.discard()
      throw isNoRoom(error) ? WaymarkError.diskFull(home) : error
    }
    // If an earlier store was lost, its root key is the only way to rejoin its circle, so the earlier keys are kept.
    let formerKeys = try home.moveFormerKeys(at: made, under: lock)
    let aside = try formerKeys ?? home.automaticBackup(before: "init", at: made, suffix: "")
    try home.replace(Replacement(aside: aside, isSameCircle: false), at: made, under: lock)
    if formerKeys == nil { home.removeEmptyBackups() }
    var membership = NewMembership(
      circle: genesis.circle, device: identity.device, name: name, formerKeys: formerKeys)
    membership.premiumUntil = premium.map { Date(milliseconds: $0.end) }
    return membership
  }

  /// Saves the founder's keys and creates the store, in a home that nothing else uses.
  func writeKeysAndStore(to home: Home) throws {
    try identity.save(in: home)
    try RootKey.save(root, in: home)
    if let premium { try home.storage.keepIssuerKey(premium.key, sealedWith: nil) }
    try NewStore.make(home, [genesis] + (premium.map { [$0.entitlement] } ?? []))
  }

  private static func checkIsEmpty(_ home: Home) throws {
    guard home.hasStore else { return }
    throw WaymarkError(
      exitCode: ExitCode.failed, code: .alreadyThere,
      message: "\(home.path) already has a Waymark store.",
      next: "\(waymark: "status"), or another --home")
  }
}

/// A device that a circle has admitted but that does not have a store yet.
package struct AdmittedDevice: Sendable {
  package let identity: Identity
  package let statements: [Statement]

  package init(identity: Identity, statements: [Statement]) {
    self.identity = identity
    self.statements = statements
  }

  /// Writes the device's keys and store to a directory.
  package func write(to home: Home) throws {
    try home.prepare()
    try identity.save(in: home)
    try NewStore.make(home, statements)
  }
}
