import Console
import Control
import Waymark
import WaymarkCare
import WaymarkFiles

extension ListFiles: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["files", "list"], summary: "show how many files there are, and the largest",
    options: [
      .init(flag: "--limit", placeholder: "N", summary: "how many of the largest files to list; default 20")
    ], impliesLastWord: true,
    details: """
      Files are the contents of attachments and pictures of more than 32 KiB. WHERE says whether a file is
      here, how much of it has arrived, or which devices have it. What other devices have is what they said
      when they were last connected; a device that is offline may have dropped the file since.
      """, exampleArguments: "--limit 5")

  func rows(of answer: Answer) -> DocumentRows? { DocumentRows(key: "items", ids: answer.items.map(\.file)) }

  func render(_ answer: FileOverview, into rendering: inout Rendering) {
    let totals = answer.totals
    rendering.data.pairs([
      ("here", "\(counted(Int64(totals.here), "file")) · \(byteText(Int64(totals.bytes)))"),
      ("elsewhere", "\(counted(Int64(totals.missing), "file")) · \(byteText(Int64(totals.missingBytes)))"),
      ("keep", keepText(totals.keep)),
    ])
    if totals.lastCopies > 0 {
      rendering.notes.paragraph(
        "Only here, as far as is known: \(counted(Int64(totals.lastCopies), "file")), "
          + "\(byteText(Int64(totals.lastCopyBytes))).", .careful)
    }
    guard !answer.items.isEmpty else { return }
    rendering.data.gap()
    var table = TextTable([
      .init("FILE"), .init("SIZE", isRight: true), .init("WHERE", widthMin: 16), .init("USED"),
      .init("RECORD", widthMin: 16),
    ])
    table.isList = true
    let ids = distinctPrefixes(answer.items.map(\.file))
    for item in answer.items {
      let more = item.records.count > 1 ? " and \(item.records.count - 1) more" : ""
      let record = item.records.first.map { ($0.name ?? $0.kind.rawValue) + more }
      table.rows.append([
        .init(ids[item.file] ?? item.file, .faint), .init(byteText(Int64(item.bytes))),
        .init(item.state.text), .init(item.used == nil ? "" : rendering.time.ago(item.used)),
        .init(record ?? "an earlier version of a record"),
      ])
    }
    rendering.data.table(table)
  }
}

extension KeepFiles: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["files", "keep"], summary: "show or set which files this device keeps",
    operands: [
      .init(
        placeholder: "all|on-demand|up-to", key: "policy", type: .words(["all", "on-demand", "up-to"]),
        isOptional: true),
      .init(placeholder: "SIZE", key: "size", isOptional: true),
    ],
    details: """
      all keeps every file that a record names; this is the default. on-demand fetches a file when you ask for
      it, and drops it a day after its last use. up-to SIZE (such as 2GB) fetches files as long as they fit,
      and drops those that were not used for the longest time. Files that you ask for are always fetched.

      A file is dropped only if another device that keeps all files has said that it has it; otherwise it stays
      here, even beyond SIZE. Keep all files on at least one device: if none does, nothing is dropped, and the
      loss of that device loses the files that only it has. The policy applies to this device, not to others.
      Dropping starts at once and is repeated every hour while the node runs.
      """, exampleArguments: "up-to 2GB")

  func render(_ answer: Answer, into rendering: inout Rendering) {
    rendering.data.line(keepText(answer.keep))
    guard answer.changed, !answer.keep.keepsAll else { return }
    rendering.notes.paragraph(
      "A file is dropped only once another device says that it keeps it. \(waymark: "files") shows what is here."
    )
  }
}

extension FetchFile: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["files", "fetch"], summary: "fetch the file of an attachment from another device",
    operands: [.init(placeholder: "ID", key: "id")],
    details: """
      ID is the name or id of an attachment. The node must be running, and a device that has the file must be
      connected. Ctrl-C ends the wait; what has arrived is kept. To write the file to a path, use
      waymark attachment show ID --output FILE, which fetches it first if necessary.
      """, exampleArguments: "ticket.pdf")

  func render(_ answer: Answer, into rendering: inout Rendering) {
    rendering.notes.paragraph(
      answer.fetched
        ? "Fetched “\(printable(answer.name))”, \(byteText(Int64(answer.bytes)))."
        : "“\(printable(answer.name))” is here already.")
  }
}

// MARK: Text

/// `all files`
private func keepText(_ policy: FileKeepPolicy) -> String {
  switch policy {
  case .all: "all files"
  case .onDemand: "on demand"
  case .upTo(let bytes): "up to \(byteText(Int64(bytes)))"
  }
}

extension FileState {
  /// `40 % of 12.0 MB from nas`
  var text: String {
    func names(_ devices: [DeviceReference]) -> String {
      let names = devices.map { printable($0.name) }
      guard let last = names.last, names.count > 1 else { return names.first ?? "" }
      return "\(names.dropLast().joined(separator: ", ")) and \(last)"
    }
    switch self {
    case .here: return "here"
    case .partly(let received, let size, let devices):
      let share = size > 0 ? Int64(received) * 100 / Int64(size) : 0
      return "\(share) % of \(byteText(Int64(size)))" + (devices.isEmpty ? "" : " from \(names(devices))")
    case .elsewhere(let devices): return "on \(names(devices))"
    case .nowhere: return "nowhere any more"
    }
  }

  /// `12.0 MB · on nas`
  func text(bytes: Int64) -> String { "\(byteText(bytes)) · \(text)" }
}

extension Rendering {
  /// The line about files in `status`; nil if there are none.
  func filesText(_ status: NodeStatus) -> String? {
    let files = status.files
    var parts: [String] = []
    if files.here > 0 { parts.append("\(grouped(Int64(files.here))) here, \(byteText(Int64(files.bytes)))") }
    if files.missing > 0 {
      // A file beyond its author's quota is fetched only when it is asked for.
      let isFetched = files.keep.keepsAll && !status.notices.contains(where: \.isAboutLargeFiles)
      let text =
        "\(grouped(Int64(files.missing))) \(isFetched ? "still to come" : "not here"), "
        + byteText(Int64(files.missingBytes))
      parts.append(isFetched ? data.paint(text, .careful) : text)
    }
    return parts.isEmpty ? nil : parts.joined(separator: " · ")
  }
}

extension NodeStatus.Notice {
  /// Whether some files of a member are not fetched, because they exceed its quota.
  fileprivate var isAboutLargeFiles: Bool {
    if case .large(let usage) = details { usage.lane == "files" } else { false }
  }
}
