import JSONDocument
import Membership
import Replication
import Sodium
import Wire

/// Statements of a circle: bodies of every kind, mutated and validly signed, received by two nodes in different
/// orders. Their combined effect must not depend on the order.
func fuzzStatements(_ input: [UInt8]) throws {
  var choices = Choices(input)
  guard choices.below(4) > 0 else { return try readStatement(choices.rest()) }
  var notary = Notary()
  var statements: [Statement] = []
  for _ in 0..<24 where !choices.isAtEnd {
    guard let statement = try notary.statement(&choices) else { continue }
    try checkForm(statement)
    statements.append(statement)
  }
  var (one, other) = (try circleOfOne(), try circleOfOne())
  for statement in statements { _ = one.insert([statement]) }
  other.insert(Array(statements.reversed()))
  try require(
    one.ids == other.ids && one.setHash == other.setHash, "two orders of arrival leave different statements")
  try require(said(by: one) == said(by: other), "the result depends on the order of arrival")
  try introduceEveryone(of: one)
  try admitEve(to: one, &choices)
}

private func circleOfOne() throws -> Circle { try Circle(genesis: Cast.genesis, developmentIssuer: nil) }

private func readStatement(_ bytes: [UInt8]) throws {
  if let statement = try? Statement(bytes) { try checkForm(statement) }
}

/// Accepted bytes are exactly those that a correct node writes.
private func checkForm(_ statement: Statement) throws {
  var reader = CBORReader(statement.bytes)
  try reader.array(exactly: 3)
  _ = try reader.unsigned()
  let body = try reader.byteString(max: Limits.branchProofBytesMax)
  let encoded: [UInt8]? =
    switch statement.content {
    case .genesis(let content): content.encoded
    case .deviceCertificate(let content): content.encoded
    case .revocation(let content): content.encoded
    case .logCut(let content): content.encoded
    case .entitlement(let content): content.encoded
    case .issuers(let content): content.encoded
    case .addresses(let content): content.encoded
    case .grant(let content): content.encoded
    case .purchase(let content): content.encoded
    case .withdrawal(let content): content.encoded
    case .forkProof, .branchProof, .unknown: nil
    }
  if let encoded { try require(encoded == body, "a non-canonical statement was accepted") }
}

// MARK: Consequences

/// Everything that can be queried of a circle, in a fixed order.
private func said(by circle: Circle) -> [String] {
  let evaluation = circle.evaluation
  var lines = evaluation.members.values.map { "\($0)" }.sorted()
  lines += evaluation.issuers.map { "\($0)" }.sorted()
  lines += evaluation.entitlements.map { "\($0.body.serial) \($0.body.plan) \($0.isWithdrawn)" }
  lines += evaluation.forkProofs.map { "\($0.log) \($0.sequence) \($0.ids)" }
  for key in Cast.everyone.map({ DeviceKey($0) }) {
    lines.append("\(evaluation.status(of: key)) \(circle.addresses(of: key))")
    lines += (evaluation.revocations[key] ?? []).map {
      "\($0.body.device) \($0.body.issuer) \($0.body.issued)"
    }
    for lane in Lane.allCases {
      lines.append("\(evaluation.quota(of: key, lane))")
      for incarnation in Scribe.incarnations {
        let log = LogKey(device: key, incarnation: incarnation, lane: lane)
        lines.append(text(evaluation.admission(of: log)))
      }
    }
    for time in [0, 1, 50, 200, Cast.noon] {
      let gate = circle.peerGate(device: key, preference: true, at: time)
      lines.append("\(gate.source) \(gate.validUntil ?? 0) \(gate.nextChange ?? 0)")
    }
  }
  return lines + Cast.transports.map { "\(String(describing: evaluation.member(transport: $0)?.device))" }
}

private func text(_ admission: Admission) -> String {
  guard case .cut(let cuts, let line) = admission else { return "\(admission)" }
  return
    "\(line ?? .max) \(cuts.map { $0.sorted().map(\.description) }.sorted { $0.lexicographicallyPrecedes($1) })"
}

/// Every member can introduce itself to a node that knows nothing but the genesis, except one whose transport key
/// once belonged to another device: that node may not know the other device's new key.
private func introduceEveryone(of circle: Circle) throws {
  let owners = transportOwners(circle)
  for member in circle.evaluation.members.values where owners[member.transport]?.count == 1 {
    guard let introduction = circle.introduction(of: member.device, wallMilliseconds: Cast.noon) else {
      throw BrokenRule("a member has no introduction")
    }
    var stranger = try circleOfOne()
    let read = try Introduction(introduction.encoded)
    let admitted = try stranger.admit(read, authenticated: member.transport)
    try require(admitted.member?.device == member.device, "a member is admitted as another")
  }
}

private func transportOwners(_ circle: Circle) -> [TransportKey: Set<DeviceKey>] {
  var owners: [TransportKey: Set<DeviceKey>] = [circle.genesis.transport: [circle.genesis.device]]
  for statement in circle.statements(notIn: []) {
    guard case .deviceCertificate(let body) = statement.content else { continue }
    owners[body.transport, default: []].insert(body.device)
  }
  return owners
}

/// Eve asks every admin to admit her, and reads the answer.
private func admitEve(to circle: Circle, _ choices: inout Choices) throws {
  let hash = [UInt8](repeating: 5, count: 32)
  let transport = choices.pick(Cast.transports)
  let request = try JoinRequest(
    JoinRequest(key: Cast.eve, transport: transport, name: "eve", handshakeHash: hash).encoded)
  try require(
    request.isProven(handshakeHash: hash, authenticated: transport), "the proof of a join request is invalid")
  for key in Cast.everyone {
    let answer = try circle.admit(request, role: .member, by: key, at: 9)
    guard case .accepted(let statements) = try JoinReply(answer.reply.encoded) else { continue }
    let ticket = Ticket(
      circle: circle.id, transport: transport, addresses: [], secret: .zero, expiry: Cast.noon)
    let joined = Circle.joined(statements, ticket: ticket, device: request.device, transport: transport)
    try require(joined != nil, "an admitted joiner is not a member of the received circle")
  }
}
