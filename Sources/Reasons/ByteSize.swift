// Sizes as people read and type them.

/// A number of bytes as people read it: `2 GiB`, `1.5 MiB`, `300 bytes`.
package func sizeText(_ bytes: UInt64) -> String {
  guard
    let (name, shift) = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)].first(where: {
      bytes >> $0.1 > 0
    })
  else { return bytes == 1 ? "1 byte" : "\(bytes) bytes" }
  // Rounded down, so that what is shown as used up is used up.
  let tenths = ((bytes >> (shift - 10)) * 10) >> 10
  let (whole, rest) = (tenths / 10, tenths % 10)
  return rest == 0 ? "\(whole) \(name)" : "\(whole).\(rest) \(name)"
}

/// Parses a size such as `2GiB`, `1.5 GB`, `500MiB` or `1073741824`. Returns nil if the text is no size, or if it is too
/// large.
package func byteSize(_ text: String) -> UInt64? {
  let units: [String: UInt64] = [
    "": 1, "b": 1, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
    "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40,
    "kb": 1_000, "mb": 1_000_000, "gb": 1_000_000_000, "tb": 1_000_000_000_000,
  ]
  let digits = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
  let unit = text.dropFirst(digits.count).drop { $0 == " " }.lowercased()
  guard let factor = units[unit] else { return nil }
  if let number = UInt64(digits) {
    let (bytes, isTooLarge) = number.multipliedReportingOverflow(by: factor)
    return isTooLarge ? nil : bytes
  }
  guard let number = Double(digits) else { return nil }
  let bytes = (number * Double(factor)).rounded()
  // Beyond this, a floating-point number does not name a single byte.
  return bytes < Double(1 << 53) ? UInt64(exactly: bytes) : nil
}
