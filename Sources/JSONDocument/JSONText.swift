import Wire

/// Validated JSON text whose values are built on demand, so that a large file can be read without a tree in memory.
package struct JSONText: Sendable {
  private let bytes: [UInt8]
  private let depthMax: Int
  /// The members of the outermost object, in order; empty if the text is not an object.
  private var members: [JSONMember] = []

  /// Validates the text. Rejects exactly what `JSON.parse` rejects.
  package init(checking bytes: [UInt8], depthMax: Int = 64) throws(JSONError) {
    self.bytes = bytes
    self.depthMax = depthMax
    var parser = JSONParser(bytes: bytes, depthMax: depthMax)
    parser.begin()
    if parser.current == UInt8(ascii: "{") {
      members = try parser.skipObject(depth: 1, notes: true)
    } else {
      try parser.skipValue(depth: 1)
    }
    try parser.end()
  }

  /// The keys of the outermost object, in order.
  package var keys: [String] { members.map(\.key) }

  /// The value of a key in the outermost object; nil if the object lacks the key.
  package subscript(key: String) -> JSON? {
    guard var parser = member(key).map({ parser(at: $0.start) }) else { return nil }
    // Can't fail, because the text was validated.
    return try? parser.value(depth: 2)
  }

  /// Returns the items of a list in the outermost object, which are built one after another; nil if the key is missing
  /// or its value is not a list.
  package func list(_ key: String) -> JSONItems? {
    guard let member = member(key), bytes[member.start] == UInt8(ascii: "[") else { return nil }
    guard let first = member.marks.first else {
      return JSONItems(parser: parser(at: member.start), itemsMax: 0)
    }
    return JSONItems(parser: parser(at: first), itemsMax: .max)
  }

  /// Returns the items of a list in pieces that can be built in parallel. Each piece has `itemsInPiece` items, except
  /// that the last may have fewer.
  package func pieces(_ key: String) -> [JSONItems] {
    (member(key)?.marks ?? []).map { JSONItems(parser: parser(at: $0), itemsMax: Self.itemsInPiece) }
  }

  package static let itemsInPiece = 1_024

  private func member(_ key: String) -> JSONMember? { members.first { isSameText($0.key, key) } }

  private func parser(at index: Int) -> JSONParser {
    var parser = JSONParser(bytes: bytes, depthMax: depthMax)
    parser.index = index
    return parser
  }
}

/// The position of a member of the outermost object.
private struct JSONMember: Sendable {
  let key: String
  /// The position where the member's value starts.
  let start: Int
  /// For a list, the positions where every `itemsInPiece`-th item starts, including the first; otherwise empty.
  let marks: [Int]
}

/// A sequence of the items of a list in validated text.
package struct JSONItems: Sequence, IteratorProtocol {
  private var parser: JSONParser
  private var isOver = false
  private var itemsLeft: Int

  /// - Parameter parser: a parser whose cursor is at the first item, if there is one.
  fileprivate init(parser: JSONParser, itemsMax: Int) {
    self.parser = parser
    itemsLeft = itemsMax
  }

  package mutating func next() -> JSON? {
    guard !isOver, itemsLeft > 0 else { return nil }
    parser.skipBlanks()
    // Can't fail, because the text was validated; if it did, the list would end.
    let item = try? parser.value(depth: 3)
    goOn()
    return item
  }

  private mutating func goOn() {
    itemsLeft -= 1
    isOver = (try? parser.isContinued(to: UInt8(ascii: "]"))) != true
  }
}

// MARK: Flat objects

extension JSONItems {
  /// Scans the members of the next item without building it, provided that the item is flat. An item is flat if it is
  /// an object whose keys have at most eight bytes and whose values are plain numbers or plain ASCII strings, like the
  /// rows of a table.
  ///
  /// - Parameter member: receives the key in the form of `flatKey`, the bytes of the value without quotes, and whether
  ///   the value is a string; returns false to stop.
  /// - Returns: the end of the item, for use with `pass(to:)`; nil if the item is not flat or the scan was stopped. In
  ///   that case, `next()` builds the item.
  package func flatEnd(_ member: (UInt64, Span<UInt8>, Bool) -> Bool) -> Int? {
    guard !isOver, itemsLeft > 0 else { return nil }
    return FlatObject.end(in: parser.bytes, from: parser.index, member)
  }

  /// Skips an item that `flatEnd` has scanned.
  package mutating func pass(to end: Int) {
    parser.index = end
    goOn()
  }
}

/// Returns the number that `flatEnd` passes as the key for a name of at most eight bytes.
package func flatKey(_ name: StaticString) -> UInt64 {
  name.description.utf8.reduce(0) { $0 << 8 | UInt64($1) }
}

/// Scans flat objects, which make up most of a large file. A flat object is validated in a single scan, and any other
/// object is left to the parser.
private enum FlatObject {
  /// Returns the end of the flat object that begins at `start`, or after whitespace there; nil if there is none.
  static func end(
    in bytes: [UInt8], from start: Int, _ member: (UInt64, Span<UInt8>, Bool) -> Bool
  ) -> Int? {
    let text = bytes.span
    var index = start
    guard letter(text, &index) == UInt8(ascii: "{") else { return nil }
    index += 1
    while true {
      guard letter(text, &index) == UInt8(ascii: "\""), let keyEnd = textEnd(text, index + 1) else {
        return nil
      }
      guard keyEnd - index <= 9 else { return nil }
      var key: UInt64 = 0
      for position in index + 1..<keyEnd { key = key << 8 | UInt64(text[position]) }
      index = keyEnd + 1
      guard letter(text, &index) == UInt8(ascii: ":") else { return nil }
      index += 1
      if letter(text, &index) == UInt8(ascii: "\"") {
        guard let end = textEnd(text, index + 1), member(key, text.extracting(index + 1..<end), true) else {
          return nil
        }
        index = end + 1
      } else {
        guard let end = numberEnd(text, index), member(key, text.extracting(index..<end), false) else {
          return nil
        }
        index = end
      }
      switch letter(text, &index) {
      case UInt8(ascii: ","): index += 1
      case UInt8(ascii: "}"): return index + 1
      default: return nil
      }
    }
  }

