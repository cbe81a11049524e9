import Control
import Waymark

/// Commands that say how things are, and why.
extension CommandTable {
  static let glance: [CommandSpec] = [
    CommandSpec(
      words: ["why"], summary: "say why a device is not in sync, or where a record's values are from",
      operands: [.init(placeholder: "PEER|RECORD", key: "subject")],
      details: """
        Of a device: what keeps it from being in sync, what that is because of, and what to do. Of a
        record: for each value who wrote it, when, on which device, and what it won against.
        """),
    ExamineHome.syntax, ShowMetrics.syntax, LoggingLevel.syntax,
  ]

  static let peerNames: [CommandSpec] = [PingPeer.syntax, RenamePeer.syntax]
}
