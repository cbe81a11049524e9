import Foundation
import Synchronization
import Waymark

/// What Ctrl-C and a request to end do.
///
/// Not dispatch sources: on Linux these take a signal off the main thread, which waits for any, by raising it again for
/// another one, and now and then it is lost on the way. A node that does not hear SIGTERM is killed in the end.
enum Interrupts {
  private static let handlers = Mutex<[Int32: @Sendable (Int32) -> Void]>([:])

  /// Ends the process at once on a signal, with this code on SIGINT; the store is safe at any moment.
  static func endWith(_ code: Int32) {
    handle([SIGINT]) { _ in
      TemporaryFiles.remove()
      exit(code)
    }
    handle([SIGTERM, SIGHUP].filter { !isIgnored($0) }, end)
  }

  /// Whether this process was started so that a signal does nothing, as by `nohup`.
  private static func isIgnored(_ number: Int32) -> Bool {
    let before = signal(number, SIG_IGN)
    guard address(of: before) != address(of: SIG_IGN) else { return true }
    signal(number, before)
    return false
  }

  /// Functions can't be compared, and this one is no function.
  private static func address<Handler>(of handler: Handler) -> [UInt8] {
    withUnsafeBytes(of: handler) { Array($0) }
  }

  /// Lets a signal do what it does by itself.
  @Sendable private static func end(_ number: Int32) {
    TemporaryFiles.remove()
    signal(number, SIG_DFL)
    kill(getpid(), number)
  }

  /// Calls the handler on SIGINT and SIGTERM, instead of ending the process.
  static func handle(_ signals: [Int32], _ handler: @escaping @Sendable (Int32) -> Void) {
    // Without a pipe the signals do what they do by default: they end the process at once.
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

  /// Does something during which a signal that ends the process is preceded by a clean-up; afterwards signals do what
  /// they did before.
  static func cleaningUp<Result>(
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

  /// The thread that hears of signals; made once. False if there is no pipe for it.
  private static let listens: Bool = {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { return false }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    // A handler must not wait, however many signals come.
    _ = fcntl(ends[1], F_SETFL, fcntl(ends[1], F_GETFL) | O_NONBLOCK)
    signalWriter = ends[1]
    let reader = ends[0]
    Thread.detachNewThread { listen(reader) }
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

/// Where the handler of a signal writes, which may do hardly anything else. Set once, before there is a handler.
nonisolated(unsafe) private var signalWriter: Int32 = -1
