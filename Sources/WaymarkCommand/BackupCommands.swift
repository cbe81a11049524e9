import Control
import Waymark

extension WriteBackup: TerminalCommand {
  static let isStream = true

  static let syntax = CommandSpec(
    words: ["backup"], summary: "write all of the circle that this device holds to one file, without keys",
    operands: [.init(placeholder: "FILE", key: "file", type: .path)],
    details: """
      A running node goes on with its work meanwhile. Every change set is verified on the way; where the disk
      has damaged some, the backup needs --yes. --yes also overwrites a file that is there. Keep the keys
      folder (waymark paths) apart from it: with them the backup comes back as the same device.
      """,
    exampleArguments: "laptop.waymark")

  func render(_ answer: Backup, into rendering: inout Rendering) {
    let counts = [("record", answer.records), ("change set", answer.changeSets)]
      .map { counted(Int64($0.1), $0.0) }
    rendering.data.line(
      "Wrote \(printable(answer.file)): \(counts.joined(separator: " in ")), "
        + byteText(Int64(answer.bytes)))
    if let text = answer.text { rendering.notes.paragraph(printable(text), .careful) }
    rendering.notes.paragraph(
      "It holds no keys. Keep a copy of them too: \(waymark: "paths") says where they are.")
  }
}

extension RestoreBackup: TerminalCommand {
  static let isStream = true

  static let syntax = CommandSpec(
    words: ["restore"], summary: "put a backup in the place of the store that is here",
    operands: [.init(placeholder: "FILE", key: "file", type: .path)],
    options: [
      .init(flag: "--name", placeholder: "NAME", summary: "what this device is called if it is a new one"),
      CommandTable.rootKey("take this device into the circle at once"),
      .init(flag: "--new-circle", placeholder: nil, summary: "write the records again in a new circle"),
      .init(
        flag: "--partial", placeholder: nil,
        summary: "restore what is intact of a damaged backup, and say what is missing"),
      CommandTable.preview("verify and count only, change nothing"),
    ],
    details: """
      Stop the node first. Every signature is verified before anything changes, and the present store is kept
      among the backups (of such folders the newest five stay). With the keys that were here the device is the same one; without them it can be read
      at once and joins the circle with a ticket, or with the root key. Changes that other devices have made
      since the backup come back from them.
      """,
    exampleArguments: "laptop.waymark --preview")

  func run(_ run: CommandRun) async throws -> RestoreSummary {
    var request = RestoreOperation.Request(file: file, name: try ownName(name, of: run.home) ?? hostName)
    request.rootKey = rootKey
    request.foundsCircle = newCircle == true
    request.isPartial = partial == true
    if request.rootKey != nil, request.foundsCircle {
      throw WaymarkError.usage(
        "--root-key is for the circle of the backup, --new-circle leaves it: give one.",
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
    rendering.data.paragraph(
      "\(answer.isPreview ? "Would restore" : "Restored") \(records) from \(changeSets): backup of "
        + "\(printable(answer.from)) of \(rendering.time.full(answer.created))")
    let device = answer.device.map { "\($0)\(answer.hasNewKeys ? " (new keys)" : "")" } ?? "new keys"
    rendering.data.pairs([
      ("circle", answer.circle.description + (answer.isNewCircle ? " (new)" : "")), ("device", device),
    ])
    if let text = answer.text { rendering.notes.paragraph(printable(text), .careful) }
    if let kept = answer.keptAt {
      rendering.notes.paragraph(
        "The store that was here is in \(printable(kept))"
          + (answer.keptBackup != nil ? "; store.waymark there can be restored in its turn." : "."))
    }
    if answer.missing > 0 {
      rendering.notes.paragraph(
        "\(counted(Int64(answer.missing), "change set")) of the backup \(answer.missing == 1 ? "is" : "are") damaged and missing here. waymark "
          + "status names what peers are asked for.", .careful)
    }
    if answer.isPreview {
      return rendering.notes.paragraph("Nothing was changed. Next: \(waymark: "restore") without --preview")
    }
    if !answer.isAdmitted {
      rendering.notes.paragraph(
        "This device is not in the circle yet: what it holds can be read, not written.", .careful)
    }
    rendering.notes.next(answer.next)
  }
}

/// `1.4 MB`
func byteText(_ bytes: Int64) -> String {
  let units = ["bytes", "kB", "MB", "GB", "TB"]
  var value = Double(bytes)
  var unit = 0
  while value >= 1_000, unit < units.count - 1 {
    value /= 1_000
    unit += 1
  }
  let tenths = Int64((value * 10).rounded())
  return unit == 0 ? "\(bytes) bytes" : "\(grouped(tenths / 10)).\(tenths % 10) \(units[unit])"
}
