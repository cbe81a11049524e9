// ISO/IEC 18004, section 7.5: error correction coding.

/// Error correction over GF(256) with the polynomial x⁸ + x⁴ + x³ + x² + 1.
enum ReedSolomon {
  /// Returns the codewords that follow the data: the remainder of its division by (x − α⁰)(x − α¹)…
  static func remainder(of data: [UInt8], count: Int) -> [UInt8] {
    let divisor = divisor(count)
    var remainder = [UInt8](repeating: 0, count: count)
    for byte in data {
      let factor = byte ^ remainder[0]
      remainder = Array(remainder.dropFirst()) + [0]
      for index in 0..<count { remainder[index] ^= product(divisor[index], factor) }
    }
    return remainder
  }

  /// The coefficients of the divisor without the leading one, from the highest power to the lowest.
  private static func divisor(_ count: Int) -> [UInt8] {
    var coefficients = [UInt8](repeating: 0, count: count - 1) + [1]
    var root: UInt8 = 1
    for _ in 0..<count {
      for index in 0..<count {
        coefficients[index] = product(coefficients[index], root)
        if index + 1 < count { coefficients[index] ^= coefficients[index + 1] }
      }
      root = product(root, 2)
    }
    return coefficients
  }

  private static func product(_ left: UInt8, _ right: UInt8) -> UInt8 {
    var result: UInt8 = 0
    for bit in (0..<8).reversed() {
      result = result << 1 ^ (result & 0x80 == 0 ? 0 : 0x1d)
      if right >> UInt8(bit) & 1 == 1 { result ^= left }
    }
    return result
  }
}
