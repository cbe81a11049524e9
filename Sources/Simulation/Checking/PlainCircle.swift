// Protocol/circle.md, "Who is a member", "What folds", "The gate"

/// The judge's own evaluation of a collection of statements. The result does not depend on the order of the statements.
struct PlainCircle {
  private(set) var id = Name32.zero
  private var root = Name32.zero
  private var certificates: [PlainCertificate] = []
  private var revocations: [PlainRevocation] = []
  private var logCuts: [(id: Name32, log: PlainLog, tip: Name32?)] = []
  private var entitlements: [(id: Name32, body: PlainEntitlement)] = []
  private var grants: [(issuer: Name32, device: Name32, lane: Int, bytes: UInt64)] = []
  /// The keys that reach the root through admin certificates, whether or not they are revoked.
  private var granters: Set<Name32> = []
  private var issuers: Set<Name32> = []
  /// What withdrawals name, with their signers, whether or not they may.
  private var withdrawals: [(signer: Name32, subject: Name32, isIssuer: Bool)] = []
  private(set) var forkProofs: [PlainLog: Set<UInt64>] = [:]
  /// The lowest line of the branch proofs against each tree.
  private var lines: [PlainTree: UInt64] = [:]

  /// The revocations that count, by revoked device.
  private(set) var counted: [Name32: [PlainRevocation]] = [:]
  /// Every device that a certificate names, whether or not the certificate counts.
  private(set) var named: Set<Name32> = []
  /// For every certified device, revoked or not: the certificate that counts, the length of its chain, and whether the
  /// device is an admin.
  private(set) var certified: [Name32: (certificate: PlainCertificate, links: Int, isAdmin: Bool)] = [:]
  private(set) var members: Set<Name32> = []

  init(_ statements: [PlainStatement]) throws(PlainRefusal) {
    guard let genesis = statements.first(where: { $0.kind == 1 }),
      case .genesis(let root, let founder, let pinned) = genesis.body
    else { throw PlainRefusal("circle", "the genesis is missing") }
    id = genesis.id
    self.root = root
    issuers = Set(pinned)
    certificates = [founder]
    for statement in statements {
      guard statement.circle == id else { throw PlainRefusal("circle", "a statement of another circle") }
      note(statement)
    }
    named = Set(certificates.map(\.device))
    certificates.removeAll { $0.device == root }
    revocations.removeAll { $0.device == root }
    granters = Set(depths().keys)
    countRevocations()
    certify()
    admit()
  }

  private mutating func note(_ statement: PlainStatement) {
    switch statement.body {
    case .certificate(let certificate): certificates.append(certificate)
    case .revocation(let revocation): revocations.append(revocation)
    case .logCut(let log, let tip): logCuts.append((statement.id, log, tip))
    case .entitlement(let entitlement): entitlements.append((statement.id, entitlement))
    case .withdrawal(let issuers, let ids):
      withdrawals += issuers.map { (statement.signer, $0, true) } + ids.map { (statement.signer, $0, false) }
    case .issuers(let keys): if statement.signer == root { issuers.formUnion(keys) }
    case .forkProof(let log, let sequence): forkProofs[log, default: []].insert(sequence)
    case .grant(let device, let lane, let bytes):
      grants.append((statement.signer, device, lane, bytes))
    case .branchProof(let tree, let line): lines[tree] = min(line, lines[tree] ?? line)
    case .genesis, .addresses, .purchase, .newer: break
    }
  }

  // MARK: Chains and revocations

  private mutating func countRevocations() {
    var found: Set<Name32> = []
    for length in 1...9 {
      let depths = depths()
      let more = revocations.filter {
        depths[$0.issuer] == length - 1 && !isVoid($0.id, by: $0.issuer) && !found.contains($0.id)
      }
      // Count all revocations with chains of the same length at once, so that they can't void each other.
      for revocation in more {
        found.insert(revocation.id)
        counted[revocation.device, default: []].append(revocation)
      }
    }
  }

  /// Whether a statement is void because a revocation of its signer counts and does not list the statement as valid.
  func isVoid(_ statement: Name32, by signer: Name32) -> Bool {
    (counted[signer] ?? []).contains { !$0.valid.contains(statement) }
  }

  /// Returns the length of the shortest chain of valid certificates for the root and every admin.
  private func depths() -> [Name32: Int] {
    var depths = [root: 0]
    let admins = certificates.filter { $0.isAdmin && !isVoid($0.id, by: $0.issuer) }
    for depth in 1...8 {
      let reached = admins.filter { depths[$0.issuer] == depth - 1 && depths[$0.device] == nil }
      for certificate in reached { depths[certificate.device] = depth }
    }
    return depths
  }

  private mutating func certify() {
    let depths = depths()
    for certificate in certificates {
      guard let depth = depths[certificate.issuer], depth <= 7,
        !isVoid(certificate.id, by: certificate.issuer)
      else { continue }
      let other = certified[certificate.device]
      let isAdmin = certificate.isAdmin || other?.isAdmin == true
      if let other,
        (other.certificate.issued, other.certificate.id) > (certificate.issued, certificate.id)
      {
        certified[certificate.device]?.isAdmin = isAdmin
      } else {
        certified[certificate.device] = (certificate, depth + 1, isAdmin)
      }
    }
  }

  private mutating func admit() {
    var taken = Set(counted.keys.compactMap { certified[$0]?.certificate.transport })
    let candidates = certified.filter { counted[$0.key] == nil }.values.sorted {
      ($0.links, $0.certificate.id) < ($1.links, $1.certificate.id)
    }
    for (certificate, _, _) in candidates where taken.insert(certificate.transport).inserted {
      members.insert(certificate.device)
    }
  }

