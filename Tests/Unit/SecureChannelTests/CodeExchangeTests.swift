import Foundation
import SecureChannel
import Sodium
import Synchronization
import Testing
import Wire

/// Protocol/vectors/pairing-code.json; the announcements in it are read by MembershipTests.
struct PairingCodeVectors: Decodable, Sendable {
  struct Draft: Decodable, Sendable {
    var password, channel, session, initiatorScalar, responderScalar, initiatorData, responderData: String
    var initiatorShare, responderShare, key: String
  }
  struct Pairing: Decodable, Sendable, CustomTestStringConvertible {
    var name, code, typed, nonce, joinerScalar, inviterScalar, preamble, share, answer, key: String
    var joinerStatic, joinerEphemeral, inviterStatic, inviterEphemeral: String
    var triesLeft: UInt8
    var messages: [String]
    var accepted: Bool
    var handshakeHash: String?
    var testDescription: String { name }
  }
  struct Share: Decodable, Sendable, CustomTestStringConvertible {
    var name, bytes: String
    var testDescription: String { name }
  }

  var preambleKey, channel: String
  var draft: Draft
  var pairings: [Pairing]
  var refusedShares: [Share]

  static let all: PairingCodeVectors = {
    do {
      let path = packageRoot.appending(path: "Protocol/vectors/pairing-code.json")
      return try JSONDecoder().decode(PairingCodeVectors.self, from: Data(contentsOf: path))
    } catch {
      fatalError("Protocol/vectors/pairing-code.json can't be read: \(error)")
    }
  }()
}

/// One run of CPace with a given scalar, or a random one.
private func pace(
  _ password: [UInt8], channel: [UInt8] = CodeExchange.channel, session: [UInt8], scalar: String? = nil
) throws -> CPace {
  var password = password
  return try CPace(
    password: try SecretBuffer(taking: &password), channel: channel, session: session,
    scalar: try scalar.map { try RistrettoScalar(bytes($0)) } ?? RistrettoScalar())
}

@Suite struct `A run of CPace` {
  @Test func `gives the shares and the key of the draft's test vector, at both ends`() throws {
    let draft = PairingCodeVectors.all.draft
    let ends = try [draft.initiatorScalar, draft.responderScalar].map {
      try pace(
        bytes(draft.password), channel: bytes(draft.channel), session: bytes(draft.session), scalar: $0)
    }
    #expect(ends.map(\.share) == [bytes(draft.initiatorShare), bytes(draft.responderShare)])
    let first = CPace.Message(share: ends[0].share, associatedData: bytes(draft.initiatorData))
    let second = CPace.Message(share: ends[1].share, associatedData: bytes(draft.responderData))
    for isInitiator in [true, false] {
      let key = try ends[isInitiator ? 0 : 1].key(first, second, isInitiator: isInitiator)
      #expect(key == bytes(draft.key))
    }
  }

  @Test func `gives another key for another password, session, channel or associated data`() throws {
    let session = [UInt8](repeating: 1, count: 16)
    let one = try pace([1, 2], session: session)
    func keys(_ other: CPace, data: [UInt8] = []) throws -> Bool {
      let messages = (
        CPace.Message(share: one.share), CPace.Message(share: other.share, associatedData: data)
      )
      let key = try one.key(messages.0, CPace.Message(share: other.share), isInitiator: true)
      return key == (try other.key(messages.0, messages.1, isInitiator: false))
    }
    #expect(try keys(pace([1, 2], session: session)))
    #expect(try !keys(pace([1, 3], session: session)))
    #expect(try !keys(pace([1, 2], session: session + [0])))
    #expect(try !keys(pace([1, 2], channel: [7], session: session)))
    #expect(try !keys(pace([1, 2], session: session), data: [2]))
  }

  @Test(arguments: PairingCodeVectors.all.refusedShares)
  func `refuses a share that is not a point or leads to the identity`(row: PairingCodeVectors.Share) throws {
    let own = try pace([1], session: [])
    let message = (CPace.Message(share: own.share), CPace.Message(share: bytes(row.bytes)))
    #expect(throws: SodiumError.self) { try own.key(message.0, message.1, isInitiator: true) }
    #expect(throws: SodiumError.self) { try own.key(message.1, message.0, isInitiator: false) }
  }

  @Test func `refuses its own share, which someone reflects`() throws {
    let own = try pace([1], session: [])
    let message = CPace.Message(share: own.share)
    #expect(throws: SodiumError.weakPoint) { try own.key(message, message, isInitiator: true) }
  }
}

