// Protocol/circle.md, "Statements"

/// A signed statement of a circle, verified from its bytes by the judge's own code.
struct PlainStatement {
  enum Body {
    case genesis(root: Name32, certificate: PlainCertificate, issuers: [Name32])
    case certificate(PlainCertificate)
    case revocation(PlainRevocation)
    case logCut(PlainLog, tip: Name32?)
    case entitlement(PlainEntitlement)
    case issuers([Name32])
    /// The log that forked, and the sequence at which it forked.
    case forkProof(PlainLog, sequence: UInt64)
    case addresses(clock: UInt64)
    case grant(Name32, lane: Int, bytes: UInt64)
    /// The tree, and the sequence after which its sets don't fold.
    case branchProof(PlainTree, line: UInt64)
    case purchase(PlainPurchase)
    case withdrawal(issuers: [Name32], entitlements: [Name32])
    case newer
  }

  let kind: UInt8
  let id: Name32
  let circle: Name32
  /// The signer; for a fork proof or a branch proof, the device whose logs forked.
  let signer: Name32
  let body: Body

  init(_ bytes: [UInt8]) throws(PlainRefusal) {
    guard bytes.count <= 262_144 else { throw PlainRefusal("malformed", "more than 256 KiB") }
    let (kind, body, signature) = try Self.parts(bytes)
    guard kind == 10 || bytes.count <= 65_536 else { throw PlainRefusal("malformed", "more than 64 KiB") }
    self.kind = kind
    id = PlainSealing.statementID(kind: kind, body: body)
    let map = try PlainMap(body, stage: "malformed")
    if kind == 7 {
      (circle, signer, self.body) = try Self.forkProof(map, signature)
      return
    }
    if kind == 10 {
      (circle, signer, self.body) = try Self.branchProof(map, signature)
      return
    }
    guard signature.count == 64 else { throw PlainRefusal("malformed", "not a signature of 64 bytes") }
    (circle, signer, self.body) = try Self.content(kind, map, id)
    let text = "waymark/\(Self.name(kind))-signature/v1"
    guard PlainSealing.isSigned(body, by: signer, as: text, signature) else {
      throw PlainRefusal("badSignature", "not by the signer")
    }
  }

  private static func parts(
    _ bytes: [UInt8]
  ) throws(PlainRefusal) -> (kind: UInt8, body: [UInt8], signature: [UInt8]) {
    let item: PlainItem
    do { item = try PlainItem.read(bytes) } catch { throw PlainRefusal("malformed", error.rule) }
    guard let parts = item.array, parts.count == 3, let kind = parts[0].unsigned, (1...63).contains(kind),
      let body = parts[1].bytes(in: bytes), let signature = parts[2].bytes(in: bytes)
    else { throw PlainRefusal("malformed", "not [kind, body, signature]") }
    return (UInt8(kind), Array(body), Array(signature))
  }

  private static func name(_ kind: UInt8) -> String {
    switch kind {
    case 1: "genesis"
    case 2: "device-certificate"
    case 3: "revocation"
    case 4: "log-cut"
    case 5: "entitlement"
    case 6: "issuers"
    case 8: "addresses"
    case 9: "grant"
    case 12: "purchase"
    default: "statement-\(kind)"
    }
  }

  private static func content(
    _ kind: UInt8, _ map: PlainMap, _ id: Name32
  ) throws(PlainRefusal) -> (circle: Name32, signer: Name32, body: Body) {
    var map = map
    _ = try map.unsigned(0, 1...1)
    let circle = kind == 1 ? id : try map.name32(1)
    let signer = try map.name32(2)
    let body: Body
    switch kind {
    case 1: body = try genesis(&map, root: signer, id: id)
    case 2: body = .certificate(try PlainCertificate(&map, issuer: signer, id: id))
    case 3: body = .revocation(try PlainRevocation(&map, issuer: signer, id: id))
    case 4: body = try logCut(&map, device: signer)
    case 5: body = .entitlement(try PlainEntitlement(&map, issuer: signer))
    case 6:
      body = .issuers(try issuers(&map, 3))
      _ = try map.time(4)
    case 8: body = try addresses(&map)
    case 9: body = try grant(&map)
    case 12: body = try purchase(&map)
    case 13: body = try withdrawal(&map)
    default:
      try map.checkRestAreFieldValues()
      return (circle, signer, .newer)
    }
    try map.end()
    return (circle, signer, body)
  }

  private static func genesis(
    _ map: inout PlainMap, root: Name32, id: Name32
  ) throws(PlainRefusal) -> Body {
    let device = try map.name32(3)
    guard device != root else { throw map.wrong(3) }
    let transport = try map.name32(4)
    try map.name(5)
    let issuers = map.has(6) ? try issuers(&map, 6) : []
    let created = try map.time(7)
    _ = try map.name16(8)
    let certificate = PlainCertificate(
      id: id, issuer: root, device: device, transport: transport, isAdmin: true, issued: created)
    return .genesis(root: root, certificate: certificate, issuers: issuers)
  }

