// Protocol/circle.md, "Who is a member".

package import Wire

/// A device that is a member of the circle, or was one until it was revoked.
package struct Member: Hashable, Sendable {
  package let device: DeviceKey
  package let transport: TransportKey
  package let name: String
  package let role: Role
  /// The signer of the oldest certificate that counts, with which the device was admitted.
  package let inviter: DeviceKey
  /// The time of the newest certificate that counts.
  package let issued: Int64
  /// The chain of at most 8 statements, from the root outward. The last one is the certificate that counts.
  package let chain: [StatementID]
}

/// A revocation that counts.
package struct CountedRevocation: Hashable, Sendable {
  package let id: StatementID
  package let body: Revocation
}

/// A grant that counts.
package struct CountedGrant: Hashable, Sendable {
  package let id: StatementID
  package let body: Grant
}

/// What a grant is for.
package struct GrantKey: Hashable, Sendable {
  package let device: DeviceKey
  package let lane: Lane

  package init(device: DeviceKey, lane: Lane) {
    self.device = device
    self.lane = lane
  }
}

/// The membership status of a device.
package enum MembershipStatus: Hashable, Sendable {
  case member(Member)
  case revoked
  /// No certificate that counts names the device, or its transport key belongs to another device.
  case unknown
}

/// Which change sets of one log may be folded.
package enum Admission: Hashable, Sendable {
  /// All sets may be folded.
  case open
  /// A set may be folded if, for every cut, it is one of the cut's tips or an ancestor of one of them. A cut without
  /// tips excludes the whole log. The logs of a device whose certificates are all void have such a cut. If a line is
  /// given, sets with a greater sequence may not be folded either.
  case cut(Set<Set<ChangeSetID>>, line: UInt64? = nil)
  /// No set may be folded, because no certificate names the device.
  case unknownDevice
}

