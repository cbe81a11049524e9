/// Text without its differences of case and accents, for searches and for sorting: `Café` and `CAFE` both become `cafe`.
///
/// The accents of Latin letters are removed; the letters of other scripts only become lower case. A table is used
/// instead of Foundation, because the function runs for every text of a store.
package func foldedText(_ text: String) -> String {
  var text = text
  if let ascii = text.withUTF8(foldedASCII) { return ascii }
  var folded = String.UnicodeScalarView()
  for scalar in text.lowercased().unicodeScalars where !isAccent(scalar) {
    folded.append(contentsOf: baseLetters[scalar] ?? [scalar])
  }
  return String(folded)
}

/// Returns ASCII text in lower case; nil if the text contains other characters.
private func foldedASCII(_ bytes: UnsafeBufferPointer<UInt8>) -> String? {
  guard bytes.allSatisfy({ $0 < 0x80 }) else { return nil }
  return String(decoding: bytes.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
}

/// Whether the scalar is an accent of its own, which follows its letter in decomposed text.
private func isAccent(_ scalar: Unicode.Scalar) -> Bool { (0x300...0x36F).contains(scalar.value) }

/// The letters without accents for lower-case Latin letters with accents.
private let baseLetters: [Unicode.Scalar: [Unicode.Scalar]] = {
  let groups: [(base: String, letters: String)] = [
    ("a", "àáâãäåāăąǎạảấầẩẫậắằẳẵặ"), ("ae", "æ"), ("c", "çćĉċč"), ("d", "ďđð"), ("e", "èéêëēĕėęěẹẻẽếềểễệ"),
    ("g", "ĝğġģ"), ("h", "ĥħ"), ("i", "ìíîïĩīĭįıǐịỉ"), ("j", "ĵ"), ("k", "ķ"), ("l", "ĺļľŀł"),
    ("n", "ñńņňŉ"), ("o", "òóôõöøōŏőǒơọỏốồổỗộớờởỡợ"), ("oe", "œ"), ("r", "ŕŗř"), ("s", "śŝşšș"), ("ss", "ß"),
    ("t", "ţťŧț"), ("th", "þ"), ("u", "ùúûüũūŭůűųǔưụủứừửữự"), ("w", "ŵ"), ("y", "ýÿŷỳỵỷỹ"), ("z", "źżž"),
  ]
  var table: [Unicode.Scalar: [Unicode.Scalar]] = [:]
  for (base, letters) in groups {
    for letter in letters.unicodeScalars { table[letter] = Array(base.unicodeScalars) }
  }
  return table
}()

/// Whether folded text occurs in another folded text. Compares bytes, which is much faster than comparing characters.
package func foldedText(_ text: String, contains part: String) -> Bool {
  var (text, part) = (text, part)
  return text.withUTF8 { text in part.withUTF8 { part in isContained(part, in: text) } }
}

private func isContained(_ part: UnsafeBufferPointer<UInt8>, in text: UnsafeBufferPointer<UInt8>) -> Bool {
  guard let first = part.first else { return true }
  guard text.count >= part.count else { return false }
  for start in 0...(text.count - part.count) where text[start] == first {
    if part.indices.allSatisfy({ text[start + $0] == part[$0] }) { return true }
  }
  return false
}
