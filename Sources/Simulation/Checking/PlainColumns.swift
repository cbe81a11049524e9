// Protocol/records.md, "Types": how cell contents are stored in columns.

import SQLite

/// One column of a row.
enum PlainColumn: Hashable {
  case null
  case integer(Int64)
  /// The bit pattern, so that equality is exact.
  case real(UInt64)
  case text([UInt8])
  case blob([UInt8])
  /// JSON with the value of a field; `content` is the field's CBOR encoding.
  case json(content: [UInt8])

  init(_ row: borrowing Statement, _ column: Int) {
    switch row.type(column) {
    case .null: self = .null
    case .integer: self = .integer(row.integer(column))
    case .float: self = .real(row.double(column).bitPattern)
    case .text: self = .text(Array(row.text(column).utf8))
    case .blob: self = .blob(row.bytes(column))
    }
  }

  /// Whether a stored column has the value of this column, which was computed from a cell's content.
  func isStored(as stored: PlainColumn) -> Bool {
    guard case .json(let content) = self else { return self == stored }
    guard case .text(let text) = stored, let item = try? PlainItem.read(content) else { return false }
    return PlainJSON.says(text, item, in: content)
  }
}

extension PlainType {
  /// Returns the columns for a field's content; nil if the content is not of this type and is therefore stored in
  /// `extra`.
  func columns(_ content: [UInt8]) -> [PlainColumn]? {
    guard let item = try? PlainItem.read(content) else { return nil }
    if item.isNull { return Array(repeating: .null, count: columnCount) }
    let all = content
    switch self {
    case .bool: return item.bool.map { [.integer($0 ? 1 : 0)] }
    case .integer: return item.integer.map { [.integer($0)] }
    case .float: return item.float.map { [.real($0.bitPattern)] }
    case .text: return item.text(in: all).map { [.text(Array($0))] }
    case .uuid: return item.name16(in: all).map { [.blob($0.bytes)] }
    case .bytes: return item.bytes(in: all).map { [.blob(Array($0))] }
    case .blob: return Self.blob(item, all)
    case .any: return [.json(content: content)]
    case .instant: return item.array.flatMap { $0.count == 2 ? Self.instant($0, all) : nil }
    case .dated: return item.array.flatMap { Self.dated($0, all) }
    case .money: return item.array.flatMap { Self.money($0, all) }
    case .coordinate:
      guard let parts = item.array, parts.count == 2, let latitude = parts[0].float,
        let longitude = parts[1].float
      else { return nil }
      return [.real(latitude.bitPattern), .real(longitude.bitPattern)]
    case .owner:
      guard let parts = item.array, parts.count == 2, let kind = parts[0].unsigned, kind <= 12_287,
        let id = parts[1].name16(in: all)
      else { return nil }
      return [.integer(Int64(kind)), .blob(id.bytes)]
    case .reminders, .schedule, .frequency, .weights, .zones:
      return hasShape(item, all) ? [.json(content: content)] : nil
    }
  }

  private static func blob(_ item: PlainItem, _ all: [UInt8]) -> [PlainColumn]? {
    if let bytes = item.bytes(in: all) {
      return bytes.count <= 32_768 ? [.blob(Array(bytes)), .null, .null] : nil
    }
    guard let parts = item.array, parts.count == 2, let size = parts[0].unsigned, size <= 1_073_741_824,
      let id = parts[1].name32(in: all)
    else { return nil }
    return [.null, .blob(id.bytes), .integer(Int64(size))]
  }

  private static func instant(_ parts: [PlainItem], _ all: [UInt8]) -> [PlainColumn]? {
    guard let time = parts[0].integer else { return nil }
    if parts[1].isNull { return [.integer(time), .null] }
    return parts[1].text(in: all).map { [.integer(time), .text(Array($0))] }
  }

  private static func dated(_ parts: [PlainItem], _ all: [UInt8]) -> [PlainColumn]? {
    guard parts.count == 3, let instant = instant(parts, all), let day = parts[2].text(in: all),
      isDay(Array(day))
    else { return nil }
    return instant + [.text(Array(day))]
  }

