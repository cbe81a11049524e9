// Protocol/encoding.md, "Deterministic CBOR": an independent reader, used by the judge only.

/// The reason why the judge's own parsers reject bytes.
struct PlainRefusal: Error, CustomStringConvertible {
  /// The check that failed, such as `size`, `header`, `plan_hash`, `signature`, `plan`, `values` or `message`.
  var stage: String
  let rule: String

  init(_ stage: String, _ rule: String) {
    self.stage = stage
    self.rule = rule
  }

  var description: String { "\(stage): \(rule)" }
}

/// A decoded CBOR item and its position in the bytes.
struct PlainItem {
  indirect enum Form {
    case unsigned(UInt64)
    /// The number -1 - n, where n is the associated value.
    case negative(UInt64)
    case bytes
    case text
    case array([PlainItem])
    case map([(key: UInt64, value: PlainItem)])
    case bool(Bool)
    case null
    case float(Double)
  }

  let form: Form
  /// The range of the whole item.
  let range: Range<Int>
  /// The range of the content after the head; meaningful only for text and bytes.
  let content: Range<Int>

  /// Reads one item that spans all of `bytes`.
  static func read(_ bytes: [UInt8], itemsMax: Int = 20_000) throws(PlainRefusal) -> PlainItem {
    var reader = PlainReader(bytes: bytes, itemsMax: itemsMax)
    let item = try reader.item(depth: 0)
    guard reader.offset == bytes.count else { throw PlainRefusal("cbor", "trailing bytes") }
    return item
  }

  /// Checks that the item is a field value: no maps, at most eight levels, numbers and lengths in range.
  func checkFieldValue(level: Int = 1) throws(PlainRefusal) {
    guard level <= 8 else { throw PlainRefusal("cbor", "a value nested deeper than eight levels") }
    switch form {
    case .unsigned(let number), .negative(let number):
      guard number <= UInt64(Int64.max) else { throw PlainRefusal("cbor", "a number outside 64 signed bits") }
    case .bytes:
      guard content.count <= 49_152 else { throw PlainRefusal("cbor", "more than 48 KiB of bytes") }
    case .text:
      guard content.count <= 65_536 else { throw PlainRefusal("cbor", "more than 64 KiB of text") }
    case .array(let items):
      for item in items { try item.checkFieldValue(level: level + 1) }
    case .map: throw PlainRefusal("cbor", "a map inside a field value")
    case .bool, .null, .float: break
    }
  }

  var unsigned: UInt64? { if case .unsigned(let number) = form { number } else { nil } }
  var array: [PlainItem]? { if case .array(let items) = form { items } else { nil } }
  var bool: Bool? { if case .bool(let flag) = form { flag } else { nil } }
  var isNull: Bool { if case .null = form { true } else { false } }

  var integer: Int64? {
    switch form {
    case .unsigned(let number): Int64(exactly: number)
    case .negative(let number): Int64(exactly: number).map { -1 - $0 }
    default: nil
    }
  }

  var float: Double? { if case .float(let number) = form { number } else { nil } }

  func bytes(in all: [UInt8]) -> ArraySlice<UInt8>? { if case .bytes = form { all[content] } else { nil } }
  func text(in all: [UInt8]) -> ArraySlice<UInt8>? { if case .text = form { all[content] } else { nil } }
  func name16(in all: [UInt8]) -> Name16? { bytes(in: all).flatMap { Name16($0) } }
  func name32(in all: [UInt8]) -> Name32? { bytes(in: all).flatMap { Name32($0) } }
}

/// Reads items in order and rejects every encoding that is not canonical.
struct PlainReader {
  let bytes: [UInt8]
  let itemsMax: Int
  private(set) var offset = 0
  private(set) var items = 0

  init(bytes: [UInt8], itemsMax: Int) {
    self.bytes = bytes
    self.itemsMax = itemsMax
  }

