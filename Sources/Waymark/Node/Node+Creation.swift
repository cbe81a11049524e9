import Enrolment
public import Platform
import Home
package import Membership
import NodeRuntime
public import Purchases
import Replication
import Sodium
import Storage
public import Wire

extension Node {
  // MARK: Opening

  /// Opens the node in a directory. If the directory has no node, creates one as the founder of a new circle.
  ///
  /// The node does not connect to peers until ``serve(listen:peers:discovers:)`` is called.
  ///
  /// ```swift
  /// let node = try await Node.open(Home(folder), name: "Anna's phone")
  /// ```
  ///
  /// If the disk failed during an earlier run, the store is verified first, which takes a while.
  ///
  /// - Parameters:
  ///   - home: the directory.
  ///   - name: the device's name for other devices, 1 to 64 bytes; used only when a node is created.
  ///   - issuers: the public keys of the entitlement issuers that a new circle accepts from the start; at most two.
  ///   - purchases: the products in the App Store that give premium; nil for those that the file `config.json` of the
  ///     home lists, if there is one.
  ///   - schema: the app's own kinds of records; nil if it has none. Kinds that the store already knows stay known. If the
  ///     schema adds kinds or fields, the store rebuilds its tables, which takes a while.
  ///   - log: receives the node's log messages.
  /// - Throws: ``WaymarkError`` with the code `store_held` if another process, which the error names, or another node of
  ///   this process still holds the store after three seconds; `newer_store`, `schema`, `key_not_here`, or another code
  ///   if keys or files are invalid.
  public static func open(
    _ home: Home, name: String, issuers: [DeviceKey] = [], purchases: PurchasePolicy? = nil,
    schema: AppSchema? = nil, log: NodeLog = .silent
  ) async throws -> Node {
    try await patiently {
      guard !home.hasStore && !home.isReplacing else { return }
      do {
        _ = try initialize(home: home, name: name, issuers: issuers)
      } catch let failure as WaymarkError where failure.reason == .alreadyThere {
        // Another process created the node in the meantime.
      } catch {
        throw WaymarkError.opening(home, error)
      }
    }
    try await SuspectStore.check(home)
    return try await patiently { try open(home, purchases: purchases, schema: schema, log: log) }
  }

  /// Opens the node of an existing home, with errors that tell a person what to do.
  package static func open(
    _ home: Home, purchases: PurchasePolicy? = nil, schema: AppSchema? = nil, log: NodeLog = .silent
  ) throws -> Node {
    guard home.hasStore || home.isReplacing else { throw WaymarkError.noStore(home) }
    do {
      return try Node(home: home, in: .machine(purchases: purchases, schema: schema), log: log)
    } catch {
      throw WaymarkError.opening(home, error)
    }
  }

  /// Retries for up to three seconds while the store is held by another process or the node is busy.
  ///
  /// Both conditions usually pass quickly: a command without a running node, or a node that has not opened its socket
  /// yet, holds the store briefly, and a running node may be busy answering others.
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

  /// Creates a new circle with this device as its founder.
  ///
  /// - Parameters:
  ///   - issuers: the public keys of the entitlement issuers that the circle accepts from the start; at most two, or
  ///     one with premium.
  ///   - hasPremium: whether the circle issues premium to itself, for a year.
  package static func initialize(
    home: Home, name: String, issuers: [DeviceKey] = [], hasPremium: Bool = false,
    wall: Int64 = systemWall()
  ) throws -> NewMembership {
    try CircleCreation(name: name, issuers: issuers, hasPremium: hasPremium, now: wall).write(to: home)
  }

  // MARK: In memory

  /// Creates a complete in-memory node, the founder of its own circle. It writes nothing to disk and loses everything
  /// when it is closed.
  ///
  /// Its keys are kept in memory that is wiped after use. It has no control socket and takes no automatic backups, so
  /// operations that need a directory (`cleanup`, `mirror`, `assert`, `restamp`, `verify --deep`) fail with a
  /// ``WaymarkError`` of code `in_memory`. Backups and exports to files that you name work. For tests with a
  /// controllable clock or several connected nodes, see the library `WaymarkTesting`.
  ///
  /// ```swift
  /// let node = try Node.inMemory(name: "preview")
  /// ```
  ///
  /// - Parameters:
  ///   - name: the device's name: 1 to 64 bytes without control or invisible characters.
  ///   - schema: the app's own kinds of records.
  ///   - log: receives the node's log messages.
  /// - Throws: ``WaymarkError`` if the name is invalid.
  public static func inMemory(
    name: String = "memory", schema: AppSchema? = nil, log: NodeLog = .silent
  ) throws -> Node {
    try Node(CircleCreation(name: name, now: systemWall()), in: .machine(schema: schema), log: log)
  }

  /// Creates the in-memory founder of a new circle.
  package init(_ founding: CircleCreation, in environment: NodeEnvironment, log: NodeLog = .silent) throws {
    try self.init(
      inMemory: founding.identity, [founding.genesis], root: founding.root, in: environment, log: log)
  }

  /// Creates an in-memory member of an existing circle.
  package init(_ admitted: AdmittedDevice, in environment: NodeEnvironment, log: NodeLog = .silent) throws {
    try self.init(
      inMemory: admitted.identity, admitted.statements, root: nil, in: environment, log: log)
  }

  private init(
    inMemory identity: Identity, _ statements: [Statement], root: SigningKey?,
    in environment: NodeEnvironment, log: NodeLog
  ) throws {
    let store = try Store.inMemory(adding: environment.apps)
    try NewStore.fill(store, statements)
    try self.init(
      home: Home(inMemoryWith: root), identity: identity, store: store, in: environment, log: log)
  }

  /// Adds signed statements to the circle and sends them to peers.
  package func add(_ statements: [Statement]) { core.loop.handle(.statementsAdded(statements.map(\.bytes))) }
}

extension Home {
  /// Creates the home in a directory, which is created on first use if it does not exist.
  ///
  /// - Parameters:
  ///   - directory: the directory.
  ///   - keys: where to keep the keys of this device, such as a keychain; nil for files of the home.
  public init(_ directory: URL, keys: (any KeyStore)? = nil) { self.init(path: directory.path, keys: keys) }
}
