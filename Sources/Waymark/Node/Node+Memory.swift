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
}

extension Node {
  /// Takes in statements that somebody signed; they spread.
  package func add(_ statements: [Statement]) { handle(.statementsAdded(statements.map(\.bytes))) }
}
