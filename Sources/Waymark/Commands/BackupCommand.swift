import Storage
import Wire

/// `backup FILE`: all that this device holds of the circle, in one file without keys.
extension Node {
  func backUpToFile(
    _ request: CommandRequest, _ events: @escaping @Sendable (JSON) -> Void
  ) async throws -> JSON {
    let path = try BackupTarget.check(
      request.required("file", "a file to write"), home, overwrites: request.flag("yes"))
    let records = try store.visibleCounts().values.reduce(0, +)
    let created = wall()
    let summary = try await backUp(
      to: path, overwrites: request.flag("yes"), allowsDamage: request.flag("yes")
    ) { done, total in
      events([
        "type": "progress", "stage": "writing", "file": .string(path), "done": .integer(done),
        "total": .integer(total),
      ])
    }
    return document(
      request.command,
      [
        .init("type", "summary"), .init("file", .string(path)), .init("bytes", .integer(summary.bytes)),
        .init("changeSets", .integer(summary.changeSets)), .init("records", .integer(records)),
        .init("created", .string(CivilTime.text(created))), .init("damaged", .integer(summary.damaged.count)),
        .init(
          "text",
          .text(
            summary.damaged.isEmpty
              ? nil
              : "\(plural(summary.damaged.count, "change set")) that the disk has damaged "
                + "(\(deviceNames.list(summary.damaged))) can't be restored from it, the rest can: waymark restore --partial"
          )),
      ])
  }
}

/// Where a person wants a backup.
private enum BackupTarget {
  /// Refuses in words what can't become a backup, before any work is done; gives where it goes.
  static func check(_ path: String, _ home: Home, overwrites: Bool) throws -> String {
    try OutputFile.checkName(path)
    let parent = parentFolder(of: path)
    guard Files.isDirectory(parent) else {
      throw WaymarkError.failed(
        "file", "There is no folder \(parent) for the backup.",
        next: "mkdir -p \(shellWord(parent)), or name another place")
    }
    let target = try OutputFile(path, in: home, except: home.backups, overwrites: overwrites)
    guard !Files.exists(path) || Files.isRegular(path) else {
      throw WaymarkError.failed(
        "file", "\(path) is a device; a backup is a file.",
        next: "waymark backup \(shellWord("laptop.waymark"))")
    }
    return target.path
  }
}
