import Console
import Control
import Platform
import Waymark
import WaymarkCare

extension Verify: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["verify"], summary: "compare the data here with that of connected peers",
    operands: [.init(placeholder: "PEER", key: "peer", isOptional: true)],
    options: [
      .init(
        flag: "--deep", placeholder: nil,
        summary: "check only this device: every signature, and every row against the log"),
      .init(
        flag: "--repair", placeholder: nil,
        summary: "also rebuild damaged tables from the log, after a backup"),
    ],
    details: """
      The exit code is 0 if everything is equal, 5 if change sets are still on their way, and 1 if the same
      change sets produced different data; in that case the records that differ are listed. With --deep, no
      peer is asked, and the exit code is 1 if anything does not match the signed log.
      """, exampleArguments: "--deep")

  func exitCode(for answer: Answer) -> Int32 {
    switch answer {
    case .store(let verification): verification.isSound ? 0 : ExitCode.failed
    case .peers(let verification):
      switch verification.verdict {
      case .equal: 0
      case .differs: ExitCode.failed
      case .notInSync, .unknown: ExitCode.notInSync
      }
    }
  }

  func render(_ answer: Answer, into rendering: inout Rendering) {
    switch answer {
    case .store(let verification): rendering.verification(verification)
    case .peers(let verification): for peer in verification.peers { rendering.comparison(peer) }
    }
  }
}

extension Rendering {
  // MARK: With peers

  /// The verdict on one peer.
  fileprivate mutating func comparison(_ peer: PeerVerification.Peer) {
    let name = printable(peer.name)
    let lanes = [("settings", peer.lanes.settings), ("records", peer.lanes.records)]
    data.paragraph("\(name): " + lanes.map { "\($0) \(text(of: $1))" }.joined(separator: " · "))
    for case (_, .differs(let difference)) in lanes { show(difference, name) }
    if !peer.certificatesEqual {
      data.paragraph("  the certificates of the circle have not all arrived yet", indent: 2)
    }
    notes.next(peer.next)
  }

  private func text(of lane: PeerVerification.Lane) -> String {
    switch lane {
    case .equal: return data.paint("equal", .good)
    case .notInSync(let behind, let ahead):
      let counts = [(behind, "behind"), (ahead, "ahead")].filter { $0.0 > 0 }
        .map { "\(counted(Int64($0), "change set")) \($1)" }
      return data.paint("not in sync yet", .careful)
        + (counts.isEmpty ? "" : " (\(counts.joined(separator: ", ")))")
    case .differs: return data.paint("differ", .bad)
    case .notCompared(_, let text, _): return "not compared: \(printable(text))"
    }
  }

  private mutating func show(_ difference: PeerVerification.Difference, _ peer: String) {
    for record in difference.records { data.paragraph("  " + text(of: record), indent: 2) }
    if difference.hasMore { data.line("  … and more") }
    let digests = [("here", difference.digestWrongHere), ("on \(peer)", difference.digestWrongThere)]
    for (place, ranges) in digests where !ranges.isEmpty {
      data.paragraph(
        "  the digest stored \(place) does not match the records whose ids begin with "
          + ranges.joined(separator: ", "), indent: 2)
    }
  }

  // MARK: Against the log

  /// The verdict, and what differs.
  fileprivate mutating func verification(_ verification: StoreVerification) {
    let isSound = verification.isSound
    data.paragraph(
      data.paint(isSound ? "ok" : "not ok", isSound ? .good : .bad) + "  " + printable(verification.text))
    let shown = verification.findings.prefix(Self.findingsShown)
    for finding in shown { data.paragraph("  " + line(finding), indent: 4) }
    let more = verification.found - shown.count
    if more > 0 { notes.paragraph("… and \(grouped(Int64(more))) more") }
    if let backup = verification.backup {
      notes.paragraph("A backup was taken first: \(printable(backup))")
    }
    notes.next(verification.next)
  }

  /// `trip Rome (0196f0a2): differs from the log in name, startDate`
  private func line(_ finding: StoreVerification.Finding) -> String {
    let text = printable(finding.text)
    let fields = finding.fields.map(printable)
    let detail = fields.isEmpty ? text : "\(text) in \(fields.joined(separator: ", "))"
    guard let kind = finding.kind else { return detail }
    let name = finding.name.map { " “\(printable($0))”" } ?? ""
    return "\(printable(kind.rawValue))\(name) (\(shortRecordID(finding.id?.uuidString))): \(detail)"
  }

  private static let findingsShown = 20
}
