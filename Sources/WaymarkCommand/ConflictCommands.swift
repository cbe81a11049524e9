import Console
import Control
import Platform
import Waymark
import WaymarkCare

extension ListConflicts: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["conflicts", "list"], summary: "list changes made on two devices at the same time",
    impliesLastWord: true, exampleArguments: "")

  func rows(of answer: Answer) -> DocumentRows? { DocumentRows(key: "conflicts") }

  func render(_ answer: Answer, into rendering: inout Rendering) {
    guard !answer.conflicts.isEmpty else { return rendering.notes.paragraph("No conflicts.") }
    let ids = distinctPrefixes(answer.conflicts.map(\.id))
    for conflict in answer.conflicts { rendering.sides(conflict, id: ids[conflict.id] ?? "") }
    if !rendering.data.isPiped { rendering.notes.line() }
    rendering.notes.paragraph(
      "To resolve one: \(waymark: "conflicts show ID"), \(waymark: "conflicts resolve ID --take winner|loser|DEVICE")"
    )
  }
}

extension ShowConflict: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["conflicts", "show"], summary: "show what each side wrote, and how to resolve it",
    operands: [.init(placeholder: "ID", key: "id")], exampleArguments: "3fa91c22")

  func render(_ answer: Answer, into rendering: inout Rendering) {
    let conflict = answer.conflict
    rendering.sides(conflict, id: shortID(conflict.id), isWhole: true)
    for side in [conflict.winner] + conflict.losers {
      let lines = (side.fields ?? []).filter { $0.value != .absent }.map {
        ($0.name, rendering.time.text($0.value))
      }
      guard !lines.isEmpty else { continue }
      rendering.data.gap()
      rendering.data.line("Written by \(printable(side.deviceName)):")
      rendering.data.pairs(lines.map { ("  " + printable($0.0), $0.1) })
    }
    for choice in answer.choices {
      if !rendering.data.isPiped { rendering.notes.line() }
      rendering.notes.paragraph("To " + printable(choice.effect) + ":")
      rendering.notes.line("  " + printable(choice.command))
    }
  }
}

extension ResolveConflicts: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["conflicts", "resolve"], summary: "resolve a conflict for all devices",
    operands: [.init(placeholder: "ID", key: "id", isOptional: true)],
    options: [
      .init(
        flag: "--take", placeholder: "winner|loser|DEVICE",
        summary: "winner keeps the displayed value, loser takes the other one, DEVICE takes that device's"),
      .init(flag: "--all", placeholder: nil, summary: "resolve every conflict; only with --take winner"),
    ],
    details: """
      Resolving a conflict is an ordinary change: it syncs to every device, both values stay in the history,
      and waymark undo reverts it. If one side deleted what the other side changed, --take winner deletes it
      again and --take loser restores it.
      """,
    exampleArguments: "3fa91c22 --take winner")

  func render(_ answer: Conflict.Resolution, into rendering: inout Rendering) {
    rendering.said("\(answer.text)", next: answer.next)
  }
}

extension Rendering {
  /// Writes one line for the conflict, and one for each write.
  ///
  /// - Parameter isWhole: whether long values are wrapped instead of cut off.
  fileprivate mutating func sides(_ conflict: Conflict, id: String, isWhole: Bool = false) {
    data.gap()
    let what = [conflict.kind.rawValue, conflict.name, conflict.field].compactMap(\.self).map(printable)
    data.line(data.paint(id, .strong) + "  " + what.joined(separator: " · ") + "  " + reason(conflict))
    let writes =
      [("won", conflict.winner, Stress.good)] + conflict.losers.map { ("kept", $0, Stress.careful) }
    var table = TextTable([.init(""), .init(""), .init(""), .init(""), .init("", widthMin: 20)])
    table.rows = writes.map { write($0, $1, $2) }
    table.wrapsLast = isWhole
    table.hasHead = false
    data.table(table)
  }

  private func reason(_ conflict: Conflict) -> String {
    var text = conflict.reason.rawValue.replacing("-", with: " ")
    if conflict.reason == .hiddenByParent, let hiding = conflict.hiddenBy {
      let name = hiding.name ?? shortRecordID(hiding.record.uuidString)
      text = "hidden by the deleted \(printable(hiding.kind.rawValue)) \(printable(name))"
    }
    return data.paint("(\(text))", .faint)
  }

  private func write(_ word: String, _ side: Conflict.Side, _ stress: Stress) -> [TextTable.Cell] {
    [
      .init(""), .init(word, stress), .init("by \(printable(side.deviceName))"), .init(time.full(side.time)),
      .init(side.isErased ? "erased" : time.text(side.value), stress),
    ]
  }
}
