package import Membership
import Replication
import Sodium
import Storage
import Wire

extension Node {
  /// A complete node in memory, the founder of a circle of its own: it writes nothing to the disk, and all it has is
  /// gone with it.
  ///
  /// Its keys are in memory that is wiped. It has no control socket, and takes no backups by itself: what needs one
  /// (`cleanup`, `mirror`, `assert`, `restamp`, `verify --deep`) fails with ``WaymarkError`` of code `in_memory`. A
  /// backup or an export to a file that you name works. For tests with a clock that you move, and for several nodes
  /// that are connected, see the library `WaymarkTesting`.
  ///
  /// ```swift
  /// let node = try Node.inMemory(name: "preview")
  /// ```
  ///
  /// - Parameters:
  ///   - name: what the device is called: 1 to 64 bytes without control characters.
  ///   - log: hears what the node does.
  /// - Throws: ``WaymarkError`` if the name can't be one.
  public static func inMemory(name: String = "memory", log: NodeLog = .silent) throws -> Node {
    try Node(Founding(name: name, now: systemWall()), in: .machine(), log: log)
  }

  /// The founder of a new circle, in memory.
  package init(_ founding: Founding, in environment: NodeEnvironment, log: NodeLog = .silent) throws {
    try self.init(
      inMemory: founding.identity, [founding.genesis], root: founding.root, in: environment, log: log)
  }

  /// A member of a circle, in memory.
  package init(_ admission: Admission, in environment: NodeEnvironment, log: NodeLog = .silent) throws {
    try self.init(
      inMemory: admission.identity, admission.statements, root: nil, in: environment, log: log)
  }

  private init(
    inMemory identity: Identity, _ statements: [Statement], root: SigningKey?,
    in environment: NodeEnvironment, log: NodeLog
  ) throws {
    let store = try Store.inMemory()
    try Self.fill(store, statements)
    try self.init(
      home: Home(inMemoryWith: root), identity: identity, store: store, in: environment, log: log)
  }
}

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
    try Node.saveRoot(root, to: home.rootKey)
    try Node.makeStore(home, [genesis], isLocked: true)
    return aside
  }

  private static func checkIsEmpty(_ home: Home) throws {
    guard home.hasStore else { return }
    throw WaymarkError(
      exitCode: ExitCode.failed, code: "already_there",
      message: "There is a Waymark store in \(home.path) already.",
      next: "waymark status, or another --home")
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
    try Node.makeStore(home, statements)
  }
}

extension Node {
  /// Takes a new device into the circle as it is done with a ticket, but for the ticket: with a certificate that this
  /// device signs and that spreads.
  ///
  /// - Throws: `WaymarkError` if this device is no admin, or the circle has no room.
  package func admit(_ name: String, as role: Role) throws -> Admission {
    let identity = try Identity.generate()
    // The proof is for the ticket's channel, and `welcome` does not look at it.
    let request = JoinRequest(
      key: identity.signing, transport: identity.transportKey, name: name, handshakeHash: [])
    let (reply, certificate) = try circle.welcome(request, role: role, by: self.identity.signing, at: wall())
    guard case .accepted = reply, let certificate else {
      if case .refused(let refusal) = reply { throw Joining.refused(refusal) }
      throw Joining.refused(.other)
    }
    handle(.statementsAdded([certificate.bytes]))
    return Admission(identity: identity, statements: circle.statements(notIn: []))
  }

  package var circleID: CircleID { circle.id }

  /// Takes in statements that somebody signed; they spread.
  package func add(_ statements: [Statement]) { handle(.statementsAdded(statements.map(\.bytes))) }
}