  /// Skips whitespace and returns the byte that follows; zero at the end of the text.
  private static func letter(_ text: Span<UInt8>, _ index: inout Int) -> UInt8 {
    while index < text.count {
      let byte = text[index]
      guard byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 else { return byte }
      index += 1
    }
    return 0
  }

  /// Returns the position of a string's closing quote; nil if an escape or a byte that is not printable ASCII comes
  /// first.
  private static func textEnd(_ text: Span<UInt8>, _ start: Int) -> Int? {
    var index = start
    while index < text.count {
      let byte = text[index]
      if byte == UInt8(ascii: "\"") { return index }
      guard byte >= 0x20, byte < 0x7f, byte != UInt8(ascii: "\\") else { return nil }
      index += 1
    }
    return nil
  }

  /// Returns the end of a number that consists of an optional minus sign, digits without a leading zero and,
  /// optionally, a point and more digits; nil for any other form.
  private static func numberEnd(_ text: Span<UInt8>, _ start: Int) -> Int? {
    var index = start
    if index < text.count, text[index] == UInt8(ascii: "-") { index += 1 }
    let whole = index
    passDigits(text, &index)
    guard index > whole, index == whole + 1 || text[whole] != UInt8(ascii: "0") else { return nil }
    guard index < text.count, text[index] == UInt8(ascii: ".") else { return index }
    index += 1
    let fraction = index
    passDigits(text, &index)
    return index > fraction ? index : nil
  }

  private static func passDigits(_ text: Span<UInt8>, _ index: inout Int) {
    while index < text.count, text[index] >= UInt8(ascii: "0"), text[index] <= UInt8(ascii: "9") {
      index += 1
    }
  }
}

// MARK: Validating without building

extension JSONParser {
  fileprivate mutating func skipValue(depth: Int) throws(JSONError) {
    switch current {
    case UInt8(ascii: "{"): _ = try skipObject(depth: depth, notes: false)
    case UInt8(ascii: "["): try skipArray(depth: depth)
    case UInt8(ascii: "\""): try skipString()
    // Words and numbers are short, so they are parsed into values.
    default: _ = try value(depth: depth)
    }
  }

  /// - Returns: the positions where every `itemsInPiece`-th item starts, including the first; empty for a list at any
  ///   depth other than `listDepth`.
  @discardableResult
  private mutating func skipArray(depth: Int) throws(JSONError) -> [Int] {
    try enter(depth)
    if try isClosed(by: UInt8(ascii: "]")) { return [] }
    var marks: [Int] = []
    var count = 0
    repeat {
      skipBlanks()
      if count.isMultiple(of: JSONText.itemsInPiece), depth == Self.listDepth { marks.append(index) }
      count += 1
      try skipValue(depth: depth + 1)
    } while try isContinued(to: UInt8(ascii: "]"))
    return marks
  }

  /// The depth of the lists that are values in the outermost object.
  private static let listDepth = 2

  /// - Parameter notes: whether to return the members, each with the start of its value; otherwise the result is
  ///   empty.
  fileprivate mutating func skipObject(depth: Int, notes: Bool) throws(JSONError) -> [JSONMember] {
    if !notes, depth <= depthMax, let end = flatObjectEnd() {
      index = end
      return []
    }
    try enter(depth)
    if try isClosed(by: UInt8(ascii: "}")) { return [] }
    var members: [JSONMember] = []
    let start = index
    let outer = keys.count
    repeat {
      keys.append(try key())
      let value = index
      var marks: [Int] = []
      if current == UInt8(ascii: "[") {
        marks = try skipArray(depth: depth + 1)
      } else {
        try skipValue(depth: depth + 1)
      }
      if notes { members.append(JSONMember(key: keys[keys.count - 1], start: value, marks: marks)) }
    } while try isContinued(to: UInt8(ascii: "}"))
    try checkKeys(from: outer, at: start)
    return members
  }

  /// Returns the end of the object at the cursor if it is flat and has no duplicate keys; nil if the parser has to
  /// validate it.
  private mutating func flatObjectEnd() -> Int? {
    flatKeys.removeAll(keepingCapacity: true)
    return FlatObject.end(in: bytes, from: index) { key, _, _ in
      guard flatKeys.count < 16, !flatKeys.contains(key) else { return false }
      flatKeys.append(key)
      return true
    }
  }

  private mutating func skipString() throws(JSONError) {
    let start = index + 1
    index = start
    while index < bytes.count {
      let byte = bytes[index]
      if byte == UInt8(ascii: "\"") {
        guard isValidUTF8(bytes, start..<index) else {
          throw error("this string is not UTF-8", at: start)
        }
        index += 1
        return
      }
      if byte == UInt8(ascii: "\\") {
        _ = try stringWithEscapes(from: start)
        return
      }
      guard byte >= 0x20 else { throw error("a control character inside a string") }
      index += 1
    }
    throw error("the text ends inside a string")
  }
}
