import Console
import Control
import Home
import Waymark
import WaymarkFiles

extension ImportFiles: TerminalCommand {
  static let isStream = true

  static let syntax = CommandSpec(
    words: ["import"], summary: "import files exported by Waymark or other applications",
    operands: [.init(placeholder: "FILE", key: "files", type: .path, isRepeated: true, dash: .standardInput)],
    options: [
      .init(
        flag: "--format", placeholder: "F",
        summary: "see waymark help formats; detected from the content by default",
        type: .words(ImportFormat.allCases.map(\.rawValue))),
      CommandTable.preview("only count; change nothing"),
    ],
    details: """
      Reads Waymark's own JSON export, and exports of Ritualist, Traveling Snails, Loop Habit Tracker (the unpacked folder of its archive, or
      a database backup), HabitBull, Surmai (trip.json), and calendars (.ics), including TripIt feeds. One
      import is one operation, which waymark undo reverts. Importing the same file again changes nothing; an
      edited file updates the records of its earlier import. Rows that are skipped and values that can't be
      stored are listed with their place in the file. If FILE is -, standard input is read.
      """, exampleArguments: "export.json --preview")

  static let waitsFor: String? = "Importing"

  /// Nothing is written before all files have been read.
  func interruption(at stage: String?, _ home: Home) -> Interruption {
    guard !isReadOnly, stage == "writing" else { return .nothingChanged }
    return Interruption(
      message: Interruption.unknown.message,
      next: "\(waymark: "history") shows whether the files were imported")
  }

  func render(_ answer: ImportSummary, into rendering: inout Rendering) {
    let numbers = [
      (answer.added, "added"), (answer.updated, "updated"), (answer.unchanged, "unchanged"),
      (answer.skipped, "skipped"),
    ].map { "\(grouped(Int64($0))) \($1)" }
    rendering.data.line(
      numbers.joined(separator: " · ") + (answer.isPreview ? "  (preview: nothing written)" : ""))
  }
}

extension ExportRecords: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["export"], summary: "export everything, or records in a format of another application",
    options: [
      .init(
        flag: "--format", placeholder: "F", summary: "see waymark help formats",
        type: .words(ExportFormat.allCases.map(\.rawValue)), isRequired: true),
      .init(flag: "--trip", placeholder: "T", summary: "export only this trip"),
      .init(
        flag: "--output", placeholder: "FILE", summary: "write to FILE, not to standard output", type: .path,
        dash: .standardOutput),
    ],
    details: """
      json holds everything that is visible, with the files that are on this device, and waymark import reads
      it back without loss, here or in another circle. The trash, the history and conflicts are only in a
      backup. If FILE is a directory, the export gets its usual name in it.
      """, exampleArguments: "--format ics --trip Rome --output rome.ics")

  static let waitsFor: String? = "Exporting"

  /// Nothing appears at the path before the export is complete.
  func interruption(at stage: String?, _ home: Home) -> Interruption {
    Interruption(message: "Interrupted; nothing was written.", next: nil)
  }

  /// Writes to pipes and devices in this process, because the node can't open them.
  func run(_ run: CommandContext) async throws -> Answer {
    var request = self
    let pipe = output.flatMap { PipedFile.isNeeded(for: $0) ? $0 : nil }
    if pipe != nil { request.output = nil }
    var answer = try await ControlClient.perform(request, home: run.home) { run.events.handle($0) }
    guard let content = answer.content else { return answer }
    if let pipe {
      try TextFile.send(Array(content.utf8), to: pipe)
      answer.output = pipe
      answer.content = nil
    } else if !run.printsJSON {
      run.events.finish()
      run.terminal.raw(content)
    }
    return answer
  }

  func render(_ answer: Answer, into rendering: inout Rendering) {
    var warnings = MessageGroups("warning")
    for warning in answer.warnings { warnings.add("warning: " + warning) }
    for line in warnings.lines { rendering.notes.paragraph(printable(line), .careful, indent: 2) }
    if let output = answer.output { rendering.notes.paragraph("Wrote \(printable(output)).") }
  }
}
