import Platform
import Synchronization

/// Handlers for Ctrl-C and other signals that end the process.
///
/// Does not use dispatch sources. With those, the main thread on Linux receives every signal and raises it again for
/// another thread, and now and then the signal is lost. A node that misses SIGTERM is killed in the end.
package enum Interrupts {
  private static let handlers = Mutex<[Int32: @Sendable (Int32) -> Void]>([:])
  private static let cleanUp = Mutex<@Sendable () -> Void> {}

  /// Sets what runs before a signal ends the process, such as the removal of temporary files.
  package static func beforeEnding(_ cleanUp: @escaping @Sendable () -> Void) {
    Self.cleanUp.withLock { $0 = cleanUp }
  }

  /// Makes SIGINT, SIGTERM and SIGHUP end the process at once, SIGINT with this exit code. This never harms
  /// the store.
  ///
  /// - Parameter explain: tells the user what the interrupted command has done.
  package static func endWith(_ code: Int32, explain: @escaping @Sendable () -> Void = {}) {
    handle([SIGINT]) { _ in
      cleanUp.withLock { $0 }()
      explain()
      exit(code)
    }
    handle(unlessIgnored([SIGTERM, SIGHUP]), end)
  }

  /// Returns the signals that were not ignored when this process started.
  package static func unlessIgnored(_ signals: [Int32]) -> [Int32] { signals.filter { !isIgnored($0) } }

  /// Whether the signal was already ignored when this process started, as with `nohup`.
  private static func isIgnored(_ number: Int32) -> Bool {
    let before = signal(number, SIG_IGN)
    guard address(of: before) != address(of: SIG_IGN) else { return true }
    signal(number, before)
    return false
  }

  /// Returns the bits of a handler for comparison: functions can't be compared, and `SIG_IGN` is not a real function.
  private static func address<Handler>(of handler: Handler) -> [UInt8] {
    withUnsafeBytes(of: handler) { Array($0) }
  }

  /// Ends the process by the signal's default action.
  @Sendable private static func end(_ number: Int32) {
    cleanUp.withLock { $0 }()
    signal(number, SIG_DFL)
    kill(getpid(), number)
  }

  /// Calls the handler on these signals instead of performing their default action.
  package static func handle(_ signals: [Int32], _ handler: @escaping @Sendable (Int32) -> Void) {
    // Without a pipe the signals keep their default action, which ends the process at once.
    guard listens else { return }
    handlers.withLock { handlers in
      for number in signals { handlers[number] = handler }
    }
    for number in signals {
      signal(number) { number in
        let before = errno
        var byte = UInt8(truncatingIfNeeded: number)
        _ = write(signalWriter, &byte, 1)
        errno = before
      }
    }
  }

  /// Runs the body. If a signal ends the process meanwhile, the clean-up runs first. Afterwards the signals have their
  /// previous handlers again.
  package static func cleaningUp<Result>(
    _ cleanUp: @escaping @Sendable () -> Void, during body: () throws -> Result
  ) rethrows -> Result {
    let signals = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]
    var before: [Int32: sigaction] = [:]
    for number in signals {
      var action = sigaction()
      if sigaction(number, nil, &action) == 0 { before[number] = action }
    }
    let handled = handlers.withLock { $0 }
    handle(signals) { number in
      cleanUp()
      end(number)
    }
    defer {
      handlers.withLock { $0 = handled }
      for (number, action) in before {
        var action = action
        sigaction(number, &action, nil)
      }
    }
    return try body()
  }

  /// Starts the thread that receives signals, once. False if its pipe can't be created.
  private static let listens: Bool = {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { return false }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    // A signal handler must not block, however many signals arrive.
    _ = fcntl(ends[1], F_SETFL, fcntl(ends[1], F_GETFL) | O_NONBLOCK)
    signalWriter = ends[1]
    let reader = ends[0]
    startThread { listen(reader) }
    return true
  }()

  private static func listen(_ reader: Int32) {
    var byte: UInt8 = 0
    while true {
      let count = read(reader, &byte, 1)
      guard count == 1 else {
        if count < 0, errno == EINTR { continue }
        return
      }
      let number = Int32(byte)
      handlers.withLock { $0[number] }?(number)
    }
  }
}

/// The pipe that signal handlers write to, because a handler may do hardly anything else. Set once, before the first
/// handler is installed.
nonisolated(unsafe) private var signalWriter: Int32 = -1
