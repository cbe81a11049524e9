import Control
import Waymark

/// Commands that say how things are, and why.
extension CommandTable {
  static let glance: [CommandSpec] = [
    Explain.syntax,
    CommandSpec(
      words: ["doctor"], summary: "look for whatever is wrong, and say what to do about it",
      options: [
        .init(
          flag: "--report", placeholder: "FILE",
          summary: "write what was found to a file that can be given to others", type: .path)
      ],
      details: """
        Looks at the configuration, permissions, keys, store, clock, disk, port and the other devices.
        Ends with 1 if anything is broken. The report names devices and addresses; it holds nothing of
        trips, habits, settings or the profile.
        """),
    CommandSpec(
      words: ["metrics"], summary: "print numbers for Prometheus",
      options: [
        .init(
          flag: "--write", placeholder: "FILE",
          summary: "put them in a file, in one step: for the textfile collector (FILE.prom)", type: .path)
      ],
      details: """
        Opens no port. To have them collected, run this every minute:
          waymark metrics --write /var/lib/prometheus/node-exporter/waymark.prom
        """),
    CommandSpec(
      words: ["log", "level"], summary: "say or set how much the running node logs",
      operands: [
        .init(
          placeholder: "LEVEL", key: "level", type: .words(NodeLog.Level.allCases.map { "\($0)" }),
          isOptional: true)
      ],
      details: "LEVEL is debug, info, warning or error, and holds until the node ends."),
  ]

  static let peerNames: [CommandSpec] = [PingPeer.syntax, RenamePeer.syntax]
}
