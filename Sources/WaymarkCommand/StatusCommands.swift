import Console
import Control
import Waymark
import WaymarkCare

extension ShowStatus: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["status"], summary: "show node and sync status, and what needs attention",
    options: [
      .init(
        flag: "--watch", placeholder: nil,
        summary: "keep the status on screen until Ctrl-C; without a terminal, print JSON lines"),
      .init(
        flag: "--check", placeholder: nil,
        summary: "exit with 5 if not in sync with the connected devices, with 6 if there are conflicts"),
      .init(
        flag: "--acknowledge", placeholder: nil,
        summary: "acknowledge mass deletions by other devices, to hide the notice about them"),
    ], exampleArguments: "--watch")

  func render(_ answer: NodeStatus, into rendering: inout Rendering) {
    rendering.status(answer)
    guard check == true, let obstacle = answer.notInSync else { return }
    let next = obstacle.next.map { " Next: \(rendering.words($0))" } ?? ""
    rendering.notes.paragraph("Exit code 5: \(printable(obstacle.text))\(next)", .careful)
  }

  func exitCode(for answer: NodeStatus) -> Int32 {
    guard check == true else { return 0 }
    if answer.notInSync != nil { return ExitCode.notInSync }
    return answer.conflicts > 0 ? ExitCode.conflictsWaiting : 0
  }
}

extension ShowMetrics: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["metrics"], summary: "print metrics for Prometheus",
    options: [
      .init(
        flag: "--write", placeholder: "FILE",
        summary: "write them to a file, atomically, for the textfile collector (FILE.prom)", type: .path,
        dash: .standardOutput)
    ],
    details: """
      This opens no port. To have the metrics collected, run this every minute:
        waymark metrics --write /var/lib/prometheus/node-exporter/waymark.prom
      """, exampleArguments: "--write /var/lib/prometheus/node-exporter/waymark.prom")

  /// With `--write`, replaces a file of metrics atomically; other users may read it. Any other file needs `--yes`.
  func run(_ run: CommandContext) async throws -> Answer {
    var answer = try await ControlClient.perform(self, home: run.home) { run.events.handle($0) }
    guard let write else { return answer }
    let path = try OutputFile.path(write, naturally: "waymark.prom")
    try TextFile.write(
      Array(answer.text.utf8), to: path, besides: run.home, replacingOwn: "# HELP waymark_",
      overwrites: yes == true)
    answer.written = path
    return answer
  }

  func render(_ answer: Answer, into rendering: inout Rendering) {
    if let path = answer.written { return rendering.notes.paragraph("Wrote \(printable(path)).") }
    for line in answer.text.split(separator: "\n") { rendering.data.line(String(line)) }
  }
}

extension LoggingLevel: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["logging", "level"], summary: "show or set the log level of the running node",
    operands: [
      .init(
        placeholder: "LEVEL", key: "level", type: .words(NodeLog.Level.allCases.map { "\($0)" }),
        isOptional: true)
    ],
    details: "LEVEL is debug, info, warning or error. It applies until the node ends.",
    exampleArguments: "debug")

  func render(_ answer: Answer, into rendering: inout Rendering) { rendering.data.line(answer.level) }
}

extension WaitUntilInSync: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["wait"], summary: "wait until in sync with the connected peers",
    options: [
      .init(
        flag: "--lane", placeholder: "records|settings|all", summary: "the lanes to wait for; default all",
        type: .words(["records", "settings", "all"])),
      .init(flag: "--peer", placeholder: "P", summary: "wait for this peer only"),
      .init(
        flag: "--timeout", placeholder: "30s", summary: "give up after this time; default 30s",
        type: .duration),
    ],
    details: """
      The same rule as waymark status --check: in sync with every connected device, of which there must be one.
      Lanes that are closed are skipped. Waits also for the files that this device keeps, unless no connected device has them. It does not wait
      until other devices have received files.
      """, exampleArguments: "--timeout 30s")

  /// Prints only the verdict.
  func render(_ answer: Answer, into rendering: inout Rendering) { rendering.data.line("in sync") }
}

/// `doctor`: checks a home for problems.
struct ExamineHome: TerminalCommand {
  typealias Answer = Diagnosis

  /// The file that the report goes to.
  var report: String?
  var yes: Bool?
  var isReadOnly: Bool { report == nil }

  static let syntax = CommandSpec(
    words: ["doctor"], summary: "check this node for problems, and say how to fix them",
    options: [
      .init(
        flag: "--report", placeholder: "FILE",
        summary: "write the findings to a file that you can share", type: .path)
    ],
    details: """
      Checks the configuration, permissions, keys, store, clock, disk, port and the other devices. The exit
      code is 1 if anything is broken. The report contains device names and addresses, but no data from trips,
      habits, settings or the profile.
      """, exampleArguments: "--report report.json")

  func run(_ run: CommandContext) async throws -> Diagnosis {
    try await Doctor.examine(run.home, report: report, overwrites: yes == true)
  }

  func exitCode(for answer: Diagnosis) -> Int32 { answer.isSound ? 0 : ExitCode.failed }

  func render(_ answer: Diagnosis, into rendering: inout Rendering) { rendering.diagnosis(answer) }
}

extension Rendering {
  mutating func diagnosis(_ diagnosis: Diagnosis) {
    for finding in diagnosis.findings { self.finding(finding) }
    data.gap()
    let errors = diagnosis.findings.count { $0.severity == .error }
    let warnings = diagnosis.findings.count { $0.severity == .warning }
    if errors + warnings == 0 {
      data.line("No problems found.", .good)
    } else {
      data.line(
        "\(counted(Int64(errors), "error")), \(counted(Int64(warnings), "warning")).",
        errors > 0 ? .bad : .careful)
    }
    if let report = diagnosis.report {
      notes.paragraph(
        "Wrote \(printable(report)). It contains device names and addresses, but no trips or habits."
      )
    }
  }

  private mutating func finding(_ finding: Diagnosis.Finding) {
    let stress: Stress =
      switch finding.severity {
      case .error: .bad
      case .warning: .careful
      case .ok: .good
      case .info: .none
      }
    let check = finding.check.rawValue.padded(to: 15)
    let lines = wrapped(printable(finding.text), width: max(20, data.width - 24), indent: 0)
    for (index, line) in lines.enumerated() {
      let lead =
        index == 0
        ? data.paint(finding.severity.rawValue.padded(to: 7), stress) + "  " + check
        : String(repeating: " ", count: 24)
      data.line(lead + line)
    }
    guard let next = finding.next else { return }
    let step = words(next)
    for line in wrapped("Next: \(step)", width: max(20, data.width - 24), indent: 6) {
      data.line(String(repeating: " ", count: 24) + line)
    }
  }
}
