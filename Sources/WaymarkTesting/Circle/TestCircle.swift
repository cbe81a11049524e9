public import Foundation
import JSONDocument
import Membership
import Sodium
import Synchronization
import Transport
public import Waymark
import Wire

/// A circle of several devices in one process: real nodes, connected without sockets, on a clock that the test
/// advances.
///
/// Everything except the wire, the disk and the time is as in an app: the first device founds the circle and signs the
/// certificates of the others, a test issuer signs their entitlements, and all messages pass through the encrypted
/// channel.
///
/// ```swift
/// let circle = try await TestCircle("alice", "bob")
/// try await circle["alice"].save(Trip(name: "Rome"))
/// try await circle.settle()
/// try await circle.assertConverged()
/// ```
///
/// A new circle is connected, and both lanes are open between devices with premium. Whatever depends on time happens
/// only when the test waits with ``settle(atMost:)`` or advances the ``clock``. Wrap calls that wait for other devices
/// in ``during(atMost:_:)``, which advances the clock until they return.
///
/// Call ``close()`` at the end of the test.
public final class TestCircle: Sendable {
  /// The devices that have premium.
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
    /// In a temporary directory each, which is removed with the circle. Needed for ``TestCircle/reopen(_:)`` and for
    /// everything that a node in memory can't do.
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

  /// The clock of all devices.
  public let clock: VirtualClock
  let network: InMemoryNetwork
  let state = Mutex(State())
  private let issuer: SigningKey
  private let storage: Storage
  private let isSyncing: Bool

  /// Creates a circle and waits until its devices are in sync.
  ///
  /// - Parameters:
  ///   - names: unique names of 1 to 32 devices; the first founds the circle.
  ///   - premium: the devices that have premium, by an entitlement of a test issuer.
  ///   - until: when premium ends; nil for a year after the clock's time.
  ///   - isSyncing: whether to turn on sync of records on devices with premium.
  ///   - storage: where the devices keep their data.
  ///   - clock: the clock of all devices.
  /// - Throws: `WaymarkError`, or ``TestGroundError`` if the devices do not settle.
  public convenience init(
    _ names: String..., premium: Premium = .everyone, until: Date? = nil, isSyncing: Bool = true,
    storage: Storage = .memory, clock: VirtualClock = VirtualClock()
  ) async throws {
    try await self.init(
      names: names, premium: premium, until: until, isSyncing: isSyncing, storage: storage, clock: clock)
  }

  /// Creates a circle of 1 to 32 devices with the names `device 1`, `device 2` and so on.
  ///
  /// Otherwise the same as ``init(_:premium:until:isSyncing:storage:clock:)``.
  public convenience init(
    count: Int, premium: Premium = .everyone, until: Date? = nil, isSyncing: Bool = true,
    storage: Storage = .memory, clock: VirtualClock = VirtualClock()
  ) async throws {
    try await self.init(
      names: (0..<count).map { "device \($0 + 1)" }, premium: premium, until: until, isSyncing: isSyncing,
      storage: storage, clock: clock)
  }

  /// Creates a circle of devices with the names in an array.
  ///
  /// Otherwise the same as ``init(_:premium:until:isSyncing:storage:clock:)``.
  public convenience init(
    names: [String], premium: Premium = .everyone, until: Date? = nil, isSyncing: Bool = true,
    storage: Storage = .memory, clock: VirtualClock = VirtualClock()
  ) async throws {
    try await self.init(
      names, premium, until, isSyncing, storage, on: InMemoryNetwork(clock: clock), firstMachine: 1)
  }

  init(
    _ names: [String], _ premium: Premium, _ until: Date?, _ isSyncing: Bool, _ storage: Storage,
    on network: InMemoryNetwork, firstMachine: Int
  ) async throws {
    precondition(
      !names.isEmpty && Set(names).count == names.count,
      "device names must be unique, and at least one is needed")
    RealData.putOutOfBounds()
    clock = network.clock
    self.network = network
    self.storage = storage
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
    let nodes = state.withLock { $0.devices.values.map(\.node) }
    Task { for node in nodes { await node.close() } }
  }

  // MARK: Devices

  /// The names of the devices, in the order in which they were added.
  public var names: [String] { state.withLock { $0.names } }

  /// The node of a device.
  public subscript(name: String) -> Node { device(name).node }

  /// The nodes, in the order in which they were added.
  public var nodes: [Node] { names.map { self[$0] } }

  func device(_ name: String) -> Device {
    guard let device = state.withLock({ $0.devices[name] }) else {
      preconditionFailure("the circle has no device named \(name)")
    }
    return device
  }

  /// Adds a device to the circle. It connects to the others, and turns sync on if the circle syncs records and it has
  /// premium.
  ///
  /// - Parameters:
  ///   - name: a name that no device of the circle has had.
  ///   - inviter: the admin that signs its certificate; nil for the founder.
  ///   - isAdmin: whether the new device may invite and revoke.
  /// - Throws: `WaymarkError` if the inviter is not an admin, or the circle is full.
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
  /// - Throws: `WaymarkError` if the circle is in memory: closing the node has discarded its data.
  public func reopen(_ name: String) async throws {
    let device = device(name)
    await device.node.close()
    guard let home = device.home else {
      throw WaymarkError.failed(
        .inMemory, "Can't reopen \(name): it was in memory, and closing it discarded its data.",
        next: "create the circle with storage: .directories")
    }
    let node = try Node(home: home.home, in: environment(device.machine))
    state.withLock { $0.devices[name] = Device(node: node, machine: device.machine, home: home) }
    try await serve(name)
  }

  /// Closes all nodes.
  public func close() async {
    for node in nodes { await node.close() }
  }

  // MARK: Premium

  /// Issues an entitlement by the test issuer and installs it on the first of the devices, from which it spreads.
  ///
  /// - Parameters:
  ///   - names: the devices; nil for all of the circle, including those added later.
  ///   - start: the beginning of premium; nil for now.
  ///   - end: the end of premium, exclusive.
  /// - Throws: `WaymarkError`
  public func entitle(_ names: [String]? = nil, from start: Date? = nil, until end: Date) async throws {
    var devices: [DeviceKey]?
    if let names {
      devices = []
      for name in names { devices?.append(try await NodeDiagnostics(of: self[name]).device) }
    }
    await self[names?.first ?? self.names[0]].add([
      try await entitlement(devices, from: start ?? clock.now, until: end)
    ])
  }

  /// Turns on sync of records on a device.
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

  private func environment(_ machine: Int) -> NodeEnvironment {
    NodeEnvironment(clock: clock, transport: transport(machine))
  }

  private func serve(_ name: String) async throws {
    let device = device(name)
    // Devices learn addresses from the circle's statements once connected; the first connection needs them given.
    let others = state.withLock { $0.devices.values.map(\.machine) }.filter { $0 != device.machine }
    try await device.node.serve(
      listen: transport(device.machine).listen, peers: others.sorted().map { transport($0).listen })
  }

  /// Admits all other devices and issues the entitlements.
  private func entitle(
    _ premium: Premium, among names: [String], until: Date?, _ founder: Node
  ) async throws {
    let end = until ?? clock.now.addingTimeInterval(365 * 86_400)
    // Before the others join, so that they have it from the start.
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
  /// Admits a new device to the circle of a node without a ticket: the node signs a certificate, which spreads.
  ///
  /// - Throws: `WaymarkError` if the node is not an admin, or the circle is full.
  fileprivate init(_ name: String, as role: Role, by node: isolated Node) throws {
    let identity = try Identity.generate()
    // The proof is for the ticket's channel; `admit` does not check it.
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
