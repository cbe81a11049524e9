// Protocol/circle.md, "How many statements".
//
// A member may send any number of statements, but a node keeps only a bounded number of them. Nodes that were offered
// the same statements must keep the same ones; otherwise, their hashes would never agree. So the choice depends only on
// the set of statements, not on the order in which they arrived:
//
//     step     signers                                          kept of each signer
//     0        root key, issuers of the genesis                 1,024 statements, in order of (kind, id),
//     1        founder, devices certified by the root,          and of these all that begin within
//              issuers named by the root                        the first MiB
//     2, 3 …   devices certified by admins of the step before
//     last     keys that no chain reaches, all together like one signer
//
// Of all these, in order of (step, kind, id), the circle keeps 16,384 statements, and of those all that begin within
// the first 4 MiB. Revocations by the root key and by admins do not count toward this limit. Those by admins have 2 MiB
// of their own, and those by the root key have no such limit.
//
// A branch proof doesn't count toward these limits either: of each tree, only one is kept, and there are 8 MiB for
// those of all certified devices. A device can't keep out the proof against itself by signing other statements.
//
// Suppose that a stolen phone, certified at step 2, signs 100,000 log cuts. Its quota admits only 1,024 of its
// statements, beginning with its certificates and revocations, because their kinds have smaller numbers. Statements
// signed with made-up keys, which no device certifies, only fill the last step, which is a single quota and comes after
// all certified devices. And since revocations by admins have room of their own, the phone can't keep out the
// revocation that names it.

import Wire

/// Chooses the statements that a circle keeps if there are more statements than it has room for.
///
/// The result depends only on the set of statements, not on the order in which they arrived. Certified signers come
/// before others, and shorter chains before longer ones, so a hostile device displaces its own statements first, then
/// those of uncertified keys.
struct StatementQuota {
  private let root: DeviceKey
  /// The statements of the signers that have not been reached yet, by signer.
  private var unread: [DeviceKey: [Statement]]
  /// The statements that are kept from each signer that has been reached.
  private var chosen: [DeviceKey: [Statement]] = [:]
  /// The keys whose certificates are followed. Revocations don't matter here, because void statements are kept too.
  private var admins: Set<DeviceKey>
  /// All statements chosen so far except branch proofs, the most important first.
  private var ordered: [Statement] = []
  /// The branch proofs against the signers that have been reached, in order of (step, id).
  private var proofs: [Statement] = []

  private init(_ statements: [StatementID: Statement], genesis: Genesis) {
    root = genesis.root
    admins = [genesis.root]
    unread = Dictionary(grouping: statements.values, by: \.signer)
  }

  /// Whether a set of this size may exceed a limit. If it can't, all statements are kept.
  static func mayExceed(count: Int, bytes: Int) -> Bool {
    count > Limits.statementsPerSignerMax || bytes > Limits.statementsBytesPerSignerMax
  }

  /// Returns the ids of the statements to keep.
  static func kept(_ statements: [StatementID: Statement], genesis: Genesis) -> Set<StatementID> {
    var quota = StatementQuota(statements, genesis: genesis)
    quota.walk(from: [genesis.root] + genesis.issuers)
    let exempt = quota.ordered.filter(quota.isExempt)
    quota.ordered.removeAll(where: quota.isExempt)
    let byRoot = exempt.filter { $0.signer == quota.root }
    let byAdmins = prefix(
      exempt.filter { $0.signer != quota.root }, countMax: .max, bytesMax: Limits.revocationRoomBytes)
    // All keys that no chain reaches share the quota of one signer.
    quota.ordered += best(quota.unread.values.joined())
    let all = prefix(
      quota.ordered, countMax: Limits.statementsMax, bytesMax: Limits.statementsBytesMax)
    let proofs = prefix(quota.proofs, countMax: .max, bytesMax: Limits.branchProofRoomBytes)
    return Set((byRoot + byAdmins + all + proofs).map(\.id))
  }

  /// Whether a statement is exempt from the circle's quota. Revocations by admins are exempt, so that a device that
  /// fills the quota can't keep out its own revocation.
  private func isExempt(_ statement: Statement) -> Bool {
    guard case .revocation(let body) = statement.content else { return false }
    return admins.contains(body.issuer)
  }

  /// Visits signers from the root outward, level by level, along the certificates kept so far.
  private mutating func walk(from keys: [DeviceKey]) {
    var frontier = Set(keys)
    while !frontier.isEmpty {
      var level: [Statement] = []
      var proofs: [Statement] = []
      var next: Set<DeviceKey> = []
      for signer in frontier {
        if let statements = unread.removeValue(forKey: signer) {
          let best = Self.best(statements.filter { !$0.isBranchProof })
          proofs += statements.filter(\.isBranchProof)
          chosen[signer] = best
          level += best
        }
      }
      // A key that becomes an admin on this level certifies other keys on the next level, regardless of the order
      // within this level.
      for signer in frontier.filter(admins.contains) { certify(by: signer, &next) }
      ordered += level.sorted(by: Self.precedes)
      self.proofs += proofs.sorted(by: Self.precedes)
      frontier = next
    }
  }

  /// Adds the keys that an admin's statements name to the next level, if they have not been reached yet or have only
  /// now become admins.
  private mutating func certify(by signer: DeviceKey, _ next: inout Set<DeviceKey>) {
    for statement in chosen[signer] ?? [] {
      switch statement.content {
      case .genesis(let body): reach(body.device, isAdmin: true, &next)
      case .deviceCertificate(let body): reach(body.device, isAdmin: body.role == .admin, &next)
      case .issuers(let body) where body.root == root:
        for issuer in body.issuers { reach(issuer, isAdmin: false, &next) }
      default: break
      }
    }
  }

  private mutating func reach(_ key: DeviceKey, isAdmin: Bool, _ next: inout Set<DeviceKey>) {
    let isNewAdmin = isAdmin && admins.insert(key).inserted
    if isNewAdmin || unread[key] != nil { next.insert(key) }
  }

  private static func best(_ statements: some Sequence<Statement>) -> [Statement] {
    prefix(
      statements.sorted(by: precedes), countMax: Limits.statementsPerSignerMax,
      bytesMax: Limits.statementsBytesPerSignerMax)
  }

  /// The order of statements: by kind (certificates, then revocations, and so on), then by id.
  private static func precedes(_ left: Statement, _ right: Statement) -> Bool {
    (left.kind, left.id) < (right.kind, right.id)
  }

  /// Returns the statements before the limit, and the one that crosses it. If that one were left out, a smaller
  /// statement after it would fit, and the choice would depend on the order of arrival.
  private static func prefix(_ statements: [Statement], countMax: Int, bytesMax: Int) -> [Statement] {
    var bytes = 0
    var count = 0
    while count < statements.count, count < countMax, bytes < bytesMax {
      bytes += statements[count].bytes.count
      count += 1
    }
    return Array(statements.prefix(count))
  }
}

extension Statement {
  fileprivate var isBranchProof: Bool { kind == StatementKind.branchProof.rawValue }
}
