public import Foundation
package import Membership
import Replication
import Sodium
import Storage
public import Wire

extension Node {
  // MARK: Opening

  /// Opens the node of a directory; where there is none, makes it, with a circle of its own and this device in it.
  ///
  /// Nothing is sent or heard until ``serve(listen:peers:discovers:)`` is called.
  ///
  /// ```swift
  /// let node = try await Node.open(Home(folder), name: "Anna's phone")
  /// ```
  ///
  /// A disk that failed the store before has it verified first, which takes a while.
  ///
  /// - Parameters:
  ///   - home: the directory.
  ///   - name: what other devices call this one; 1 to 64 bytes. Only a new node takes it.
  ///   - issuers: the public keys of those whose entitlements a new circle accepts from the start; at most two.
  ///   - log: hears what the node does.
  /// - Throws: ``WaymarkError``: who holds the store if another process does, what is wrong with keys or files.
  public static func open(
    _ home: Home, name: String, issuers: [DeviceKey] = [], log: NodeLog = .silent
  ) async throws -> Node {
    try await patiently {
      guard !home.hasStore && !home.isReplacing else { return }
      do {
        _ = try initialize(home: home, name: name, issuers: issuers)
      } catch let failure as WaymarkError where failure.code == .alreadyThere {
        // Another process has just made it.
      } catch {
        throw WaymarkError.opening(home, error)
      }
    }
    try await SuspectStore.check(home)
    return try await patiently { try open(home, log: log) }
  }

  /// Opens the node of a home with failures that a person can act on.
  package static func open(_ home: Home, log: NodeLog = .silent) throws -> Node {
    guard home.hasStore || home.isReplacing else { throw WaymarkError.noStore(home) }
    do {
      return try Node(home: home, log: log)
    } catch {
      throw WaymarkError.opening(home, error)
    }
  }

  /// A command without a node has the store for a moment, and so does a node that is not at its socket yet; one that
  /// is may have many others to answer. Who comes just then waits that long, and no longer.
  package static func patiently<Result>(_ body: () async throws -> Result) async throws -> Result {
    let end = ContinuousClock.now + .seconds(3)
    while true {
      do {
        return try await body()
      } catch let failure as WaymarkError where failure.code == .storeHeld || failure == .busy {
        guard ContinuousClock.now < end else { throw failure }
        try await Task.sleep(for: .milliseconds(50))
      }
    }
  }

  /// Makes a new circle with this device as its founder.
  ///
  /// - Parameter issuers: public keys whose entitlements the circle accepts from the start; at most two.
  package static func initialize(
    home: Home, name: String, issuers: [DeviceKey] = [], wall: Int64 = systemWall()
  ) throws -> NewMembership {
    try CircleCreation(name: name, issuers: issuers, now: wall).write(to: home)
  }

  // MARK: In memory

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
    try Node(CircleCreation(name: name, now: systemWall()), in: .machine(), log: log)
  }

  /// The founder of a new circle, in memory.
  package init(_ founding: CircleCreation, in environment: NodeEnvironment, log: NodeLog = .silent) throws {
    try self.init(
      inMemory: founding.identity, [founding.genesis], root: founding.root, in: environment, log: log)
  }

  /// A member of a circle, in memory.
  package init(_ admitted: AdmittedDevice, in environment: NodeEnvironment, log: NodeLog = .silent) throws {
    try self.init(
      inMemory: admitted.identity, admitted.statements, root: nil, in: environment, log: log)
  }

  private init(
    inMemory identity: Identity, _ statements: [Statement], root: SigningKey?,
    in environment: NodeEnvironment, log: NodeLog
  ) throws {
    let store = try Store.inMemory()
    try NewStore.fill(store, statements)
    try self.init(
      home: Home(inMemoryWith: root), identity: identity, store: store, in: environment, log: log)
  }

  /// Adds signed statements to the circle; peers receive them too.
  package func add(_ statements: [Statement]) { loop.handle(.statementsAdded(statements.map(\.bytes))) }
}

extension Home {
  /// The home in a directory, which is made if it is not there.
  public init(_ directory: URL) { self.init(path: directory.path) }
}
