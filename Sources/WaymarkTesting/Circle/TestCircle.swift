public import Platform
import JSONDocument
import Membership
public import Purchases
import Sodium
import Synchronization
import Transport
public import Waymark
import WaymarkCare
import Wire

/// A circle of devices in one process: real nodes that are connected without sockets and share a clock that the test
/// advances.
///
/// Only the network, the clock and, by default, the disk are replaced. Everything else works as in an app: the first
/// device founds the circle and signs the other devices' certificates, a test issuer signs their entitlements, and all
/// messages pass through the encrypted channel.
///
/// ```swift
/// let circle = try await TestCircle("alice", "bob")
/// try await circle["alice"].save(Trip(name: "Rome"))
/// try await circle.settle()
/// try await circle.assertConverged()
/// ```
///
/// The devices of a new circle are connected. Unless `isSyncing` is false, both lanes are open between devices with
/// premium. Anything that depends on time, such as a retry, happens only when the test waits with ``settle(atMost:)``
/// or advances the ``clock``. Wrap calls that wait for other devices in ``during(atMost:_:)``, which advances the clock
/// until they return.
///
/// Call ``close()`` at the end of the test.
public final class TestCircle: Sendable {
  /// Specifies which devices have premium.
  public enum Premium: Hashable, Sendable {
    /// All devices, including those added later.
    case everyone
    /// No device.
    case nobody
    /// The devices with these names.
    case only(Set<String>)
  }

  /// Where the devices keep their data.
  public enum Storage: Hashable, Sendable {
    /// In memory only.
    case memory
    /// In one temporary directory per device, removed when the circle is released. Required for
    /// ``TestCircle/reopen(_:schema:)`` and for everything else that an in-memory node can't do.
    case directories
  }

  struct Device: Sendable {
    let node: Node
    let machine: Int
    let home: TestHome?
  }

  struct State {
    var names: [String] = []
    var devices: [String: Device] = [:]
    /// The number of machines created so far.
    var machines = 0
  }

  /// The clock that all devices share.
  public let clock: VirtualClock
  let network: InMemoryNetwork
  let state = Mutex(State())
  private let issuer: SigningKey
  private let storage: Storage
  private let purchases: PurchasePolicy
  private let schema: AppSchema?
  private let isSyncing: Bool

  /// Creates a circle and waits until its devices are in sync.
  ///
  /// - Parameters:
  ///   - names: the unique names of 1 to 32 devices; the first device founds the circle.
  ///   - premium: the devices that have premium, through an entitlement signed by a test issuer.
  ///   - until: when premium ends; nil for 365 days after the clock's current time.
  ///   - isSyncing: whether to turn on record sync on devices with premium.
  ///   - storage: where the devices keep their data.
  ///   - purchases: the products that give premium; nil for those of a ``TestAppStore``.
  ///   - schema: the app's own kinds of records, on all devices.
  ///   - clock: the clock that all devices share.
  /// - Throws: `WaymarkError`, or ``TestSetupError`` if a new store is not empty or the devices do not settle.
  public convenience init(
    _ names: String..., premium: Premium = .everyone, until: Date? = nil, isSyncing: Bool = true,
    storage: Storage = .memory, purchases: PurchasePolicy? = nil, schema: AppSchema? = nil,
    clock: VirtualClock = VirtualClock()
  ) async throws {
    try await self.init(
      names: names, premium: premium, until: until, isSyncing: isSyncing, storage: storage,
      purchases: purchases, schema: schema, clock: clock)
  }

  /// Creates a circle of 1 to 32 devices with the names `device 1`, `device 2` and so on.
  ///
  /// Otherwise the same as ``init(_:premium:until:isSyncing:storage:purchases:schema:clock:)``.
  public convenience init(
    count: Int, premium: Premium = .everyone, until: Date? = nil, isSyncing: Bool = true,
    storage: Storage = .memory, purchases: PurchasePolicy? = nil, schema: AppSchema? = nil,
    clock: VirtualClock = VirtualClock()
  ) async throws {
    try await self.init(
      names: (0..<count).map { "device \($0 + 1)" }, premium: premium, until: until, isSyncing: isSyncing,
      storage: storage, purchases: purchases, schema: schema, clock: clock)
  }

  /// Creates a circle of devices whose names are given as an array.
  ///
  /// Otherwise the same as ``init(_:premium:until:isSyncing:storage:purchases:schema:clock:)``.
  public convenience init(
    names: [String], premium: Premium = .everyone, until: Date? = nil, isSyncing: Bool = true,
    storage: Storage = .memory, purchases: PurchasePolicy? = nil, schema: AppSchema? = nil,
    clock: VirtualClock = VirtualClock()
  ) async throws {
    try await self.init(
      names, premium, until, isSyncing, storage, purchases?.acceptingDevelopmentStore ?? .development,
      schema, on: InMemoryNetwork(clock: clock), firstMachine: 1)
  }

