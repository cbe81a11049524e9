// Protocol/circle.md, "How many statements".

import Wire

/// Which statements a circle keeps where there are more than it has room for.
///
/// A function of the set: whoever was offered the same statements keeps the same ones, in whatever order they came.
/// Who is certified comes before who is not, and shorter chains before longer ones, so that what a hostile device
/// makes up displaces first its own statements, then those of keys that nobody certified.
struct StatementQuota {
  private let root: DeviceKey
  private var unread: [DeviceKey: [Statement]]
  /// What each key that was reached keeps.
  private var chosen: [DeviceKey: [Statement]] = [:]
  /// The keys whose certificates count here. Revocations don't matter: void statements are kept too.
  private var admins: Set<DeviceKey>
  /// Everything kept, the most important first.
  private var ordered: [Statement] = []

  private init(_ statements: [StatementID: Statement], genesis: Genesis) {
    root = genesis.root
    admins = [genesis.root]
    unread = Dictionary(grouping: statements.values, by: \.signer)
  }

  /// Whether so many statements may be more than there is room for: else nothing has to be chosen.
  static func mayExceed(count: Int, bytes: Int) -> Bool {
    count > Limits.statementsPerSignerMax || bytes > Limits.statementsBytesPerSignerMax
  }

  /// The ids of what is kept.
  static func kept(_ statements: [StatementID: Statement], genesis: Genesis) -> Set<StatementID> {
    var quota = StatementQuota(statements, genesis: genesis)
    quota.walk(from: [genesis.root] + genesis.issuers)
    let heard = quota.ordered.filter(quota.isExempt)
    quota.ordered.removeAll(where: quota.isExempt)
    let byRoot = heard.filter { $0.signer == quota.root }
    let byAdmins = prefix(
      heard.filter { $0.signer != quota.root }, countMax: .max, bytesMax: Limits.revocationRoomBytes)
    // Of keys that no chain leads to, all together count like one signer.
    quota.ordered += best(quota.unread.values.joined())
    let all = prefix(
      quota.ordered, countMax: Limits.statementsMax, bytesMax: Limits.statementsBytesMax)
    return Set((byRoot + byAdmins + all).map(\.id))
  }

  /// Whoever fills all the room there is can't keep out the word that ends its membership.
  private func isExempt(_ statement: Statement) -> Bool {
    guard case .revocation(let body) = statement.content else { return false }
    return admins.contains(body.issuer)
  }

  /// Goes from the root outward along what is kept of each key, chain by chain.
  private mutating func walk(from keys: [DeviceKey]) {
    var frontier = Set(keys)
    while !frontier.isEmpty {
      var level: [Statement] = []
      var next: Set<DeviceKey> = []
      for signer in frontier {
        if let statements = unread.removeValue(forKey: signer) {
          let best = Self.best(statements)
          chosen[signer] = best
          level += best
        }
      }
      // Who becomes an admin on this level certifies on the next one, whichever key of the level is looked at first.
      for signer in frontier.filter(admins.contains) { certify(by: signer, &next) }
      ordered += level.sorted(by: Self.precedes)
      frontier = next
    }
  }

  /// The keys that an admin's certificates name and that have not been reached yet, or not as an admin.
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

  /// Certificates first, then revocations, and so on in the order of kinds; of one kind by id.
  private static func precedes(_ left: Statement, _ right: Statement) -> Bool {
    (left.kind, left.id) < (right.kind, right.id)
  }

  /// What stands in front of the limit, the statement that crosses it included: without that one a smaller one
  /// behind it would find room, and which does would depend on the order of arrival.
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
