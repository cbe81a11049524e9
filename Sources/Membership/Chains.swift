// Protocol/circle.md, "Chains and revocations".

import Wire

/// Certificates and revocations by who signed them; decides which count.
struct Chains {
  /// A certificate, the genesis' own for the founder among them.
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
  /// The revocations that count, by the device they name; shorter chains first, then by id.
  private(set) var counted: [DeviceKey: [CountedRevocation]] = [:]
  /// Of each revoked device, the statements that every revocation counted so far lets stand.
  private var status: [DeviceKey: Set<StatementID>] = [:]

  init(genesis: Genesis, genesisID: StatementID) {
    root = genesis.root
    links[root] = [
      Link(
        id: genesisID, issuer: root, device: genesis.device, transport: genesis.transport,
        name: genesis.name, role: .admin, issued: genesis.created)
    ]
  }

  /// Takes in one statement; to be called in ascending order of ids.
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

  /// Whether a revocation that counts takes this statement of its signer away.
  func isVoid(_ id: StatementID, by signer: DeviceKey) -> Bool {
    guard let left = status[signer] else { return false }
    return !left.contains(id)
  }

  /// Goes from the root outward. A revocation of length n counts if its signer's chain holds against
  /// all that count with less than n, and none of those takes it away; equal lengths never meet.
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
    status[revocation.body.device] = status[revocation.body.device]?.intersection(valid) ?? valid
  }

  /// The certificates of a signer by which devices are in the circle now.
  func countingCertificates(of signer: DeviceKey) -> [StatementID] {
    guard let depth = adminDepths()[signer], depth < Limits.chainLinksMax else { return [] }
    return (links[signer] ?? []).map(\.id).filter { !isVoid($0, by: signer) }
  }

  /// The number of links from the root to each key that may sign; the root's is 0.
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

  /// Every device with a certificate that counts, revoked ones too, in the order in which transport
  /// keys are given out: shorter chains first, then by id of the certificate.
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

  /// Of each admin, the certificate on its shortest chain; of equal ones the smallest id.
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
