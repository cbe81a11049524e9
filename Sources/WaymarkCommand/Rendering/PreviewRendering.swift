import Console
import Platform
import Model
import Waymark
import WaymarkCare

/// `sync on --preview`: what would happen to the records here and on other devices.
extension Rendering {
  mutating func preview(_ preview: SyncPreview) {
    data.line(
      preview.preference
        ? "Sync is on. What the devices hold now:" : "If you turn sync on (nothing has been changed):")
    data.gap()
    if !preview.peers.isEmpty { counts(preview) }
    var pairs: [(name: String, value: String)] = []
    if let profile = preview.profile { pairs.append(("profile", text(of: profile))) }
    let names = preview.peers.map { printable($0.name) }
    pairs.append(("asked", names.isEmpty ? "no other device" : names.joined(separator: ", ")))
    for peer in preview.notAsked {
      let next = peer.next.map { " · \(words($0))" } ?? ""
      pairs.append(("not asked", "\(printable(peer.name)), because \(printable(peer.text))\(next)"))
    }
    data.pairs(pairs)
    if !preview.preference { notes.paragraph("Next: \(waymark: "sync on --yes")") }
  }

  private mutating func counts(_ preview: SyncPreview) {
    var table = TextTable([
      .init("", widthMin: 12), .init("ONLY HERE", isRight: true), .init("ONLY THERE", isRight: true),
      .init("SAME", isRight: true), .init("DIFFERING", isRight: true),
    ])
    for kind in preview.kinds {
      table.rows.append(row(kind.plural, kind.onlyHere, kind.onlyThere, kind.same, kind.differing))
    }
    let total = preview.total
    if preview.kinds.count != 1 {
      table.rows.append(row("total", total.onlyHere, total.onlyThere, total.same, total.differing))
    }
    data.table(table)
    data.gap()
    // The profile is a single value, with a line of its own.
    let differing = preview.differing.filter { $0.kind != .profile }
    guard !differing.isEmpty else { return }
    data.paragraph(
      "Differing records merge field by field; the newer change is displayed and the other is kept:")
    for record in differing { data.paragraph("  " + text(of: record), indent: 2) }
    let more = total.differing - preview.differing.count
    if more > 0 { data.line("  … and \(grouped(Int64(more))) more") }
    data.gap()
  }

  private func row(
    _ name: String, _ onlyHere: Int, _ onlyThere: Int, _ same: Int, _ differing: Int
  ) -> [TextTable.Cell] {
    [.init(name)] + [onlyHere, onlyThere, same].map { .init(grouped(Int64($0))) }
      + [.init(grouped(Int64(differing)), differing > 0 ? .careful : .none)]
  }

  private func text(of profile: SyncPreview.Profile) -> String {
    let winner = printable(profile.winnerName)
    switch profile.state {
    case .same: return "the same everywhere"
    case .onlyHere: return "only here; the other devices get it"
    case .onlyThere: return "only on \(winner); this device gets it"
    case .differs:
      let times = [("here", profile.here), ("there", profile.there)].map { side, version in
        let updated = version?.updatedAt.map { CivilTime.text($0.milliseconds) }
        return "\(side) \(time.written(updated)), \(version?.filledIn ?? 0) fields"
      }
      let which = profile.winner == .here ? "the one here" : "the one on \(winner)"
      return
        "\(which) wins, because \(printable(profile.text ?? "")) (\(times.joined(separator: "; ")))"
    }
  }

  /// `trip “Rome” (019ac3f2-…)`; without a name only the id.
  func text(of record: RecordReference) -> String {
    let name = record.name.map { " “\(printable($0))”" } ?? ""
    return "\(printable(record.kind.rawValue))\(name) (\(record.id.uuidString))"
  }
}
