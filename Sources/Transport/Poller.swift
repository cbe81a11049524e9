// One thread that polls all sockets of the process and notifies each socket's queue.
//
//   poller thread                                   queue of a link or listener (QueueExecutor)
//   1  isWaiting = true; list the requests
//   2  poll(wake pipe, listed descriptors)
//                                          <──────  wantRead(token): request reading; wake the thread
//   3  isWaiting = false
//   4  for each ready socket: clear its request, then
//        only one is readable, and has `promptly`:
//          executor.now(promptly)                   runs on the poller thread, if that queue is idle
//        otherwise:
//          executor.async(readable)        ──────>  reads, then asks again: wantRead(token)
//
// Each request gives one notification. `poll` is level-triggered: if step 4 did not clear the request, the thread would
// spin until the queue had read the bytes.
//
// A wait is interrupted once: the first request made while `isWaiting` clears the flag and writes one byte to the pipe;
// later requests write no further byte. If the thread is not waiting, its next list includes the request.
//
// Entries are keyed by a token that is never used again, not by the descriptor. The system gives the number of a closed
// socket to the next one; an event of the old socket that was already under way finds no entry, and is dropped.
//
// Dispatch sources do the same, but on Linux they lose a descriptor number that is reused soon after it was closed, and
// drop one whose peer hangs up (swift-corelibs-libdispatch 833, 477, 949). A flood of connections causes both.
// `poll` keeps no state between calls that could be wrong, and a node has few sockets.

import Dispatch
import Platform
import Synchronization

/// Waits for events on all sockets of the process, and calls each handler once per request.
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
    /// Whether the thread is in `poll`, or is about to call it, with a list that lacks newer requests.
    var isWaiting = false
    /// The pipe that wakes the thread; nil until descriptors for it are available.
    var wakes: (reader: Int32, writer: Int32)?
  }

  private let state = Mutex(State())

  private init() {
    DispatchQueue(label: "waymark.poller").async { while true { self.wait() } }
  }

  /// Registers a descriptor; it is not watched until `wantRead` or `wantWrite`.
  func add(
    _ descriptor: Int32, _ executor: QueueExecutor, _ handlers: WatchedSocket.Handlers
  ) -> UInt64 {
    state.withLock { state in
      state.nextToken += 1
      state.entries[state.nextToken] = Entry(descriptor: descriptor, executor: executor, handlers: handlers)
      return state.nextToken
    }
  }

  /// Requests one notification when the descriptor is readable or has ended.
  func wantRead(_ token: UInt64) { change(token) { $0.wantsRead = true } }

  func wantWrite(_ token: UInt64) { change(token) { $0.wantsWrite = true } }

  /// Removes a descriptor; after this the caller may close it.
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

  /// Returns whether the thread has to be woken; true only once for each wait.
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
    // In a process that has run out of descriptors, there may be no pipe. Then nothing can wake this thread, so it
    // retries every 20 ms until there is one.
    guard poll(&watched, nfds_t(watched.count), reader == nil ? 20 : -1) > 0 else { return }
    if let reader, watched[0].revents != 0 { drainWakes(reader) }
    let ready = zip(tokens, watched).dropFirst().filter { $1.revents != 0 }
    let readable = state.withLock { state in
      state.isWaiting = false
      return ready.compactMap { deliver(Int32($1.revents), to: $0, &state) }
    }
    // A single event is handled on this thread, so that it need not wait for another thread to wake up.
    if readable.count == 1, let entry = readable.first, let promptly = entry.handlers.promptly,
      entry.executor.now(promptly)
    {
      return
    }
    for entry in readable { entry.executor.async(entry.handlers.readable) }
  }

  /// Notifies a writer, and returns the entry if it is readable.
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

/// A socket that the poller watches until `end()`, which closes the socket.
final class WatchedSocket: Sendable {
  /// The handlers of a socket, which are called on the owner's executor.
  struct Handlers: Sendable {
    let readable: @Sendable () -> Void
    /// Called instead of `readable`, on the poller thread, so it must return quickly. Nil if handling may take long.
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

  /// Requests one call of `readable`.
  func awaitReadable() { Poller.shared.wantRead(token) }

  /// Requests one call of `writable`.
  func awaitWritable() { Poller.shared.wantWrite(token) }

  /// Stops watching and closes the socket.
  func end() {
    guard !isEnded.exchange(true, ordering: .acquiringAndReleasing) else { return }
    Poller.shared.remove(token)
    socket.closeDescriptor()
  }
}
