import Synchronization

/// The log of a node. It never contains keys, record contents or text received from peers.
public struct NodeLog: Sendable {
  /// The severity of a message.
  public enum Level: Int, Comparable, Sendable, CaseIterable {
    /// Details for troubleshooting.
    case debug
    /// Normal events.
    case info
    /// Events that may need attention.
    case warning
    /// Failures.
    case error

    public static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }
  }

  /// The minimum level, shared by all copies of the log.
  private final class Threshold: Sendable {
    let level: Mutex<Level>
    init(_ level: Level) { self.level = Mutex(level) }
  }

  private let threshold: Threshold
  private let sink: @Sendable (Level, _ area: String, _ message: String) -> Void

  /// Creates a log that passes messages to a closure, which is called on the node's queue.
  ///
  /// - Parameters:
  ///   - least: the minimum level.
  ///   - sink: receives the level, the area (such as `peers`, `sync` or `store`), and one line of text.
  public init(
    least: Level = .debug, _ sink: @escaping @Sendable (Level, _ area: String, _ message: String) -> Void
  ) {
    threshold = Threshold(least)
    self.sink = sink
  }

  /// A log that discards all messages.
  public static let silent = NodeLog { _, _, _ in }

  /// The minimum level; it can be changed while the node runs.
  public var level: Level {
    get { threshold.level.withLock { $0 } }
    nonmutating set { threshold.level.withLock { $0 = newValue } }
  }

  func debug(_ area: String, _ message: String) { say(.debug, area, message) }
  package func info(_ area: String, _ message: String) { say(.info, area, message) }
  package func warning(_ area: String, _ message: String) { say(.warning, area, message) }
  package func error(_ area: String, _ message: String) { say(.error, area, message) }

  /// Logs a message about the log itself, whatever the minimum level is.
  package func say(_ message: String) { sink(.info, "log", message) }

  private func say(_ level: Level, _ area: String, _ message: @autoclosure () -> String) {
    if level >= self.level { sink(level, area, message()) }
  }
}
