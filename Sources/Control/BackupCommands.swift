import Records
package import Waymark
import WaymarkCare

/// `backup`: writes all of the circle's data on this device to one file, without keys.
package struct WriteBackup: NodeCommand, ConfirmableCommand {
  package static let name = "backup"
  package typealias Answer = Backup

  package var file: String?
  package var withoutFiles: Bool?
  package var needsNoWriting: Bool { true }
  package var yes: Bool?

  package func perform(on node: isolated Node, _ call: CommandCall) async throws -> Backup {
    let day = timeText(milliseconds: systemWall()).prefix(10)
    return try await node.core.backupWriter.write(
      to: try OutputFile.path(
        try required(file, Self.name, "a file to write"), naturally: "waymark-\(day).waymark"),
      overwrites: yes == true,
      holdsFiles: withoutFiles != true
    ) { call.tell(.progress($0, file: $1)) }
  }

  /// Backs up a suspect store, too: one whose disk has failed. That is when a backup is needed most.
  package func performWithoutNode(
    _ home: Home, _ tell: @escaping @Sendable (CommandEvent) -> Void
  ) async throws -> Backup {
    try await openAndPerform(home, forBackup: true, tell)
  }
}

/// `restore`: replaces the store with a backup. It needs exclusive use of the store, so no running node performs it.
package struct RestoreBackup: Command, ConfirmableCommand {
  package static let name = "restore"
  package typealias Answer = RestoreSummary

  package var file: String
  package var name: String?
  package var rootKey: String?
  package var newCircle: Bool?
  package var partial: Bool?
  package var preview: Bool?
  package var yes: Bool?
  package var isReadOnly: Bool { preview == true }
}
