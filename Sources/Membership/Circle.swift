// Protocol/circle.md, "The set of statements".

package import Wire

/// All statements of one circle, and what follows from them.
///
/// Everything asked of a circle is a function of the set of statements: never of the order in which they
/// arrived, and of no clock but the one that is an argument.
package struct Circle: Sendable {
  package let id: CircleID
  package let genesis: Genesis
  /// The issuer that builds with a trait accept besides those of the circle.
  package let developmentIssuer: DeviceKey?
  private var held: [StatementID: Statement]
  private var countBySigner: [DeviceKey: Int] = [:]
  private var bytesHeld = 0
  private var newestAddresses: [DeviceKey: StatementID] = [:]
  /// What the statements say, taken together.
  package private(set) var evaluation: Evaluation

  /// What an insertion did to the set.
  package struct Changes: Hashable, Sendable {
    package var added: [StatementID] = []
    /// Address statements that a newer one replaced.
    package var removed: [StatementID] = []
    /// Statements for which there was no room left.
    package var refused: [StatementID] = []

    package var isEmpty: Bool { added.isEmpty && removed.isEmpty && refused.isEmpty }
  }

  /// The circle that a genesis founds.
  package init(
    genesis statement: Statement, developmentIssuer: DeviceKey? = BuildTraits.developmentIssuer
  ) throws(StatementError) {
    guard case .genesis(let genesis) = statement.content else { throw .wrongCircle }
    id = statement.circle
    self.genesis = genesis
    self.developmentIssuer = developmentIssuer
    held = [statement.id: statement]
    countBySigner[statement.signer] = 1
    bytesHeld = statement.bytes.count
    evaluation = Evaluation(genesis: genesis, genesisID: statement.id, statements: [:])
  }

  /// The circle of a stored set of statements, exactly one of which is a genesis.
  package init(
    statements: [Statement], developmentIssuer: DeviceKey? = BuildTraits.developmentIssuer
  ) throws(StatementError) {
    guard let genesis = statements.first(where: { $0.kind == StatementKind.genesis.rawValue }) else {
      throw .wrongCircle
    }
    try self.init(genesis: genesis, developmentIssuer: developmentIssuer)
    for statement in statements where statement.circle != id { throw .wrongCircle }
    insert(statements)
  }

  // MARK: In

  /// Takes in the bytes of one statement; false if it changes nothing.
  @discardableResult
  package mutating func insert(_ bytes: [UInt8]) throws(StatementError) -> Bool {
    let statement = try Statement(bytes)
    guard statement.circle == id else { throw .wrongCircle }
    let changes = insert([statement])
    guard changes.refused.isEmpty else { throw .tooMany }
    return !changes.added.isEmpty
  }

  /// Takes in verified statements, evaluating once; those of other circles are left out.
  @discardableResult
  package mutating func insert(_ statements: [Statement]) -> Changes {
    var changes = Changes()
    var isAffected = false
    for statement in statements where statement.circle == id && held[statement.id] == nil {
      if case .addresses(let body) = statement.content {
        insert(body, statement, &changes)
      } else if add(statement, &changes), statement.content != .unknown {
        isAffected = true
      }
    }
    if isAffected { evaluation = Evaluation(genesis: genesis, genesisID: genesisID, statements: held) }
    return changes
  }

  private mutating func add(_ statement: Statement, _ changes: inout Changes) -> Bool {
    let count = countBySigner[statement.signer, default: 0]
    guard count < Limits.statementsPerSignerMax,
      bytesHeld + statement.bytes.count <= Limits.statementsBytesMax || mustBeHeard(statement)
    else {
      changes.refused.append(statement.id)
      return false
    }
    held[statement.id] = statement
    countBySigner[statement.signer] = count + 1
    bytesHeld += statement.bytes.count
    changes.added.append(statement.id)
    return true
  }

  /// Whoever fills all the room there is can't keep out the word that ends its membership.
  private func mustBeHeard(_ statement: Statement) -> Bool {
    guard case .revocation(let body) = statement.content else { return false }
    if body.issuer == genesis.root { return true }
    let room = Limits.statementsBytesMax + Limits.revocationRoomBytes
    return evaluation.members[body.issuer]?.role == .admin && bytesHeld + statement.bytes.count <= room
  }

  private mutating func insert(
    _ body: AddressStatement, _ statement: Statement, _ changes: inout Changes
  ) {
    if let newest = newestAddresses[body.device], let old = held[newest] {
      guard case .addresses(let kept) = old.content, (kept.clock, newest) < (body.clock, statement.id)
      else { return }
      remove(old, &changes)
    }
    if add(statement, &changes) { newestAddresses[body.device] = statement.id }
  }

  private mutating func remove(_ statement: Statement, _ changes: inout Changes) {
    held[statement.id] = nil
    countBySigner[statement.signer, default: 1] -= 1
    bytesHeld -= statement.bytes.count
    if let index = changes.added.firstIndex(of: statement.id) {
      changes.added.remove(at: index)
    } else {
      changes.removed.append(statement.id)
    }
  }

  // MARK: The set

  /// The genesis as a statement has the circle's own hash as its id.
  package var genesisID: StatementID { StatementID(id.raw) }

  /// All ids, ascending.
  package var ids: [StatementID] { held.keys.sorted() }

  /// Equal at two peers exactly if they hold the same statements.
  package var setHash: Bytes32 {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(held.count * Bytes32.count)
    for id in ids { id.raw.append(to: &bytes) }
    return Prefix.certificates.hash(bytes)
  }

  package func statement(_ id: StatementID) -> Statement? { held[id] }

  /// The statements held whose ids are not among a peer's, ascending by id.
  package func statements(notIn ids: [StatementID]) -> [Statement] {
    let known = Set(ids)
    return held.values.filter { !known.contains($0.id) }.sorted { $0.id < $1.id }
  }

  /// The ids of a peer's list that are not held here, in its order.
  package func missing(of ids: [StatementID]) -> [StatementID] { ids.filter { held[$0] == nil } }

  // MARK: What a device says of itself

  /// Where a member can be reached, by its newest word.
  package func addresses(of device: DeviceKey) -> [String] {
    guard evaluation.members[device] != nil, let id = newestAddresses[device],
      case .addresses(let body)? = held[id]?.content
    else { return [] }
    return body.addresses
  }

  /// The clock for the next address statement of a device, so that it replaces the one held.
  package func nextAddressClock(of device: DeviceKey, now: UInt64) -> UInt64 {
    guard let id = newestAddresses[device], case .addresses(let body)? = held[id]?.content,
      body.clock >= now
    else { return now }
    return body.clock == .max ? .max : body.clock + 1
  }
}
