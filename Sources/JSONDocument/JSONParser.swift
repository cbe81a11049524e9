import Wire

/// An error in JSON text and its position.
package struct JSONError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The reason, worded as a clause, such as "the text ends inside a string".
  package let reason: String
  /// The line of the error, counted from 1.
  package let line: Int
  /// The column of the error, counted from 1 in characters (Unicode scalars).
  package let column: Int

  package var description: String { "line \(line), column \(column): \(reason)" }
}

extension JSON {
  /// Parses one JSON value (RFC 8259) with nothing but whitespace around it. Skips a byte-order mark.
  ///
  /// Rejects everything that the grammar rejects, and also text that is not UTF-8, unpaired surrogates, duplicate
  /// keys in an object, and nesting beyond `depthMax`. Memory is bounded by the size of the text.
  package static func parse(_ bytes: [UInt8], depthMax: Int = 64) throws(JSONError) -> JSON {
    var parser = JSONParser(bytes: bytes, depthMax: depthMax)
    parser.begin()
    let value = try parser.value(depth: 1)
    try parser.end()
    return value
  }

  package static func parse(_ text: String, depthMax: Int = 64) throws(JSONError) -> JSON {
    try parse(Array(text.utf8), depthMax: depthMax)
  }
}

/// Parses JSON text from front to back. The functions here build values; those in `JSONText` only validate the text.
struct JSONParser {
  let bytes: [UInt8]
  let depthMax: Int
  var index = 0
  /// The keys parsed so far in the objects around the cursor. Those of the innermost object come last.
  var keys: [String] = []
  /// The keys of the flat object that is being scanned.
  var flatKeys: [UInt64] = []
  /// The number of members in the last object, used to reserve space because the next object is usually similar.
  private var width = 0

  init(bytes: [UInt8], depthMax: Int) {
    self.bytes = bytes
    self.depthMax = depthMax
  }

  /// Skips a byte-order mark and whitespace.
  mutating func begin() {
    if bytes.starts(with: [0xef, 0xbb, 0xbf]) { index = 3 }
    skipBlanks()
  }

  /// Rejects anything but whitespace after the value.
  mutating func end() throws(JSONError) {
    skipBlanks()
    guard index == bytes.count else { throw error("unexpected text after the end of the value") }
  }

  /// Returns an error with its line and column, which are computed only when an error occurs.
  func error(_ reason: String, at position: Int? = nil) -> JSONError {
    let end = min(position ?? index, bytes.count)
    var line = 1
    var column = 1
    for byte in bytes[..<end] {
      if byte == 0x0a {
        line += 1
        column = 1
      } else if byte & 0xc0 != 0x80 {
        column += 1
      }
    }
    return JSONError(reason: reason, line: line, column: column)
  }

  /// The byte at the cursor; at the end of the text, zero, which no rule accepts.
  var current: UInt8 { index < bytes.count ? bytes[index] : 0 }

  mutating func skipBlanks() {
    while index < bytes.count {
      switch bytes[index] {
      case 0x20, 0x0a, 0x0d, 0x09: index += 1
      default: return
      }
    }
  }

  mutating func value(depth: Int) throws(JSONError) -> JSON {
    guard index < bytes.count else { throw error("the text ends where a value is expected") }
    switch bytes[index] {
    case UInt8(ascii: "{"): return try object(depth: depth)
    case UInt8(ascii: "["): return try array(depth: depth)
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t"): return try word("true", .bool(true))
    case UInt8(ascii: "f"): return try word("false", .bool(false))
    case UInt8(ascii: "n"): return try word("null", .null)
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try number()
    default: throw error("expected a value")
    }
  }

  private mutating func word(_ word: StaticString, _ value: JSON) throws(JSONError) -> JSON {
    for expected in word.description.utf8 {
      guard current == expected else { throw error("expected the word \(word)") }
      index += 1
    }
    return value
  }

  // MARK: Containers

  private mutating func array(depth: Int) throws(JSONError) -> JSON {
    try enter(depth)
    var items: [JSON] = []
    if try isClosed(by: UInt8(ascii: "]")) { return .array([]) }
    repeat {
      skipBlanks()
      items.append(try value(depth: depth + 1))
    } while try isContinued(to: UInt8(ascii: "]"))
    return .array(items)
  }

  private mutating func object(depth: Int) throws(JSONError) -> JSON {
    try enter(depth)
    var members: [JSON.Member] = []
    if try isClosed(by: UInt8(ascii: "}")) { return .object([]) }
    let start = index
    let outer = keys.count
    members.reserveCapacity(width)
    repeat {
      let key = try self.key()
      keys.append(key)
      members.append(JSON.Member(key, try value(depth: depth + 1)))
    } while try isContinued(to: UInt8(ascii: "}"))
    try checkKeys(from: outer, at: start)
    width = min(members.count, 64)
    return .object(members)
  }

  /// Parses a key and its colon, up to the value.
  mutating func key() throws(JSONError) -> String {
    skipBlanks()
    guard current == UInt8(ascii: "\"") else { throw error("expected a key in quotes") }
    let key = try string()
    skipBlanks()
    guard current == UInt8(ascii: ":") else { throw error("expected a colon after the key \"\(key)\"") }
    index += 1
    skipBlanks()
    return key
  }

  /// Rejects duplicate keys in an object that was just parsed, and removes its keys from `keys`.
  mutating func checkKeys(from outer: Int, at start: Int) throws(JSONError) {
    if let twice = repeatedKey(keys[outer...]) {
      throw error("the key \"\(twice)\" appears twice in this object", at: start)
    }
    keys.removeLast(keys.count - outer)
  }

