import Console
import Control
import Platform
import JSONDocument
import Waymark
import WaymarkCare

extension LogFormat {
  /// Returns a line of the node's log.
  ///
  /// - Parameter now: milliseconds since 1970.
  func line(
    _ level: NodeLog.Level, _ area: String, _ message: String, now: Int64, isTerminal: Bool = false,
    zone: Zone = .current
  ) -> String {
    line(
      "\(level)", priority: level.priority, area, message, now: now, isTerminal: isTerminal, zone: zone)
  }

  /// Returns the failure as a line of the log; nil for `text`, because there it is printed as a message for people.
  func line(_ failure: WaymarkError) -> String? {
    switch self {
    case .text: nil
    case .journal:
      "<3>" + printable(failure.message) + (failure.next.map { " Next: \(printable($0.description))" } ?? "")
    case .json: failure.line.text(.line)
    }
  }
}

extension NodeLog.Level {
  /// The syslog priority.
  fileprivate var priority: Int {
    switch self {
    case .debug: 7
    case .info: 6
    case .warning: 4
    case .error: 3
    }
  }
}
