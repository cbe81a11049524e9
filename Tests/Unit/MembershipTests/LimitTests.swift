import Membership
import Sodium
import Testing
import Wire

/// The limits on statements and introductions: at the limit, and one beyond it.
@Suite struct LimitTests {
  private func accepted(_ body: () throws -> Statement) -> Bool { (try? body()) != nil }

  @Test func `a name has at most 64 bytes`() throws {
    let world = try World()
    for (count, isAllowed) in [(1, true), (64, true), (65, false), (0, false)] {
      let name = String(repeating: "x", count: count)
      #expect(
        accepted { try world.certificate(by: world.alice, for: world.bob, name: name) } == isAllowed,
        "\(count) bytes")
    }
  }

  @Test func `a device announces at most 16 addresses of at most 128 bytes`() throws {
    let world = try World()
    for (count, bytes, isAllowed) in [(16, 128, true), (17, 128, false), (1, 129, false), (0, 0, true)] {
      let list = (0..<count).map { String($0, radix: 36) + String(repeating: "a", count: bytes - 1) }
      #expect(
        accepted { try world.addresses(of: world.alice, clock: 1, list) } == isAllowed,
        "\(count) of \(bytes) bytes")
    }
  }

  /// Each id takes 34 bytes.
  @Test func `a statement has at most 65,536 bytes`() throws {
    let world = try World()
    var largest = 0
    for count in 1_915...1_930 {
      let body = Revocation(
        circle: world.circle.id, issuer: DeviceKey(world.alice), device: DeviceKey(world.bob), kept: [],
        valid: (0..<count).map { StatementID(Bytes32(0, 0, 0, UInt64($0))) }, issued: 1)
      guard let statement = try? Statement(signing: body, with: world.alice) else {
        #expect(largest + 34 > Limits.statementBytesMax)
        return
      }
      largest = statement.bytes.count
      #expect(largest <= Limits.statementBytesMax)
    }
    Issue.record("no revocation was too long, the last had \(largest) bytes")
  }

  @Test func `an introduction has at most 6,144 bytes and four entitlements`() throws {
    let world = try World()
    let entitlements = try (0..<5).map {
      try world.entitlement(by: world.issuer, for: [world.alice], 0..<100, serial: $0).bytes
    }
    var introduction = try #require(
      world.circle.introduction(of: DeviceKey(world.alice), wallMilliseconds: 1))
    introduction.entitlements = Array(entitlements[..<4])
    #expect(try Introduction(introduction.encoded).entitlements.count == 4)
    introduction.entitlements = entitlements
    #expect(throws: WireError.self) { try Introduction(introduction.encoded) }
    introduction.entitlements = [[UInt8](repeating: 0, count: Limits.introductionBytesMax)]
    let beyond = introduction.encoded.count - Limits.introductionBytesMax
    introduction.entitlements[0].removeLast(beyond)
    #expect(introduction.encoded.count == Limits.introductionBytesMax)
    #expect(throws: Never.self) { try Introduction(introduction.encoded) }
    introduction.entitlements[0].append(0)
    #expect(throws: WireError.self) { try Introduction(introduction.encoded) }
  }

  @Test func `a chain in an introduction has at most eight links`() throws {
    let world = try World()
    var introduction = try #require(
      world.circle.introduction(of: DeviceKey(world.alice), wallMilliseconds: 1))
    introduction.chain = Array(repeating: [1], count: Limits.chainLinksMax)
    #expect(throws: Never.self) { try Introduction(introduction.encoded) }
    introduction.chain.append([1])
    #expect(throws: WireError.self) { try Introduction(introduction.encoded) }
  }
}