  private static func logCut(_ map: inout PlainMap, device: Name32) throws(PlainRefusal) -> Body {
    let incarnation = try map.name16(3)
    let lane = Int(try map.unsigned(4, 0...1))
    let tip = try map.has(5) ? map.name32(5) : nil
    _ = try map.time(6)
    return .logCut(PlainLog(device: device, incarnation: incarnation, lane: lane), tip: tip)
  }

  private static func issuers(_ map: inout PlainMap, _ key: UInt64) throws(PlainRefusal) -> [Name32] {
    let keys = (try map.need(key).array ?? []).compactMap { $0.name32(in: map.bytes) }
    guard keys.count == 1 || keys.count == 2 && keys[0] != keys[1] else { throw map.wrong(key) }
    return keys
  }

  private static func addresses(_ map: inout PlainMap) throws(PlainRefusal) -> Body {
    let clock = try map.unsigned(3, 0...(.max))
    guard let list = try map.need(4).array, list.count <= 16 else { throw map.wrong(4) }
    for item in list {
      guard let text = item.text(in: map.bytes), (1...128).contains(text.count),
        text.allSatisfy({ (0x21...0x7e).contains($0) })
      else { throw map.wrong(4) }
    }
    return .addresses(clock: clock)
  }

  private static func grant(_ map: inout PlainMap) throws(PlainRefusal) -> Body {
    let device = try map.name32(3)
    let lane = Int(try map.unsigned(4, 0...1))
    let bytes = try map.unsigned(5, 1...1_125_899_906_842_624)
    _ = try map.time(6)
    return .grant(device, lane: lane, bytes: bytes)
  }

  private static func purchase(_ map: inout PlainMap) throws(PlainRefusal) -> Body {
    let transaction = try token(&map, 3)
    return .purchase(PlainPurchase(transaction: transaction, renewal: try map.has(4) ? token(&map, 4) : nil))
  }

  private static func withdrawal(_ map: inout PlainMap) throws(PlainRefusal) -> Body {
    let issuers = try map.has(3) ? names(&map, 3) : []
    let entitlements = try map.has(4) ? names(&map, 4) : []
    guard !(issuers.isEmpty && entitlements.isEmpty) else { throw map.wrong(3) }
    _ = try map.time(5)
    return .withdrawal(issuers: issuers, entitlements: entitlements)
  }

  /// Reads 1 to 256 names in ascending order.
  private static func names(_ map: inout PlainMap, _ key: UInt64) throws(PlainRefusal) -> [Name32] {
    guard let items = try map.need(key).array, (1...256).contains(items.count) else { throw map.wrong(key) }
    let names = items.compactMap { $0.name32(in: map.bytes) }
    guard names.count == items.count, zip(names, names.dropFirst()).allSatisfy({ $0 < $1 }) else {
      throw map.wrong(key)
    }
    return names
  }

  private static func token(_ map: inout PlainMap, _ key: UInt64) throws(PlainRefusal) -> [UInt8] {
    let text = try map.text(key, 1...16_384)
    guard text.allSatisfy({ (0x21...0x7e).contains($0) }) else { throw map.wrong(key) }
    return text
  }

  // MARK: Fork proof

  private static func forkProof(
    _ map: PlainMap, _ signature: [UInt8]
  ) throws(PlainRefusal) -> (circle: Name32, signer: Name32, body: Body) {
    var map = map
    guard signature.count == 128 else { throw PlainRefusal("malformed", "not two signatures of 64 bytes") }
    _ = try map.unsigned(0, 1...1)
    let circle = try map.name32(1)
    guard let one = try map.need(3).bytes(in: map.bytes), let other = try map.need(4).bytes(in: map.bytes)
    else { throw map.wrong(3) }
    try map.end()
    let halves = [Array(one), Array(other)]
    let first = try PlainForkHalf(halves[0])
    let second = try PlainForkHalf(halves[1])
    guard first.circle == circle, first.isSamePlace(as: second),
      PlainSealing.setID(halves[0]) < PlainSealing.setID(halves[1])
    else { throw PlainRefusal("malformed", "two headers that do not prove a fork") }
    guard PlainSealing.isSet(halves[0], signedBy: first.log.device, Array(signature[..<64])),
      PlainSealing.isSet(halves[1], signedBy: first.log.device, Array(signature[64...]))
    else { throw PlainRefusal("badSignature", "not by the device") }
    return (circle, first.log.device, .forkProof(first.log, sequence: first.sequence))
  }

  // MARK: Branch proof

