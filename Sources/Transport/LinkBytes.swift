import SecureChannel
import Synchronization
import Wire

// The bytes of a link: receiving and sending.

extension Link {
  /// The maximum number of reads per call, so that other work on this machine gets its turn.
  private static var passesMax: Int { 8 }
  /// How many bytes are sealed ahead of what the system has accepted, so that one write carries many frames.
  private static var sealAheadBytes: Int { 256 * 1024 }

  // MARK: Receiving

  func readable() {
    for _ in 0..<Self.passesMax {
      guard isActive, mayRead, let socket else { return }
      let room = channel.frames.makeRoom()
      let transfer = channel.frames.storage.withUnsafeMutableBytes { storage in
        socket.socket.read(into: UnsafeMutableRawBufferPointer(rebasing: storage[room]))
      }
      switch transfer {
      case .wouldBlock: return socket.awaitReadable()
      case .failed, .bytes(0): return receivedEnd()
      case .bytes(let count): received(count)
      }
    }
    enqueue { $0.readable() }
  }

  /// Handles a small message at once, on the poller thread, and leaves anything larger to the link's queue.
  func readPromptly() {
    // A handshake takes long, and a peer that is not admitted yet must not delay others.
    guard stage == .open, isAdmitted, mayRead, let socket else { return enqueue { $0.readable() } }
    let room = channel.frames.makeRoom().prefix(Limits.promptBytesMax)
    let transfer = channel.frames.storage.withUnsafeMutableBytes { storage in
      socket.socket.read(into: UnsafeMutableRawBufferPointer(rebasing: storage[room]))
    }
    switch transfer {
    case .wouldBlock: return socket.awaitReadable()
    case .failed, .bytes(0): return receivedEnd()
    case .bytes(let count):
      received(count)
      if count == room.count { return enqueue { $0.readable() } }
    }
    if isActive, mayRead { self.socket?.awaitReadable() }
  }

  /// Whether to read from the socket. A closing link reads up to the peer's last byte, but discards what it reads.
  private var mayRead: Bool {
    switch stage {
    case .open: isAdmitted && !shared.withLock { $0.inbox.isFull }
    case .handshaking where channel.isIgnoring: !hasReadEnough
    default: true
    }
  }

  /// Whether a stranger has sent so much that reading on would only cost time.
  private var hasReadEnough: Bool { shared.withLock { $0.bytesIn } >= Limits.handshakeBytesMax }

  private func received(_ count: Int) {
    let now = monotonicMilliseconds()
    let bytesIn = shared.withLock { shared in
      shared.bytesIn += count
      shared.lastReceived = now
      return shared.bytesIn
    }
    if case .closing = stage { return }
    channel.frames.filled(count)
    let hadMessage = process()
    if hadMessage || !channel.isMidMessage { half = nil }
    guard half == nil, channel.isMidMessage else { return }
    half = (now, bytesIn)
    hastenTick()
  }

  /// Processes all events in the bytes received so far. Returns true if they included a whole message.
  @discardableResult
  private func process() -> Bool {
    var batch: [Inbox<Message>.Item] = []
    defer { if stage == .handshaking { flush() } }
    do {
      while isActive, mayRead, let event = try channel.next() {
        switch event {
        case .recognized: becomeRecognized()
        case .opened(let opening): becomeOpen(opening)
        case .message(let message):
          // Even a small message takes more memory than its own bytes.
          batch.append((try settings.decode(message), message.count + Limits.messageBytesLeast))
        case .closed:
          deliver(batch)
          end(.closedByPeer)
          return !batch.isEmpty
        }
      }
      deliver(batch)
    } catch let error as ChannelError {
      deliver(batch)
      fail(error)
    } catch {
      deliver(batch)
      end(.invalidMessage)
    }
    return !batch.isEmpty
  }

  private func deliver(_ batch: [Inbox<Message>.Item]) {
    guard !batch.isEmpty else { return }
    if shared.withLock({ $0.inbox.add(batch) }) { handlers.received(self) }
  }

  /// Resumes reading after a pause: processes the bytes buffered in memory first, and then reads from the socket.
  func resumeReading() {
    guard isActive else { return }
    let now = monotonicMilliseconds()
    let bytesIn = shared.withLock { shared in
      shared.lastReceived = now
      return shared.bytesIn
    }
    if half != nil { half = (now, bytesIn) }
    process()
    readable()
  }

  private func receivedEnd() {
    switch stage {
    case .handshaking: end(.handshakeFailed)
    case .open: end(.truncated)
    case .closing(let reason): end(reason)
    case .new, .connecting, .ended: return
    }
  }

  // MARK: Sending

  func writable() {
    if stage == .connecting { return connected() }
    flush()
  }

  /// Seals and writes until nothing is left to send or the system accepts no more bytes.
  func flush() {
    shared.withLock { $0.flushIsScheduled = false }
    while isActive, let socket {
      sealAhead()
      guard written < channel.output.count else {
        if case .closing = stage { socket.socket.finishWriting() }
        break
      }
      let transfer = channel.output.withUnsafeBytes { output in
        socket.socket.write(UnsafeRawBufferPointer(rebasing: output[written...]))
      }
      switch transfer {
      case .bytes(let count): wrote(count)
      case .wouldBlock:
        socket.awaitWritable()
        hastenTick()
        return noteProgress()
      case .failed: return writeFailed()
      }
    }
    noteProgress()
  }

  private func wrote(_ count: Int) {
    written += count
    lastWriteProgress = monotonicMilliseconds()
    shared.withLock { $0.bytesOut += count }
  }

  /// Seals messages from the outbox into `channel.output`. Once the outbox is empty, seals the close if one is wanted.
  private func sealAhead() {
    compactOutput()
    guard stage == .open, channel.output.count - written < Self.sealAheadBytes else { return }
    let messages = takeOutbox()
    do throws(ChannelError) {
      for message in messages { try channel.send(message) }
      if messages.isEmpty, closeIsWanted {
        try channel.close()
        beginLastWord(.closedHere)
      }
    } catch {
      fail(error)
    }
  }

  private func takeOutbox() -> [[UInt8]] {
    let unwritten = channel.output.count - written
    return shared.withLock { shared in
      let before = shared.outbox.bytes
      let messages = shared.outbox.take(unwritten: unwritten, bytesMax: Self.sealAheadBytes)
      shared.unwrittenBytes += before - shared.outbox.bytes
      return messages
    }
  }

  private func compactOutput() {
    if written == channel.output.count {
      // The memory that a burst needed must not be kept forever.
      channel.output.removeAll(keepingCapacity: channel.output.capacity <= 4 * Self.sealAheadBytes)
      written = 0
    } else if written > Self.sealAheadBytes {
      channel.output.removeFirst(written)
      written = 0
    }
  }

  private func noteProgress() {
    let unwritten = channel.output.count - written
    let drained = shared.withLock { shared in
      shared.unwrittenBytes = unwritten
      return shared.outbox.drained(unwritten: unwritten, lowWater: settings.limits.sendBufferLowWater)
    }
    if drained, stage == .open { handlers.drained(self) }
  }

  /// Reads before the link ends, because the peer may have sent a reason before it hung up.
  private func writeFailed() {
    readable()
    if isActive { receivedEnd() }
  }
}
