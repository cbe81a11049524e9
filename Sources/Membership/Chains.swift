// Protocol/circle.md, "Chains and revocations".
//
// Decides membership from a set of signed statements. Certificates form chains that start at the circle's root key; a
// device with an admin certificate may sign certificates and revocations itself. The depth of a key is the number of
// admin certificates on its shortest chain, and the length of a revocation is the depth of its signer plus 1.
//
//     root ──▶ laptop (admin) ──▶ phone (admin) ──▶ tablet
//     depth 0      depth 1   │      depth 2    └──▶ puppet (admin, depth 3)
//                            └──▶ nas (admin, depth 2)
//
// A revocation that counts voids every statement of the device that it names, except those that it lists as valid.
// Whether a revocation counts may therefore depend on other revocations. `countRevocations` judges revocations in
// ascending order of length, so whether one counts depends only on shorter revocations, which have already been judged.
//
// Suppose that the phone is stolen. The thief revokes nas and admits a puppet. Then laptop revokes the phone, and lists
// the certificate that the phone signed for tablet as valid:
//
//     length 1 (by root)      none
//     length 2 (by laptop)    revokes phone: counts, and voids all statements of phone but the certificate of tablet
//     length 3 (by phone)     revokes nas: void, so it does not count
//     result                  members laptop, nas, tablet; phone revoked; puppet unknown, its certificate is void
//
// Revocations of equal length never void each other: if phone and nas revoke each other, both are revoked until laptop
// or the root key revokes one of them and so voids its revocation of the other. Without this order, the result would
// depend on which revocation a node received first, and nodes with the same statements could disagree about the
// members.

import Wire

/// The certificates and revocations of a circle, grouped by signer, and which of them count.
struct Chains {
  /// A certificate. For the founder, this is the genesis.
  private struct Link {
    var id: StatementID
    var issuer: DeviceKey
    var device: DeviceKey
    var transport: TransportKey
    var name: String
    var role: Role
    var issued: Int64

    /// The newer of two certificates of a device decides on its name and its transport key.
    static func < (left: Link, right: Link) -> Bool { (left.issued, left.id) < (right.issued, right.id) }
  }

  private let root: DeviceKey
  private var links: [DeviceKey: [Link]] = [:]
  private var revocations: [DeviceKey: [(id: StatementID, body: Revocation)]] = [:]
  /// The revocations that count, by the device that they name, sorted by length and then by id.
  private(set) var counted: [DeviceKey: [CountedRevocation]] = [:]
  /// The keys that may sign grants: those that could sign certificates if there were no revocations. Others have seen
  /// what a grant admitted, and their changes must not disappear because its signer is revoked.
  private(set) var granters: Set<DeviceKey> = []
  /// For each revoked device, its statements that every revocation counted so far lists as valid.
  private var stillValid: [DeviceKey: Set<StatementID>] = [:]

  init(genesis: Genesis, genesisID: StatementID) {
    root = genesis.root
    links[root] = [
      Link(
        id: genesisID, issuer: root, device: genesis.device, transport: genesis.transport,
        name: genesis.name, role: .admin, issued: genesis.created)
    ]
  }

  /// Adds one statement. Statements must be added in ascending order of their ids.
  mutating func add(_ statement: Statement) {
    switch statement.content {
    case .deviceCertificate(let body) where body.device != root:
      links[body.issuer, default: []].append(
        Link(
          id: statement.id, issuer: body.issuer, device: body.device, transport: body.transport,
          name: body.name, role: body.role, issued: body.issued))
    case .revocation(let body) where body.device != root:
      revocations[body.issuer, default: []].append((statement.id, body))
    default: break
    }
  }

  /// Whether a revocation that counts voids this statement, which `signer` signed.
  func isVoid(_ id: StatementID, by signer: DeviceKey) -> Bool {
    guard let valid = stillValid[signer] else { return false }
    return !valid.contains(id)
  }

  /// Finds the revocations that count, in ascending order of length. A revocation of length n counts unless a shorter
  /// revocation that counts voids it or a link of its signer's chain. Revocations of equal length never void each
  /// other.
  mutating func countRevocations() {
    granters = Set(adminDepths().keys)
    for length in 1...Limits.chainLinksMax + 1 {
      let depths = adminDepths()
      var found: [(id: StatementID, body: Revocation)] = []
      for (signer, signed) in revocations where depths[signer] == length - 1 {
        found.append(contentsOf: signed.filter { !isVoid($0.id, by: signer) })
      }
      for (id, body) in found.sorted(by: { $0.id < $1.id }) { count(CountedRevocation(id: id, body: body)) }
    }
  }