  mutating func enter(_ depth: Int) throws(JSONError) {
    guard depth <= depthMax else { throw error("nested deeper than \(depthMax) levels") }
    index += 1
  }

  mutating func isClosed(by bracket: UInt8) throws(JSONError) -> Bool {
    skipBlanks()
    guard current == bracket else { return false }
    index += 1
    return true
  }

  mutating func isContinued(to bracket: UInt8) throws(JSONError) -> Bool {
    skipBlanks()
    guard index < bytes.count else { throw error("the text ends before the closing \(character(bracket))") }
    if bytes[index] == UInt8(ascii: ",") {
      index += 1
      return true
    }
    guard bytes[index] == bracket else { throw error("expected a comma or \(character(bracket))") }
    index += 1
    return false
  }

  private func character(_ byte: UInt8) -> Character { Character(Unicode.Scalar(byte)) }

  private func repeatedKey(_ keys: ArraySlice<String>) -> String? {
    if keys.count <= 16 {
      for (index, key) in zip(keys.indices, keys) {
        for earlier in keys[..<index] where isSameText(earlier, key) { return key }
      }
      return nil
    }
    var seen: Set<[UInt8]> = []
    return keys.first { !seen.insert(Array($0.utf8)).inserted }
  }

  // MARK: Numbers

  private mutating func number() throws(JSONError) -> JSON {
    let start = index
    if current == UInt8(ascii: "-") { index += 1 }
    if current == UInt8(ascii: "0") { index += 1 } else { try digits() }
    if current == UInt8(ascii: ".") {
      index += 1
      try digits()
    }
    if current == UInt8(ascii: "e") || current == UInt8(ascii: "E") {
      index += 1
      if current == UInt8(ascii: "+") || current == UInt8(ascii: "-") { index += 1 }
      try digits()
    }
    return .number(String(decoding: bytes[start..<index], as: UTF8.self))
  }

  private mutating func digits() throws(JSONError) {
    let start = index
    while (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(current) { index += 1 }
    guard index > start else { throw error("expected a digit") }
  }

  // MARK: Strings

  mutating func string() throws(JSONError) -> String {
    let start = index + 1
    index = start
    while index < bytes.count {
      let byte = bytes[index]
      if byte == UInt8(ascii: "\"") {
        let text = try checked(start..<index)
        index += 1
        return text
      }
      if byte == UInt8(ascii: "\\") { return try stringWithEscapes(from: start) }
      guard byte >= 0x20 else { throw error("a control character inside a string") }
      index += 1
    }
    throw error("the text ends inside a string")
  }

  private func checked(_ range: Range<Int>) throws(JSONError) -> String {
    guard isValidUTF8(bytes, range) else {
      throw error("this string is not UTF-8", at: range.lowerBound)
    }
    return String(decoding: bytes[range], as: UTF8.self)
  }

  mutating func stringWithEscapes(from start: Int) throws(JSONError) -> String {
    var content = Array(bytes[start..<index])
    while index < bytes.count {
      let byte = bytes[index]
      if byte == UInt8(ascii: "\"") {
        guard isValidUTF8(content, 0..<content.count) else {
          throw error("this string is not UTF-8", at: start)
        }
        index += 1
        return String(decoding: content, as: UTF8.self)
      }
      guard byte >= 0x20 else { throw error("a control character inside a string") }
      index += 1
      if byte == UInt8(ascii: "\\") { try escape(into: &content) } else { content.append(byte) }
    }
    throw error("the text ends inside a string")
  }

  private mutating func escape(into content: inout [UInt8]) throws(JSONError) {
    guard index < bytes.count else { throw error("the text ends inside a string") }
    let letter = bytes[index]
    index += 1
    switch letter {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): content.append(letter)
    case UInt8(ascii: "b"): content.append(0x08)
    case UInt8(ascii: "f"): content.append(0x0c)
    case UInt8(ascii: "n"): content.append(0x0a)
    case UInt8(ascii: "r"): content.append(0x0d)
    case UInt8(ascii: "t"): content.append(0x09)
    case UInt8(ascii: "u"): content.append(contentsOf: String(try scalar()).utf8)
    default: throw error("an invalid escape sequence", at: index - 2)
    }
  }

  private mutating func scalar() throws(JSONError) -> Character {
    let start = index - 2
    var code = UInt32(try unit())
    if (0xd800...0xdbff).contains(code) {
      guard current == UInt8(ascii: "\\"), index + 1 < bytes.count, bytes[index + 1] == UInt8(ascii: "u")
      else { throw error("an unpaired surrogate", at: start) }
      index += 2
      let low = UInt32(try unit())
      guard (0xdc00...0xdfff).contains(low) else { throw error("an unpaired surrogate", at: start) }
      code = 0x1_0000 + (code - 0xd800) << 10 + (low - 0xdc00)
    }
    guard let scalar = Unicode.Scalar(code) else { throw error("an unpaired surrogate", at: start) }
    return Character(scalar)
  }

  private mutating func unit() throws(JSONError) -> UInt16 {
    var value: UInt16 = 0
    for _ in 0..<4 {
      guard let digit = Character(Unicode.Scalar(current)).hexDigitValue else {
        throw error("expected four hexadecimal digits after \\u")
      }
      value = value << 4 | UInt16(truncatingIfNeeded: digit)
      index += 1
    }
    return value
  }
}
