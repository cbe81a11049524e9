import Testing
import Wire

@testable import Transport

/// A generator whose numbers are the same in every run.
private struct Seeded: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var word = state
    word = (word ^ word >> 30) &* 0xbf58_476d_1ce4_e5b9
    word = (word ^ word >> 27) &* 0x94d0_49bb_1331_11eb
    return word ^ word >> 31
  }
}

private func origins(_ host: String) throws -> [AddressOrigin] {
  AddressOrigin.origins(of: try #require(SocketAddress.numeric(host, port: 9)))
}

/// A table with its random generator, and the connections that were evicted.
private struct Desk {
  var table: AdmissionTable
  var random = Seeded(state: 1)
  var evicted: [AdmissionTable.Number] = []

  init(_ change: (inout ListenerLimits) -> Void = { _ in }) {
    var limits = ListenerLimits()
    change(&limits)
    table = AdmissionTable(limits)
  }

  mutating func enter(_ host: String) throws -> AdmissionTable.Number? {
    switch table.enter(from: try origins(host), using: &random) {
    case .entered(let number, let evicted):
      self.evicted += evicted
      return number
    case .refused: return nil
    }
  }

  /// Returns whether the connection may go on.
  mutating func recognize(_ number: AdmissionTable.Number?, at now: Int64 = 0) throws -> Bool {
    let number = try #require(number)
    let ended = table.recognize(number, at: now, using: &random)
    evicted += ended
    return !ended.contains(number)
  }

  mutating func recognized(_ host: String, at now: Int64 = 0) throws -> Bool {
    try recognize(try enter(host), at: now)
  }
}

@Suite struct `The admission of connections` {
  @Test func `evicts a random stranger for a new connection, and never a handshake or a member`() throws {
    var desk = Desk { $0.unrecognizedMax = 4 }
    let member = try desk.enter("192.0.2.1")
    #expect(try desk.recognize(member))
    #expect(desk.table.admit(try #require(member)))
    let handshake = try desk.enter("192.0.2.2")
    #expect(try desk.recognize(handshake))
    for number in 0..<200 { #expect(try desk.enter("198.51.\(number).1") != nil) }
    #expect(desk.table.counts == (unrecognized: 4, handshaking: 1, admitted: 1))
    #expect(desk.evicted.count == 196)
    #expect(desk.evicted != desk.evicted.sorted(), "the oldest is not always the one that goes")
  }

  @Test(arguments: [
    ("192.0.2.1", ["192.0.2.1"], 4), ("192.0.2.1", (1...100).map { "192.0.2.\($0)" }, 16),
    ("2001:db8:0:1::1", (1...100).map { "2001:db8:0:1::\($0)" }, 4),
    ("2001:db8:0:100::1", (100...199).map { "2001:db8:0:\($0)::1" }, 8),
    ("2001:db8:0:1000::1", (1000...1999).map { "2001:db8:0:\($0)::1" }, 16),
  ]) func `an origin has limited room, and makes room among its own`(
    first: String, hosts: [String], most: Int
  )
    throws
  {
    var desk = Desk()
    let other = try desk.enter("203.0.113.1")
    for number in 0..<200 { #expect(try desk.enter(hosts[number % hosts.count]) != nil) }
    #expect(desk.table.counts.unrecognized == most + 1)
    #expect(try !desk.evicted.contains(#require(other)))
  }

  @Test func `link-local callers are counted alone, and callers on this machine not at all`() throws {
    #expect(try origins("127.0.0.1").isEmpty && origins("::1").isEmpty)
    #expect(try origins("fe80::1").count == 1 && origins("fe80::1") != origins("fe80::2"))
    #expect(try origins("::ffff:192.0.2.1") == origins("192.0.2.1"))
    #expect(try origins("192.0.2.1").last == origins("192.0.2.99").last)
    #expect(try origins("192.0.2.1").last != origins("192.0.3.1").last)
    var desk = Desk()
    for _ in 0..<256 { #expect(try desk.enter("127.0.0.1") != nil) }
    #expect(desk.evicted.isEmpty)
  }

  @Test func `an origin whose connections are all handshaking gets no more`() throws {
    var desk = Desk()
    for _ in 0..<4 { #expect(try desk.recognized("192.0.2.1")) }
    #expect(try desk.enter("192.0.2.1") == nil)
    #expect(try desk.enter("192.0.2.2") != nil)
  }

  @Test func `a member's connection is not counted by its origin`() throws {
    var desk = Desk()
    for round in 0..<20 {
      let number = try desk.enter("192.0.2.1")
      #expect(try desk.recognize(number, at: Int64(round) * 1_000))
      #expect(desk.table.admit(try #require(number)))
    }
    #expect(desk.table.counts.admitted == 20)
  }

  @Test func `handshakes of one origin are limited per second, and those of others are not affected`() throws
  {
    var desk = Desk()
    func begin(_ host: String, at now: Int64) throws -> Bool {
      let number = try #require(try desk.enter(host))
      let isAllowed = try desk.recognize(number, at: now)
      desk.table.remove(number)
      return isAllowed
    }
    // As many at once as in two seconds, then four a second.
    for _ in 0..<8 { #expect(try begin("192.0.2.1", at: 0)) }
    #expect(try !begin("192.0.2.1", at: 0) && !begin("192.0.2.1", at: 249))
    #expect(try begin("192.0.2.1", at: 250) && !begin("192.0.2.1", at: 250))
    #expect(try begin("192.0.2.2", at: 250))
    #expect(try begin("192.0.2.1", at: 500))
    // A network is limited as well, however many addresses it uses.
    let network = try (1...100).filter { try begin("198.51.100.\($0)", at: 1_000) }
    #expect(network.count == 32)
    for _ in 0..<8 { #expect(try begin("192.0.2.1", at: 60_000)) }
  }

  @Test func `when there are too many handshakes, a random one ends, and then none but members are left`()
    throws
  {
    var desk = Desk {
      $0.handshakesMax = 3
      $0.connectionsMax = 4
    }
    let handshakes = try (1...3).map { number in
      let entered = try desk.enter("192.0.\(number).1")
      #expect(try desk.recognize(entered))
      return try #require(entered)
    }
    #expect(try desk.recognized("192.0.4.1"))
    #expect(desk.evicted.count == 1 && handshakes.contains(desk.evicted[0]))
    #expect(desk.table.counts.handshaking == 3)
    desk = Desk { $0.connectionsMax = 2 }
    for number in 1...2 {
      let member = try desk.enter("192.0.\(number).1")
      #expect(try desk.recognize(member))
      #expect(desk.table.admit(try #require(member)))
    }
    #expect(try !desk.recognized("192.0.3.1"))
    #expect(desk.table.counts == (unrecognized: 0, handshaking: 0, admitted: 2))
  }

  @Test func `no more members are admitted than there is room for, even if all of them began together`()
    throws
  {
    var desk = Desk { $0.connectionsMax = 2 }
    let handshakes = try (1...3).map { try #require(try desk.enter("192.0.\($0).1")) }
    for number in handshakes { #expect(try desk.recognize(number)) }
    #expect(handshakes.map { desk.table.admit($0) } == [true, true, false])
    #expect(desk.table.counts == (unrecognized: 0, handshaking: 0, admitted: 2))
  }

  @Test func `the newer half of the connections without a preamble is never evicted`() throws {
    var desk = Desk()
    for round in 0..<10 {
      for number in 0..<256 { #expect(try desk.enter("198.\(number).\(round).1") != nil) }
      let honest = try #require(try desk.enter("192.0.2.1"))
      for number in 0..<128 { #expect(try desk.enter("203.\(number).\(round).1") != nil) }
      #expect(!desk.evicted.contains(honest), "round \(round)")
      desk.table.remove(honest)
    }
  }

  @Test func `the newer half of the handshakes is never evicted`() throws {
    var desk = Desk()
    for round in 0..<10 {
      let now = Int64(round) * 10_000
      for number in 0..<256 { #expect(try desk.recognized("198.\(number).\(round).1", at: now)) }
      let honest = try desk.enter("192.0.2.1")
      #expect(try desk.recognize(honest, at: now))
      for number in 0..<128 { #expect(try desk.recognized("203.\(number).\(round).1", at: now)) }
      #expect(try !desk.evicted.contains(#require(honest)), "round \(round)")
      desk.table.remove(try #require(honest))
    }
  }

  @Test func `a connection that is evicted before its preamble was read may still prove itself`() throws {
    var desk = Desk { $0.unrecognizedMax = 1 }
    let early = try desk.enter("192.0.2.1")
    _ = try desk.enter("198.51.100.1")
    #expect(try desk.evicted == [#require(early)])
    #expect(try desk.recognize(early))
    #expect(desk.table.counts == (unrecognized: 1, handshaking: 1, admitted: 0))
    // It is counted by its origin again.
    for _ in 0..<3 { #expect(try desk.recognized("192.0.2.1")) }
    #expect(try desk.enter("192.0.2.1") == nil)
  }

  @Test func `a connection that was evicted for others of its origin does not return beyond the limit`()
    throws
  {
    var desk = Desk()
    let evicted = try #require(try desk.enter("192.0.2.1"))
    while !desk.evicted.contains(evicted) { _ = try desk.enter("192.0.2.1") }
    #expect(try !desk.recognize(evicted))
    #expect(desk.table.counts == (unrecognized: 4, handshaking: 0, admitted: 0))
  }

  /// Each millisecond brings some silent connections and one handshake, from as many networks as the strangers like;
  /// the honest device's preamble arrives 50 ms after its connection, and the end of its handshake 100 ms later.
  @Test(arguments: [(1, 0), (2, 3)])
  func `a flood of connections and handshakes hardly keeps out a device, and never for three attempts`(
    silent: Int, failuresMax: Int
  ) throws {
    var desk = Desk()
    var stranger = 0
    func enter() throws -> AdmissionTable.Number? {
      stranger += 1
      return try desk.enter("2001:\(String(stranger % 60_000, radix: 16)):0:1::1")
    }
    func flood(milliseconds: Int, at now: Int64) throws {
      for millisecond in 0..<milliseconds {
        for _ in 0..<silent { _ = try enter() }
        _ = try desk.recognize(try enter(), at: now + Int64(millisecond))
      }
    }
    try flood(milliseconds: 1_000, at: 0)
    var failures: [Int] = []
    for round in 0..<30 {
      let now = Int64(round + 1) * 10_000
      var failed = 0
      while failed < 5 {
        let honest = try #require(try desk.enter("192.0.2.1"))
        try flood(milliseconds: 50, at: now)
        if !desk.evicted.contains(honest), try desk.recognize(honest, at: now) {
          try flood(milliseconds: 100, at: now + 50)
          if !desk.evicted.contains(honest), desk.table.admit(honest) {
            desk.table.remove(honest)
            break
          }
        }
        failed += 1
      }
      desk.evicted = []
      failures.append(failed)
    }
    #expect(failures.max() ?? 5 <= failuresMax, "\(failures)")
  }

  @Test(arguments: 1...20 as ClosedRange<UInt64>)
  func `keeps its limits and counts in every order of events`(seed: UInt64) throws {
    var desk = Desk {
      $0.unrecognizedMax = 6
      $0.handshakesMax = 3
      $0.connectionsMax = 5
    }
    var choices = Seeded(state: seed)
    var known: [AdmissionTable.Number] = []
    for step in 0..<2_000 {
      let pick = known.isEmpty ? nil : known[Int(choices.next() % UInt64(known.count))]
      switch (choices.next() % 5, pick) {
      case (0, let number?): _ = try desk.recognize(number, at: Int64(step) * 100)
      case (1, let number?): _ = desk.table.admit(number)
      case (2, let number?): desk.table.remove(number)
      default:
        if let number = try desk.enter("192.0.2.\(choices.next() % 8)") { known.append(number) }
      }
      let counts = desk.table.counts
      #expect(counts.unrecognized <= 6 && counts.handshaking <= 3)
      #expect(counts.admitted <= 5)
    }
    for number in known { desk.table.remove(number) }
    #expect(desk.table.counts == (unrecognized: 0, handshaking: 0, admitted: 0))
    // Nothing is counted any more: the origin has all its room again.
    desk.evicted = []
    for _ in 0..<4 { _ = try desk.enter("192.0.2.1") }
    #expect(desk.evicted.isEmpty)
  }
}