  /// All devices that have a certificate by a key that may sign certificates, or may have done so before it was revoked.
  var everCertified: Set<DeviceKey> {
    Set(granters.flatMap { links[$0] ?? [] }.map(\.device))
  }

  private mutating func count(_ revocation: CountedRevocation) {
    counted[revocation.body.device, default: []].append(revocation)
    let valid = Set(revocation.body.valid)
    stillValid[revocation.body.device] = stillValid[revocation.body.device]?.intersection(valid) ?? valid
  }

  /// Returns the ids of the certificates by a signer that count now.
  func countingCertificates(of signer: DeviceKey) -> [StatementID] {
    guard let depth = adminDepths()[signer], depth < Limits.chainLinksMax else { return [] }
    return (links[signer] ?? []).map(\.id).filter { !isVoid($0, by: signer) }
  }

  /// Whether a certificate by this signer that counts makes the device an admin.
  func isAdmin(_ device: DeviceKey, by signer: DeviceKey) -> Bool {
    guard let depth = adminDepths()[signer], depth < Limits.chainLinksMax else { return false }
    return (links[signer] ?? []).contains {
      $0.device == device && $0.role == .admin && !isVoid($0.id, by: signer)
    }
  }

  /// Returns the depth of each key that may sign certificates and revocations. The root key has depth 0.
  private func adminDepths() -> [DeviceKey: Int] {
    var depths = [root: 0]
    var frontier = [root]
    for depth in 1...Limits.chainLinksMax where !frontier.isEmpty {
      var next: [DeviceKey] = []
      for issuer in frontier {
        for link in links[issuer] ?? [] where link.role == .admin && depths[link.device] == nil {
          guard !isVoid(link.id, by: issuer) else { continue }
          depths[link.device] = depth
          next.append(link.device)
        }
      }
      frontier = next
    }
    return depths
  }

  // MARK: Members

  /// Returns every device with a certificate that counts, including revoked devices. They are in the order in which
  /// transport keys are assigned: by the length of the chain, then by the id of the certificate.
  func members() -> [(id: StatementID, member: Member)] {
    let depths = adminDepths()
    var newest: [DeviceKey: Link] = [:]
    var oldest: [DeviceKey: Link] = [:]
    var admins: Set<DeviceKey> = []
    for (issuer, depth) in depths where depth < Limits.chainLinksMax {
      for link in links[issuer] ?? [] where !isVoid(link.id, by: issuer) {
        if link.role == .admin { admins.insert(link.device) }
        if newest[link.device].map({ $0 < link }) ?? true { newest[link.device] = link }
        if oldest[link.device].map({ link < $0 }) ?? true { oldest[link.device] = link }
      }
    }
    let parents = adminLinks(depths)
    return newest.values.map { link in
      let inviter = oldest[link.device]?.issuer ?? link.issuer
      return (link.id, member(link, inviter, isAdmin: admins.contains(link.device), parents))
    }
    .sorted { ($0.member.chain.count, $0.id) < ($1.member.chain.count, $1.id) }
  }

  private func member(
    _ link: Link, _ inviter: DeviceKey, isAdmin: Bool, _ parents: [DeviceKey: Link]
  ) -> Member {
    var chain = [link.id]
    var issuer = link.issuer
    while chain.count < Limits.chainLinksMax, let parent = parents[issuer] {
      chain.append(parent.id)
      issuer = parent.issuer
    }
    return Member(
      device: link.device, transport: link.transport, name: link.name, role: isAdmin ? .admin : .member,
      inviter: inviter, issued: link.issued, chain: chain.reversed())
  }

  /// Returns the last certificate on the shortest chain of each admin. If several chains are equally short, this is the
  /// certificate with the smallest id.
  private func adminLinks(_ depths: [DeviceKey: Int]) -> [DeviceKey: Link] {
    var parents: [DeviceKey: Link] = [:]
    for (issuer, depth) in depths {
      for link in links[issuer] ?? [] where link.role == .admin && !isVoid(link.id, by: issuer) {
        guard depths[link.device] == depth + 1 else { continue }
        if let old = parents[link.device], old.id < link.id { continue }
        parents[link.device] = link
      }
    }
    return parents
  }
}
