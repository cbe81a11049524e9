import Synchronization

/// Where a node says what it does; never keys, contents of records, or a peer's text.
public struct NodeLog: Sendable {
  /// How much a line matters.
  public enum Level: Int, Comparable, Sendable, CaseIterable {
    /// Details of what happens.
    case debug
    /// What happens.
    case info
    /// What may need a look.
    case warning
    /// What is broken.
    case error

    public static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }
  }

  /// The least level that is said; it can be changed while the node runs.
  private final class Threshold: Sendable {
    let level: Mutex<Level>
    init(_ level: Level) { self.level = Mutex(level) }
  }

  private let threshold: Threshold
  private let sink: @Sendable (Level, _ area: String, _ message: String) -> Void

  /// Says what happens to a closure, which is called on the queue of the node.
  ///
  /// - Parameters:
  ///   - least: the least level that is said.
  ///   - sink: gets the level, the area (`peers`, `sync`, `store`), and one line.
  public init(
    least: Level = .debug, _ sink: @escaping @Sendable (Level, _ area: String, _ message: String) -> Void
  ) {
    threshold = Threshold(least)
    self.sink = sink
  }

  /// Says nothing.
  public static let silent = NodeLog { _, _, _ in }

  /// The least level that is said; it can be changed while the node runs.
  public var level: Level {
    get { threshold.level.withLock { $0 } }
    nonmutating set { threshold.level.withLock { $0 = newValue } }
  }

  func debug(_ area: String, _ message: String) { say(.debug, area, message) }
  func info(_ area: String, _ message: String) { say(.info, area, message) }
  func warning(_ area: String, _ message: String) { say(.warning, area, message) }
  func error(_ area: String, _ message: String) { say(.error, area, message) }

  /// Says something about the log itself, whatever the level.
  package func say(_ message: String) { sink(.info, "log", message) }

  private func say(_ level: Level, _ area: String, _ message: @autoclosure () -> String) {
    if level >= self.level { sink(level, area, message()) }
  }
}