  init(
    _ names: [String], _ premium: Premium, _ until: Date?, _ isSyncing: Bool, _ storage: Storage,
    _ purchases: PurchasePolicy = .development, _ schema: AppSchema? = nil, on network: InMemoryNetwork,
    firstMachine: Int
  ) async throws {
    precondition(
      !names.isEmpty && Set(names).count == names.count,
      "device names must be unique, and at least one is needed")
    RealData.putOutOfBounds()
    clock = network.clock
    self.network = network
    self.storage = storage
    self.purchases = purchases
    self.schema = schema
    self.isSyncing = isSyncing
    issuer = try SigningKey()
    state.withLock { $0.machines = firstMachine - 1 }
    let founder = try await found(names[0])
    try await entitle(premium, among: names, until: until, founder)
    for name in names {
      try await self[name].checkEmpty()
      try await serve(name)
    }
    try await settle()
    guard isSyncing else { return }
    for name in names where premium.includes(name) { try await turnSyncOn(name) }
    try await settle()
  }

  deinit {
    // A simulation ends before its circle is released.
    guard clock.scheduler == nil else { return }
    let nodes = state.withLock { $0.devices.values.map(\.node) }
    Task { for node in nodes { await node.close() } }
  }

  // MARK: Devices

  /// The names of the devices, in the order in which they were added.
  public var names: [String] { state.withLock { $0.names } }

  /// The node of the device with this name, which must exist.
  public subscript(name: String) -> Node { device(name).node }

  /// The nodes of all devices, in the order in which the devices were added.
  public var nodes: [Node] { names.map { self[$0] } }

  func device(_ name: String) -> Device {
    guard let device = state.withLock({ $0.devices[name] }) else {
      preconditionFailure("the circle has no device named \(name)")
    }
    return device
  }

  /// Adds a device to the circle. The device connects to the others. It also turns on record sync if it has premium and
  /// the circle was created with `isSyncing`.
  ///
  /// - Parameters:
  ///   - name: the new device's name, which no device of the circle may have had before.
  ///   - inviter: the admin that signs the new device's certificate; nil for the founder.
  ///   - isAdmin: whether the new device may invite and revoke.
  /// - Throws: `WaymarkError` if the inviter is not an admin or the circle is full; ``TestSetupError`` if the devices
  ///   do not settle.
  @discardableResult
  public func add(_ name: String, invitedBy inviter: String? = nil, isAdmin: Bool = false) async throws
    -> Node
  {
    let node = try await admit(name, by: inviter ?? names[0], isAdmin: isAdmin)
    try await serve(name)
    guard isSyncing else { return node }
    try await settle()
    if try await node.syncState().premium.isActive { try await turnSyncOn(name) }
    return node
  }

  /// Closes the node of a device, as when its app quits.
  public func close(_ name: String) async { await self[name].close() }

  /// Opens the node of a device again, as when its app starts.
  ///
  /// - Parameters:
  ///   - name: the name of the device.
  ///   - schema: the schema to open the node with; nil for that of the circle.
  /// - Throws: `WaymarkError` if the circle is in memory, because closing the node discarded its data.
  public func reopen(_ name: String, schema: AppSchema? = nil) async throws {
    let device = device(name)
    await device.node.close()
    guard let home = device.home else {
      throw WaymarkError.failed(
        .inMemory, "Can't reopen \(name): its data was in memory and was discarded when it closed.",
        next: "create the circle with storage: .directories")
    }
    let node = try Node(home: home.home, in: environment(device.machine, schema))
    state.withLock { $0.devices[name] = Device(node: node, machine: device.machine, home: home) }
    try await serve(name)
  }

  /// Opens the node of a home that no device of the circle has, on a machine that no other can reach.
  package func openElsewhere(_ home: Home) throws -> Node {
    let transport = InMemoryTransport(network: InMemoryNetwork(clock: clock), machine: 1)
    return try Node(
      home: home,
      in: NodeEnvironment(
        clock: clock, scheduler: clock.scheduler, transport: transport, purchases: purchases, schema: schema))
  }

  /// Closes all nodes.
  public func close() async {
    for node in nodes { await node.close() }
  }

  // MARK: Premium

  /// Issues an entitlement signed by the test issuer, and installs it on the first of the devices, from which it
  /// spreads to the others.
  ///
  /// - Parameters:
  ///   - names: the entitled devices; nil for the whole circle, including devices added later.
  ///   - start: when premium begins; nil for now.
  ///   - end: when premium ends, exclusive.
  /// - Throws: `WaymarkError` if a named device's node is closed.
  public func entitle(_ names: [String]? = nil, from start: Date? = nil, until end: Date) async throws {
    var devices: [DeviceKey]?
    if let names {
      devices = []
      for name in names {
        devices?.append(
          try await self[name].withCore { core in
            try core.checkOpen()
            return core.identity.device
          })
      }
    }
    await self[names?.first ?? self.names[0]].add([
      try await entitlement(devices, from: start ?? clock.now, until: end)
    ])
  }

