// Protocol/circle.md, "Names".

import Wire

/// Whether text is valid as a name: 1 to `Limits.nameBytesMax` bytes, without characters that control a terminal or that
/// can't be seen.
///
/// This is part of the format, so it must not depend on the Unicode version of a library.
package func isName(_ text: String) -> Bool {
  guard (1...Limits.nameBytesMax).contains(text.utf8.count) else { return false }
  return text.unicodeScalars.allSatisfy { scalar in
    scalar.value < 0x7f ? scalar.value >= 0x20 : !unseen.contains { $0.contains(scalar.value) }
  }
}

/// Controls, separators of lines, and characters that take no room or look like a space, in ascending order.
private let unseen: [ClosedRange<UInt32>] = [
  0x7f...0x9f, 0xad...0xad, 0x34f...0x34f, 0x61c...0x61c, 0x115f...0x1160, 0x17b4...0x17b5, 0x180b...0x180f,
  0x200b...0x200f, 0x2028...0x202e, 0x2060...0x206f, 0x2800...0x2800, 0x3164...0x3164, 0xfeff...0xfeff,
  0xffa0...0xffa0, 0xfff0...0xfffb, 0x1bca0...0x1bca3, 0x1d173...0x1d17a, 0xe0000...0xe0fff,
]

/// Whether two names look alike, so that a person may take one for the other.
///
/// Devices use this to choose and to show names. It is not part of the format, so its tables may grow.
package func lookAlike(_ one: String, _ other: String) -> Bool { skeleton(one) == skeleton(other) }

/// Returns a text that is equal for names that look alike. It is not meant to be shown.
///
/// Case, the kind and number of spaces, variation selectors and the width of letters are ignored, and letters of other
/// scripts count as the Latin letters that they resemble.
package func skeleton(_ name: String) -> String {
  var result = ""
  var endsWithSpace = true
  for scalar in name.lowercased().unicodeScalars {
    let value = scalar.value
    if value == 0x20 || scalar.properties.generalCategory == .spaceSeparator {
      if !endsWithSpace { result.append(" ") }
      endsWithSpace = true
      continue
    }
    // Variation selectors change how the character before them is drawn, often not at all.
    if (0xfe00...0xfe0f).contains(value) { continue }
    endsWithSpace = false
    // Letters of full width have the order of ASCII.
    let narrow = (0xff01...0xff5e).contains(value) ? Unicode.Scalar(value - 0xfee0) ?? scalar : scalar
    result.unicodeScalars.append(resemblances[narrow] ?? narrow)
  }
  if endsWithSpace, !result.isEmpty { result.removeLast() }
  // A text of Swift compares equal however accents are composed.
  return result.replacingPairs
}

extension String {
  /// The text with the pairs of letters that resemble one letter replaced by that letter.
  fileprivate var replacingPairs: String {
    var result: [Unicode.Scalar] = []
    for scalar in unicodeScalars {
      switch (result.last, scalar) {
      case ("r", "n"): result[result.count - 1] = "m"
      case ("v", "v"): result[result.count - 1] = "w"
      default: result.append(scalar)
      }
    }
    return String(String.UnicodeScalarView(result))
  }
}

/// The Latin letter, or the punctuation mark, that stands for everything that resembles it, after conversion to lower
/// case. The letters and digits that can't be told apart in many fonts are included.
private let resemblances: [Unicode.Scalar: Unicode.Scalar] = {
  let classes: [(Unicode.Scalar, String)] = [
    ("a", "аαɑ"), ("b", "вβьɓ"), ("c", "сϲ"), ("d", "ԁɗ"), ("e", "еεҽ"), ("f", "ғ"), ("g", "ɡց"),
    ("h", "һнհ"),
    ("j", "јϳ"), ("k", "кκ"), ("l", "1i|ıіιӏłǀ"), ("m", "мμ"), ("n", "ոηп"), ("o", "0оοօᴏσ"), ("p", "рρ"),
    ("q", "ԛզ"), ("r", "гᴦ"), ("s", "ѕꜱ"), ("t", "тτ"), ("u", "υսᴜ"), ("v", "ѵν"), ("w", "ԝωѡ"), ("x", "хχ"),
    ("y", "уүʏγ"), ("z", "ᴢζ"), ("3", "зӡ"), ("-", "‐‑‒–—―−﹘"), ("'", "’‘ʼ`´"), ("\"", "“”„"), (".", "․…"),
  ]
  var table: [Unicode.Scalar: Unicode.Scalar] = [:]
  for (letter, others) in classes {
    for scalar in others.unicodeScalars { table[scalar] = letter }
  }
  return table
}()