/// The members, revocations, cuts and entitlements that follow from a set of statements.
package struct Evaluation: Sendable {
  /// The members by device key.
  package private(set) var members: [DeviceKey: Member] = [:]
  /// The revoked devices, with the properties that they had as members.
  package private(set) var revoked: [DeviceKey: Member] = [:]
  private var deviceByTransport: [TransportKey: DeviceKey] = [:]
  private var revokedTransports: Set<TransportKey> = []
  /// All devices with a certificate that counts, revoked or not.
  private var certified: Set<DeviceKey> = []
  /// All devices that a certificate names, whether or not the certificate counts.
  private var named: Set<DeviceKey> = []
  /// The revocations that count, by the device that they name.
  package private(set) var revocations: [DeviceKey: [CountedRevocation]] = [:]
  private let chains: Chains
  /// The cuts that devices have made in their own logs. Each cut is given as the newest set that is kept, or as nil if
  /// no set is kept.
  package private(set) var logCuts: [LogKey: Set<ChangeSetID?>] = [:]
  /// The issuers that are pinned by the genesis and by the root key, withdrawn or not.
  package private(set) var pinnedIssuers: Set<DeviceKey>
  /// All entitlements held, from any issuer, in ascending order of ids.
  package private(set) var entitlements: [HeldEntitlement] = []
  private var withdrawn: WithdrawnStatements
  /// The purchases that are bound to the circle, by devices that were certified at some time, in ascending order of ids.
  /// They have not been verified.
  package private(set) var purchases: [HeldPurchase] = []
  /// The fork proofs held, in ascending order of ids.
  package private(set) var forkProofs: [ForkProof] = []
  /// The greatest grant that counts for each device and lane.
  package private(set) var grants: [GrantKey: CountedGrant] = [:]
  /// The devices that have signed a revocation of themselves, with the one of the smallest id.
  private var departures: [DeviceKey: Revocation] = [:]
  private let quotas: DeviceQuotas
  private let root: DeviceKey
  /// The branch proof that counts of each tree.
  package private(set) var branchProofs: [LogTree: BranchProof] = [:]

  init(
    genesis: Genesis, genesisID: StatementID, statements: [StatementID: Statement], quotas: DeviceQuotas
  ) {
    self.quotas = quotas
    root = genesis.root
    pinnedIssuers = Set(genesis.issuers)
    withdrawn = WithdrawnStatements(root: genesis.root)
    var chains = Chains(genesis: genesis, genesisID: genesisID)
    let ordered = statements.values.sorted { $0.id < $1.id }
    for statement in ordered { chains.add(statement) }
    chains.countRevocations()
    revocations = chains.counted
    self.chains = chains
    admit(chains)
    for statement in ordered { note(statement, genesis, chains) }
    notePurchases(ordered, chains)
    noteEntitlements(ordered)
  }

  /// Collects the entitlements. The withdrawals have been noted, as they may come before or after what they name.
  private mutating func noteEntitlements(_ statements: [Statement]) {
    entitlements = statements.compactMap { statement in
      guard case .entitlement(let body) = statement.content else { return nil }
      return HeldEntitlement(
        id: statement.id, body: body, isWithdrawn: withdrawn.contains(statement.id, body))
    }
  }

  private mutating func notePurchases(_ statements: [Statement], _ chains: Chains) {
    let bound = statements.compactMap { statement -> HeldPurchase? in
      guard case .purchase(let body) = statement.content else { return nil }
      return HeldPurchase(statement.id, body)
    }
    guard !bound.isEmpty else { return }
    let buyers = chains.everCertified
    purchases = bound.filter { buyers.contains($0.body.device) }
  }

  /// Assigns transport keys and collects the members. No two members share a transport key, and no member may use the
  /// transport key of a revoked device.
  private mutating func admit(_ chains: Chains) {
    let found = chains.members()
    for (_, member) in found {
      certified.insert(member.device)
      guard revocations[member.device] != nil else { continue }
      revoked[member.device] = member
      revokedTransports.insert(member.transport)
    }
    for (_, member) in found where revocations[member.device] == nil {
      guard !isTaken(member.transport) else { continue }
      members[member.device] = member
      deviceByTransport[member.transport] = member.device
    }
  }

  private mutating func note(_ statement: Statement, _ genesis: Genesis, _ chains: Chains) {
    switch statement.content {
    case .logCut(let cut) where !chains.isVoid(statement.id, by: statement.signer):
      logCuts[cut.log, default: []].insert(cut.tip)
    case .deviceCertificate(let certificate): named.insert(certificate.device)
    case .revocation(let body) where body.issuer == body.device:
      departures[body.device] = departures[body.device] ?? body
    case .issuers(let body) where body.root == genesis.root: pinnedIssuers.formUnion(body.issuers)
    case .withdrawal(let body): withdrawn.add(body)
    case .forkProof(let proof): forkProofs.append(proof)
    case .grant(let grant) where chains.granters.contains(grant.issuer):
      let key = GrantKey(device: grant.device, lane: grant.lane)
      if let other = grants[key]?.body.bytes, other >= grant.bytes { return }
      grants[key] = CountedGrant(id: statement.id, body: grant)
    case .branchProof(let proof): branchProofs[proof.tree] = proof
    default: break
    }
  }

  // MARK: Queries

  /// The issuers that are pinned and not withdrawn.
  package var issuers: Set<DeviceKey> { pinnedIssuers.subtracting(withdrawn.issuers) }

  /// Whether the root key has withdrawn an issuer, pinned or not.
  package func isWithdrawn(issuer: DeviceKey) -> Bool { withdrawn.issuers.contains(issuer) }

  /// Whether an entitlement, held or not, or its issuer was withdrawn.
  package func isWithdrawn(_ id: StatementID, _ body: Entitlement) -> Bool { withdrawn.contains(id, body) }

  /// Returns the bytes that a device may write in a lane, in all its logs together.
  package func quota(of device: DeviceKey, _ lane: Lane) -> UInt64 {
    max(quotas[lane], grants[GrantKey(device: device, lane: lane)]?.body.bytes ?? 0)
  }

  /// Returns the same for the store of a device. A device outside the circle shares its state with no other device, so
  /// its own logs have no quota in its own store.
  package func quota(of author: DeviceKey, _ lane: Lane, at device: DeviceKey) -> UInt64 {
    author == device && members[device] == nil ? DeviceQuotas.unlimited : quota(of: author, lane)
  }

  /// Returns how many bytes the files that a device names may have, as far as another one fetches them by itself; nil if
  /// there is no limit, because it is the device itself.
  package func filesQuota(of author: DeviceKey, at device: DeviceKey) -> UInt64? {
    // A quota is at most 2^50, so this can't overflow.
    author == device ? nil : quota(of: author, .records) * Limits.filesQuotaFactor
  }

  /// The revoked devices of which a revocation keeps nothing, and whether that is final because the root key signed such
  /// a revocation.
  package var discards: [DeviceKey: Bool] {
    revocations.compactMapValues { counted in
      let discarding = counted.filter(\.body.kept.isEmpty)
      return discarding.isEmpty ? nil : discarding.contains { $0.body.issuer == root }
    }
  }

  package func status(of device: DeviceKey) -> MembershipStatus {
    if revocations[device] != nil { return .revoked }
    return members[device].map(MembershipStatus.member) ?? .unknown
  }

  /// Returns the reason why a former member is no longer a member; nil for a member, and for a device that was never
  /// certified.
  func exclusion(of device: DeviceKey) -> GateReason? {
    if revocations[device] != nil { return .revoked }
    return named.contains(device) && members[device] == nil ? .notAMember : nil
  }

  package func isMember(_ device: DeviceKey) -> Bool { members[device] != nil }

  /// The members that have asked to leave: they revoked themselves without being admins, so an admin has to revoke them.
  package var leaving: [DeviceKey: Revocation] { departures.filter { isMember($0.key) } }

  /// Whether a device that is no longer a member had decided to leave.
  package func hasLeft(_ device: DeviceKey) -> Bool { departures[device] != nil && !isMember(device) }

  /// Returns a member, or a revoked device with the properties that it had as a member; nil for any other device.
  package func known(_ device: DeviceKey) -> Member? { members[device] ?? revoked[device] }

  /// Whether any certificate names the device, even one that no longer counts.
  package func hasCertificate(_ device: DeviceKey) -> Bool {
    named.contains(device) || certified.contains(device)
  }

  /// Whether a revocation that counts voids the statement.
  package func isVoid(_ statement: Statement) -> Bool { chains.isVoid(statement.id, by: statement.signer) }

  /// Returns the revocations by a signer that count now, in ascending order of ids.
  package func countingRevocations(by signer: DeviceKey) -> [CountedRevocation] {
    revocations.values.joined().filter { $0.body.issuer == signer }.sorted { $0.id < $1.id }
  }

  /// Returns the ids of the certificates by a signer that count now.
  package func countingCertificates(of signer: DeviceKey) -> [StatementID] {
    chains.countingCertificates(of: signer)
  }

  /// Whether a certificate by this signer that counts makes the device an admin.
  package func isAdmin(_ device: DeviceKey, by signer: DeviceKey) -> Bool {
    chains.isAdmin(device, by: signer)
  }

  /// Returns the member with this transport key.
  package func member(transport: TransportKey) -> Member? {
    deviceByTransport[transport].flatMap { members[$0] }
  }

  /// Whether a transport key belongs to a member or a revoked device.
  func isTaken(_ transport: TransportKey) -> Bool {
    deviceByTransport[transport] != nil || revokedTransports.contains(transport)
  }

  /// Returns which sets of a log may be folded. In the log of a revoked device, these are the sets that every
  /// revocation of the device keeps.
  package func admission(of log: LogKey) -> Admission {
    guard certified.contains(log.device) else {
      return named.contains(log.device) ? .cut([[]]) : .unknownDevice
    }
    var cuts: [Set<ChangeSetID>] = (logCuts[log] ?? []).map { tip in tip.map { [$0] } ?? [] }
    for revocation in revocations[log.device] ?? [] {
      let kept = revocation.body.kept.first { ($0.incarnation, $0.lane) == (log.incarnation, log.lane) }
      cuts.append(Set(kept?.tips ?? []))
    }
    let line = line(of: log)
    if cuts.isEmpty, line == nil { return .open }
    return cuts.contains([]) ? .cut([[]]) : .cut(Set(cuts), line: line)
  }

  /// Returns the line at which a branch proof ends a log; nil if none does. A revocation of the device decides instead
  /// of the proof, so that an admin can bring back what was honest.
  private func line(of log: LogKey) -> UInt64? {
    revocations[log.device] == nil ? branchProofs[log.tree]?.line : nil
  }

  /// Returns which sets of a log may be folded in the store of a device. A device outside the circle shares its state
  /// with no other device. Its own logs therefore stay uncut in its own store, so that its owner can still read
  /// everything that was written on it.
  package func admission(of log: LogKey, at device: DeviceKey) -> Admission {
    log.device == device && members[device] == nil ? .open : admission(of: log)
  }
}