  /// Turns on record sync on a device.
  ///
  /// - Throws: `WaymarkError` with code `free_tier` or `entitlement_expired` if the device has no premium.
  public func turnSyncOn(_ name: String) async throws {
    try await self[name].turnSyncOn(isConfirmed: true)
  }
}

// MARK: Creating devices

extension TestCircle {
  private func found(_ name: String) async throws -> Node {
    guard let issuer = DeviceKey(bytes: issuer.publicKey) else {
      preconditionFailure("a device key has the wrong size")
    }
    let founding = try CircleCreation(name: name, issuers: [issuer], now: clock.wall())
    return try enter(name) { home, environment in
      guard let home else { return try Node(founding, in: environment) }
      try founding.write(to: home.home)
      return try Node(home: home.home, in: environment)
    }
  }

  @discardableResult
  private func admit(_ name: String, by inviter: String, isAdmin: Bool = false) async throws -> Node {
    precondition(!names.contains(name), "the circle already has a device named \(name)")
    let admitted = try await AdmittedDevice(name, as: isAdmin ? .admin : .member, by: self[inviter])
    return try enter(name) { home, environment in
      guard let home else { return try Node(admitted, in: environment) }
      try admitted.write(to: home.home)
      return try Node(home: home.home, in: environment)
    }
  }

  /// Creates a device on a new machine, with a directory if the circle's storage needs one.
  private func enter(_ name: String, _ open: (TestHome?, NodeEnvironment) throws -> Node) throws -> Node {
    let machine = state.withLock { state in
      state.machines += 1
      return state.machines
    }
    let home = storage == .directories ? try TestHome() : nil
    let node = try open(home, environment(machine))
    state.withLock { state in
      state.names.append(name)
      state.devices[name] = Device(node: node, machine: machine, home: home)
    }
    return node
  }

  private func transport(_ machine: Int) -> InMemoryTransport {
    InMemoryTransport(network: network, machine: machine)
  }

  private func environment(_ machine: Int, _ other: AppSchema? = nil) -> NodeEnvironment {
    NodeEnvironment(
      clock: clock, scheduler: clock.scheduler, transport: transport(machine), purchases: purchases,
      schema: other ?? schema)
  }

  private func serve(_ name: String) async throws {
    let device = device(name)
    // Once connected, devices learn addresses from the circle's statements. The first connection needs explicit ones.
    let others = state.withLock { $0.devices.values.map(\.machine) }.filter { $0 != device.machine }
    try await device.node.serve(
      listen: transport(device.machine).listen, peers: others.sorted().map { transport($0).listen })
  }

  /// Admits all devices except the founder, and issues the entitlements.
  private func entitle(
    _ premium: Premium, among names: [String], until: Date?, _ founder: Node
  ) async throws {
    let end = until ?? clock.now.addingTimeInterval(365 * 86_400)
    // Issued before the others join, so that they have the entitlement from the start.
    if premium == .everyone { try await entitle(until: end) }
    for name in names.dropFirst() { try await admit(name, by: names[0]) }
    if case .only(let some) = premium, !some.isEmpty {
      try await entitle(names.filter(some.contains), until: end)
    }
  }

  private func entitlement(_ devices: [DeviceKey]?, from start: Date, until end: Date) async throws
    -> Statement
  {
    let body = Entitlement(
      circle: await self[names[0]].circle.id, issuer: DeviceKey(issuer), devices: devices,
      plan: "premium", issuedAt: clock.wall(), notBefore: start.milliseconds,
      notAfter: end.milliseconds, serial: random16(), source: "test")
    return try Statement(signing: body, with: issuer)
  }
}

extension TestCircle.Premium {
  fileprivate func includes(_ name: String) -> Bool {
    switch self {
    case .everyone: true
    case .nobody: false
    case .only(let names): names.contains(name)
    }
  }
}

extension AdmittedDevice {
  /// Admits a new device to a node's circle without a ticket: the node signs a certificate, which then spreads.
  ///
  /// - Throws: `WaymarkError` if the node is not an admin, or the circle is full.
  fileprivate init(_ name: String, as role: Role, by node: isolated Node) throws {
    let identity = try Identity.generate()
    // The request's proof covers the handshake of a ticket's channel. There is no such channel here, and `admit` does
    // not check the proof.
    let request = JoinRequest(
      key: identity.signing, transport: identity.transportKey, name: name, handshakeHash: [])
    let (reply, certificate) = try node.circle.admit(
      request, role: role, by: node.identity.signing, at: node.wall())
    guard case .accepted = reply, let certificate else {
      if case .refused(let refusal) = reply { throw WaymarkError.refused(refusal) }
      throw WaymarkError.refused(.other)
    }
    node.add([certificate])
    self.init(identity: identity, statements: node.circle.statements(notIn: []))
  }
}
