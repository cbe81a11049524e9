import Control
import Foundation
import Waymark

extension Verify: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["verify"], summary: "compare what is stored here with the connected peers",
    operands: [.init(placeholder: "PEER", key: "peer", isOptional: true)],
    options: [
      .init(
        flag: "--deep", placeholder: nil,
        summary: "instead this device alone: every signature, and every row against the log"),
      .init(
        flag: "--repair", placeholder: nil,
        summary: "and make damaged tables anew from the log, after a backup"),
    ],
    details: """
      Ends with 0 if all is equal, 5 if change sets are still on their way, 1 if the same change sets gave
      other data; then it names the records that differ. With --deep nobody is asked: it ends with 1 if
      anything is not as the signed log says.
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

  /// Nothing but the verdict on a peer.
  fileprivate mutating func comparison(_ peer: PeerVerification.Peer) {
    let name = printable(peer.name)
    let lanes = [("settings", peer.lanes.settings), ("records", peer.lanes.records)]
    data.paragraph("\(name): " + lanes.map { "\($0) \(text(of: $1))" }.joined(separator: " · "))
    for case (_, .differs(let difference)) in lanes { show(difference, name) }
    if !peer.certificatesEqual {
      data.paragraph("  the certificates of the circle are still on their way", indent: 2)
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
        "  the digest kept \(place) is not that of the records whose ids begin with "
          + ranges.joined(separator: ", "), indent: 2)
    }
  }

  // MARK: With the own log

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
      notes.paragraph("A backup was taken before: \(printable(backup))")
    }
    notes.next(verification.next)
  }

  /// `trip Rome (0196f0a2): differs from the log in name, startDate`
  private func line(_ finding: StoreVerification.Finding) -> String {
    let text = printable(finding.text)
    let fields = finding.fields.map(printable)
    let said = fields.isEmpty ? text : "\(text) in \(fields.joined(separator: ", "))"
    guard let kind = finding.kind else { return said }
    let name = finding.name.map { " “\(printable($0))”" } ?? ""
    return "\(printable(kind.rawValue))\(name) (\(shortID(finding.id?.uuidString))): \(said)"
  }

  private static let findingsShown = 20
}
