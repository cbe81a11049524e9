import Console
import Control
import Waymark
import WaymarkCare

/// `backups list`: the backups that this device has made by itself, and others in its backups folder.
struct ListBackups: TerminalCommand {
  var isReadOnly: Bool { true }

  struct Answer: Codable {
    let folder: String
    let items: [KeptBackup]
  }

  static let syntax = CommandSpec(
    words: ["backups", "list"], summary: "list the backups that this device has made by itself",
    impliesLastWord: true,
    details: """
      Before a join, a restore, mirror, assert and other large changes, a device backs up its store to its
      backups folder (waymark paths). The newest ten backups and the newest five folders with replaced files
      are kept; a running node removes older ones. Files that you put there under other names are never
      removed. To go back to one: waymark restore FILE.
      """, exampleArguments: "")

  func run(_ run: CommandContext) throws -> Answer {
    guard run.home.hasStore || !run.home.keptBackups.isEmpty else { throw WaymarkError.noStore(run.home) }
    return Answer(folder: run.home.backups, items: run.home.keptBackups)
  }

  func render(_ answer: Answer, into rendering: inout Rendering) {
    guard !answer.items.isEmpty else {
      return rendering.notes.line("No backups in \(printable(answer.folder)).")
    }
    var table = TextTable([
      .init("MADE"), .init("SIZE", isRight: true), .init("BY"), .init("BACKUP", widthMin: 16),
    ])
    for item in answer.items {
      table.rows.append([
        .init(rendering.time.full(item.created)), .init(byteText(item.bytes)),
        .init(item.isAutomatic ? "waymark" : "you"),
        .init(
          item.restorable.map { String($0.dropFirst(answer.folder.count + 1)) }
            ?? "\(item.name) (\(item.isFolder ? "only the replaced files" : "not a readable backup"))"),
      ])
    }
    rendering.data.table(table)
    rendering.notes.paragraph("They are in \(printable(answer.folder)).")
  }
}

/// `backups prune`: removes old automatic backups.
struct PruneBackups: TerminalCommand, ConfirmableCommand {
  var keep: String?
  var yes: Bool?

  struct Answer: Codable {
    let removed: [String]
    let bytes: Int64
  }

  static let syntax = CommandSpec(
    words: ["backups", "prune"], summary: "remove old backups that this device has made by itself",
    options: [
      .init(
        flag: "--keep", placeholder: "N",
        summary: "how many of the newest backups, and of the newest folders, to keep; default 3")
    ],
    details: """
      Backups under names that you have chosen are kept, and so is a folder with the only copy of a root key.
      """, exampleArguments: "--keep 5")

  private static let keptByDefault = 3

  func run(_ run: CommandContext) throws -> Answer {
    let number = try keptNumber()
    let names = run.home.prunable(keepingFiles: number, folders: number)
    let old = run.home.keptBackups.filter { names.contains($0.name) }
    guard !old.isEmpty else { return Answer(removed: [], bytes: 0) }
    let bytes = old.map(\.bytes).reduce(0, +)
    guard yes == true else {
      throw WaymarkError(
        exitCode: ExitCode.needsYes, code: .needsYes,
        message: "Remove \(counted(Int64(old.count), "backup")) (\(byteText(bytes)))?",
        next: "repeat the command with --yes, or keep more: \(waymark: "backups prune --keep N")",
        candidates: old.map(\.name))
    }
    let removed = Set(run.home.removeBackups(names))
    return Answer(
      removed: old.map(\.name).filter(removed.contains),
      bytes: old.filter { removed.contains($0.name) }.map(\.bytes).reduce(0, +))
  }

  private func keptNumber() throws -> Int {
    guard let keep else { return Self.keptByDefault }
    guard let number = Int(keep), number >= 0 else {
      throw WaymarkError.badValue("--keep", keep, allowed: "expected a number of backups")
    }
    return number
  }

  func render(_ answer: Answer, into rendering: inout Rendering) {
    guard !answer.removed.isEmpty else { return rendering.notes.line("There is nothing to remove.") }
    rendering.notes.line(
      "Removed \(counted(Int64(answer.removed.count), "backup")), \(byteText(answer.bytes)).")
  }
}
