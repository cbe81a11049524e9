import Platform

/// A QR code as lines of text for a terminal.
package struct QRText {
  /// The characters that modules are made of.
  package enum Style: String, CaseIterable {
    /// Half blocks: one column for each module, and one line for two rows of modules.
    case half
    /// Two blank columns for each module, for fonts whose half blocks leave gaps.
    case full
  }

  package let lines: [String]
  /// The number of columns of each line.
  package let columns: Int

  /// The border that scanners need around a code, in modules.
  private static let quietZone = 4

  /// - Parameters:
  ///   - size: the number of modules on each side.
  ///   - isDark: whether the module in a row and a column is dark; false outside the code.
  package init(size: Int, style: Style, isDark: (_ row: Int, _ column: Int) -> Bool) {
    let range = -Self.quietZone..<size + Self.quietZone
    switch style {
    case .half:
      columns = range.count
      lines = stride(from: range.lowerBound, to: range.upperBound, by: 2).map { row in
        Self.blackOnWhite + range.map { Self.block(isDark(row, $0), isDark(row + 1, $0)) }.joined()
          + Self.reset
      }
    case .full:
      columns = range.count * 2
      lines = range.map { row in
        range.map { (isDark(row, $0) ? Self.black : Self.white) + "  " }.joined() + Self.reset
      }
    }
  }

  private static func block(_ upper: Bool, _ lower: Bool) -> String {
    switch (upper, lower) {
    case (true, true): "█"
    case (true, false): "▀"
    case (false, true): "▄"
    case (false, false): " "
    }
  }

  // Both colours are set, because scanners can't read light modules on a dark terminal. Numbers 16 and 231 are black
  // and white in all themes, unlike the first 16 colours.
  private static let blackOnWhite = "\u{1B}[38;5;16;48;5;231m"
  private static let black = "\u{1B}[48;5;16m"
  private static let white = "\u{1B}[48;5;231m"
  private static let reset = "\u{1B}[0m"
}

extension Terminal {
  /// Writes a code to standard error; if the terminal is too small for it, writes the size that it needs instead.
  package func show(_ text: QRText) {
    if error.isTerminal, let size = Self.cells(of: error.descriptor) {
      if size.columns < text.columns {
        return note(
          "The QR code needs \(text.columns) columns, and this terminal has \(size.columns): make the window wider, "
            + "and repeat the command.")
      }
      if size.rows < text.lines.count + 1 {
        note("The QR code has \(text.lines.count) lines: make the window taller if its top is cut off.")
      }
    }
    for line in text.lines { note(line) }
  }

  /// The size of a terminal in character cells; nil if it does not tell.
  private static func cells(of descriptor: Int32) -> (columns: Int, rows: Int)? {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
    return (Int(size.ws_col), Int(size.ws_row))
  }
}