/// A joiner that types a code, and an inviter that shows one and counts tries.
private struct CodePair: ~Copyable {
  static let ticket = TicketID(9)
  var joiner: Channel
  var inviter: Channel
  let tries: Counter
  let told: Counter

  /// Counts calls, or keeps a number.
  final class Counter: Sendable {
    private let value = Mutex(0)
    var now: Int { value.withLock { $0 } }
    func add() { value.withLock { $0 += 1 } }
    func set(_ number: Int) { value.withLock { $0 = number } }
  }

  init(
    code: String = "482913", typed: String = "482913", triesLeft: UInt8? = 2,
    row: PairingCodeVectors.Pairing? = nil
  ) throws {
    let (tries, told) = (Counter(), Counter())
    let dial = CodeExchange(
      begin: { session in
        (try? pace(Array(typed.utf8), session: session.bytes, scalar: row?.joinerScalar)).map {
          CodeExchange.Run($0, triesLeft: 0)
        }
      }, answered: { told.set(Int($0)) })
    let answer = CodeExchange(begin: { session in
      tries.add()
      guard let triesLeft else { return nil }
      return (try? pace(Array(code.utf8), session: session.bytes, scalar: row?.inviterScalar)).map {
        CodeExchange.Run($0, triesLeft: triesLeft)
      }
    })
    let joiner = try Channel(.initiator(ChannelAccess(code: TicketID(0), dial)) { _ in [] }) {
      try row?.keys("joiner") ?? keys(1)
    }
    let inviter = try Channel(
      .responder { preamble in
        preamble.isAuthentic(under: CodeExchange.preambleKey)
          ? ChannelAccess(code: Self.ticket, answer) : nil
      }
    ) { try row?.keys("inviter") ?? keys(2) }
    self.init(joiner: joiner, inviter: inviter, tries, told)
  }

  private init(joiner: consuming Channel, inviter: consuming Channel, _ tries: Counter, _ told: Counter) {
    self.joiner = joiner
    self.inviter = inviter
    self.tries = tries
    self.told = told
  }

  /// Carries everything that the joiner has to send, and returns it.
  mutating func toInviter() throws(ChannelError) -> [Channel.Event] {
    let sent = joiner.output
    joiner.output = []
    return try inviter.take(sent)
  }

  mutating func toJoiner() throws(ChannelError) -> [Channel.Event] {
    let sent = inviter.output
    inviter.output = []
    return try joiner.take(sent)
  }
}

extension Channel {
  fileprivate mutating func take(_ received: [UInt8]) throws(ChannelError) -> [Event] {
    _ = frames.append(received[...])
    var events: [Event] = []
    while let event = try next() { events.append(event) }
    return events
  }
}

extension PairingCodeVectors.Pairing {
  fileprivate func keys(_ end: String) throws -> ChannelKeys {
    let secrets =
      end == "joiner" ? (joinerStatic, joinerEphemeral) : (inviterStatic, inviterEphemeral)
    return ChannelKeys(
      staticKey: try AgreementKey(secret: bytes(secrets.0)),
      ephemeral: try AgreementKey(secret: bytes(secrets.1)),
      nonce: try #require(Bytes16(bytes(nonce))))
  }
}

private func frame(_ content: [UInt8]) -> [UInt8] {
  [UInt8(content.count >> 8), UInt8(truncatingIfNeeded: content.count)] + content
}

@Suite struct `A channel with a code` {
  @Test(arguments: PairingCodeVectors.all.pairings)
  func `sends the bytes of the vector`(row: PairingCodeVectors.Pairing) throws {
    var pair = try CodePair(code: row.code, typed: row.typed, triesLeft: row.triesLeft, row: row)
    let first = pair.joiner.output
    #expect(first == bytes(row.preamble) + frame(bytes(row.share)))
    #expect(try pair.toInviter() == [.recognized])
    let answer = pair.inviter.output
    #expect(answer == frame(bytes(row.answer)))
    _ = try pair.toJoiner()
    #expect(pair.told.now == Int(row.triesLeft))
    let message1 = pair.joiner.output
    #expect(message1 == frame(bytes(row.messages[0])))
    guard row.accepted else {
      var thrown: ChannelError?
      do throws(ChannelError) { _ = try pair.toInviter() } catch { thrown = error }
      let output = pair.inviter.output
      return #expect(thrown == .handshakeFailed && output.isEmpty)
    }
    _ = try pair.toInviter()
    let message2 = pair.inviter.output
    #expect(message2 == frame(bytes(row.messages[1])))
    guard case .opened(let atJoiner) = try pair.toJoiner().first else { throw ChannelError.violation }
    let message3 = pair.joiner.output
    #expect(message3 == frame(bytes(row.messages[2])))
    guard case .opened(let atInviter) = try pair.toInviter().first else { throw ChannelError.violation }
    #expect(atInviter.handshakeHash.bytes == bytes(row.handshakeHash ?? ""))
    #expect(atJoiner.handshakeHash == atInviter.handshakeHash)
    #expect(atInviter.purpose == .code(ticket: CodePair.ticket))
  }

