// Protocol/channel.md; the I/O around SecureChannel's `Channel`.

import Dispatch
package import SecureChannel
import Synchronization
package import Wire

/// One connection, which this device dialled or accepted. It does the handshake, then carries messages, and ends
/// exactly once.
///
/// Until the preamble of an accepted link is authentic, the link behaves the same whatever arrives: it sends nothing,
/// reads a limited number of bytes, and ends when the deadline for the preamble has passed.
///
/// Everything runs on the link's own queue, including decoding; calls from other threads go through `shared`. After
/// the handshake, an accepted link reads nothing until its owner has checked the peer and called `admit()`, for which
/// there is a deadline too. A link keeps itself alive until it has ended.
package actor Link<Message: Sendable> {
  enum Stage: Hashable {
    case new
    case connecting
    case handshaking
    case open
    /// The link is sending a close or, after a version mismatch, its own version, for at most `lingerMilliseconds`.
    case closing(LinkEnd)
    case ended
  }

  /// The state that threads other than the queue's may access.
  struct Shared {
    var outbox = Outbox()
    /// The number of bytes taken from the outbox and not yet accepted by the system.
    var unwrittenBytes = 0
    var flushIsScheduled = false
    var takesMessages = true
    var inbox: Inbox<Message>
    var bytesIn = 0
    var bytesOut = 0
    var lastReceived = monotonicMilliseconds()
    var remoteAddress: SocketAddress?
  }

  nonisolated let executor: QueueExecutor
  nonisolated let settings: LinkSettings<Message>
  nonisolated let handlers: LinkHandlers<Message>
  nonisolated let shared: Mutex<Shared>

  var channel: Channel
  var stage = Stage.new
  var socket: WatchedSocket?
  /// The number of bytes of `channel.output` that the system has accepted.
  var written = 0
  var lastWriteProgress: Int64 = 0
  /// The deadline of the current phase: connecting, preamble, handshake, admission or closing.
  var deadline: Int64 = 0
  private var handshakeBegan: Int64 = 0
  /// Known once the link is open.
  private var purpose: Purpose?
  var isAdmitted: Bool
  var closeIsWanted = false
  /// When the current measurement of an incomplete message's speed began, and `bytesIn` at that time; nil if no message
  /// is incomplete.
  var half: (since: Int64, bytesIn: Int)?
  var dial: Dial?
  /// The time of the next check of the deadlines. The number invalidates timers that were rescheduled.
  var tick: (at: Int64, number: UInt64) = (0, 0)
  private let accepted: Socket?
  let slot: AdmissionSlot?
  /// Keeps the link alive from its start to its end.
  private var this: Link?

  package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  // MARK: Creation

  /// Creates a link that dials the endpoint once `start()` is called.
  ///
  /// - Parameter resolve: returns the addresses of an endpoint that is not numeric; it may block for any length of time.
  package init(
    dialing endpoint: Endpoint, role: ChannelRole, settings: LinkSettings<Message>,
    handlers: LinkHandlers<Message>,
    resolve: @escaping @Sendable (Endpoint) -> [SocketAddress] = {
      SocketAddress.resolve($0, numericOnly: false)
    }
  ) throws {
    channel = try Channel(role, makeKeys: settings.makeKeys)
    executor = QueueExecutor(label: "waymark.link", isShared: true)
    self.settings = settings
    self.handlers = handlers
    isAdmitted = true
    accepted = nil
    slot = nil
    dial = Dial(endpoint: endpoint, resolve: resolve)
    shared = Mutex(Shared(inbox: Inbox(settings.limits)))
  }

  init(
    accepted socket: Socket, from address: SocketAddress, role: ChannelRole,
    settings: LinkSettings<Message>, handlers: LinkHandlers<Message>, slot: AdmissionSlot
  ) throws {
    channel = try Channel(role, makeKeys: settings.makeKeys)
    executor = QueueExecutor(label: "waymark.link", isShared: true)
    self.settings = settings
    self.handlers = handlers
    isAdmitted = false
    self.slot = slot
    self.accepted = socket
    shared = Mutex(Shared(inbox: Inbox(settings.limits), remoteAddress: address))
  }

  // MARK: Calls from any thread

  package nonisolated func start() { enqueue { $0.begin() } }

  /// Queues one message. Ordinary messages overtake parts of files. Returns false if the link is closing or has ended,
  /// or if the message overflows the send buffer, which ends the link.
  @discardableResult
  package nonisolated func send(_ message: [UInt8], as sendClass: SendClass = .ordinary) -> Bool {
    precondition(message.count <= Limits.messageBytesMax, "a message of \(message.count) bytes")
    let outcome = shared.withLock { shared -> SendOutcome in
      guard shared.takesMessages else { return .refused }
      let total = shared.outbox.bytes + shared.unwrittenBytes + message.count
      guard total <= settings.limits.sendBufferBytesMax else {
        shared.takesMessages = false
        return .overflow
      }
      shared.outbox.append(message, as: sendClass)
      defer { shared.flushIsScheduled = true }
      return shared.flushIsScheduled ? .queued : .queuedFirst
    }
    switch outcome {
    case .refused: return false
    case .overflow:
      enqueue { $0.end(.bufferOverflow) }
      return false
    case .queued: return true
    case .queuedFirst:
      let isDone = message.count <= Limits.promptBytesMax && executor.now { assumeIsolated { $0.flush() } }
      if !isDone { enqueue { $0.flush() } }
      return true
    }
  }

  /// Takes all messages received since the last call, in order. It also works after the link has ended.
  package nonisolated func takeInbox() -> [Message] { takeInbox(atMost: .max).messages }

  /// Takes the oldest messages, at least one, until they amount to `bytesMax`; `isMore` tells whether to call again.
  package nonisolated func takeInbox(atMost bytesMax: Int) -> (messages: [Message], isMore: Bool) {
    let taken = shared.withLock { $0.inbox.take(atMost: bytesMax) }
    if taken.hasRoomAgain { enqueue { $0.resumeReading() } }
    return (taken.messages, taken.isMore)
  }

  /// Admits the peer of an accepted link, whose messages are read from now on.
  package nonisolated func admit() { enqueue { $0.becomeAdmitted() } }

  /// Sends the queued messages except parts of files, then the channel's close, and ends the link.
  package nonisolated func close() {
    shared.withLock { shared in
      shared.takesMessages = false
      shared.outbox.dropFiles()
    }
    enqueue { $0.beginClosing() }
  }

  /// Closes the link after sending only the newest ordinary message that is queued, because the peer is no longer
  /// entitled to the others.
  package nonisolated func closeAtOnce() {
    shared.withLock { shared in
      shared.takesMessages = false
      shared.outbox.keepNewest()
    }
    enqueue { $0.beginClosing() }
  }

  /// The number of bytes that were received and have not been taken yet.
  package nonisolated var inboxBytes: Int { shared.withLock { $0.inbox.bytes } }

  /// The number of bytes that are queued and not yet accepted by the system.
  package nonisolated var outboundBytes: Int {
    shared.withLock { $0.outbox.bytes + $0.unwrittenBytes }
  }

  /// The number of bytes of the parts of files that ordinary messages still overtake.
  nonisolated var waitingFileBytes: Int { shared.withLock { $0.outbox.fileBytes } }

  /// Whether so much is queued that no further message of a class should be sent until `drained` is called.
  package nonisolated func isCongested(for sendClass: SendClass) -> Bool {
    shared.withLock { shared in
      shared.outbox.isCongested(
        sendClass, unwritten: shared.unwrittenBytes, lowWater: settings.limits.sendBufferLowWater)
    }
  }

  /// The number of bytes received and sent on the wire so far.
  package nonisolated var byteCounts: (received: Int, sent: Int) {
    shared.withLock { ($0.bytesIn, $0.bytesOut) }
  }

  package nonisolated var remoteAddress: SocketAddress? { shared.withLock { $0.remoteAddress } }

  package nonisolated var counters: LinkCounters {
    shared.withLock { shared in
      LinkCounters(
        bytesIn: shared.bytesIn, bytesOut: shared.bytesOut,
        quietMilliseconds: monotonicMilliseconds() - shared.lastReceived)
    }
  }

  nonisolated func enqueue(_ body: @escaping @Sendable (isolated Link) -> Void) {
    executor.async { self.assumeIsolated(body) }
  }

  /// Ends the link immediately, without sending a close, because the peer is gone.
  package nonisolated func abandon() { enqueue { $0.end(.timeout) } }

  /// Ends the link immediately if its local address is not one of these hosts, because then no answer can reach it.
  package nonisolated func leave(unlessOn hosts: Set<String>) {
    enqueue { link in
      guard let host = link.socket?.socket.localAddress?.host, !hosts.contains(host) else { return }
      link.end(.noRoute)
    }
  }

  // MARK: Lifecycle

  private func begin() {
    guard stage == .new else { return }
    this = self
    scheduleTick()
    guard let accepted else { return beginDialing() }
    socket = watch(accepted)
    beginHandshake()
  }

  nonisolated func watch(_ socket: Socket) -> WatchedSocket {
    WatchedSocket(
      socket, executor,
      .init(
        readable: { [weak self] in self?.assumeIsolated { $0.readable() } },
        promptly: { [weak self] in self?.assumeIsolated { $0.readPromptly() } },
        writable: { [weak self] in self?.assumeIsolated { $0.writable() } }))
  }

  func beginHandshake() {
    stage = .handshaking
    handshakeBegan = monotonicMilliseconds()
    let limits = settings.limits
    deadline =
      handshakeBegan + (channel.isUnrecognized ? limits.preambleMilliseconds : limits.handshakeMilliseconds)
    flush()
    if isActive { socket?.awaitReadable() }
  }

  /// Called when the peer's preamble is authentic: unless there are too many handshakes, the peer now has the time of a
  /// whole one.
  func becomeRecognized() {
    deadline = handshakeBegan + settings.limits.handshakeMilliseconds
    if slot?.recognized() == false { end(.handshakeFailed) }
  }

  /// Called when another connection needs the room of this one. The preamble may have arrived without having been read,
  /// because this machine is busy, so it is looked for once more.
  func evicted(from evictionStage: EvictionStage) {
    if evictionStage == .unrecognized {
      if isActive, channel.isUnrecognized, !channel.isIgnoring { readable() }
      guard channel.isUnrecognized else { return }
    }
    end(.timeout)
  }

  func becomeOpen(_ opening: ChannelOpening) {
    stage = .open
    purpose = opening.purpose
    let now = monotonicMilliseconds()
    deadline = now + settings.limits.handshakeMilliseconds
    lastWriteProgress = now
    handlers.opened(self, opening)
    flush()
  }

  private func becomeAdmitted() {
    guard stage == .open, !isAdmitted else { return }
    isAdmitted = true
    // A joiner is no member yet. Its connection is still counted, and may be evicted.
    if purpose == .session, slot?.admitted() == false { return end(.handshakeFailed) }
    resumeReading()
  }

  private func beginClosing() {
    guard !closeIsWanted else { return }
    switch stage {
    case .new, .connecting, .handshaking: end(.closedHere)
    case .open:
      closeIsWanted = true
      deadline = monotonicMilliseconds() + settings.limits.lingerMilliseconds
      hastenTick()
      flush()
    case .closing, .ended: return
    }
  }

  /// Ends the link; after a version mismatch, sends the channel's own version first.
  func fail(_ error: ChannelError) {
    let reason = LinkEnd(error)
    guard case .versionMismatch = error, written < channel.output.count else { return end(reason) }
    deadline = monotonicMilliseconds() + settings.limits.lingerMilliseconds
    hastenTick()
    beginLastWord(reason)
    flush()
  }

  /// Starts to read and discard all received bytes: closing a socket with unread bytes resets the connection, and the
  /// peer might never see our close.
  func beginLastWord(_ reason: LinkEnd) {
    stage = .closing(reason)
    channel.frames = FrameReader(capacity: Limits.handshakeBytesMax)
    socket?.awaitReadable()
  }

  func end(_ reason: LinkEnd) {
    guard stage != .ended else { return }
    stage = .ended
    this = nil
    socket?.end()
    socket = nil
    dial = nil
    shared.withLock { shared in
      shared.takesMessages = false
      shared.outbox.removeAll()
      shared.unwrittenBytes = 0
    }
    slot?.leave()
    handlers.closed(self, reason)
  }

  /// Whether the link may still receive or send bytes.
  var isActive: Bool {
    switch stage {
    case .handshaking, .open, .closing: true
    case .new, .connecting, .ended: false
    }
  }
}

private enum SendOutcome {
  case refused, overflow, queued
  /// The message is the first since the last flush, so the caller has to start the next flush.
  case queuedFirst
}

extension LinkEnd {
  package init(_ error: ChannelError) {
    switch error {
    case .handshakeFailed, .messageTooLarge, .noKeys: self = .handshakeFailed
    case .versionMismatch(let theirs): self = .versionMismatch(theirs: theirs)
    case .refused: self = .notAuthorized
    case .violation, .exhausted: self = .violation
    }
  }
}
