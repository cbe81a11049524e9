/// Where a node says what it does; never keys, contents of records, or a peer's text.
public struct NodeLog: Sendable {
  public enum Level: Int, Comparable, Sendable, CaseIterable {
    case debug
    case info
    case warning
    case error

    public static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }
  }

  private let sink: @Sendable (Level, _ area: String, _ message: String) -> Void

  public init(_ sink: @escaping @Sendable (Level, _ area: String, _ message: String) -> Void) {
    self.sink = sink
  }

  public static let silent = NodeLog { _, _, _ in }

  func debug(_ area: String, _ message: String) { sink(.debug, area, message) }
  func info(_ area: String, _ message: String) { sink(.info, area, message) }
  func warning(_ area: String, _ message: String) { sink(.warning, area, message) }
  func error(_ area: String, _ message: String) { sink(.error, area, message) }
}
