import Membership
package import Waymark
import WaymarkCare
import Wire

/// `status`: the state of the node and of sync, and what needs attention.
package struct ShowStatus: PromptCommand {
  package static let name = "status"
  package typealias Answer = NodeStatus

  /// Whether the exit code reports peers that are not in sync, and conflicts.
  package var check: Bool?
  /// Whether to acknowledge mass deletions by other devices.
  package var acknowledge: Bool?
  package var isReadOnly: Bool { acknowledge != true }

  package init() {}

  package func perform(on node: isolated Node) throws -> NodeStatus {
    if acknowledge == true { try node.acknowledgeMassDeletes() }
    return try node.status()
  }
}

/// `metrics`: numbers about the node, in the format of Prometheus.
package struct ShowMetrics: PromptCommand, ConfirmableCommand {
  package static let name = "metrics"
  package var isReadOnly: Bool { write == nil }
  package var needsNoWriting: Bool { true }
  package var readsFiles: Bool { false }

  /// The file to write the metrics to; nil for standard output.
  package var write: String?
  /// Whether to replace a file that does not hold metrics.
  package var yes: Bool?

  package struct Answer: Codable, Sendable {
    package let text: String
    package let metrics: [Metrics.Family]
    /// The file that the metrics were written to; nil for standard output.
    package var written: String?
  }

  package init() {}

  package func perform(on node: isolated Node) throws -> Answer {
    let metrics = try node.currentMetrics()
    return Answer(text: metrics.text, metrics: metrics.families)
  }
}

/// `logging level`: the log level of the running node.
package struct LoggingLevel: PromptCommand {
  package static let name = "logging.level"
  package var isReadOnly: Bool { level == nil }

  /// The level to set; nil to show the current one.
  package var level: String?

  package struct Answer: Codable, Sendable {
    package let level: String
    package let before: String
  }

  package func perform(on node: isolated Node) throws -> Answer {
    try node.core.checkServing()
    let before = node.core.logger.level
    if let wanted = level {
      guard let level = NodeLog.Level.allCases.first(where: { "\($0)" == wanted }) else {
        let known = NodeLog.Level.allCases.map { "\($0)" }.joined(separator: ", ")
        throw WaymarkError.badValue("LEVEL", wanted, allowed: "expected one of \(known)")
      }
      node.core.logger.level = level
      if level != before { node.core.logger.say("log level set to \(level)") }
    }
    return Answer(level: "\(node.core.logger.level)", before: "\(before)")
  }
}

/// `wait`: waits until this device is in sync with the connected peers, or with one of them.
package struct WaitUntilInSync: NodeCommand {
  package static let name = "wait"
  package var isReadOnly: Bool { true }

  package var peer: String?
  /// `records`, `settings` or `all`.
  package var lane: String?
  package var timeoutMilliseconds: Int64?
  package var patienceMilliseconds: Int64? { timeoutMilliseconds ?? Self.waitMilliseconds }

  private static let waitMilliseconds: Int64 = 30_000

  package struct Answer: Codable, Sendable {
    package let inSync: Bool
    package let lanes: [String]
  }

  package func perform(on node: isolated Node, _ call: CommandCall) async throws -> Answer {
    try node.core.checkServing()
    let device = try peer.map { try node.core.peer(named: $0).device }
    let lanes = try wantedLanes()
    let timeout = Duration.milliseconds(max(timeoutMilliseconds ?? Self.waitMilliseconds, 0))
    try await node.waitUntilInSync(with: device, lanes: lanes, timeout: timeout)
    return Answer(inSync: true, lanes: lanes.map { "\($0)" })
  }

  private func wantedLanes() throws -> [Lane] {
    switch lane ?? "all" {
    case "all": return Lane.allCases
    case "settings": return [.settings]
    case "records": return [.records]
    case let other: throw WaymarkError.badValue("--lane", other, allowed: "expected records, settings or all")
    }
  }
}
