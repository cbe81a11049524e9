import Membership
import Testing
import Wire

@Suite struct `The vectors of circle md` {
  @Test(arguments: Vectors.all.statements) func `statements`(row: Vectors.StatementRow) throws {
    let bytes = unhex(row.bytes)
    guard row.accepted else {
      let error = #expect(throws: StatementError.self) { try Statement(bytes) }
      switch error {
      case .malformed: #expect(row.reason == "malformed")
      case .badSignature: #expect(row.reason == "badSignature")
      default: Issue.record("\(row.name): \(String(describing: error))")
      }
      return
    }
    let statement = try Statement(bytes)
    #expect(statement.id.description == row.id)
    #expect(statement.kind == row.kind)
    #expect(statement.circle.description == row.circle)
    #expect(statement.signer.description == row.signer)
    #expect(statement.bytes == bytes)
  }

  @Test(arguments: Vectors.all.statements.filter(\.accepted))
  func `bodies are encoded with the expected bytes`(row: Vectors.StatementRow) throws {
    let statement = try Statement(unhex(row.bytes))
    guard let encoded = statement.content.body?.encoded else { return }
    var reader = CBORReader(statement.bytes)
    try reader.array(exactly: 3)
    _ = try reader.unsigned()
    #expect(try reader.byteString() == encoded)
  }

  @Test(arguments: Vectors.all.statements.filter(\.accepted))
  func `no byte of a statement can be changed undetected`(row: Vectors.StatementRow) throws {
    let bytes = unhex(row.bytes)
    // Each try verifies up to 33 signatures, so not every byte of the longest statements is changed.
    for index in stride(from: 0, to: bytes.count, by: 1 + bytes.count / 1_000) {
      var changed = bytes
      changed[index] ^= 1
      #expect(throws: StatementError.self, "byte \(index)") { try Statement(changed) }
      #expect(throws: StatementError.self, "cut at \(index)") { try Statement(Array(bytes[..<index])) }
    }
  }

