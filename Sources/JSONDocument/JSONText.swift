import Wire

/// JSON text that was checked from its first byte to its last, and whose values are built when they are asked
/// for: a large file is read without ever being a tree in memory.
package struct JSONText: Sendable {
  private let bytes: [UInt8]
  private let depthMax: Int
  /// The members of the outermost object, in their order; none if the text is something else.
  private var members: [JSONMember] = []

  /// Refuses exactly what `JSON.parse` refuses.
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

  /// The keys of the outermost object, in their order.
  package var keys: [String] { members.map(\.key) }

  /// The value of a key of the outermost object; nil if there is none.
  package subscript(key: String) -> JSON? {
    guard var parser = member(key).map({ parser(at: $0.start) }) else { return nil }
    // What was checked cannot fail.
    return try? parser.value(depth: 2)
  }

  /// The items of a list in the outermost object, built one after the other; nil if the key has something
  /// else or is not there.
  package func list(_ key: String) -> JSONItems? {
    guard let member = member(key), bytes[member.start] == UInt8(ascii: "[") else { return nil }
    guard let first = member.marks.first else {
      return JSONItems(parser: parser(at: member.start), itemsMax: 0)
    }
    return JSONItems(parser: parser(at: first), itemsMax: .max)
  }

  /// The items of a list in pieces of `itemsInPiece`, the last one shorter, that can be built side by side.
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

/// Where a member of the outermost object stands.
private struct JSONMember: Sendable {
  let key: String
  /// Where its value begins.
  let start: Int
  /// If it is a list, where every so many items begin.
  let marks: [Int]
}

/// The items of a list of a checked text.
package struct JSONItems: Sequence, IteratorProtocol {
  private var parser: JSONParser
  private var isOver = false
  private var itemsLeft: Int

  /// - Parameter parser: at the first item, if there is one to be given.
  fileprivate init(parser: JSONParser, itemsMax: Int) {
    self.parser = parser
    itemsLeft = itemsMax
  }

  package mutating func next() -> JSON? {
    guard !isOver, itemsLeft > 0 else { return nil }
    parser.skipBlanks()
    // What was checked cannot fail; if it did, the list would end.
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
  /// Looks at the members of the next item without building it, if it is flat: an object whose keys have at most eight
  /// bytes and whose values are plain numbers and plain ASCII texts, as rows of a table are.
  ///
  /// - Parameter member: gets the key as `flatKey` has it, the bytes of the value without quotes, and whether it is
  ///   text; false ends the look.
  /// - Returns: where the item ends, for `pass(to:)`; nil where it is anything else, and `next()` builds it.
  package func flatEnd(_ member: (UInt64, Span<UInt8>, Bool) -> Bool) -> Int? {
    guard !isOver, itemsLeft > 0 else { return nil }
    return FlatObject.end(in: parser.bytes, from: parser.index, member)
  }

  /// Passes over an item that was looked at.
  package mutating func pass(to end: Int) {
    parser.index = end
    goOn()
  }
}

/// The key that `flatEnd` gives for a name of at most eight bytes.
package func flatKey(_ name: StaticString) -> UInt64 {
  name.description.utf8.reduce(0) { $0 << 8 | UInt64($1) }
}

/// Objects as nearly all of a large file are: found to be valid at a diagnostics, or left to the parser.
private enum FlatObject {
  /// Where the object that begins at `start`, or behind blanks, ends.
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

  /// The first byte that is no blank; zero at the end.
  private static func letter(_ text: Span<UInt8>, _ index: inout Int) -> UInt8 {
    while index < text.count {
      let byte = text[index]
      guard byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 else { return byte }
      index += 1
    }
    return 0
  }

  /// Where the quote is that ends a text; nil if anything comes before it that is not printable ASCII, or an escape.
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

  /// Where a number ends: a sign, digits that do not begin with a needless zero, a point and digits. Nil for others.
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

// MARK: Checked, not built

extension JSONParser {
  fileprivate mutating func skipValue(depth: Int) throws(JSONError) {
    switch current {
    case UInt8(ascii: "{"): _ = try skipObject(depth: depth, notes: false)
    case UInt8(ascii: "["): try skipArray(depth: depth)
    case UInt8(ascii: "\""): try skipString()
    // Words and numbers are short.
    default: _ = try value(depth: depth)
    }
  }

  /// - Returns: where every so many items begin, the first one among them.
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

  /// The depth of lists in the outermost object.
  private static let listDepth = 2

  /// - Parameter notes: whether to give where the value of each key begins.
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

  /// Where a flat object ends in which no key appears twice; nil where the grammar has to be looked at closely.
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
