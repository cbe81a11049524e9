// Protocol/encoding.md, "Deterministic CBOR"

/// A CBOR map with unsigned keys. Each key is taken once, and `end()` rejects any keys that were not taken.
struct PlainMap {
  let bytes: [UInt8]
  private let stage: String
  private var pairs: [UInt64: PlainItem] = [:]
  /// How many pairs the map had before any were taken.
  private let count: Int

  init(_ bytes: [UInt8], stage: String, itemsMax: Int = 20_000) throws(PlainRefusal) {
    do {
      self = try PlainMap(try PlainItem.read(bytes, itemsMax: itemsMax), in: bytes, stage: stage)
    } catch {
      throw PlainRefusal(stage, error.rule)
    }
  }

  init(_ item: PlainItem, in bytes: [UInt8], stage: String) throws(PlainRefusal) {
    self.bytes = bytes
    self.stage = stage
    guard case .map(let pairs) = item.form else { throw PlainRefusal(stage, "not a map") }
    for pair in pairs { self.pairs[pair.key] = pair.value }
    count = pairs.count
  }

  mutating func take(_ key: UInt64) -> PlainItem? { pairs.removeValue(forKey: key) }

  func has(_ key: UInt64) -> Bool { pairs[key] != nil }

  func isUnsigned(_ key: UInt64) -> Bool { pairs[key]?.unsigned != nil }

  mutating func need(_ key: UInt64) throws(PlainRefusal) -> PlainItem {
    guard let item = take(key) else { throw wrong(key) }
    return item
  }

  mutating func unsigned(_ key: UInt64, _ range: ClosedRange<UInt64>) throws(PlainRefusal) -> UInt64 {
    guard let number = try need(key).unsigned, range.contains(number) else { throw wrong(key) }
    return number
  }

  mutating func name32(_ key: UInt64) throws(PlainRefusal) -> Name32 {
    guard let name = try need(key).name32(in: bytes) else { throw wrong(key) }
    return name
  }

  mutating func name16(_ key: UInt64) throws(PlainRefusal) -> Name16 {
    guard let name = try need(key).name16(in: bytes) else { throw wrong(key) }
    return name
  }

  mutating func text(_ key: UInt64, _ count: ClosedRange<Int>) throws(PlainRefusal) -> [UInt8] {
    guard let text = try need(key).text(in: bytes), count.contains(text.count) else { throw wrong(key) }
    return Array(text)
  }

  /// Rejects keys that were not taken, because the protocol does not define them.
  func end() throws(PlainRefusal) {
    if let key = pairs.keys.min() { throw wrong(key) }
  }

  /// Checks that all remaining values are valid field values, and that the map has at most 32 pairs.
  func checkRestAreFieldValues() throws(PlainRefusal) {
    guard count <= 32 else { throw PlainRefusal(stage, "more than 32 pairs") }
    for key in pairs.keys.sorted() {
      do { try pairs[key]?.checkFieldValue() } catch { throw PlainRefusal(stage, error.rule) }
    }
  }

  func wrong(_ key: UInt64) -> PlainRefusal { PlainRefusal(stage, "key \(key) is missing or invalid") }
}
