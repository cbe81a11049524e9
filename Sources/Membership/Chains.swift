// Protocol/circle.md, "Chains and revocations".
//
// Decides membership from a set of signed statements. Certificates form chains that start at the circle's root key; a
// device with an admin certificate may sign certificates and revocations itself. The depth of a key is the number of
// admin certificates on its shortest chain, and a revocation has the length of its signer's depth plus 1.
//
//     root ──▶ laptop (admin) ──▶ phone (admin) ──▶ tablet
//     depth 0      depth 1   │      depth 2    └──▶ puppet (admin, depth 3)
//                            └──▶ nas (admin, depth 2)
//
// A counted revocation voids every statement of the device it names, except those that it lists as valid. Whether a
// revocation counts may therefore depend on other revocations. `countRevocations` settles that by length: a revocation
// is judged only by those of shorter chains, which are settled already.
//
// Suppose the phone is stolen. The thief revokes nas and admits a puppet; laptop revokes the phone and lists its
// certificate of tablet as valid:
//
//     length 1 (by root)      none
//     length 2 (by laptop)    revokes phone: counts, and voids all statements of phone but the certificate of tablet
//     length 3 (by phone)     revokes nas: void, so it does not count
//     result                  members laptop, nas, tablet; phone revoked; puppet unknown, its certificate is void
//
// Revocations of equal length never void each other: if phone and nas revoke each other, both are revoked until laptop
// or the root key revokes one of them and so voids its revocation of the other. Without this order the result would
// depend on which revocation a node received first, and nodes with the same statements could disagree about the members.

import Wire

/// The certificates and revocations of a circle by signer, and which of them count.
struct Chains {
  /// A certificate; for the founder, the genesis.
  private struct Link {
    var id: StatementID
    var issuer: DeviceKey
    var device: DeviceKey
    var transport: TransportKey
    var name: String
    var role: Role
    var issued: Int64
  }

  private let root: DeviceKey
  private var links: [DeviceKey: [Link]] = [:]
  private var revocations: [DeviceKey: [(id: StatementID, body: Revocation)]] = [:]
  /// The revocations that count, by the device that they name; shorter chains first, then by id.
  private(set) var counted: [DeviceKey: [CountedRevocation]] = [:]
  /// The statements of each revoked device that all revocations counted so far list as valid.
  private var stillValid: [DeviceKey: Set<StatementID>] = [:]

  init(genesis: Genesis, genesisID: StatementID) {
    root = genesis.root
    links[root] = [
      Link(
        id: genesisID, issuer: root, device: genesis.device, transport: genesis.transport,
        name: genesis.name, role: .admin, issued: genesis.created)
    ]
  }

  /// Adds one statement; must be called in ascending order of ids.
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

  /// Whether a revocation that counts voids this statement of a signer.
  func isVoid(_ id: StatementID, by signer: DeviceKey) -> Bool {
    guard let valid = stillValid[signer] else { return false }
    return !valid.contains(id)
  }

  /// Finds the revocations that count, by ascending length. One of length n counts if those that count with less than
  /// n void neither it nor a link of its signer's chain; equal lengths never void each other.
  mutating func countRevocations() {
    for length in 1...Limits.chainLinksMax + 1 {
      let depths = adminDepths()
      var found: [(id: StatementID, body: Revocation)] = []
      for (signer, signed) in revocations where depths[signer] == length - 1 {
        found.append(contentsOf: signed.filter { !isVoid($0.id, by: signer) })
      }
      for (id, body) in found.sorted(by: { $0.id < $1.id }) { count(CountedRevocation(id: id, body: body)) }
    }
  }

  private mutating func count(_ revocation: CountedRevocation) {
    counted[revocation.body.device, default: []].append(revocation)
    let valid = Set(revocation.body.valid)
    stillValid[revocation.body.device] = stillValid[revocation.body.device]?.intersection(valid) ?? valid
  }

  /// The certificates of a signer that count now.
  func countingCertificates(of signer: DeviceKey) -> [StatementID] {
    guard let depth = adminDepths()[signer], depth < Limits.chainLinksMax else { return [] }
    return (links[signer] ?? []).map(\.id).filter { !isVoid($0, by: signer) }
  }

  /// The depth of each key that may sign; the root's is 0.
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

  /// Every device with a certificate that counts, revoked ones included, in the order in which transport keys are
  /// assigned: shorter chains first, then by id of the certificate.
  func members() -> [(id: StatementID, member: Member)] {
    let depths = adminDepths()
    var newest: [DeviceKey: Link] = [:]
    var admins: Set<DeviceKey> = []
    for (issuer, depth) in depths where depth < Limits.chainLinksMax {
      for link in links[issuer] ?? [] where !isVoid(link.id, by: issuer) {
        if link.role == .admin { admins.insert(link.device) }
        let old = newest[link.device]
        if old.map({ ($0.issued, $0.id) < (link.issued, link.id) }) ?? true { newest[link.device] = link }
      }
    }
    let parents = adminLinks(depths)
    return newest.values.map { link in
      (link.id, member(link, isAdmin: admins.contains(link.device), parents))
    }
    .sorted { ($0.member.chain.count, $0.id) < ($1.member.chain.count, $1.id) }
  }

  private func member(_ link: Link, isAdmin: Bool, _ parents: [DeviceKey: Link]) -> Member {
    var chain = [link.id]
    var issuer = link.issuer
    while chain.count < Limits.chainLinksMax, let parent = parents[issuer] {
      chain.append(parent.id)
      issuer = parent.issuer
    }
    return Member(
      device: link.device, transport: link.transport, name: link.name, role: isAdmin ? .admin : .member,
      issuer: link.issuer, issued: link.issued, chain: chain.reversed())
  }

  /// The last certificate on the shortest chain of each admin; of equal chains, the one with the smallest id.
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
