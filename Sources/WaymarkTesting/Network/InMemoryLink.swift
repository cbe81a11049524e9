import Dispatch
import SecureChannel
import Synchronization
import Transport
import Waymark
import WaymarkCare
import Wire

/// One end of an in-memory connection. It uses the same secure channel as a TCP link, but passes the bytes directly to
/// the other end.
///
/// Both ends run on the same queue. The two ends retain each other until they have ended.
actor InMemoryLink: NodeLink {
  private enum Stage {
    case new
    case handshaking
    case open
    case ended
  }

  /// The state that any thread may access.
  private struct Shared {
    var outbox = Outbox()
    var takesMessages = true
    var inbox: Inbox<Inbound>
    var bytesIn = 0
    var bytesOut = 0
    var lastReceived: Int64
    var remoteAddress: SocketAddress?
    /// Whether messages count as under way for as long as they are in the inbox; false once the link has ended.
    var countsInbox = true
  }

  private nonisolated let executor: QueueExecutor
  private nonisolated let network: InMemoryNetwork
  private nonisolated let settings: LinkSettings<Inbound>
  private nonisolated let handlers: NodeLinkHandlers
  private nonisolated let shared: Mutex<Shared>
  private nonisolated let machine: Int
  private nonisolated let ownAddress: SocketAddress?
  private nonisolated let endpoint: Endpoint?

  private var channel: Channel
  private var stage = Stage.new
  private var isAdmitted: Bool
  private var closeIsWanted = false
  private var other: InMemoryLink?
  private var pair: InMemoryNetwork.Pair?
  /// Received bytes that the channel has not processed yet.
  private var incoming: [UInt8] = []

  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  /// Creates the dialling end.
  init(
    network: InMemoryNetwork, machine: Int, dialling endpoint: Endpoint, from address: SocketAddress?,
    role: ChannelRole, settings: LinkSettings<Inbound>, handlers: NodeLinkHandlers
  ) throws {
    executor = QueueExecutor(
      label: "waymark.memory-link", isShared: true, on: network.clock.scheduler)
    channel = try Channel(role, makeKeys: settings.makeKeys)
    isAdmitted = true
    self.endpoint = endpoint
    self.network = network
    self.machine = machine
    self.settings = settings
    self.handlers = handlers
    ownAddress = address
    shared = Mutex(Shared(inbox: Inbox(settings.limits), lastReceived: network.clock.steady()))
  }

  /// Creates the answering end.
  private init(
    answering caller: InMemoryLink, _ responder: InMemoryNetwork.Responder, from address: SocketAddress
  ) throws {
    executor = caller.executor
    channel = try Channel(responder.roleFor(address), makeKeys: responder.settings.makeKeys)
    isAdmitted = false
    endpoint = nil
    network = caller.network
    machine = responder.machine
    settings = responder.settings
    handlers = responder.handlers
    ownAddress = nil
    shared = Mutex(
      Shared(
        inbox: Inbox(settings.limits), lastReceived: network.clock.steady(), remoteAddress: address))
  }

  // MARK: From any thread

  nonisolated func start() { enqueue { $0.dial() } }

  @discardableResult
  nonisolated func send(_ message: [UInt8], as sendClass: SendClass) -> Bool {
    precondition(message.count <= Limits.messageBytesMax, "a message of \(message.count) bytes")
    let isQueued = shared.withLock { shared -> Bool? in
      guard shared.takesMessages else { return nil }
      guard shared.outbox.bytes + message.count <= settings.limits.sendBufferBytesMax else {
        shared.takesMessages = false
        return false
      }
      shared.outbox.append(message, as: sendClass)
      return true
    }
    switch isQueued {
    case nil: return false
    case false?: enqueue { $0.end(.bufferOverflow) }
    case true?: enqueue { $0.flush() }
    }
    return isQueued == true
  }

  nonisolated func takeInbox(atMost bytesMax: Int) -> (messages: [Inbound], isMore: Bool) {
    let taken = shared.withLock { shared in
      let taken = shared.inbox.take(atMost: bytesMax)
      if shared.countsInbox { network.clock.underWay.end(taken.messages.count) }
      return taken
    }
    if taken.hasRoomAgain { enqueue { $0.process() } }
    return (taken.messages, taken.isMore)
  }

  nonisolated func admit() {
    enqueue { link in
      link.isAdmitted = true
      link.process()
    }
  }

  nonisolated func close() {
    shared.withLock { shared in
      shared.takesMessages = false
      shared.outbox.dropFiles()
    }
    enqueue { $0.beginClosing() }
  }

  nonisolated func closeAtOnce() {
    shared.withLock { shared in
      shared.takesMessages = false
      shared.outbox.keepNewest()
    }
    enqueue { $0.beginClosing() }
  }

  nonisolated func abandon() { enqueue { $0.end(.timeout) } }

  /// Breaks the connection because the path between its ends was cut.
  nonisolated func breakOff() { enqueue { $0.end(.truncated) } }

  nonisolated func leave(unlessOn hosts: Set<String>) {}

  nonisolated var inboxBytes: Int { shared.withLock { $0.inbox.bytes } }

  nonisolated func isCongested(for sendClass: SendClass) -> Bool {
    shared.withLock { shared in
      shared.outbox.isCongested(sendClass, unwritten: 0, lowWater: settings.limits.sendBufferLowWater)
    }
  }

  nonisolated var byteCounts: (received: Int, sent: Int) { shared.withLock { ($0.bytesIn, $0.bytesOut) } }

  nonisolated var remoteAddress: SocketAddress? { shared.withLock { $0.remoteAddress } }

  nonisolated var quietMilliseconds: Int64 {
    network.clock.steady() - shared.withLock { $0.lastReceived }
  }

  private nonisolated func enqueue(_ body: @escaping @Sendable (isolated InMemoryLink) -> Void) {
    let underWay = network.clock.underWay
    underWay.begin()
    executor.async {
      self.assumeIsolated(body)
      underWay.end()
    }
  }

  // MARK: Dialling

  private func dial() {
    guard stage == .new, let endpoint, let ownAddress else { return }
    guard let target = SocketAddress.numeric(endpoint.host, port: endpoint.port) else {
      return end(.unresolved)
    }
    guard let responder = network.responder(at: target) else { return end(.refused) }
    connect(responder, at: target, from: ownAddress)
  }

  private func connect(
    _ responder: InMemoryNetwork.Responder, at target: SocketAddress, from own: SocketAddress
  ) {
    guard let answering = try? InMemoryLink(answering: self, responder, from: own) else {
      return end(.refused)
    }
    let pair = InMemoryNetwork.Pair(machine, responder.machine)
    guard network.opened(self, pair) else { return end(.noRoute) }
    self.pair = pair
    shared.withLock { $0.remoteAddress = target }
    other = answering
    stage = .handshaking
    answering.assumeIsolated { answering in
      answering.other = self
      answering.stage = .handshaking
    }
    flush()
  }

  // MARK: Receiving

  /// The number of unprocessed bytes at which the other end stops sending.
  private static let incomingBytesMax = 256 * 1024

  private var hasRoom: Bool { incoming.count < Self.incomingBytesMax }

  private func receive(_ bytes: [UInt8]) {
    guard stage != .ended else { return }
    let now = network.clock.steady()
    shared.withLock { shared in
      shared.bytesIn += bytes.count
      shared.lastReceived = now
    }
    incoming += bytes
    process()
  }

  private var mayRead: Bool {
    switch stage {
    case .open: isAdmitted && !shared.withLock { $0.inbox.isFull }
    case .handshaking: true
    case .new, .ended: false
    }
  }

  /// Processes the received bytes for as long as the link may read.
  private func process() {
    var batch: [Inbox<Inbound>.Item] = []
    var reason: LinkEnd?
    do {
      try read(into: &batch, &reason)
    } catch let error as ChannelError {
      reason = LinkEnd(error)
    } catch {
      reason = .invalidMessage
    }
    deliver(batch)
    // Send what processing produced: a handshake answer or a closing message.
    flushOutput()
    if let reason { return end(reason) }
    if hasRoom { other?.assumeIsolated { $0.flush() } }
  }

  private func read(into batch: inout [Inbox<Inbound>.Item], _ reason: inout LinkEnd?) throws {
    var taken = 0
    defer { incoming.removeFirst(taken) }
    while mayRead, reason == nil {
      if let event = try channel.next() {
        switch event {
        case .recognized: break
        case .opened(let opening): becomeOpen(opening)
        case .message(let message):
          batch.append((try settings.decode(message), message.count + Limits.messageBytesLeast))
        case .closed: reason = .closedByPeer
        }
        continue
      }
      // On a real network, the deadline for the preamble would end the connection.
      if channel.isIgnoring { reason = .handshakeFailed }
      guard taken < incoming.count else { return }
      taken += channel.frames.append(incoming[taken...])
    }
  }

  private func becomeOpen(_ opening: ChannelOpening) {
    stage = .open
    handlers.opened(self, opening)
    enqueue { $0.flush() }
  }

  private func deliver(_ batch: [Inbox<Inbound>.Item]) {
    guard !batch.isEmpty else { return }
    network.clock.underWay.begin(batch.count)
    if shared.withLock({ $0.inbox.add(batch) }) { handlers.received(self) }
  }

  // MARK: Sending

  /// Seals queued messages and passes them to the other end for as long as it has room.
  private func flush() {
    flushOutput()
    while stage == .open, let other, other.assumeIsolated({ $0.hasRoom }) {
      let messages = takeOutbox()
      do throws(ChannelError) {
        for message in messages { try channel.send(message) }
        if messages.isEmpty, closeIsWanted { try channel.close() }
      } catch {
        return end(LinkEnd(error))
      }
      flushOutput()
      guard !messages.isEmpty else {
        if closeIsWanted { end(.closedHere) }
        return
      }
    }
  }

  private func takeOutbox() -> [[UInt8]] {
    let (messages, isDrained) = shared.withLock { shared in
      let taken = shared.outbox.take(unwritten: 0, bytesMax: Self.incomingBytesMax)
      return (taken, shared.outbox.drained(unwritten: 0, lowWater: settings.limits.sendBufferLowWater))
    }
    if isDrained { handlers.drained(self) }
    return messages
  }

  private func flushOutput() {
    guard !channel.output.isEmpty, let other else { return }
    let bytes = channel.output
    channel.output = []
    shared.withLock { $0.bytesOut += bytes.count }
    // Never call the other end directly: it could observe this end in the middle of an operation.
    guard let scheduler = network.clock.scheduler else { return other.enqueue { $0.receive(bytes) } }
    scheduler.note(bytes)
    var rest = bytes[...]
    while !rest.isEmpty {
      let piece = scheduler.chance(4) ? 1 + scheduler.number(below: rest.count) : rest.count
      let part = Array(rest.prefix(piece))
      rest = rest.dropFirst(piece)
      other.enqueue { $0.receive(part) }
    }
  }

  // MARK: Ending

  private func beginClosing() {
    switch stage {
    case .new, .handshaking: end(.closedHere)
    case .open:
      guard !closeIsWanted else { return }
      closeIsWanted = true
      flush()
    case .ended: return
    }
  }

  private func end(_ reason: LinkEnd) {
    guard stage != .ended else { return }
    let wasHandshaking = stage == .handshaking
    stage = .ended
    incoming = []
    let left = shared.withLock { shared in
      shared.takesMessages = false
      shared.outbox.removeAll()
      shared.countsInbox = false
      return shared.inbox.count
    }
    network.clock.underWay.end(left)
    if let pair { network.ended(self, pair) }
    let other = other
    self.other = nil
    handlers.closed(self, reason)
    // Enqueued, so that the other end first receives everything that was sent before.
    other?.enqueue { $0.otherEnded(duringHandshake: wasHandshaking) }
  }

  private func otherEnded(duringHandshake: Bool) {
    end(stage == .handshaking || duringHandshake ? .handshakeFailed : .truncated)
  }
}
