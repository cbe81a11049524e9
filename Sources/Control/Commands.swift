package import Waymark

/// The commands that a node performs, by the names that the control socket knows.
enum Commands {
  static let named: [String: any NodeCommand.Type] = Dictionary(
    uniqueKeysWithValues: all.map { ($0.name, $0) })

  private static let all: [any NodeCommand.Type] = [
    Ping.self, PingPeer.self, RenamePeer.self,
    ListConflicts.self, ShowConflict.self, ResolveConflicts.self, ShowHistory.self, Undo.self, Explain.self,
    ListMembers.self, Revoke.self, WriteBackup.self,
  ]
}

/// `ping`: whether the node takes up work; what every conversation on the control socket begins with.
package struct Ping: PromptCommand {
  package static let name = "ping"
  package var isReadOnly: Bool { true }

  package struct Answer: Codable, Sendable {
    package let version: String
  }

  package init() {}

  package func perform(on node: isolated Node) -> Answer { Answer(version: WaymarkVersion.text) }
}
