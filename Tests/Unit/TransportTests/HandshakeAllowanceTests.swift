import Testing

@testable import Transport

/// How often the parties of one network may begin a handshake.
struct HandshakeAllowanceTests {
  /// Always chooses the first.
  private struct Zero: RandomNumberGenerator {
    mutating func next() -> UInt64 { 0 }
  }

  /// A table in which connections begin a handshake and end at once.
  private struct Desk {
    var table = AdmissionTable(ListenerLimits())
    var random = Zero()

    mutating func begins(_ host: String, at now: Int64) throws -> Bool {
      let address = try #require(SocketAddress.numeric(host, port: 9))
      let entry = table.enter(from: AddressOrigin.origins(of: address), using: &random)
      guard case .entered(let number, _) = entry else { return false }
      let ended = table.recognize(number, at: now, using: &random)
      table.remove(number)
      return !ended.contains(number)
    }
  }

  @Test func `an attempt that the network may not make does not count against the address`() throws {
    var desk = Desk()
    var begun = 0
    for number in 1...40 {
      if try desk.begins("198.51.100.\(number)", at: 0) { begun += 1 }
    }
    #expect(begun == 32, "as many as a network may begin in two seconds")
    for _ in 0..<20 {
      let isAllowed = try desk.begins("198.51.100.200", at: 0)
      #expect(!isAllowed)
    }
    // After half a second the network may begin eight again, and so may the address.
    var again = 0
    for _ in 0..<20 {
      if try desk.begins("198.51.100.200", at: 500) { again += 1 }
    }
    #expect(again == 8)
  }

  @Test func `an allowance is never more than that of two seconds, however long nothing was begun`() throws {
    var desk = Desk()
    for now in [0, 3_600_000] as [Int64] {
      var begun = 0
      for _ in 0..<20 {
        if try desk.begins("192.0.2.1", at: now) { begun += 1 }
      }
      #expect(begun == 8, "at \(now)")
    }
  }
}
