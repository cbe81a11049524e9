// ISO/IEC 18004, sections 7.1 to 7.6: from characters to codewords.

/// A version of the symbol at level M: its size, and how its codewords are divided into blocks.
struct QRVersion: Equatable {
  let number: Int

  var size: Int { 17 + 4 * number }

  /// Table 9: the error correction codewords of each block, by version.
  private static let correctionCounts = [
    10, 16, 26, 18, 24, 16, 18, 22, 22, 26, 30, 22, 22, 24, 24, 28, 28, 26, 26, 26,
    26, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28,
  ]
  /// Table 9: the number of blocks, by version.
  private static let blockCounts = [
    1, 1, 1, 2, 2, 4, 4, 4, 5, 5, 5, 8, 9, 9, 10, 10, 11, 13, 14, 16,
    17, 17, 18, 20, 21, 23, 25, 26, 28, 29, 31, 33, 35, 37, 38, 40, 43, 45, 47, 49,
  ]

  static func smallest(forCharacters count: Int) -> QRVersion? {
    (1...40).lazy.map(QRVersion.init(number:)).first { $0.capacity >= count }
  }

  /// The number of characters that fit.
  private var capacity: Int {
    let bits = dataCount * 8 - 4 - countBits
    return bits / 11 * 2 + (bits % 11 >= 6 ? 1 : 0)
  }

  /// The length of the field that holds the number of characters.
  private var countBits: Int { number < 10 ? 9 : number < 27 ? 11 : 13 }

  var correctionCount: Int { Self.correctionCounts[number - 1] }
  private var blockCount: Int { Self.blockCounts[number - 1] }
  private var dataCount: Int { codewordCount - correctionCount * blockCount }

  /// The number of codewords that fit next to the function patterns.
  private var codewordCount: Int {
    let timing = 2 * (size - 16)
    let finders = 3 * 64
    let format = 31
    let versions = number >= 7 ? 36 : 0
    let grid = alignmentCenters.count
    // Alignment patterns on the timing patterns cover five of their modules.
    let alignment = grid == 0 ? 0 : (grid * grid - 3) * 25 - (grid - 2) * 2 * 5
    return (size * size - timing - finders - format - versions - alignment) / 8
  }

  /// The rows, and also the columns, of the centers of the alignment patterns.
  var alignmentCenters: [Int] {
    guard number > 1 else { return [] }
    let count = number / 7 + 2
    let step = number == 32 ? 26 : (number * 4 + count * 2 + 1) / (count * 2 - 2) * 2
    return [6] + (0..<count - 1).map { size - 7 - (count - 2 - $0) * step }
  }

  // MARK: Codewords

  /// Encodes values of alphanumeric mode: the mode, their number, pairs of them, and padding.
  func dataCodewords(_ values: [Int]) -> [UInt8] {
    var bits = QRBits()
    bits.append(0b0010, 4)
    bits.append(values.count, countBits)
    for start in stride(from: 0, to: values.count - 1, by: 2) {
      bits.append(values[start] * 45 + values[start + 1], 11)
    }
    if !values.count.isMultiple(of: 2), let last = values.last { bits.append(last, 6) }
    bits.append(0, min(4, dataCount * 8 - bits.count))
    bits.append(0, (8 - bits.count % 8) % 8)
    var codewords = bits.bytes
    for pad in [0xec, 0x11].cycled(dataCount - codewords.count) { codewords.append(pad) }
    return codewords
  }

  /// Divides the data into blocks, the shorter ones first, adds the error correction of each, and interleaves them.
  func interleaved(_ data: [UInt8]) -> [UInt8] {
    let short = data.count / blockCount
    let longCount = data.count % blockCount
    var rest = data[...]
    let blocks = (0..<blockCount).map { index in
      let block = Array(rest.prefix(short + (index < blockCount - longCount ? 0 : 1)))
      rest = rest.dropFirst(block.count)
      return block
    }
    let corrections = blocks.map { ReedSolomon.remainder(of: $0, count: correctionCount) }
    return Self.columns(of: blocks) + Self.columns(of: corrections)
  }

  private static func columns(of blocks: [[UInt8]]) -> [UInt8] {
    (0..<(blocks.map(\.count).max() ?? 0)).flatMap { index in
      blocks.compactMap { index < $0.count ? $0[index] : nil }
    }
  }
}

/// A sequence of bits, the most significant of each number first.
private struct QRBits {
  private var bits: [Bool] = []

  var count: Int { bits.count }

  mutating func append(_ number: Int, _ width: Int) {
    for bit in (0..<width).reversed() { bits.append(number >> bit & 1 == 1) }
  }

  /// The bits as bytes; their number must be a multiple of eight.
  var bytes: [UInt8] {
    stride(from: 0, to: bits.count, by: 8).map { start in
      bits[start..<start + 8].reduce(0) { $0 << 1 | ($1 ? 1 : 0) }
    }
  }
}

extension [UInt8] {
  /// Returns the first `count` elements of the endless repetition of the array.
  fileprivate func cycled(_ count: Int) -> [UInt8] { (0..<count).map { self[$0 % self.count] } }
}
