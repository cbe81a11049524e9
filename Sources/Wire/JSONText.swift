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
    itemsLeft -= 1
    parser.skipBlanks()
    // What was checked cannot fail; if it did, the list would end.
    let item = try? parser.value(depth: 3)
    isOver = (try? parser.isContinued(to: UInt8(ascii: "]"))) != true
    return item
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
