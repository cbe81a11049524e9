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
