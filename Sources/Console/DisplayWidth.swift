import JSONDocument
package import Reasons

/// The width of text in columns of a terminal, and text fitted to a width.
extension StringProtocol {
  package var displayWidth: Int { reduce(0) { $0 + $1.displayWidth } }

  /// Returns the text cut to at most `width` columns, with `…` for the part that is left out.
  package func cut(to width: Int) -> String {
    guard displayWidth > width else { return String(self) }
    var kept = ""
    var used = 0
    for character in self {
      let next = character.displayWidth
      guard used + next <= width - 1 else { break }
      kept.append(character)
      used += next
    }
    return width > 0 ? kept + "…" : ""
  }

  /// Returns the text padded with spaces to `width` columns.
  package func padded(to width: Int, isRight: Bool = false) -> String {
    let spaces = String(repeating: " ", count: Swift.max(0, width - displayWidth))
    return isRight ? spaces + self : self + spaces
  }
}

extension Character {
  package var displayWidth: Int {
    guard let first = unicodeScalars.first else { return 0 }
    if unicodeScalars.contains("\u{FE0F}") { return 2 }
    if isRegional(first) { return 2 }
    return unicodeScalars.reduce(0) { Swift.max($0, columns(of: $1)) }
  }

  private func isRegional(_ scalar: Unicode.Scalar) -> Bool { (0x1F1E6...0x1F1FF).contains(scalar.value) }

  private func columns(of scalar: Unicode.Scalar) -> Int {
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format, .control: return 0
    default: break
    }
    if scalar.properties.isEmojiPresentation { return 2 }
    return wideRanges.contains { $0.contains(scalar.value) } ? 2 : 1
  }
}

/// Scripts whose letters take two columns: East Asian Width W and F.
private let wideRanges: [ClosedRange<UInt32>] = [
  0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF, 0xA000...0xA4CF,
  0xA960...0xA97C, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6,
  0x1F300...0x1F64F, 0x1F900...0x1F9FF, 0x20000...0x3FFFD,
]

/// Returns the text on one line, without characters that control a terminal. Needed for names, which come from files
/// and peers.
package func printable(_ text: String) -> String {
  guard text.unicodeScalars.contains(where: isControl) else { return text }
  return String(
    String.UnicodeScalarView(text.unicodeScalars.map { isControl($0) ? ($0 == "\n" ? " " : "\u{FFFD}") : $0 })
  )
}

/// Returns the text in English on one line, without characters that control a terminal.
package func printable(_ text: LocalizableText) -> String { printable(text.description) }