  // MARK: Cuts

  /// Returns the sequence after which sets of a log don't fold in the store of `owner`; nil if there is no such limit.
  func line(of log: PlainLog, at owner: Name32) -> UInt64? {
    if log.device == owner, !members.contains(owner) { return nil }
    return certified[log.device] == nil || counted[log.device] != nil ? nil : lines[PlainTree(log)]
  }

  /// Returns the cuts of a log in the store of `owner`; nil if the log is not cut. A cut without tips excludes all
  /// sets. There may be no cut at all if the log has a line.
  func cuts(of log: PlainLog, at owner: Name32) -> [Set<Name32>]? {
    // A device that is not a member shares its state with no peer, so it keeps its own logs whole.
    if log.device == owner, !members.contains(owner) { return nil }
    guard certified[log.device] != nil else { return named.contains(log.device) ? [[]] : nil }
    var cuts = (counted[log.device] ?? []).map { $0.kept[log] ?? [] }
    for cut in logCuts where cut.log == log && !isVoid(cut.id, by: log.device) {
      cuts.append(cut.tip.map { [$0] } ?? [])
    }
    return cuts.isEmpty && line(of: log, at: owner) == nil ? nil : cuts
  }

  /// Whether any statement cuts a log, even if the statement does not count now.
  func mayHaveCut(_ log: PlainLog) -> Bool {
    certified[log.device] == nil || revocations.contains { $0.device == log.device }
      || logCuts.contains { $0.log == log } || lines[PlainTree(log)] != nil
  }

  /// Whether the author of a log has cut this log, or the log of the other lane with the same incarnation, by a valid
  /// log cut.
  func hasEnded(_ log: PlainLog) -> Bool {
    logCuts.contains {
      ($0.log.device, $0.log.incarnation) == (log.device, log.incarnation) && !isVoid($0.id, by: log.device)
    }
  }

  /// Whether a device's sets may be stored at all, which requires that a certificate names the device.
  func isKnown(_ device: Name32) -> Bool { named.contains(device) }

  // MARK: Quotas

  /// The quotas of devices without a grant, in the settings lane and in the records lane.
  static let quotas: [UInt64] = [4_194_304, 1_073_741_824]

  /// Returns the bytes that a log may hold in the store of `owner`; nil for any number of bytes.
  ///
  /// - Parameter quotas: the quotas of devices without a grant.
  func bytesMax(of log: PlainLog, at owner: Name32, _ quotas: [UInt64] = Self.quotas) -> UInt64? {
    if log.device == owner, !members.contains(owner) { return nil }
    let quota = quota(of: log.device, log.lane, quotas)
    return log.incarnation.bytes[0] >> 4 == 0 ? quota / 2 : quota / 32
  }

  /// Returns the bytes that all files named by a device may have on another one.
  func fileBytesMax(of device: Name32, _ quotas: [UInt64]) -> UInt64 { quota(of: device, 1, quotas) * 16 }

  private func quota(of device: Name32, _ lane: Int, _ quotas: [UInt64]) -> UInt64 {
    let granted = grants.filter {
      $0.device == device && $0.lane == lane && granters.contains($0.issuer)
    }
    return granted.map(\.bytes).reduce(quotas[lane], max)
  }

  // MARK: The gate

  /// Returns the time at which premium is evaluated.
  ///
  /// - Parameters:
  ///   - foreign: the milliseconds of the greatest clock folded from another device; 0 if there is none.
  ///   - extra: an additional issuer that this build accepts.
  func gateTime(wall: UInt64, foreign: UInt64, extra: Name32? = nil) -> UInt64 {
    let issued = valid(extra).map(\.issued).max() ?? 0
    return max(wall, foreign, issued)
  }

  func isPremium(_ device: Name32, at time: UInt64, extra: Name32? = nil) -> Bool {
    valid(extra).contains { concerns($0, device) && $0.notBefore <= time && time < $0.notAfter }
  }

  /// Returns the number of the reason why entitlements keep a device's records lane closed; 0 if they open the lane.
  func reason(_ device: Name32, at time: UInt64, extra: Name32? = nil) -> Int {
    if isPremium(device, at: time, extra: extra) { return 0 }
    let own = valid(extra).filter { concerns($0, device) }
    let lost = entitlements.filter { isWithdrawn($0.id, $0.body) && names($0.body, extra) }.map(\.body)
    if let end = lost.filter({ concerns($0, device) }).map(\.notAfter).max(),
      own.allSatisfy({ $0.notAfter < end })
    {
      return 2
    }
    if own.contains(where: { $0.notAfter <= time }) { return 3 }
    return own.isEmpty ? 2 : 4
  }

  /// Returns the entitlements that count for the devices that they concern.
  private func valid(_ extra: Name32?) -> [PlainEntitlement] {
    entitlements.filter { names($0.body, extra) && !isWithdrawn($0.id, $0.body) }.map(\.body)
  }

  /// Whether the circle or the build names the issuer of an entitlement, withdrawn or not.
  private func names(_ entitlement: PlainEntitlement, _ extra: Name32?) -> Bool {
    issuers.contains(entitlement.issuer) || entitlement.issuer == extra
  }

  private func isWithdrawn(_ id: Name32, _ entitlement: PlainEntitlement) -> Bool {
    withdrawals.contains { signer, subject, isIssuer in
      if isIssuer { return signer == root && subject == entitlement.issuer && subject != root }
      return subject == id && (signer == root || signer == entitlement.issuer)
    }
  }

  private func concerns(_ entitlement: PlainEntitlement, _ device: Name32) -> Bool {
    entitlement.devices?.contains(device) ?? true
  }
}
