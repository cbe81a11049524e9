// QR codes: ISO/IEC 18004, model 2, in alphanumeric mode with error correction level M.
//
// A code is built in four steps, each a function of the one before:
//
//     text ─▶ data codewords ─▶ blocks with Reed–Solomon codewords, interleaved ─▶ modules ─▶ the best of eight masks
//
// The symbol is a square of `size` × `size` modules. The function patterns (finders, timing, alignment, format and
// version information) are drawn first and marked as reserved; the codewords then fill the remaining modules in
// columns of two, from the lower right corner upwards and back down:
//
//     ┌───────┬───────────┬───────┐
//     │finder │ timing →  │finder │      the timing pattern alternates dark and light in row 6 and column 6
//     ├───────┘           └───────┤
//     │timing      data           │      alignment patterns lie on a grid, except where a finder is
//     │  ↓                        │
//     ├───────┐         ▲ │ ▲ │   │
//     │finder │         │ ▼ │ ▼   │
//     └───────┴───────────────────┘

/// A QR code of capital letters and digits, such as a ticket.
package struct QRCode: Equatable, Sendable {
  /// The number of modules along one side: 21 for version 1, and 4 more for each version after it.
  package let size: Int
  /// Whether each module is dark, row by row.
  package private(set) var modules: [Bool]

  /// Encodes a text in the smallest version that has room for it, with the mask of the lowest penalty. Returns nil if
  /// the text contains other characters than the 45 of alphanumeric mode, or is too long for version 40.
  package init?(_ text: String) {
    let characters = text.utf8.map { Self.alphabet.firstIndex(of: $0) }
    guard let version = QRVersion.smallest(forCharacters: characters.count) else { return nil }
    let values = characters.compactMap(\.self)
    guard values.count == characters.count else { return nil }
    let layout = QRLayout(version, codewords: version.interleaved(version.dataCodewords(values)))
    let masked = (0..<8).map { layout.modules(mask: $0) }
    size = version.size
    let size = size
    modules = masked.min { QRPenalty.of($0, size: size) < QRPenalty.of($1, size: size) } ?? masked[0]
  }

  /// Whether a module is dark; modules outside the symbol are light.
  package subscript(row: Int, column: Int) -> Bool {
    guard (0..<size).contains(row), (0..<size).contains(column) else { return false }
    return modules[row * size + column]
  }

  private static let alphabet = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:".utf8)
}
