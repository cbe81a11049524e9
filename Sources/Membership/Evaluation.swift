// Protocol/circle.md, "Who is a member".

package import Wire

/// A device that is in the circle, or was until it was revoked.
package struct Member: Hashable, Sendable {
  package let device: DeviceKey
  package let transport: TransportKey
  package let name: String
  package let role: Role
  /// The key that signed the certificate that counts.
  package let issuer: DeviceKey
  package let issued: Int64
  /// The statements from the root outward, the certificate that counts last; at most 8.
  package let chain: [StatementID]
}

/// What is known of a device.
package enum Standing: Hashable, Sendable {
  case member(Member)
  case revoked
  /// No certificate that counts names it, or its transport key belongs to another device.
  case unknown
}

/// What may fold of one log.
package enum Admission: Hashable, Sendable {
  /// Every set.
  case open
  /// Sets that are, for each of the cuts, one of its tips or an ancestor of one. A cut without tips
  /// excludes the whole log; so it is if the certificates that name the device are void.
  case cut(Set<Set<ChangeSetID>>)
  /// None: no certificate names the device.
  case unknownDevice
}

/// What a set of statements says, computed from the root outward.
package struct Evaluation: Sendable {
  /// The members, by device key.
  package private(set) var members: [DeviceKey: Member] = [:]
  private var deviceByTransport: [TransportKey: DeviceKey] = [:]
  private var revokedTransports: Set<TransportKey> = []
  /// Every device with a chain that counts, revoked or not.
  private var certified: Set<DeviceKey> = []
  /// Every device that a certificate names, whether or not it counts.
  private var named: Set<DeviceKey> = []
  /// The revocations that count, by the device they name.
  package private(set) var revocations: [DeviceKey: [Revocation]] = [:]
  private var logCuts: [LogKey: Set<ChangeSetID?>] = [:]
  /// The issuers pinned by the genesis and the root.
  package private(set) var issuers: Set<DeviceKey>
  /// All entitlements held, of whatever issuer, ascending by id.
  package private(set) var entitlements: [Entitlement] = []
  /// The proofs held, ascending by id.
  package private(set) var forkProofs: [ForkProof] = []

  init(genesis: Genesis, genesisID: StatementID, statements: [StatementID: Statement]) {
    issuers = Set(genesis.issuers)
    var chains = Chains(genesis: genesis, genesisID: genesisID)
    let ordered = statements.values.sorted { $0.id < $1.id }
    for statement in ordered { chains.add(statement) }
    chains.countRevocations()
    revocations = chains.counted
    admit(chains)
    for statement in ordered { note(statement, genesis, chains) }
  }

  /// Members by certificate; no transport key serves two devices, and that of a revoked one serves none.
  private mutating func admit(_ chains: Chains) {
    let found = chains.members()
    for (_, member) in found {
      certified.insert(member.device)
      if revocations[member.device] != nil { revokedTransports.insert(member.transport) }
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
    case .entitlement(let entitlement): entitlements.append(entitlement)
    case .issuers(let body) where body.root == genesis.root: issuers.formUnion(body.issuers)
    case .forkProof(let proof): forkProofs.append(proof)
    default: break
    }
  }

  // MARK: Questions

  package func standing(of device: DeviceKey) -> Standing {
    if revocations[device] != nil { return .revoked }
    return members[device].map(Standing.member) ?? .unknown
  }

  package func isMember(_ device: DeviceKey) -> Bool { members[device] != nil }

  /// The member that a transport key belongs to.
  package func member(transport: TransportKey) -> Member? {
    deviceByTransport[transport].flatMap { members[$0] }
  }

  /// Whether a transport key is a member's, or was a revoked device's.
  func isTaken(_ transport: TransportKey) -> Bool {
    deviceByTransport[transport] != nil || revokedTransports.contains(transport)
  }

  /// What may fold of a log. A revoked device's log goes on to the tips that every revocation keeps.
  package func admission(of log: LogKey) -> Admission {
    guard certified.contains(log.device) else {
      return named.contains(log.device) ? .cut([[]]) : .unknownDevice
    }
    var cuts: [Set<ChangeSetID>] = (logCuts[log] ?? []).map { tip in tip.map { [$0] } ?? [] }
    for revocation in revocations[log.device] ?? [] {
      let kept = revocation.kept.first { ($0.incarnation, $0.lane) == (log.incarnation, log.lane) }
      cuts.append(Set(kept?.tips ?? []))
    }
    if cuts.isEmpty { return .open }
    return .cut(cuts.contains([]) ? [[]] : Set(cuts))
  }
}