  @Test func `has the preamble key of the vectors`() throws {
    let key = try SymmetricKey(bytes(PairingCodeVectors.all.preambleKey))
    let own = Preamble(nonce: Bytes16(1, 2), key: CodeExchange.preambleKey)
    #expect(own == Preamble(nonce: Bytes16(1, 2), key: key))
  }

  @Test func `counts a try before it sends anything, and once`() throws {
    var pair = try CodePair(typed: "000000")
    let sent = pair.joiner.output
    _ = try pair.inviter.take(Array(sent.prefix(Preamble.count + 33)))
    let (early, count) = (pair.inviter.output, pair.tries.now)
    #expect(early.isEmpty && count == 0)
    _ = try pair.inviter.take(Array(sent.dropFirst(Preamble.count + 33)))
    let answered = pair.inviter.output.count
    #expect(answered == 35 && pair.tries.now == 1)
  }

  @Test func `sends nothing if no try is left`() throws {
    var pair = try CodePair(triesLeft: nil)
    var thrown: ChannelError?
    do throws(ChannelError) { _ = try pair.toInviter() } catch { thrown = error }
    let output = pair.inviter.output
    #expect(thrown == .refused && output.isEmpty)
  }

  @Test(arguments: PairingCodeVectors.all.refusedShares)
  func `answers a bad share with nothing, but counts it as a try`(row: PairingCodeVectors.Share) throws {
    var pair = try CodePair()
    let sent = Array(pair.joiner.output.prefix(Preamble.count)) + frame(bytes(row.bytes))
    var thrown: ChannelError?
    do throws(ChannelError) { _ = try pair.inviter.take(sent) } catch { thrown = error }
    let output = pair.inviter.output
    #expect(thrown == .handshakeFailed && output.isEmpty)
    #expect(pair.tries.now == (bytes(row.bytes).count == 32 ? 1 : 0))
  }

  @Test(arguments: PairingCodeVectors.all.refusedShares)
  func `refuses a bad share of the inviter and sends no message 1`(row: PairingCodeVectors.Share) throws {
    var pair = try CodePair()
    pair.joiner.output = []
    var thrown: ChannelError?
    do throws(ChannelError) { _ = try pair.joiner.take(frame(bytes(row.bytes) + [2])) } catch {
      thrown = error
    }
    let output = pair.joiner.output
    #expect(thrown == .handshakeFailed && output.isEmpty)
  }

  @Test func `refuses the joiner's own share as the answer`() throws {
    var pair = try CodePair()
    let own = Array(pair.joiner.output.suffix(32))
    pair.joiner.output = []
    var thrown: ChannelError?
    do throws(ChannelError) { _ = try pair.joiner.take(frame(own + [2])) } catch { thrown = error }
    let output = pair.joiner.output
    #expect(thrown == .handshakeFailed && output.isEmpty)
  }

  @Test func `fails if someone between changes how many tries are left`() throws {
    var pair = try CodePair()
    _ = try pair.toInviter()
    pair.inviter.output[34] ^= 1
    _ = try pair.toJoiner()
    var thrown: ChannelError?
    do throws(ChannelError) { _ = try pair.toInviter() } catch { thrown = error }
    #expect(thrown == .handshakeFailed)
  }

  /// Someone who relays the run of two honest ends can't put its own handshake in place of theirs, so it learns neither
  /// end's key.
  @Test func `refuses a message 1 of someone who only relayed the run`() throws {
    var pair = try CodePair()
    _ = try pair.toInviter()
    _ = try pair.toJoiner()
    pair.joiner.output = []
    var relay = Handshake(
      role: .initiator, staticKey: try AgreementKey(), ephemeral: try AgreementKey(),
      presharedKey: try symmetricKey(1), prologue: [])
    var thrown: ChannelError?
    let message = try relay.write()
    do throws(ChannelError) { _ = try pair.inviter.take(frame(message)) } catch { thrown = error }
    let output = pair.inviter.output
    #expect(thrown == .handshakeFailed && output.isEmpty)
  }
}
