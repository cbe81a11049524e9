import JSONDocument
import Waymark

/// `verify --deep`: the verdict, and what differs.
extension Rendering {
  mutating func verify(_ document: JSON) {
    let isOk = document["ok"]?.boolean == true
    data.paragraph(
      data.paint(isOk ? "ok" : "not ok", isOk ? .good : .bad) + "  "
        + printable(document["text"]?.string ?? ""))
    let findings = document["findings"]?.array ?? []
    for finding in findings.prefix(Self.findingsShown) { data.paragraph("  " + line(finding), indent: 4) }
    let found = document["found"]?.integer ?? 0
    let more = found - Int64(min(findings.count, Self.findingsShown))
    if more > 0 { notes.paragraph("… and \(grouped(more)) more") }
    if let backup = document["backup"]?.string {
      notes.paragraph("A backup was taken before: \(printable(backup))")
    }
    notes.next(document["next"]?.string.map { Step($0) })
  }

  /// `trip Rome (0196f0a2): differs from the log in name, startDate`
  private func line(_ finding: JSON) -> String {
    let text = printable(finding["text"]?.string ?? "")
    let fields = finding["fields"]?.array?.compactMap(\.string).map(printable) ?? []
    let said = fields.isEmpty ? text : "\(text) in \(fields.joined(separator: ", "))"
    guard let kind = finding["kind"]?.string else { return said }
    let name = finding["name"]?.string.map { " “\(printable($0))”" } ?? ""
    return "\(printable(kind))\(name) (\(shortID(finding["id"]?.string))): \(said)"
  }

  private static let findingsShown = 20
}
