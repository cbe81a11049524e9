import Foundation
import Testing

/// The language of the project: the field's terms, plain words, and one name for one thing.
struct LanguageTests {
  /// Words that a fluent reader stumbles over, text that each match contains, and what to write instead.
  static let replacements: [(word: String, part: String, better: String)] = [
    (#"\banew\b"#, "anew", "again"),
    (#"\bbeside\b"#, "beside", "next to, or in addition to"),
    (#"\bmend(s|ed|ing)?\b"#, "mend", "fix, or repair"),
    (#"\bheed(s|ed|ing)?\b"#, "heed", "follow, or update"),
    (#"\bwhoever\b"#, "whoever", "anyone who, or the device that"),
    (#"\bsomebody\b"#, "somebody", "someone, or a device"),
    (#"\b(lay|lays|laid|laying) out (the |a |all |its )?(logs?|anew|again)\b"#, "out ", "rebuild"),
    (#"\b(lets?|letting) go of\b"#, "go of", "release"),
    (#"\b(set|sets|setting) aside\b"#, "aside", "quarantine (sets), or keep"),
    (#"\b(is|are|was|were) excused\b"#, "excused", "tolerated gap"),
    (#"\bforced directions?\b"#, "forced direction", "override"),
    (#"\bwrit(e|es|ten|ing) again in (an|the|its) own\b"#, "again in", "re-author"),
    (#"\bhe(ar|ard|ars) of (it|that|this|the)\b"#, " of ", "receive, or learn of"),
    (#"\bfor ever\b"#, "for ever", "forever"),
    (#"\b(is|are|was|were) out of the circle\b"#, "out of the circle", "is revoked, or is not a member"),
    (#"\brival (write|value|edit)s?\b"#, "rival", "sibling"),
    (#"\bbrok(e|en) promises?\b"#, "promise", "unresponsive"),
    (#"\bbears? (no|a|its|their)\b"#, "bear", "has"),
    (#"\bgives? way to\b"#, "way to", "yield"),
  ]

  /// Terms that the code uses and that a newcomer looks up.
  static let terms = [
    "ballast", "branch", "cause", "cell", "change set", "checkpoint", "circle", "concurrent", "conflict",
    "cut",
    "dependency", "digest", "effect", "entitlement", "fold", "fork", "gate", "head", "home", "incarnation",
    "introduction", "kept tip", "lane", "lane session", "log", "notice", "operation", "override", "parked",
    "peer",
    "quarantine", "re-authoring", "readmission", "replay", "replication risk", "restamp", "restore",
    "session",
    "sibling", "stamp", "statement", "ticket", "tolerated gap", "withheld",
  ]

  /// Names of tables, keys and files are given in code spans, and may be older than the term.
  private func prose(_ file: Repository.File) -> String {
    file.lines.map { line in
      let parts = line.split(separator: "`", omittingEmptySubsequences: false)
      let isOpen = parts.count.isMultiple(of: 2)
      return parts.enumerated()
        .filter { $0.offset.isMultiple(of: 2) || isOpen && $0.offset == parts.count - 1 }
        .map(\.element).joined(separator: "``")
    }.joined(separator: "\n")
  }

  private func files() throws -> [Repository.File] {
    let own = "LanguageTests.swift"
    return try [".md", ".swift"].flatMap { try Repository.files(ending: $0) }
      .filter { !$0.path.hasPrefix("Protocol/vectors/") && !$0.path.hasSuffix(own) }
  }

  @Test func `no text uses a word of the old dialect`() throws {
    let files = try files()
    #expect(files.count > 500)
    let patterns = try Self.replacements.map {
      (part: $0.part, pattern: try Regex($0.word), better: $0.better)
    }
    for file in files {
      let text = prose(file).lowercased()
      for (part, pattern, better) in patterns where text.holds(part) {
        for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
        where line.holds(part) {
          guard let found = line.firstMatch(of: pattern) else { continue }
          Issue.record("\(file):\(number + 1) says “\(line[found.range])”. Write: \(better).")
        }
      }
    }
  }

  @Test func `the glossary explains the terms of the code`() throws {
    let rows = try Repository.text("Protocol/glossary.md").split(separator: "\n").filter {
      $0.hasPrefix("| **")
    }
    let explained = Set(
      rows.flatMap { row in row.matches(of: /\*\*([^*]+)\*\*/).map { String($0.output.1) } })
    for term in Self.terms {
      #expect(explained.contains(term), "the glossary in Protocol/glossary.md lacks “\(term)”")
    }
  }

  @Test func `the glossary explains no term that nothing uses`() throws {
    func letters(_ text: String) -> String { text.lowercased().filter { $0.isLetter || $0 == "-" } }
    let page = try Repository.text("Protocol/glossary.md")
    let rows = page.split(separator: "\n").filter { $0.hasPrefix("| **") }
    let pages = try Repository.files(in: "Protocol", ending: ".md")
      .filter { $0.path != "Protocol/glossary.md" }
    let text = letters(try (pages + Repository.sources()).map(\.text).joined())
    for row in rows {
      for match in row.matches(of: /\*\*([^*]+)\*\*/) {
        let isUsed = text.holds(letters(String(match.output.1)))
        #expect(isUsed, "nothing uses “\(match.output.1)”")
      }
    }
  }
}
