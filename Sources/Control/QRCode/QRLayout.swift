// ISO/IEC 18004, sections 6.3 and 7.7 to 7.10: where the modules are, and which mask is used.

/// The modules of a symbol before a mask is applied: the function patterns and the codewords.
struct QRLayout {
  private let version: QRVersion
  private let size: Int
  private var dark: [Bool]
  /// Whether a module belongs to a function pattern, which a mask leaves alone.
  private var isReserved: [Bool]

  init(_ version: QRVersion, codewords: [UInt8]) {
    self.version = version
    size = version.size
    dark = Array(repeating: false, count: size * size)
    isReserved = dark
    drawTiming()
    drawFinders()
    drawAlignment()
    drawVersion()
    drawFormat(mask: 0)
    place(codewords)
  }

  /// Returns the modules with one of the eight masks and its format information.
  func modules(mask: Int) -> [Bool] {
    var masked = self
    for row in 0..<size {
      for column in 0..<size where Self.inverts(mask, row, column) && !isReserved[row * size + column] {
        masked.dark[row * size + column].toggle()
      }
    }
    masked.drawFormat(mask: mask)
    return masked.dark
  }

  private mutating func draw(_ isDark: Bool, _ row: Int, _ column: Int) {
    dark[row * size + column] = isDark
    isReserved[row * size + column] = true
  }

  // MARK: Function patterns

  private mutating func drawTiming() {
    for index in 0..<size {
      draw(index.isMultiple(of: 2), 6, index)
      draw(index.isMultiple(of: 2), index, 6)
    }
  }

  /// Draws the three finders with their light borders, as squares around their centers.
  private mutating func drawFinders() {
    for (row, column) in [(3, 3), (3, size - 4), (size - 4, 3)] {
      for down in -4...4 {
        for right in -4...4 where isInside(row + down, column + right) {
          let ring = max(abs(down), abs(right))
          draw(ring != 2 && ring != 4, row + down, column + right)
        }
      }
    }
  }

  private func isInside(_ row: Int, _ column: Int) -> Bool {
    (0..<size).contains(row) && (0..<size).contains(column)
  }

  private mutating func drawAlignment() {
    let centers = version.alignmentCenters
    for row in centers {
      for column in centers where !isFinder(row, column) {
        for down in -2...2 {
          for right in -2...2 { draw(max(abs(down), abs(right)) != 1, row + down, column + right) }
        }
      }
    }
  }

  private func isFinder(_ row: Int, _ column: Int) -> Bool {
    (row == 6 && (column == 6 || column == size - 7)) || (row == size - 7 && column == 6)
  }

  /// Draws the version twice, from version 7 on: 6 bits and 12 bits of a Golay code.
  private mutating func drawVersion() {
    guard version.number >= 7 else { return }
    let bits = Self.withRemainder(version.number, bits: 12, divisor: 0x1f25)
    for index in 0..<18 {
      let (near, far) = (index / 3, size - 11 + index % 3)
      draw(bits >> index & 1 == 1, near, far)
      draw(bits >> index & 1 == 1, far, near)
    }
  }

  /// Draws level M and the mask twice: 5 bits and 10 bits of a BCH code, inverted by a fixed pattern so that they are
  /// never all light.
  private mutating func drawFormat(mask: Int) {
    let bits = Self.withRemainder(mask, bits: 10, divisor: 0x537) ^ 0x5412
    let rowsBelowCorner = [0, 1, 2, 3, 4, 5, 7, 8]
    for index in 0..<15 {
      let isDark = bits >> index & 1 == 1
      if index < 8 {
        draw(isDark, rowsBelowCorner[index], 8)
        draw(isDark, 8, size - 1 - index)
      } else {
        draw(isDark, 8, rowsBelowCorner[14 - index])
        draw(isDark, size - 15 + index, 8)
      }
    }
    draw(true, size - 8, 8)
  }

  /// Appends to a number the remainder of its division by a polynomial over GF(2) of degree `bits`.
  private static func withRemainder(_ number: Int, bits: Int, divisor: Int) -> Int {
    var remainder = number
    for _ in 0..<bits { remainder = remainder << 1 ^ (remainder >> (bits - 1) & 1) * divisor }
    return number << bits | remainder
  }

  // MARK: Codewords

  /// Fills the modules that are not reserved, in columns of two that alternate between upwards and downwards.
  private mutating func place(_ codewords: [UInt8]) {
    var bits = codewords.lazy.flatMap { byte in (0..<8).reversed().map { byte >> UInt8($0) & 1 == 1 } }
      .makeIterator()
    var isUpward = true
    for right in stride(from: size - 1, to: 0, by: -2) {
      // The vertical timing pattern takes a whole column, which no pair contains.
      let column = right > 6 ? right : right - 1
      for step in 0..<size {
        let row = isUpward ? size - 1 - step : step
        for column in [column, column - 1] where !isReserved[row * size + column] {
          dark[row * size + column] = bits.next() ?? false
        }
      }
      isUpward.toggle()
    }
  }

  private static func inverts(_ mask: Int, _ row: Int, _ column: Int) -> Bool {
    switch mask {
    case 0: (row + column).isMultiple(of: 2)
    case 1: row.isMultiple(of: 2)
    case 2: column.isMultiple(of: 3)
    case 3: (row + column).isMultiple(of: 3)
    case 4: (row / 2 + column / 3).isMultiple(of: 2)
    case 5: row * column % 2 + row * column % 3 == 0
    case 6: (row * column % 2 + row * column % 3).isMultiple(of: 2)
    default: ((row + column) % 2 + row * column % 3).isMultiple(of: 2)
    }
  }
}

/// How hard a mask makes a symbol to read; the mask with the lowest penalty is used.
enum QRPenalty {
  static func of(_ modules: [Bool], size: Int) -> Int {
    let rows = (0..<size).map { row in Array(modules[row * size..<(row + 1) * size]) }
    let columns = (0..<size).map { column in (0..<size).map { modules[$0 * size + column] } }
    let lines = rows + columns
    return lines.reduce(0) { $0 + runs(in: $1) + finderLike(in: $1) } + squares(in: rows) + balance(modules)
  }

  /// Five or more modules of one colour in a line.
  private static func runs(in line: [Bool]) -> Int {
    var (penalty, length) = (0, 0)
    for (index, module) in line.enumerated() {
      length = index > 0 && module == line[index - 1] ? length + 1 : 1
      penalty += length == 5 ? 3 : length > 5 ? 1 : 0
    }
    return penalty
  }

  /// Squares of two by two modules of one colour.
  private static func squares(in rows: [[Bool]]) -> Int {
    var penalty = 0
    for (upper, lower) in zip(rows, rows.dropFirst()) {
      for column in 1..<upper.count where upper[column] == upper[column - 1] {
        if lower[column] == upper[column], lower[column - 1] == upper[column] { penalty += 3 }
      }
    }
    return penalty
  }

  /// The proportions of a finder, with four light modules at one of its sides.
  private static func finderLike(in line: [Bool]) -> Int {
    let finder = [true, false, true, true, true, false, true]
    let light = [false, false, false, false]
    guard line.count >= 11 else { return 0 }
    return (0...line.count - 11).reduce(0) { penalty, start in
      let part = Array(line[start..<start + 11])
      return penalty + (part == finder + light || part == light + finder ? 40 : 0)
    }
  }

  /// Ten for each five percent by which the share of dark modules differs from one half.
  private static func balance(_ modules: [Bool]) -> Int {
    let difference = abs(modules.count(where: \.self) * 20 - modules.count * 10)
    return difference / modules.count * 10
  }
}
