import Control
import Waymark

/// Commands that say how things are, and why.
extension CommandTable {
  static let glance: [CommandSpec] = [
    Explain.syntax, ExamineHome.syntax, ShowMetrics.syntax, LoggingLevel.syntax,
  ]

  static let peerNames: [CommandSpec] = [PingPeer.syntax, RenamePeer.syntax]
}
