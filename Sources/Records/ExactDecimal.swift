// Protocol/records.md, "Money"

/// An exact decimal number. It keeps the number of fraction digits that it was written with.
package struct ExactDecimal: Hashable, Sendable, CustomStringConvertible {
  /// The signed number that the digits form without the decimal point.
  package let mantissa: Int128
  /// The number of digits after the decimal point.
  package let scale: Int

  package static let digitsMax = 34
  package static let scaleMax = 30
  /// The maximum length of a text to parse. It has room for a sign, all digits, a point, and a zero before the point.
  package static let charactersMax = digitsMax + 4
  package static let zero = ExactDecimal(mantissa: 0, scale: 0)

  private init(mantissa: Int128, scale: Int) {
    self.mantissa = mantissa
    self.scale = scale
  }

  /// Parses an amount in its canonical form, `-?(0|[1-9][0-9]*)(\.[0-9]+)?`; nil for minus zero and for a number that
  /// exceeds the limits.
  package init?(_ text: String) {
    let bytes = Array(text.utf8)
    guard bytes.count <= Self.charactersMax else { return nil }
    let isNegative = bytes.first == UInt8(ascii: "-")
    let unsigned = isNegative ? bytes.dropFirst() : bytes[...]
    let parts = unsigned.split(separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
    guard let whole = parts.first, !whole.isEmpty,
      whole.count == 1 || whole.first != UInt8(ascii: "0"), parts.count == 1 || !parts[1].isEmpty
    else { return nil }
    let fraction = parts.count == 2 ? parts[1] : []
    guard fraction.count <= Self.scaleMax,
      let mantissa = Self.mantissa(Array(whole + fraction)), !(isNegative && mantissa == 0)
    else { return nil }
    self.init(mantissa: isNegative ? -mantissa : mantissa, scale: fraction.count)
  }

  private static func mantissa(_ digits: [UInt8]) -> Int128? {
    var value: Int128 = 0
    var count = 0
    for digit in digits {
      guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
      if value != 0 || digit != UInt8(ascii: "0") { count += 1 }
      guard count <= digitsMax else { return nil }
      value = value * 10 + Int128(digit - UInt8(ascii: "0"))
    }
    return value
  }

  package var description: String {
    var digits = String(mantissa.magnitude)
    if digits.utf8.count <= scale {
      digits = String(repeating: "0", count: scale + 1 - digits.utf8.count) + digits
    }
    if scale > 0 { digits.insert(".", at: digits.index(digits.endIndex, offsetBy: -scale)) }
    return mantissa < 0 ? "-" + digits : digits
  }
}

/// The error thrown when a sum or difference has too many digits to represent.
package struct DecimalOverflow: Error, Hashable, Sendable {}

extension ExactDecimal {
  /// Returns the exact sum, with as many fraction digits as the operand that has more of them.
  package func adding(_ other: ExactDecimal) throws(DecimalOverflow) -> ExactDecimal {
    let scale = max(scale, other.scale)
    let (sum, overflow) = try mantissa(at: scale).addingReportingOverflow(try other.mantissa(at: scale))
    guard !overflow else { throw DecimalOverflow() }
    return ExactDecimal(mantissa: sum, scale: scale)
  }

  /// Returns the exact difference, with as many fraction digits as the operand that has more of them.
  package func subtracting(_ other: ExactDecimal) throws(DecimalOverflow) -> ExactDecimal {
    try adding(ExactDecimal(mantissa: -other.mantissa, scale: other.scale))
  }

  private func mantissa(at newScale: Int) throws(DecimalOverflow) -> Int128 {
    var value = mantissa
    for _ in scale..<newScale {
      let (product, overflow) = value.multipliedReportingOverflow(by: 10)
      guard !overflow else { throw DecimalOverflow() }
      value = product
    }
    return value
  }

  /// Reports whether two numbers are equal, regardless of trailing zeros.
  package func isEqual(to other: ExactDecimal) -> Bool { trimmed == other.trimmed }

  /// The number without trailing zeros in its fraction.
  package var trimmed: ExactDecimal {
    var (mantissa, scale) = (mantissa, scale)
    while scale > 0, mantissa % 10 == 0 {
      mantissa /= 10
      scale -= 1
    }
    return ExactDecimal(mantissa: mantissa, scale: scale)
  }
}

// MARK: JSON numbers

extension ExactDecimal {
  /// Creates an amount from a JSON number; nil if the number has too many digits.
  ///
  /// A number with up to 15 significant digits is taken as written. A longer one must have been written from a binary
  /// float, whose further digits are meaningless, so the result is the shortest decimal for the same double.
  package init?(jsonNumber text: String) {
    guard let exact = Self.plain(text) else { return nil }
    if exact.digits <= 15 {
      self.init(exact.text)
    } else {
      guard let double = Double(text), double.isFinite, let shortest = Self.plain(String(double)) else {
        return nil
      }
      let amount = shortest.text.hasSuffix(".0") ? String(shortest.text.dropLast(2)) : shortest.text
      self.init(amount)
    }
  }

  /// Returns a JSON number in plain notation, with its exponent applied, and the number of its significant digits.
  private static func plain(_ number: String) -> (text: String, digits: Int)? {
    let halves = number.split(whereSeparator: { $0 == "e" || $0 == "E" })
    guard let body = halves.first, number.utf8.count <= 1_100 else { return nil }
    let exponent = halves.count == 2 ? Int(halves[1]) : 0
    guard let exponent, (-400...400).contains(exponent) else { return nil }
    let isNegative = body.hasPrefix("-")
    let parts = body.drop { $0 == "-" }.split(separator: ".", omittingEmptySubsequences: false)
    let whole = parts.first.map(String.init) ?? ""
    let fraction = parts.count == 2 ? String(parts[1]) : ""
    let (text, significant) = shifted(whole: whole, fraction: fraction, by: exponent)
    let isZero = !significant.contains { $0 != "0" }
    return ((isNegative && !isZero ? "-" : "") + text, significant.drop { $0 == "0" }.count)
  }

  private static func shifted(
    whole: String, fraction: String, by exponent: Int
  ) -> (text: String, significant: String) {
    let digits = whole + fraction
    let point = whole.count + exponent
    var left = point <= 0 ? "0" : String(digits.prefix(point))
    if point > digits.count { left += String(repeating: "0", count: point - digits.count) }
    let trimmedLeft = left.drop { $0 == "0" }
    var right = point >= digits.count ? "" : String(digits.dropFirst(max(0, point)))
    if point < 0 { right = String(repeating: "0", count: -point) + right }
    let front = trimmedLeft.isEmpty ? "0" : String(trimmedLeft)
    return (right.isEmpty ? front : "\(front).\(right)", digits)
  }
}

// MARK: Sums of doubles

/// A sum of numbers that people write as decimals but that are stored as doubles: the sum of 0.1 and 0.2 is 0.3.
package struct DecimalSum {
  private var binary = 0.0
  /// The exact sum. It is nil as long as all numbers are whole, because doubles add whole numbers exactly, and when
  /// the sum exceeds the range of decimals.
  private var exact: ExactDecimal?
  private var isWhole = true

  package init() {}

  package mutating func add(_ number: Double) {
    let sum = binary + number
    if isWhole {
      if number.rounded() == number, abs(sum) < Self.wholeMax { return binary = sum }
      isWhole = false
      exact = ExactDecimal(jsonNumber: "\(binary)")
    }
    exact = ExactDecimal(jsonNumber: "\(number)").flatMap { try? exact?.adding($0) }
    binary = sum
  }

  /// The sum of all numbers, computed in doubles if it exceeds the range of decimals.
  package var value: Double { exact.flatMap { Double($0.description) } ?? binary }

  private static let wholeMax = 9_007_199_254_740_992.0
}
