import Console
import Control
import Waymark
import WaymarkCare

extension WriteBackup: TerminalCommand {
  static let isStream = true

  static let syntax = CommandSpec(
    words: ["backup"], summary: "back up the store of this device to one file, without keys",
    operands: [.init(placeholder: "FILE", key: "file", type: .path)],
    options: [
      .init(
        flag: "--without-files", placeholder: nil,
        summary: "leave out attachments and pictures of more than 32 KiB")
    ],
    details: """
      The backup holds the attachments and pictures that are on this device. Without them it is small, and a
      restored device fetches them from the others. A running node keeps working during the backup. Every change set is verified; if any is damaged on disk,
      the backup needs --yes, which also overwrites an existing file. Keep a copy of the keys folder too
      (waymark paths): with the keys, a device restored from the backup is the same device as before.
      """,
    exampleArguments: "laptop.waymark")

  static let waitsFor: String? = "Backing up"

  /// Nothing appears at the path before the backup is complete.
  func interruption(at stage: String?, _ home: Home) -> Interruption {
    Interruption(message: "Interrupted; no backup was written.", next: nil)
  }

  func render(_ answer: Backup, into rendering: inout Rendering) {
    let counts = [("record", answer.records), ("change set", answer.changeSets)]
      .map { counted(Int64($0.1), $0.0) }
    let files = answer.files.map { "\(counted(Int64($0), "file")), " } ?? "no files, "
    rendering.data.line(
      "Wrote \(printable(answer.file)): \(counts.joined(separator: " in ")), " + files
        + byteText(Int64(answer.bytes)))
    if let text = answer.text {
      rendering.notes.paragraph(printable(text), .careful)
      rendering.notes.next(answer.next)
    }
    if answer.missingFiles > 0 {
      let isOne = answer.missingFiles == 1
      rendering.notes.paragraph(
        "\(counted(Int64(answer.missingFiles), "file")) \(isOne ? "is" : "are") not in the backup, because "
          + "\(isOne ? "it is" : "they are") not on this device or \(isOne ? "is" : "are") damaged.", .careful
      )
    }
    rendering.notes.paragraph(
      "The backup contains no keys. Keep a copy of them too: \(waymark: "paths") shows where they are.")
  }
}

extension RestoreBackup: TerminalCommand {
  static let isStream = true

  static let syntax = CommandSpec(
    words: ["restore"], summary: "replace the store of this device with a backup",
    operands: [.init(placeholder: "FILE", key: "file", type: .path)],
    options: [
      .init(flag: "--name", placeholder: "NAME", summary: "name of this device, if it becomes a new device"),
      CommandTable.rootKey("admit this device to the circle at once"),
      .init(flag: "--new-circle", placeholder: nil, summary: "re-create the records in a new circle"),
      .init(
        flag: "--partial", placeholder: nil,
        summary: "restore the intact part of a damaged backup, and report what is missing"),
      CommandTable.preview("only verify and count; change nothing"),
    ],
    details: """
      Stop the node first. Every signature is verified before anything changes. The current store is moved to
      the backups folder, which keeps the newest five such stores. If the keys of the backed-up device are
      here, this is the same device as before. Without those keys, the data can be read at once, but the
      device must join the circle with a ticket or the root key. Changes that other devices made since the
      backup arrive by sync.
      """,
    exampleArguments: "laptop.waymark --preview")

  static let waitsFor: String? = "Restoring"

  /// The new store is complete before it replaces the present one.
  func interruption(at stage: String?, _ home: Home) -> Interruption {
    guard !home.isReplacing else {
      return Interruption(
        message:
          "Interrupted while the restored store was being put in place; the next command completes this.",
        next: .waymark("status"))
    }
    return .nothingChanged
  }

  func run(_ run: CommandContext) async throws -> RestoreSummary {
    var request = RestoreOperation.Request(file: file, name: try ownName(name, of: run.home) ?? hostName)
    request.keepsName = name == nil
    request.rootKey = rootKey
    request.foundsCircle = newCircle == true
    request.isPartial = partial == true
    if request.rootKey != nil, request.foundsCircle {
      throw WaymarkError.usage(
        "--root-key rejoins the circle of the backup and --new-circle leaves it: use only one of them.",
        next: .waymark("help restore"))
    }
    let restoring = RestoreOperation(home: run.home, request: request)
    let tell: @Sendable (WorkProgress) -> Void = { run.events.handle(.progress($0, file: file)) }
    return preview == true
      ? try await restoring.preview(progress: tell)
      : try await restoring.restore(isConfirmed: yes == true, progress: tell)
  }

  func render(_ answer: RestoreSummary, into rendering: inout Rendering) {
    let records = counted(Int64(answer.records), "record")
    let changeSets = counted(Int64(answer.changeSets), "change set")
    let files = answer.files > 0 ? " and \(counted(Int64(answer.files), "file"))" : ""
    rendering.data.paragraph(
      "\(answer.isPreview ? "Would restore" : "Restored") \(records) from \(changeSets)\(files): backup of "
        + "\(printable(answer.from)), taken \(rendering.time.full(answer.created))")
    let device = answer.device.map { "\($0)\(answer.hasNewKeys ? " (new keys)" : "")" } ?? "new keys"
    rendering.data.pairs([
      ("circle", answer.circle.description + (answer.isNewCircle ? " (new)" : "")), ("device", device),
    ])
    if let text = answer.text { rendering.notes.paragraph(printable(text), .careful) }
    if let kept = answer.keptAt {
      rendering.notes.paragraph(
        "The previous store is in \(printable(kept))."
          + (answer.keptBackup != nil ? " To return to it, restore the backup in that directory." : ""))
    }
    if answer.missing > 0 {
      rendering.notes.paragraph(
        "\(counted(Int64(answer.missing), "change set")) of the backup \(answer.missing == 1 ? "is" : "are") "
          + "damaged and missing here. \(rendering.words(.waymark("status"))) shows what is requested from peers.",
        .careful)
    }
    if answer.missingFiles > 0 {
      rendering.notes.paragraph(
        "\(counted(Int64(answer.missingFiles), "file")) \(answer.missingFiles == 1 ? "is" : "are") neither in the "
          + "backup nor on this device, and will be fetched from other devices.", .careful)
    }
    if !answer.erasedAgain.isEmpty {
      let shown = answer.erasedAgain.prefix(Self.erasedShownMax).map { record in
        "\(record.kind) \(printable(record.name ?? shortRecordID("\(record.id)")))"
      }
      let rest = answer.erasedAgain.count - shown.count
      let list =
        shown.joined(separator: ", ") + (rest > 0 ? " and \(counted(Int64(rest), "more record"))" : "")
      rendering.notes.paragraph(
        "Erased since this backup, and erased again once another device sends the erase: \(list).", .careful)
    }
    if answer.isPreview {
      return rendering.notes.paragraph(
        "Nothing was changed. Next: stop the node if it runs, then \(waymark: "restore") without --preview")
    }
    if !answer.isAdmitted {
      rendering.notes.paragraph(
        "This device is not in the circle yet: its data can be read, but not changed.", .careful)
    }
    rendering.notes.next(answer.next)
  }
}

extension RestoreBackup {
  private static let erasedShownMax = 20
}
