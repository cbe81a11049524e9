// Protocol/circle.md, "The set of statements".

package import Purchases
package import Wire

/// All statements of one circle, and the members, issuers and cuts that follow from them.
///
/// Every answer depends only on the set of statements, not on the order in which they arrived. An answer that also
/// depends on the time takes the time as an argument.
package struct Circle: Sendable {
  package let id: CircleID
  package let genesis: Genesis
  /// The issuer that builds with a trait accept in addition to the issuers of the circle; nil in other builds.
  package let developmentIssuer: DeviceKey?
  /// Which purchases give premium.
  package var purchasePolicy: PurchasePolicy {
    didSet {
      if purchasePolicy.roots != oldValue.roots { verdicts = PurchaseVerdicts(roots: purchasePolicy.roots) }
      judgePurchases()
    }
  }
  /// The subscriptions of the circle, those that were signed last first.
  package private(set) var subscriptions: [Subscription] = []
  private(set) var verdicts: PurchaseVerdicts
  /// The quotas of devices without a grant.
  package let quotas: DeviceQuotas
  private(set) var held: [StatementID: Statement]
  private var bytesHeld = 0
  private var newestAddresses: [DeviceKey: StatementID] = [:]
  /// The purchases that are held of each signer.
  private var purchases: [DeviceKey: Set<StatementID>] = [:]
  /// The branch proof that is held of each tree.
  private var lowestProofs: [LogTree: StatementID] = [:]
  /// The result of evaluating all statements.
  package private(set) var evaluation: Evaluation

  /// The effect of an insertion on the set of statements.
  package struct Changes: Hashable, Sendable {
    package var added: [StatementID] = []
    /// Statements that are no longer held: addresses and branch proofs that others replaced, and evicted statements.
    package var removed: [StatementID] = []
    /// New statements for which there was no room.
    package var refused: [StatementID] = []
    /// The signers of refused and evicted statements. They have signed more statements than there is room for.
    package var crowded: Set<DeviceKey> = []

    package var isEmpty: Bool { added.isEmpty && removed.isEmpty && refused.isEmpty }
  }

  /// Creates the circle that a genesis founds.
  package init(
    genesis statement: Statement, developmentIssuer: DeviceKey? = BuildTraits.developmentIssuer,
    purchases policy: PurchasePolicy = BuildTraits.purchases(), quotas: DeviceQuotas = .standard
  ) throws(StatementError) {
    guard case .genesis(let genesis) = statement.content else { throw .wrongCircle }
    id = statement.circle
    self.genesis = genesis
    self.developmentIssuer = developmentIssuer
    purchasePolicy = policy
    verdicts = PurchaseVerdicts(roots: policy.roots)
    self.quotas = quotas
    held = [statement.id: statement]
    bytesHeld = statement.bytes.count
    evaluation = Evaluation(genesis: genesis, genesisID: statement.id, statements: [:], quotas: quotas)
    setHash = Self.hash(of: [statement.id])
  }

  /// Creates a circle from a stored set of statements, exactly one of which is a genesis.
  package init(
    statements: [Statement], developmentIssuer: DeviceKey? = BuildTraits.developmentIssuer,
    purchases policy: PurchasePolicy = BuildTraits.purchases(), quotas: DeviceQuotas = .standard
  ) throws(StatementError) {
    guard let genesis = statements.first(where: { $0.kind == StatementKind.genesis.rawValue }) else {
      throw .wrongCircle
    }
    try self.init(
      genesis: genesis, developmentIssuer: developmentIssuer, purchases: policy, quotas: quotas)
    for statement in statements where statement.circle != id { throw .wrongCircle }
    insert(statements)
  }

  // MARK: Inserting

  /// Verifies an encoded statement and inserts it. Returns whether it was added.
  @discardableResult
  package mutating func insert(_ bytes: [UInt8]) throws(StatementError) -> Bool {
    let statement = try Statement(bytes)
    guard statement.circle == id else { throw .wrongCircle }
    let changes = insert([statement])
    guard changes.refused.isEmpty else { throw .tooMany }
    return !changes.added.isEmpty
  }

  /// Inserts verified statements, and evaluates the set once at the end. Statements of other circles are ignored.
  @discardableResult
  package mutating func insert(_ statements: [Statement]) -> Changes {
    var changes = Changes()
    var isAffected = false
    var buyers: Set<DeviceKey> = []
    for statement in statements where statement.circle == id && held[statement.id] == nil {
      if case .addresses(let body) = statement.content {
        insert(body, statement, &changes)
      } else if case .branchProof(let proof) = statement.content {
        if insert(proof, statement, &changes) { isAffected = true }
      } else {
        add(statement, &changes)
        if case .purchase(let body) = statement.content {
          purchases[body.device, default: []].insert(statement.id)
          buyers.insert(body.device)
        } else if statement.content != .unknown {
          isAffected = true
        }
      }
    }
    for device in buyers where replacePurchases(of: device, &changes) { isAffected = true }
    if makeRoom(&changes) { isAffected = true }
    if isAffected {
      evaluation = Evaluation(genesis: genesis, genesisID: genesisID, statements: held, quotas: quotas)
      judgePurchases()
    }
    if !changes.isEmpty { setHash = Self.hash(of: ids) }
    return changes
  }

  private mutating func add(_ statement: Statement, _ changes: inout Changes) {
    held[statement.id] = statement
    bytesHeld += statement.bytes.count
    changes.added.append(statement.id)
  }

  private mutating func insert(
    _ body: AddressStatement, _ statement: Statement, _ changes: inout Changes
  ) {
    if let newest = newestAddresses[body.device], let old = held[newest] {
      guard case .addresses(let kept) = old.content, (kept.clock, newest) < (body.clock, statement.id)
      else { return }
      if !remove(old, &changes) { changes.removed.append(old.id) }
    }
    add(statement, &changes)
    newestAddresses[body.device] = statement.id
  }

  /// Inserts a branch proof if none with a lower line, or with the same line and a smaller id, is held of its tree.
  private mutating func insert(_ proof: BranchProof, _ statement: Statement, _ changes: inout Changes) -> Bool
  {
    if let lowest = lowestProofs[proof.tree], let old = held[lowest] {
      guard case .branchProof(let kept) = old.content, (proof.line, statement.id) < (kept.line, lowest) else {
        return false
      }
      if !remove(old, &changes) { changes.removed.append(old.id) }
    }
    add(statement, &changes)
    lowestProofs[proof.tree] = statement.id
    return true
  }

  /// Removes the purchases by a device that later ones replace. Returns whether one of them was added and stays.
  private mutating func replacePurchases(of device: DeviceKey, _ changes: inout Changes) -> Bool {
    let statements = (purchases[device] ?? []).compactMap { held[$0] }
    for statement in Purchase.replaced(among: statements).sorted(by: { $0.id < $1.id }) {
      if !remove(statement, &changes) { changes.removed.append(statement.id) }
    }
    return !(purchases[device] ?? []).isDisjoint(with: changes.added)
  }

  /// How many purchases were verified since the circle was read. Each one is verified once.
  package var purchasesVerified: Int { verdicts.verified }

  /// Verifies new purchases and finds the subscriptions that follow from all of them.
  private mutating func judgePurchases() {
    verdicts.update(evaluation.purchases)
    subscriptions = Subscription.all(evaluation.purchases, verdicts, purchasePolicy)
  }

  /// Evicts statements for which there is no room. Returns whether there were any.
  private mutating func makeRoom(_ changes: inout Changes) -> Bool {
    guard !changes.added.isEmpty, StatementQuota.mayExceed(count: held.count, bytes: bytesHeld) else {
      return false
    }
    let kept = StatementQuota.kept(held, genesis: genesis)
    guard kept.count < held.count else { return false }
    for statement in held.values.filter({ !kept.contains($0.id) }).sorted(by: { $0.id < $1.id }) {
      let isNew = remove(statement, &changes)
      if isNew { changes.refused.append(statement.id) } else { changes.removed.append(statement.id) }
      changes.crowded.insert(statement.signer)
      if newestAddresses[statement.signer] == statement.id { newestAddresses[statement.signer] = nil }
      if case .branchProof(let proof) = statement.content { lowestProofs[proof.tree] = nil }
    }
    return true
  }

  /// Removes a statement. Returns whether the current insertion had added it.
  private mutating func remove(_ statement: Statement, _ changes: inout Changes) -> Bool {
    held[statement.id] = nil
    bytesHeld -= statement.bytes.count
    purchases[statement.signer]?.remove(statement.id)
    guard let index = changes.added.lastIndex(of: statement.id) else { return false }
    changes.added.remove(at: index)
    return true
  }

  // MARK: The set

  /// The id of the genesis, which has the same bytes as the circle's id.
  package var genesisID: StatementID { StatementID(id.raw) }

  /// The number of statements.
  package var count: Int { held.count }

  /// The ids of all statements, in ascending order.
  package var ids: [StatementID] { held.keys.sorted() }

  /// The hash of all ids. It is equal on two peers if and only if they hold the same statements.
  package private(set) var setHash: Bytes32

  private static func hash(of ids: [StatementID]) -> Bytes32 {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(ids.count * Bytes32.count)
    for id in ids { id.raw.append(to: &bytes) }
    return Prefix.certificates.hash(bytes)
  }

  package func statement(_ id: StatementID) -> Statement? { held[id] }

  /// Returns the id of the held statement with exactly these bytes; nil if there is none. A held statement needs no
  /// further verification.
  package func held(_ bytes: [UInt8]) -> StatementID? {
    guard let id = try? Envelope(bytes).id, held[id]?.bytes == bytes else { return nil }
    return id
  }

  /// Returns the held statements that a peer lacks, in ascending order of ids. `ids` are the ids of the peer's
  /// statements.
  package func statements(notIn ids: [StatementID]) -> [Statement] {
    let known = Set(ids)
    return held.values.filter { !known.contains($0.id) }.sorted { $0.id < $1.id }
  }

  /// Returns the ids in a peer's list that are not held here, in the order of the list.
  package func missing(of ids: [StatementID]) -> [StatementID] { ids.filter { held[$0] == nil } }

  /// Returns the result of evaluating all statements except the certificates by one signer.
  package func evaluation(withoutCertificatesBy signer: DeviceKey) -> Evaluation {
    let others = held.filter {
      $0.value.kind != StatementKind.deviceCertificate.rawValue || $0.value.signer != signer
    }
    return Evaluation(genesis: genesis, genesisID: genesisID, statements: others, quotas: quotas)
  }

  /// The result of evaluating all statements except revocations.
  var withoutRevocations: Evaluation {
    let others = held.filter { $0.value.kind != StatementKind.revocation.rawValue }
    return Evaluation(genesis: genesis, genesisID: genesisID, statements: others, quotas: quotas)
  }

  // MARK: Addresses

  /// Returns the addresses in a member's newest address statement; empty for other devices.
  package func addresses(of device: DeviceKey) -> [String] {
    guard evaluation.members[device] != nil, let id = newestAddresses[device],
      case .addresses(let body)? = held[id]?.content
    else { return [] }
    return body.addresses
  }

  /// Returns a clock for a device's next address statement that is great enough to replace the statement held.
  package func nextAddressClock(of device: DeviceKey, now: UInt64) -> UInt64 {
    guard let id = newestAddresses[device], case .addresses(let body)? = held[id]?.content,
      body.clock >= now
    else { return now }
    return body.clock == .max ? .max : body.clock + 1
  }
}
