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

/// A revocation that takes its device out of the circle.
package struct CountedRevocation: Hashable, Sendable {
  package let id: StatementID
  package let body: Revocation
}

/// What is known of a device.
package enum MembershipStatus: Hashable, Sendable {
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
  /// Devices that a revocation has taken out of the circle, as they were in it.
  package private(set) var revoked: [DeviceKey: Member] = [:]
  private var deviceByTransport: [TransportKey: DeviceKey] = [:]
  private var revokedTransports: Set<TransportKey> = []
  /// Every device with a chain that counts, revoked or not.
  private var certified: Set<DeviceKey> = []
  /// Every device that a certificate names, whether or not it counts.
  private var named: Set<DeviceKey> = []
  /// The revocations that count, by the device they name.
  package private(set) var revocations: [DeviceKey: [CountedRevocation]] = [:]
  private let chains: Chains
  /// The ends that devices have set to logs of their own: the newest set that counts, nil for none.
  package private(set) var logCuts: [LogKey: Set<ChangeSetID?>] = [:]
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
    self.chains = chains
    admit(chains)
    for statement in ordered { note(statement, genesis, chains) }
  }

  /// Members by certificate; no transport key serves two devices, and that of a revoked one serves none.
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
    case .entitlement(let entitlement): entitlements.append(entitlement)
    case .issuers(let body) where body.root == genesis.root: issuers.formUnion(body.issuers)
    case .forkProof(let proof): forkProofs.append(proof)
    default: break
    }
  }

  // MARK: Questions

  package func status(of device: DeviceKey) -> MembershipStatus {
    if revocations[device] != nil { return .revoked }
    return members[device].map(MembershipStatus.member) ?? .unknown
  }

  /// Why a device that was in the circle is out of it; nil for a member, and for a device that was never certified.
  func exclusion(of device: DeviceKey) -> GateReason? {
    if revocations[device] != nil { return .revoked }
    return named.contains(device) && members[device] == nil ? .notAMember : nil
  }

  package func isMember(_ device: DeviceKey) -> Bool { members[device] != nil }

  /// A member, or a device that was one until it was revoked.
  package func known(_ device: DeviceKey) -> Member? { members[device] ?? revoked[device] }

  /// Whether a certificate names the device, though none of them may count any more.
  package func hasCertificate(_ device: DeviceKey) -> Bool {
    named.contains(device) || certified.contains(device)
  }

  /// Whether a revocation takes this statement of its signer away.
  package func isVoid(_ statement: Statement) -> Bool { chains.isVoid(statement.id, by: statement.signer) }

  /// The revocations of a signer that take devices out of the circle now, in order of ids.
  package func countingRevocations(by signer: DeviceKey) -> [CountedRevocation] {
    revocations.values.joined().filter { $0.body.issuer == signer }.sorted { $0.id < $1.id }
  }

  /// The certificates of a signer by which devices are in the circle now.
  package func countingCertificates(of signer: DeviceKey) -> [StatementID] {
    chains.countingCertificates(of: signer)
  }

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
      let kept = revocation.body.kept.first { ($0.incarnation, $0.lane) == (log.incarnation, log.lane) }
      cuts.append(Set(kept?.tips ?? []))
    }
    if cuts.isEmpty { return .open }
    return .cut(cuts.contains([]) ? [[]] : Set(cuts))
  }

  /// What may fold of a log in the store of a device. One that is out of the circle shares its state with nobody:
  /// there its own logs stay whole, so that its owner goes on reading all that was written on it.
  package func admission(of log: LogKey, at device: DeviceKey) -> Admission {
    log.device == device && members[device] == nil ? .open : admission(of: log)
  }
}
