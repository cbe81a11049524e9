import Testing

@testable import Control

/// How hard a QR code is to read, by which its mask is chosen.
struct MaskPenaltyTests {
  @Test(arguments: [(1, 0), (4, 0), (5, 3), (6, 4), (7, 5)])
  func `a line with five modules of one colour costs three, and one more for each further module`(
    length: Int, penalty: Int
  ) {
    // A chessboard costs nothing. One of its rows begins with modules of one colour.
    let rows: [[Bool]] = (0..<8).map { row in
      (0..<8).map { column in
        let isDark = !(row + column + length + 3).isMultiple(of: 2)
        return isDark || (row == 3 && column < length)
      }
    }
    let columns: [[Bool]] = (0..<8).map { column in rows.map { $0[column] } }
    for lines in [rows, columns] {
      let modules = lines.flatMap { $0 }
      #expect(QRPenalty.of(modules, size: 8) == penalty)
      #expect(QRPenalty.of(modules.map { !$0 }, size: 8) == penalty, "the other colour")
    }
  }
}
