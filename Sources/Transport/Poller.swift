import Dispatch
import Synchronization

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// One thread that waits for all sockets of the process and tells each one's queue once.
///
/// Not dispatch sources: on Linux these lose a descriptor number that is used again soon after it was closed,
/// and drop one that hangs up (swift-corelibs-libdispatch 833, 477, 949), and a node under a flood of
/// connections does nothing else. `poll` has no memory that could be wrong, and the sockets are few.
final class Poller: Sendable {
  static let shared = Poller()

  private struct Entry {
    let descriptor: Int32
    var wantsRead = false
    var wantsWrite = false
    let executor: QueueExecutor
    let handlers: WatchedSocket.Handlers

    var events: Int16 { Int16((wantsRead ? POLLIN : 0) | (wantsWrite ? POLLOUT : 0)) }
  }

  private struct State {
    var entries: [UInt64: Entry] = [:]
    var nextToken: UInt64 = 0
    /// Whether the thread waits, or is about to, for what was wanted before.
    var isWaiting = false
    /// What wakes the thread; nil until there were descriptors for it.
    var wakes: (reader: Int32, writer: Int32)?
  }

  private let state = Mutex(State())

  private init() {
    DispatchQueue(label: "waymark.poller").async { while true { self.wait() } }
  }

  /// Begins to know a descriptor; nothing is watched until it is wanted.
  func add(
    _ descriptor: Int32, _ executor: QueueExecutor, _ handlers: WatchedSocket.Handlers
  ) -> UInt64 {
    state.withLock { state in
      state.nextToken += 1
      state.entries[state.nextToken] = Entry(descriptor: descriptor, executor: executor, handlers: handlers)
      return state.nextToken
    }
  }

  /// Asks to be told once when the descriptor can be read (or has ended).
  func wantRead(_ token: UInt64) { change(token) { $0.wantsRead = true } }

  func wantWrite(_ token: UInt64) { change(token) { $0.wantsWrite = true } }

  /// Forgets a descriptor; after this the caller may close it.
  func remove(_ token: UInt64) {
    let wake = state.withLock { state in
      state.entries.removeValue(forKey: token).map { $0.events != 0 && takeWaiting(&state) } ?? false
    }
    if wake { signal() }
  }

  private func change(_ token: UInt64, _ body: (inout Entry) -> Void) {
    let wake = state.withLock { state in
      guard var entry = state.entries[token] else { return false }
      let before = entry.events
      body(&entry)
      state.entries[token] = entry
      return entry.events != before && takeWaiting(&state)
    }
    if wake { signal() }
  }

  /// True once for each time that the thread has to be woken.
  private func takeWaiting(_ state: inout State) -> Bool {
    defer { state.isWaiting = false }
    return state.isWaiting
  }

  private func signal() {
    guard let writer = state.withLock({ $0.wakes?.writer }) else { return }
    var byte: UInt8 = 1
    _ = write(writer, &byte, 1)
  }

  private static func makeWakes() -> (reader: Int32, writer: Int32)? {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { return nil }
    for end in ends {
      _ = fcntl(end, F_SETFL, fcntl(end, F_GETFL) | O_NONBLOCK)
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
    }
    return (ends[0], ends[1])
  }

  // MARK: The thread

  private func wait() {
    var tokens: [UInt64] = [0]
    var watched: [pollfd] = []
    let reader = state.withLock { state -> Int32? in
      state.isWaiting = true
      if state.wakes == nil { state.wakes = Self.makeWakes() }
      watched.append(pollfd(fd: state.wakes?.reader ?? -1, events: Int16(POLLIN), revents: 0))
      for (token, entry) in state.entries where entry.events != 0 {
        tokens.append(token)
        watched.append(pollfd(fd: entry.descriptor, events: entry.events, revents: 0))
      }
      return state.wakes?.reader
    }
    // A process without descriptors may come to its first socket: nobody can wake this thread then, so it looks
    // again by itself until there are some.
    guard poll(&watched, nfds_t(watched.count), reader == nil ? 20 : -1) > 0 else { return }
    if let reader, watched[0].revents != 0 { drainWakes(reader) }
    let ready = zip(tokens, watched).dropFirst().filter { $1.revents != 0 }
    let readable = state.withLock { state in
      state.isWaiting = false
      return ready.compactMap { deliver(Int32($1.revents), to: $0, &state) }
    }
    // One alone need not wait until another thread is awake.
    if readable.count == 1, let entry = readable.first, let promptly = entry.handlers.promptly,
      entry.executor.now(promptly)
    {
      return
    }
    for entry in readable { entry.executor.async(entry.handlers.readable) }
  }

  /// Gives the entry if it can be read.
  private func deliver(_ events: Int32, to token: UInt64, _ state: inout State) -> Entry? {
    guard var entry = state.entries[token] else { return nil }
    defer { state.entries[token] = entry }
    let isOver = events & (POLLHUP | POLLERR | POLLNVAL) != 0
    if entry.wantsWrite, isOver || events & POLLOUT != 0 {
      entry.wantsWrite = false
      entry.executor.async(entry.handlers.writable)
    }
    guard entry.wantsRead, isOver || events & POLLIN != 0 else { return nil }
    entry.wantsRead = false
    return entry
  }

  private func drainWakes(_ reader: Int32) {
    var bytes = [UInt8](repeating: 0, count: 64)
    while read(reader, &bytes, bytes.count) == bytes.count {}
  }
}

/// A socket that is watched. Closes it when ended.
final class WatchedSocket: Sendable {
  /// What is called on the owner's executor.
  struct Handlers: Sendable {
    let readable: @Sendable () -> Void
    /// In place of `readable`, on the thread that watches all sockets: must not take long. Nil if it may.
    var promptly: (@Sendable () -> Void)?
    var writable: @Sendable () -> Void = {}
  }

  let socket: Socket
  private let token: UInt64
  private let isEnded = Atomic(false)

  init(_ socket: Socket, _ executor: QueueExecutor, _ handlers: Handlers) {
    self.socket = socket
    token = Poller.shared.add(socket.descriptor, executor, handlers)
  }

  deinit { end() }

  /// Asks for one call of `readable`.
  func awaitReadable() { Poller.shared.wantRead(token) }

  /// Asks for one call of `writable`.
  func awaitWritable() { Poller.shared.wantWrite(token) }

  /// Stops watching and closes.
  func end() {
    guard !isEnded.exchange(true, ordering: .acquiringAndReleasing) else { return }
    Poller.shared.remove(token)
    socket.closeDescriptor()
  }
}
