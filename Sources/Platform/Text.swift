extension StringProtocol {
  /// The string without surrounding whitespace.
  package var trimmed: String {
    let end = lastIndex { !$0.isWhitespace }.map { index(after: $0) } ?? startIndex
    return String(self[..<end].drop { $0.isWhitespace })
  }
}

/// Writes a text to standard error.
package func writeToStandardError(_ text: String) {
  _ = Array(text.utf8).withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
}