  @Test(arguments: Vectors.all.circles) func `circles`(row: Vectors.CircleRow) throws {
    let statements = try row.statements.map { try Statement(unhex($0)) }
    let circle = try Circle(statements: statements)
    #expect(circle.setHash.bytes == unhex(row.setHash))
    // Of several branch proofs of one tree only one is kept.
    let kept = statements.filter { if case .branchProof = $0.content { false } else { true } }
    let ids = Set(circle.ids)
    #expect(ids.isSubset(of: statements.map(\.id)) && ids.isSuperset(of: kept.map(\.id)))
    var members: [String: Vectors.CircleRow.MemberRow] = [:]
    for (device, member) in circle.evaluation.members {
      #expect(circle.evaluation.member(transport: member.transport) == member)
      #expect(circle.evaluation.status(of: device) == .member(member))
      members[device.description] = .init(
        name: member.name, role: "\(member.role)", links: member.chain.count,
        transport: member.transport.description)
    }
    #expect(members == row.members)
    let revoked = circle.evaluation.revocations.keys.map(\.description).sorted()
    #expect(revoked == row.revoked)
    for log in row.logs { #expect(try admission(circle, of: log) == log) }
  }

  private func admission(
    _ circle: Circle, of log: Vectors.CircleRow.LogRow
  ) throws -> Vectors.CircleRow.LogRow {
    let key = LogKey(
      device: try #require(DeviceKey(hex: log.device)),
      incarnation: try #require(Incarnation(hex: log.incarnation)),
      lane: try #require(Lane(rawValue: log.lane)))
    var found = log
    (found.cuts, found.line) = ([], nil)
    switch circle.evaluation.admission(of: key) {
    case .open: found.admission = "open"
    case .unknownDevice: found.admission = "unknown"
    case .cut(let cuts, let line):
      found.admission = "cut"
      found.line = line.map { "\($0)" }
      found.cuts = cuts.map { $0.map(\.description).sorted() }.sorted { $0.lexicographicallyPrecedes($1) }
    }
    return found
  }

  @Test(arguments: Vectors.all.quotas) func `quotas`(row: Vectors.QuotaRow) throws {
    let statements = try row.statements.map { try Statement(unhex($0)) }
    for order in [statements, statements.reversed()] {
      let evaluation = try Circle(statements: order).evaluation
      for (device, quotas) in row.quotas {
        let device = try #require(DeviceKey(hex: device))
        #expect(evaluation.quota(of: device, .settings) == quotas.settings)
        #expect(evaluation.quota(of: device, .records) == quotas.records)
      }
    }
  }

  @Test(arguments: Vectors.all.shares) func `shares of a quota`(row: Vectors.ShareRow) {
    #expect(DeviceQuotas.share(of: row.quota, number: row.number) == row.share)
  }

  @Test(arguments: [DeviceQuotas.standard[.settings], DeviceQuotas.standard[.records], Limits.quotaBytesMax])
  func `the shares of all incarnations fit in the quota`(quota: UInt64) {
    let shares = (1...Limits.incarnationsMax).map { DeviceQuotas.share(of: quota, number: $0) }
    #expect(shares.reduce(0, +) <= quota)
  }

  @Test(arguments: Vectors.all.gates) func `gates`(row: Vectors.GateRow) throws {
    let circle = try Circle(statements: try row.statements.map { try Statement(unhex($0)) })
    let device = try #require(DeviceKey(hex: row.device))
    let gate = circle.peerGate(device: device, preference: true, at: row.time)
    #expect(gate.source.rawValue == row.source)
    #expect(gate.validUntil == row.validUntil)
    #expect(gate.reason?.rawValue == row.reason)
    #expect(gate.nextChange == row.nextChange)
    if circle.evaluation.isMember(device) {
      #expect(circle.ownGate(device: device, preference: true, local: .none, at: row.time) == gate)
    }
    if let time = row.gateTime { #expect(circle.gateTime(wall: row.time, newestFolded: nil) == time) }
  }

  @Test(arguments: Vectors.all.tickets) func `tickets`(row: Vectors.TicketRow) throws {
    guard row.accepted else {
      let error = #expect(throws: Ticket.ParseError.self) { try Ticket(line: row.line) }
      #expect(error.map { "\($0)" } == row.reason)
      return
    }
    let ticket = try Ticket(line: row.line)
    #expect(ticket.circle.description == row.circle)
    #expect(ticket.transport.description == row.transport)
    #expect(ticket.addresses == row.addresses)
    #expect(ticket.secret.bytes == unhex(row.secret))
    #expect(ticket.expiry == row.expiry)
    #expect(ticket.id.bytes == unhex(row.id))
    #expect(TicketID(bytes: unhex(row.id)) == ticket.id)
    #expect(ticket.preSharedKey == unhex(row.psk))
    #expect(ticket.preambleKey == unhex(row.pairingKey))
    #expect(ticket.circle.preambleKey == unhex(row.sessionKey))
    #expect(try Ticket(line: ticket.line) == ticket)
    let trimmed = row.line.lowercased().filter { !$0.isWhitespace }
    #expect(ticket.line == trimmed)
  }

  @Test(arguments: Vectors.all.messages) func `messages`(row: Vectors.MessageRow) throws {
    let bytes = unhex(row.bytes)
    switch row.message {
    case "join":
      guard let request = try decoded(row, { () throws(WireError) in try JoinRequest(bytes) }) else { return }
      #expect(request.encoded == bytes)
      let transport = try #require(TransportKey(hex: row.transport ?? ""))
      let isProven = request.isProven(handshakeHash: unhex(row.handshakeHash), authenticated: transport)
      #expect(isProven == row.proven)
    case "reply":
      guard let reply = try decoded(row, { () throws(WireError) in try JoinReply(bytes) }) else { return }
      switch reply {
      case .accepted(let circle):
        #expect(circle.count == row.statements)
        #expect(reply.encoded == bytes)
      case .refused(let refusal): #expect(refusal.rawValue == row.refusal)
      }
    case "introduction":
      guard let message = try decoded(row, { () throws(WireError) in try Introduction(bytes) }) else {
        return
      }
      #expect(message.encoded == bytes)
      try admit(message, row)
    default: Issue.record("\(row.message) is not a message")
    }
  }

  private func decoded<Message>(
    _ row: Vectors.MessageRow, _ read: () throws(WireError) -> Message
  ) throws -> Message? {
    if row.accepted { return try read() }
    #expect(throws: WireError.self) { _ = try read() }
    return nil
  }

  private func admit(_ message: Introduction, _ row: Vectors.MessageRow) throws {
    var circle = try Circle(genesis: try Statement(unhex(Vectors.all.genesis)))
    let before = circle.ids
    let transport = try #require(TransportKey(hex: row.transport ?? ""))
    do {
      let (member, changes) = try circle.admit(message, authenticated: transport)
      #expect(member?.device.description == row.member)
      #expect(Set(before + changes.added) == Set(circle.ids))
    } catch {
      #expect("\(error)" == row.error)
      #expect(circle.ids == before, "a rejected peer leaves nothing behind")
    }
  }
}

extension Statement.Content {
  /// The body, if only one key may sign it.
  var body: (any StatementBody)? {
    switch self {
    case .genesis(let body): body
    case .deviceCertificate(let body): body
    case .revocation(let body): body
    case .logCut(let body): body
    case .entitlement(let body): body
    case .issuers(let body): body
    case .addresses(let body): body
    case .grant(let body): body
    case .purchase(let body): body
    case .withdrawal(let body): body
    case .forkProof, .branchProof, .unknown: nil
    }
  }
}