  private static func isDay(_ text: [UInt8]) -> Bool {
    guard text.count == 10, text[4] == 0x2d, text[7] == 0x2d,
      let year = decimal(text[0..<4]), let month = decimal(text[5..<7]), let day = decimal(text[8..<10])
    else { return false }
    let isLeap = year % 4 == 0 && year % 100 != 0 || year % 400 == 0
    let days = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    return (1...12).contains(month) && day >= 1 && day <= days[month - 1]
  }

  private static func decimal(_ digits: ArraySlice<UInt8>) -> Int? {
    digits.allSatisfy { (0x30...0x39).contains($0) } ? digits.reduce(0) { $0 * 10 + Int($1 - 0x30) } : nil
  }

  private static func money(_ parts: [PlainItem], _ all: [UInt8]) -> [PlainColumn]? {
    guard parts.count == 2, let amount = parts[0].text(in: all), isAmount(Array(amount)) else { return nil }
    if parts[1].isNull { return [.text(Array(amount)), .null] }
    guard let currency = parts[1].text(in: all), currency.count == 3,
      currency.allSatisfy({ (0x41...0x5a).contains($0) })
    else { return nil }
    return [.text(Array(amount)), .text(Array(currency))]
  }

  /// Whether a text is an amount: `-?(0|[1-9][0-9]*)(\.[0-9]+)?`, at most 34 significant digits and 30 decimal places,
  /// and not negative zero.
  private static func isAmount(_ text: [UInt8]) -> Bool {
    let isNegative = text.first == 0x2d
    let parts = text.dropFirst(isNegative ? 1 : 0).split(separator: 0x2e, omittingEmptySubsequences: false)
    guard parts.count <= 2, let whole = parts.first, !whole.isEmpty, whole.first != 0x30 || whole.count == 1,
      parts.joined().allSatisfy({ (0x30...0x39).contains($0) })
    else { return false }
    if parts.count == 2, !(1...30).contains(parts[1].count) { return false }
    let significant = parts.joined().drop { $0 == 0x30 }
    return Array(significant).count <= 34 && !(isNegative && Array(significant).isEmpty)
  }

  // MARK: Structured values

  private func hasShape(_ item: PlainItem, _ all: [UInt8]) -> Bool {
    let word = item.text(in: all).map { String(decoding: $0, as: UTF8.self) }
    switch self {
    case .schedule:
      guard let days = item.array else { return word == "daily" }
      let numbers = days.compactMap(\.integer)
      return numbers.count == days.count && numbers.allSatisfy { (1...7).contains($0) }
        && zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 }
    case .frequency: return word == "oncePerDay" || item.integer.map { $0 > 0 } == true
    case .reminders: return item.array.map { $0.allSatisfy(Self.isTimeOfDay) } ?? false
    case .weights: return item.array.map { Self.areWeights($0, all) } ?? false
    case .zones: return item.array.map { $0.allSatisfy { Self.isZoneChange($0, all) } } ?? false
    default: return false
    }
  }

  private static func isTimeOfDay(_ item: PlainItem) -> Bool {
    guard let parts = item.array, parts.count == 2, let hour = parts[0].integer, let minute = parts[1].integer
    else { return false }
    return (0...23).contains(hour) && (0...59).contains(minute)
  }

  private static func areWeights(_ items: [PlainItem], _ all: [UInt8]) -> Bool {
    var last: [UInt8]?
    for item in items {
      guard let parts = item.array, parts.count == 2, let name = parts[0].text(in: all).map({ Array($0) }),
        parts[1].float != nil
      else { return false }
      if let last, !last.lexicographicallyPrecedes(name) { return false }
      last = name
    }
    return true
  }

  private static func isZoneChange(_ item: PlainItem, _ all: [UInt8]) -> Bool {
    guard let parts = item.array, parts.count == 3 else { return false }
    return parts[0].text(in: all) != nil && parts[1].text(in: all) != nil && parts[2].integer != nil
  }
}