  mutating func item(depth: Int) throws(PlainRefusal) -> PlainItem {
    // No structure in the protocol is nested more deeply. `checkFieldValue` limits the levels of a field value.
    guard depth < 24 else { throw PlainRefusal("cbor", "nested too deeply") }
    items += 1
    guard items <= itemsMax else { throw PlainRefusal("cbor", "more than \(itemsMax) items") }
    let start = offset
    let head = try byte()
    if head >> 5 == 7 { return try simple(head, start) }
    let argument = try argument(head & 31)
    switch head >> 5 {
    case 0: return PlainItem(form: .unsigned(argument), range: start..<offset, content: offset..<offset)
    case 1: return PlainItem(form: .negative(argument), range: start..<offset, content: offset..<offset)
    case 2, 3:
      guard argument <= UInt64(bytes.count - offset) else { throw PlainRefusal("cbor", "truncated") }
      let content = offset..<offset + Int(argument)
      offset = content.upperBound
      if head >> 5 == 2 { return PlainItem(form: .bytes, range: start..<offset, content: content) }
      guard isUTF8(bytes[content]) else { throw PlainRefusal("cbor", "text that is not UTF-8") }
      return PlainItem(form: .text, range: start..<offset, content: content)
    case 4:
      var list: [PlainItem] = []
      for _ in 0..<(try count(argument, each: 1)) { list.append(try item(depth: depth + 1)) }
      return PlainItem(form: .array(list), range: start..<offset, content: offset..<offset)
    case 5:
      let pairs = try pairs(try count(argument, each: 2), depth)
      return PlainItem(form: .map(pairs), range: start..<offset, content: offset..<offset)
    default: throw PlainRefusal("cbor", "a tag")
    }
  }

  private mutating func pairs(
    _ count: Int, _ depth: Int
  ) throws(PlainRefusal) -> [(key: UInt64, value: PlainItem)] {
    var pairs: [(key: UInt64, value: PlainItem)] = []
    for _ in 0..<count {
      guard let key = try item(depth: depth + 1).unsigned else {
        throw PlainRefusal("cbor", "a key that is not an unsigned integer")
      }
      if let last = pairs.last, last.key >= key { throw PlainRefusal("cbor", "keys not in ascending order") }
      pairs.append((key, try item(depth: depth + 1)))
    }
    return pairs
  }

  private mutating func simple(_ head: UInt8, _ start: Int) throws(PlainRefusal) -> PlainItem {
    let form: PlainItem.Form
    switch head {
    case 0xf4: form = .bool(false)
    case 0xf5: form = .bool(true)
    case 0xf6: form = .null
    case 0xfb:
      let bits = try number(8)
      let value = Double(bitPattern: bits)
      guard value.isFinite, bits != 1 << 63 else { throw PlainRefusal("cbor", "a forbidden float") }
      form = .float(value)
    default: throw PlainRefusal("cbor", "a forbidden simple value")
    }
    return PlainItem(form: form, range: start..<offset, content: offset..<offset)
  }

  private mutating func argument(_ short: UInt8) throws(PlainRefusal) -> UInt64 {
    if short < 24 { return UInt64(short) }
    guard short < 28 else { throw PlainRefusal("cbor", "an indefinite or reserved length") }
    let width = 1 << Int(short - 24)
    let value = try number(width)
    let least: UInt64 = width == 1 ? 24 : 1 << UInt64(width * 4)
    guard value >= least else { throw PlainRefusal("cbor", "an argument longer than necessary") }
    return value
  }

  /// Returns the count of an array or map; throws an error if the remaining bytes can't hold that many items.
  private func count(_ argument: UInt64, each: UInt64) throws(PlainRefusal) -> Int {
    guard argument <= UInt64(bytes.count - offset) / each else { throw PlainRefusal("cbor", "truncated") }
    return Int(argument)
  }

  private mutating func number(_ width: Int) throws(PlainRefusal) -> UInt64 {
    var value: UInt64 = 0
    for _ in 0..<width { value = value << 8 | UInt64(try byte()) }
    return value
  }

  private mutating func byte() throws(PlainRefusal) -> UInt8 {
    guard offset < bytes.count else { throw PlainRefusal("cbor", "truncated") }
    defer { offset += 1 }
    return bytes[offset]
  }

  private func isUTF8(_ text: ArraySlice<UInt8>) -> Bool {
    text.allSatisfy { $0 < 0x80 } || String(validating: text, as: UTF8.self) != nil
  }
}
