import Membership
import Sodium
import Testing
import Wire

@Suite struct `A circle is a function of its set` {
  /// Statements that interact, six at a time, in every order of arrival.
  @Test(arguments: 0..<4) func `gives the same result in every order of arrival`(scenario: Int) throws {
    let world = try World()
    let statements = try scenarios(world)[scenario]
    let devices = [world.alice, world.bob, world.carol, world.dave]
    var bySet: [Set<StatementID>: Snapshot] = [:]
    for order in permutations(statements) {
      var circle = world.circle
      var set: Set<StatementID> = []
      for statement in order {
        circle.insert([statement])
        set.insert(statement.id)
        let snapshot = Snapshot(circle, devices: devices)
        if let known = bySet[set] { #expect(snapshot == known) } else { bySet[set] = snapshot }
      }
    }
    #expect(bySet.count == 1 << statements.count - 1)
  }

  private func scenarios(_ world: World) throws -> [[Statement]] {
    let bob = try world.certificate(by: world.alice, for: world.bob)
    let carol = try world.certificate(by: world.alice, for: world.carol)
    let dave = try world.certificate(by: world.bob, for: world.dave)
    let kept = [KeptLog(incarnation: World.incarnation, lane: .records, tips: [World.tip(1)])]
    let cut = try Statement(
      signing: LogCut(
        circle: world.circle.id, log: World.log(of: world.bob), tip: World.tip(2), issued: 9),
      with: world.bob)
    return [
      [
        bob, carol, dave, try world.revocation(by: world.bob, of: world.carol),
        try world.revocation(by: world.carol, of: world.bob, kept: kept, valid: [dave]),
        try world.revocation(by: world.root, of: world.bob, valid: [dave]),
      ],
      [
        bob, dave, cut, try world.revocation(by: world.alice, of: world.bob, kept: kept, valid: [cut]),
        try world.revocation(by: world.bob, of: world.alice),
        try world.certificate(by: world.root, for: world.dave, role: .member),
      ],
      [
        bob, carol, try world.revocation(by: world.bob, of: world.alice, valid: [bob]),
        try world.certificate(by: world.carol, for: world.dave),
        try world.revocation(by: world.dave, of: world.bob),
        try world.revocation(by: world.carol, of: world.dave),
      ],
      [
        bob, try world.entitlement(by: world.issuer, for: [world.bob], 100..<200),
        try world.entitlement(by: world.dave, 50..<300),
        try Statement(
          signing: IssuerStatement(
            circle: world.circle.id, root: DeviceKey(world.root), issuers: [DeviceKey(world.dave)],
            issued: 4),
          with: world.root),
        try world.revocation(by: world.root, of: world.alice, valid: [bob]),
        try world.certificate(by: world.alice, for: world.bob, issued: 8, name: "renamed"),
      ],
    ]
  }

  /// Replaced address statements leave no trace of the order either.
  @Test func `keeps the newest of several address statements in every order`() throws {
    let world = try World()
    let statements = [
      try world.addresses(of: world.alice, clock: 1, ["192.0.2.1:1"]),
      try world.addresses(of: world.alice, clock: 2, ["192.0.2.2:2"]),
      try world.addresses(of: world.alice, clock: 2, ["192.0.2.3:3"]),
      try world.addresses(of: world.bob, clock: 9, ["192.0.2.4:4"]),
    ]
    var seen: Set<Snapshot> = []
    for order in permutations(statements) {
      var circle = world.circle
      for statement in order { circle.insert([statement]) }
      seen.insert(Snapshot(circle, devices: [world.alice, world.bob]))
      #expect(circle.ids.count == 3)
      var atOnce = world.circle
      let changes = atOnce.insert(order)
      #expect(atOnce.setHash == circle.setHash)
      #expect(
        changes.removed.isEmpty, "a statement added and replaced in one batch is not reported as removed")
      #expect(Set(changes.added + [world.genesis.id]) == Set(circle.ids))
    }
    #expect(seen.count == 1)
    #expect(seen.first?.addresses.last == [], "Bob is not a member")
  }

  /// Every subset of eleven statements by the root, two admins and a thief.
  @Test func `satisfies all invariants for every small set`() throws {
    let world = try World()
    let alphabet = try thieves(world)
    for bits in 0..<(1 << alphabet.count) {
      let set = alphabet.indices.filter { bits & 1 << $0 != 0 }.map { alphabet[$0] }
      var circle = world.circle
      circle.insert(set)
      var reversed = world.circle
      reversed.insert(set.reversed())
      let held = circle.evaluation
      #expect(held.members == reversed.evaluation.members)
      #expect(held.revocations == reversed.evaluation.revocations)
      for revocation in set {
        guard case .revocation(let body) = revocation.content, body.issuer == circle.genesis.root else {
          continue
        }
        #expect(held.status(of: body.device) == .revoked, "the root's word always counts")
      }
      for (device, member) in held.members {
        #expect(held.revocations[device] == nil)
        #expect(member.chain.allSatisfy { circle.statement($0) != nil })
        #expect((1...Limits.chainLinksMax).contains(member.chain.count))
        expectHeld(member.chain, in: circle)
      }
    }
  }

  /// No link of a member's chain is signed by a revoked device, unless its revocations keep that link.
  private func expectHeld(_ chain: [StatementID], in circle: Circle) {
    for id in chain {
      guard let signer = circle.statement(id)?.signer else { continue }
      for revocation in circle.evaluation.revocations[signer] ?? [] {
        #expect(revocation.body.valid.contains(id))
      }
    }
  }

  private func thieves(_ world: World) throws -> [Statement] {
    let bob = try world.certificate(by: world.alice, for: world.bob)
    let carol = try world.certificate(by: world.alice, for: world.carol)
    let dave = try world.certificate(by: world.carol, for: world.dave)
    return [
      bob, carol, dave, try world.certificate(by: world.bob, for: world.dave, role: .member, issued: 5),
      try world.certificate(by: world.dave, for: world.bob, issued: 7),
      try world.revocation(by: world.bob, of: world.alice, valid: [bob]),
      try world.revocation(by: world.carol, of: world.bob),
      try world.revocation(by: world.bob, of: world.carol, valid: [dave]),
      try world.revocation(by: world.dave, of: world.carol),
      try world.revocation(by: world.alice, of: world.dave),
      try world.revocation(by: world.root, of: world.alice, valid: [carol]),
    ]
  }
}

/// All permutations of a few items.
func permutations<Element>(_ elements: [Element]) -> [[Element]] {
  guard let first = elements.first else { return [[]] }
  return permutations(Array(elements.dropFirst())).flatMap { rest in
    (0...rest.count).map { place in
      var order = rest
      order.insert(first, at: place)
      return order
    }
  }
}
