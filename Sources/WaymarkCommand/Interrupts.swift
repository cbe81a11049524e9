import Dispatch
import Foundation

/// What Ctrl-C and a request to end do.
enum Interrupts {
  /// Kept until the process ends. Written only while the program starts, before anything runs beside it.
  nonisolated(unsafe) private static var sources: [any DispatchSourceSignal] = []

  /// Ends the process at once on SIGINT; the store is safe at any moment.
  static func endWith(_ code: Int32) {
    handle([SIGINT]) { _ in exit(code) }
  }

  /// Calls the handler on SIGINT and SIGTERM, instead of ending the process.
  static func handle(_ signals: [Int32], _ handler: @escaping @Sendable (Int32) -> Void) {
    for number in signals {
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler { @Sendable in handler(number) }
      source.resume()
      sources.append(source)
    }
  }
}
