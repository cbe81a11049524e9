import SecureChannel
import Sodium
import Synchronization
import Testing
import Wire

@testable import Transport

typealias TestLink = Link<[UInt8]>

/// One end's view: the events of its links, in order.
final class Recorder: Sendable {
  struct Refusal: Error {}

  private struct State {
    var link: TestLink?
    var links = 0
    var opening: ChannelOpening?
    var messages: [[UInt8]] = []
    var receivedCalls = 0
    var drainedCalls = 0
    var ends: [LinkEnd] = []
  }

  private let state = Mutex(State())
  /// Whether `received` empties the inbox at once, and an opened link is admitted.
  let takes: Bool
  let admits: Bool

  init(takes: Bool = true, admits: Bool = true) {
    self.takes = takes
    self.admits = admits
  }

  var link: TestLink? { state.withLock { $0.link } }
  var links: Int { state.withLock { $0.links } }
  var opening: ChannelOpening? { state.withLock { $0.opening } }
  var messages: [[UInt8]] { state.withLock { $0.messages } }
  var receivedCalls: Int { state.withLock { $0.receivedCalls } }
  var drainedCalls: Int { state.withLock { $0.drainedCalls } }
  var ends: [LinkEnd] { state.withLock { $0.ends } }

  /// Empties the inbox of a link, or else of the one that opened last.
  func take(_ of: TestLink? = nil) {
    guard let link = of ?? link else { return }
    // Under the lock: otherwise what another thread takes next could be noted first.
    state.withLock { $0.messages += link.takeInbox() }
  }

  var handlers: LinkHandlers<[UInt8]> {
    LinkHandlers(
      opened: { link, opening in
        self.state.withLock {
          $0.link = link
          $0.links += 1
          $0.opening = opening
        }
        if self.admits { link.admit() }
      },
      received: { link in
        self.state.withLock { $0.receivedCalls += 1 }
        if self.takes { self.take(link) }
      },
      drained: { _ in self.state.withLock { $0.drainedCalls += 1 } },
      closed: { link, end in
        self.state.withLock {
          $0.messages += link.takeInbox()
          $0.ends.append(end)
        }
      })
  }
}

/// A listener (Bob) and a client that dials it (Alice), over loopback.
final class World: Sendable {
  static let ticket = TicketID(5)
  static let sessionKey = symmetricKey(3)
  static let session = ChannelAccess(sessionKey: sessionKey)

  static func pairing(presharedKey: UInt8 = 5, secret: UInt8 = 4) -> ChannelAccess {
    ChannelAccess(
      ticket: ticket, preambleKey: symmetricKey(secret), presharedKey: symmetricKey(presharedKey))
  }

  /// Recognizes Alice's session, and the holder of a ticket.
  static let responder = ChannelRole.responder { preamble in
    [session, pairing()].first { preamble.isAuthentic(under: $0.preambleKey) }
  }

  static func preamble(version: UInt8 = Preamble.currentVersion) -> Preamble {
    Preamble(nonce: Bytes16(1, 2), key: sessionKey, version: version)
  }

  let bob: Recorder
  let alice = Recorder()
  let listener: Listener<[UInt8]>

  init(
    bob: Recorder = Recorder(), limits: LinkLimits = LinkLimits.unhurried,
    listenerLimits: ListenerLimits = ListenerLimits()
  ) throws {
    self.bob = bob
    listener = try Listener(
      on: Endpoint(host: "127.0.0.1", port: 0), role: Self.responder,
      limits: listenerLimits, settings: settings(key: 2, limits), handlers: bob.handlers)
    listener.start()
  }

  deinit { listener.close() }

  func dial(
    _ access: ChannelAccess = World.session, limits: LinkLimits = LinkLimits.unhurried,
    as recorder: Recorder? = nil, payload: [UInt8]? = [1, 2]
  ) throws -> TestLink {
    let link = try TestLink(
      dialing: listener.address.endpoint,
      role: .initiator(access) { _ in payload },
      settings: settings(key: 1, limits), handlers: (recorder ?? alice).handlers)
    link.start()
    return link
  }

  /// A link that both ends have opened.
  func opened(limits: LinkLimits = LinkLimits.unhurried) async throws -> TestLink {
    let link = try dial(limits: limits)
    try await eventually("both ends are open") { self.alice.opening != nil && self.bob.opening != nil }
    return link
  }
}

private func symmetricKey(_ number: UInt8) -> SymmetricKey {
  do {
    return try SymmetricKey([UInt8](repeating: number, count: SymmetricKey.count))
  } catch {
    fatalError("a key of 32 bytes was rejected: \(error)")
  }
}

func settings(key: UInt8, _ limits: LinkLimits = LinkLimits.unhurried) -> LinkSettings<[UInt8]> {
  LinkSettings(limits: limits) {
    ChannelKeys(
      staticKey: try AgreementKey(secret: [UInt8](repeating: key, count: 32)), ephemeral: try AgreementKey(),
      nonce: try #require(Bytes16(randomBytes(Bytes16.count))))
  } decode: { message in
    if message == [0xba, 0xd0] { throw Recorder.Refusal() }
    return message
  }
}

/// A client that writes arbitrary bytes.
final class RawClient: Sendable {
  let socket: Socket

  init(to address: SocketAddress) throws { socket = try Socket.connecting(to: address).socket }

  deinit { socket.closeDescriptor() }

  func write(_ bytes: [UInt8]) async throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      switch rest.withUnsafeBytes({ socket.write($0) }) {
      case .bytes(let count): rest = rest.dropFirst(count)
      case .wouldBlock: try await Task.sleep(for: .milliseconds(1))
      case .failed(let error): throw error
      }
    }
  }

  /// All bytes until the other end closes, or until `count` have arrived.
  func read(_ count: Int = .max) async throws -> [UInt8] {
    var result: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    for _ in 0..<5_000 where result.count < count {
      switch buffer.withUnsafeMutableBytes({ socket.read(into: $0) }) {
      case .bytes(0), .failed: return result
      case .bytes(let count): result += buffer[..<count]
      case .wouldBlock: try await Task.sleep(for: .milliseconds(1))
      }
    }
    return result
  }

  /// Performs Alice's handshake; returns her open channel.
  func opened() async throws -> Channel {
    var channel = try Channel(
      .initiator(World.session) { _ in [] }, makeKeys: settings(key: 1).makeKeys)
    try await write(channel.output)
    channel.output = []
    _ = channel.frames.append(try await read(98)[...])
    guard case .opened = try channel.next() else { throw DeadlinePassed(description: "not opened") }
    try await write(channel.output)
    channel.output = []
    return channel
  }
}

struct DeadlinePassed: Error, CustomStringConvertible {
  let description: String
}

/// Waits until the condition holds; after half a minute fails with a description of it.
func eventually(
  _ what: String, seconds: Int = 30, _ condition: @Sendable () -> Bool,
  sourceLocation: SourceLocation = #_sourceLocation
) async throws {
  let deadline = ContinuousClock.now + .seconds(seconds)
  while !condition() {
    if ContinuousClock.now > deadline {
      Issue.record("timed out waiting until \(what)", sourceLocation: sourceLocation)
      throw DeadlinePassed(description: what)
    }
    try await Task.sleep(for: .milliseconds(2))
  }
}

extension LinkLimits {
  /// Deadlines that even a machine busy with other tests meets; a test of a deadline sets its own.
  static var unhurried: LinkLimits {
    var limits = LinkLimits()
    limits.connectMilliseconds = 60_000
    limits.preambleMilliseconds = 60_000
    limits.handshakeMilliseconds = 60_000
    return limits
  }
}