  private static func branchProof(
    _ map: PlainMap, _ signature: [UInt8]
  ) throws(PlainRefusal) -> (circle: Name32, signer: Name32, body: Body) {
    var map = map
    guard signature.count % 64 == 0 else { throw PlainRefusal("malformed", "not signatures of 64 bytes") }
    _ = try map.unsigned(0, 1...1)
    let circle = try map.name32(1)
    guard let list = try map.need(3).array, list.count <= 32 else { throw map.wrong(3) }
    try map.end()
    var headers: [(bytes: [UInt8], id: Name32, half: PlainForkHalf)] = []
    for item in list {
      guard let bytes = item.bytes(in: map.bytes).map(Array.init) else { throw map.wrong(3) }
      headers.append((bytes, PlainSealing.setID(bytes), try PlainForkHalf(bytes)))
    }
    guard let lowest = headers.first?.half else { throw map.wrong(3) }
    let tree = PlainTree(lowest.log)
    var forks: [PlainFork: Int] = [:]
    for (index, header) in headers.enumerated() {
      guard header.half.circle == circle, PlainTree(header.half.log) == tree else { throw map.wrong(3) }
      if index > 0 {
        let before = headers[index - 1]
        guard
          before.half.sequence < header.half.sequence
            || before.half.sequence == header.half.sequence && before.id < header.id
        else { throw map.wrong(3) }
      }
      forks[PlainFork(header.half), default: 0] += 1
    }
    guard !forks.values.contains(1), forks.values.reduce(0, { $0 + $1 - 1 }) == 16 else {
      throw PlainRefusal("malformed", "headers that do not prove seventeen branches")
    }
    guard signature.count == headers.count * 64 else {
      throw PlainRefusal("badSignature", "not one signature for each header")
    }
    for (index, header) in headers.enumerated() {
      let part = Array(signature[(index * 64)..<(index * 64 + 64)])
      guard PlainSealing.isSet(header.bytes, signedBy: tree.device, part) else {
        throw PlainRefusal("badSignature", "not by the device")
      }
    }
    return (circle, tree.device, .branchProof(tree, line: lowest.sequence - 1))
  }
}

extension PlainStatement {
  /// Returns the ids of the branch proofs and purchases that others of these statements replace.
  static func replaced(_ statements: some Sequence<PlainStatement>) -> Set<Name32> {
    PlainPurchase.replaced(statements).union(replacedProofs(statements))
  }

  /// Of each tree, only the branch proof with the least (line, id) is kept.
  private static func replacedProofs(_ statements: some Sequence<PlainStatement>) -> Set<Name32> {
    var proofs: [PlainTree: [(line: UInt64, id: Name32)]] = [:]
    for statement in statements {
      guard case .branchProof(let tree, let line) = statement.body else { continue }
      proofs[tree, default: []].append((line, statement.id))
    }
    return Set(proofs.values.flatMap { $0.sorted(by: <).dropFirst().map(\.id) })
  }
}

/// The logs of a device and lane whose incarnations have the same number.
struct PlainTree: Hashable {
  let device: Name32
  let number: UInt64
  let lane: Int

  init(_ log: PlainLog) { (device, number, lane) = (log.device, log.incarnation.high >> 60, log.lane) }
}

/// The set before a fork: nothing but the tree if the fork is at the first sets.
private struct PlainFork: Hashable {
  let log: PlainLog?
  let sequence: UInt64
  let previous: Name32?

  init(_ half: PlainForkHalf) {
    log = half.sequence == 1 ? nil : half.log
    (sequence, previous) = (half.sequence, half.previous)
  }
}

/// The parts of a header that matter for a fork proof. All other parts only have to be canonical field values.
private struct PlainForkHalf {
  let circle: Name32
  let log: PlainLog
  let sequence: UInt64
  let previous: Name32?

  init(_ bytes: [UInt8]) throws(PlainRefusal) {
    var map = try PlainMap(bytes, stage: "malformed")
    _ = try map.unsigned(0, 2...2)
    circle = try map.name32(1)
    let device = try map.name32(2)
    let incarnation = try map.name16(3)
    log = PlainLog(device: device, incarnation: incarnation, lane: Int(try map.unsigned(4, 0...1)))
    sequence = try map.unsigned(5, 1...UInt64(Int64.max))
    previous = try map.has(6) ? map.name32(6) : nil
    guard (previous == nil) == (sequence == 1) else { throw map.wrong(6) }
    // A clock may be greater than a field value.
    if map.isUnsigned(7) { _ = map.take(7) }
    try map.checkRestAreFieldValues()
  }

  func isSamePlace(as other: PlainForkHalf) -> Bool {
    circle == other.circle && log == other.log && sequence == other.sequence && previous == other.previous
  }
}
