// Parts of sentences that people read: words quoted for a shell, counts, shortened values.

/// Quotes a word for a shell if it needs quotes.
package func shellWord(_ text: String) -> String {
  let plain = text.utf8.allSatisfy {
    switch $0 {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."),
      UInt8(ascii: "/"), UInt8(ascii: ":"), UInt8(ascii: "@"), UInt8(ascii: "+"), UInt8(ascii: ","):
      true
    default: false
    }
  }
  if plain && !text.isEmpty { return text }
  return "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
}

/// Returns a count with its noun: `1 trip`, `2 trips`.
package func plural(_ count: Int, _ one: String, _ many: String? = nil) -> LocalizableText {
  "\(count) \(LocalizableText(word: count == 1 ? one : many ?? one + "s"))"
}

/// Returns a count with its noun, in English.
package func plural(_ count: Int, _ one: String, _ many: String? = nil) -> String {
  (plural(count, one, many) as LocalizableText).description
}

/// Shortens a value for a message: one line of at most 60 characters.
package func shortened(_ text: String) -> String {
  let line = text.split(whereSeparator: \.isNewline).joined(separator: " ")
  return line.count <= 60 ? line : line.prefix(59) + "…"
}

extension String {
  package var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}
