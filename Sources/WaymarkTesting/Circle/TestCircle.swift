public import Foundation
import JSONDocument
import Membership
import Sodium
import Synchronization
import Transport
public import Waymark
import Wire

/// Several devices of one person in one process: real nodes, connected without sockets, on a clock that the test
/// moves.
///
/// Everything but the wire, the disk and the time is what an app has: the first device founds the circle and signs
/// the certificates of the others, a test issuer signs what makes them premium, and every message goes through the
/// encrypted channel.
///
/// ```swift
/// let circle = try await TestCircle("alice", "bob")
/// try await circle["alice"].save(Trip(name: "Rome"))
/// try await circle.settle()
/// try await circle.assertConverged()
/// ```
///
/// Connections are up when the circle is made, and both lanes are open between devices that are premium. Nothing
/// happens between devices that the test does not wait for with ``settle(atMost:)`` or brings about by moving the
/// ``clock``. A call that waits for another device goes inside ``during(atMost:_:)``, which moves the clock until it is done.
///
/// Call ``close()`` at the end of the test.
public final class TestCircle: Sendable {
  /// Which devices are premium.
  public enum Premium: Hashable, Sendable {
    /// All devices, those that come later among them.
    case everyone
    /// No device.
    case nobody
    /// The devices of these names.
    case only(Set<String>)
  }

  /// Where the devices keep what they have.
  public enum Storage: Hashable, Sendable {
    /// Nothing is written to the disk.
    case memory
    /// A temporary directory each, which goes with the circle: for ``TestCircle/reopen(_:)``, and for what a node in
    /// memory can't do.
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
    /// How many machines there ever were.
    var machines = 0
  }

  /// The time of all devices.
  public let clock: VirtualClock
  let network: InMemoryNetwork
  let state = Mutex(State())
  private let issuer: SigningKey
  private let storage: Storage
  private let isSyncing: Bool

  /// Makes a circle and waits until its devices are in sync.
  ///
  /// - Parameters:
  ///   - names: the devices, each by another name; the first founds the circle. 1 to 32.
  ///   - premium: who is premium, by a certificate of a test issuer.
  ///   - until: when premium ends; nil for a year after the clock.
  ///   - isSyncing: whether sync of records is turned on where it can be.
  ///   - storage: where the devices keep what they have.
  ///   - clock: the time of all devices.
  /// - Throws: `WaymarkError`, or ``TestGroundError`` if the devices do not come together.
  public convenience init(
    _ names: String..., premium: Premium = .everyone, until: Date? = nil, isSyncing: Bool = true,
    storage: Storage = .memory, clock: VirtualClock = VirtualClock()
  ) async throws {
    try await self.init(
      names: names, premium: premium, until: until, isSyncing: isSyncing, storage: storage, clock: clock)
  }

  /// Makes a circle of 1 to 32 devices, which are called `device 1`, `device 2` and so on.
  ///
  /// All else is as with ``init(_:premium:until:isSyncing:storage:clock:)``.
  public convenience init(
    count: Int, premium: Premium = .everyone, until: Date? = nil, isSyncing: Bool = true,
    storage: Storage = .memory, clock: VirtualClock = VirtualClock()
  ) async throws {
    try await self.init(
      names: (0..<count).map { "device \($0 + 1)" }, premium: premium, until: until, isSyncing: isSyncing,
      storage: storage, clock: clock)
  }

  /// Makes a circle of devices whose names are in an array.
  ///
  /// All else is as with ``init(_:premium:until:isSyncing:storage:clock:)``.
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
    precondition(!names.isEmpty && Set(names).count == names.count, "each device needs a name of its own")
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

  /// The names of the devices, in the order in which they came.
  public var names: [String] { state.withLock { $0.names } }

  /// The node of a device.
  public subscript(name: String) -> Node { device(name).node }

  /// The nodes, in the order in which they came.
  public var nodes: [Node] { names.map { self[$0] } }

  func device(_ name: String) -> Device {
    guard let device = state.withLock({ $0.devices[name] }) else {
      preconditionFailure("no device of this circle is called \(name)")
    }
    return device
  }

  /// Takes one more device into the circle, which then serves and dials the others, and turns sync on if the circle does
  /// and it is premium.
  ///
  /// - Parameters:
  ///   - name: of no device so far.
  ///   - inviter: who signs its certificate: an admin, as the founder is; nil for the founder.
  ///   - isAdmin: whether it may invite and revoke.
  /// - Throws: `WaymarkError` if the inviter is no admin, or the circle is full.
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

  /// Closes the node of a device, as when its app ends.
  public func close(_ name: String) async { await self[name].close() }

  /// Opens the node of a device again, as when its app starts.
  ///
  /// - Throws: `WaymarkError` if the circle is in memory: then nothing is left of the device.
  public func reopen(_ name: String) async throws {
    let device = device(name)
    await device.node.close()
    guard let home = device.home else {
      throw WaymarkError.failed(
        .inMemory, "Nothing is left of \(name), which was in memory.",
        next: "make the circle with storage: .directories")
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

  /// Has the test issuer sign that devices are premium, and gives that to the first of them; it spreads.
  ///
  /// - Parameters:
  ///   - names: nil for all devices of the circle, those that come later among them.
  ///   - start: nil for now.
  ///   - end: the first moment at which they no longer are.
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

  /// Turns sync of records on; the device has to be premium.
  ///
  /// - Throws: `WaymarkError` with code `free_tier` or `entitlement_expired` if it is not.
  public func turnSyncOn(_ name: String) async throws {
    try await self[name].turnSyncOn(isConfirmed: true)
  }
}

// MARK: Making devices

extension TestCircle {
  private func found(_ name: String) async throws -> Node {
    guard let issuer = DeviceKey(bytes: issuer.publicKey) else {
      preconditionFailure("a key of another size")
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
    precondition(!names.contains(name), "a device is called \(name) already")
    let admitted = try await AdmittedDevice(name, as: isAdmin ? .admin : .member, by: self[inviter])
    return try enter(name) { home, environment in
      guard let home else { return try Node(admitted, in: environment) }
      try admitted.write(to: home.home)
      return try Node(home: home.home, in: environment)
    }
  }

  /// Gives a device a machine, and perhaps a directory.
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
    // Where the others are, each tells the circle; the first of two has to be told.
    let others = state.withLock { $0.devices.values.map(\.machine) }.filter { $0 != device.machine }
    try await device.node.serve(
      listen: transport(device.machine).listen, peers: others.sorted().map { transport($0).listen })
  }

  /// Lets the others in and makes those premium who are to be.
  private func entitle(
    _ premium: Premium, among names: [String], until: Date?, _ founder: Node
  ) async throws {
    let end = until ?? clock.now.addingTimeInterval(365 * 86_400)
    // Before the others come: then they have it from the start.
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
  /// Admits a new device to the circle of a node as a ticket does, but without a ticket: with a certificate that the
  /// node signs and that spreads.
  ///
  /// - Throws: `WaymarkError` if the node is not an admin, or the circle has no room.
  fileprivate init(_ name: String, as role: Role, by node: isolated Node) throws {
    let identity = try Identity.generate()
    // The proof is for the ticket's channel, and `welcome` does not look at it.
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
