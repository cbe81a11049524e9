import SecureChannel
import Sodium
import Synchronization
import Testing
import Wire

/// A device that meets one of another version, which answers with a preamble of its own.
struct VersionAnswerTests {
  private static func pace(_ session: Bytes16) throws -> CPace {
    var code = Array("482913".utf8)
    return try CPace(
      password: SecretBuffer(taking: &code), channel: CodeExchange.channel, session: session.bytes,
      scalar: RistrettoScalar())
  }

  /// The access with a code; `counted` counts the tries.
  private static func code(_ counted: @escaping @Sendable () -> Void = {}) -> ChannelAccess {
    let exchange = CodeExchange(begin: { session in
      counted()
      return (try? Self.pace(session)).map { CodeExchange.Run($0, triesLeft: 2) }
    })
    return ChannelAccess(code: TicketID(9), exchange)
  }

  @Test(arguments: [1, 2, 40, Int.max])
  func `the version in an answer is told, in whatever pieces it comes, also to a device with a code`(
    piece: Int
  ) throws {
    for access in [try Pair.session(), try Pair.pairing(), Self.code()] {
      var alice = try Channel(.initiator(access) { _ in [7] }) { try keys(1) }
      let sent = alice.output[9..<25]
      let nonce = try #require(Bytes16(sent))
      var rest = Preamble(nonce: nonce, key: access.preambleKey, version: 3).bytes[...]
      var thrown: ChannelError?
      while !rest.isEmpty, thrown == nil {
        rest = rest.dropFirst(alice.frames.append(rest.prefix(piece)))
        do throws(ChannelError) { _ = try alice.next() } catch { thrown = error }
      }
      #expect(thrown == .versionMismatch(theirs: 3), "\(access.purpose)")
      #expect(rest.isEmpty, "\(access.purpose): not before all of it has come")
    }
  }

  @Test func `a device of another version that has a code costs no try`() throws {
    let tries = Mutex(0)
    let access = Self.code { tries.withLock { $0 += 1 } }
    var bob = try Channel(.responder { $0.isAuthentic(under: access.preambleKey) ? access : nil }) {
      try keys(2)
    }
    let preamble = Preamble(nonce: Bytes16(1, 2), key: access.preambleKey, version: 9)
    _ = bob.frames.append((preamble.bytes + [0, 32] + [UInt8](repeating: 1, count: 32))[...])
    var thrown: ChannelError?
    do throws(ChannelError) { while try bob.next() != nil {} } catch { thrown = error }
    let output = bob.output
    #expect(thrown == .versionMismatch(theirs: 9))
    #expect(output == Preamble(nonce: Bytes16(1, 2), key: access.preambleKey).bytes)
    let count = tries.withLock { $0 }
    #expect(count == 0)
  }
}
