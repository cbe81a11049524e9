/// Returns a number with separators: `12,345`.
package func grouped(_ number: Int64) -> String {
  let digits = String(number.magnitude)
  var text = ""
  for (index, digit) in digits.enumerated() {
    if index > 0, (digits.count - index).isMultiple(of: 3) { text.append(",") }
    text.append(digit)
  }
  return number < 0 ? "-" + text : text
}

/// Returns a count with its noun: `1 trip`, `12 trips`.
package func counted(_ number: Int64, _ one: String, _ many: String? = nil) -> String {
  "\(grouped(number)) \(number == 1 ? one : many ?? one + "s")"
}

/// Returns a size for people, such as `1.4 MB`.
package func byteText(_ bytes: Int64) -> String {
  let units = ["bytes", "kB", "MB", "GB", "TB"]
  var value = Double(bytes)
  var unit = 0
  // The value is compared as it is shown: 999,999 bytes are 1.0 MB, not 1,000.0 kB.
  while (value * 10).rounded() >= 10_000, unit < units.count - 1 {
    value /= 1_000
    unit += 1
  }
  let tenths = Int64((value * 10).rounded())
  return unit == 0
    ? (bytes == 1 ? "1 byte" : "\(bytes) bytes") : "\(grouped(tenths / 10)).\(tenths % 10) \(units[unit])"
}
