import Wire

/// A JSON value that loses nothing of the document: numbers keep their digits, and objects keep the order of their
/// keys.
///
/// It is used for users' files, for the command line's documents and for the control socket, but never for data that
/// replicas compare.
package enum JSON: Hashable, Sendable {
  case null
  case bool(Bool)
  /// The number as written in the document, in JSON's grammar.
  case number(String)
  case string(String)
  case array([JSON])
  case object([Member])

  /// A key of an object and its value.
  package struct Member: Hashable, Sendable {
    package var key: String
    package var value: JSON

    package init(_ key: String, _ value: JSON) {
      self.key = key
      self.value = value
    }
  }

  /// Returns an integer as a JSON number.
  package static func integer(_ value: some BinaryInteger) -> JSON { .number(String(value)) }

  /// Returns a number with the shortest digits that read back as the same double; null if the double is not finite.
  package static func float(_ value: Double) -> JSON {
    guard value.isFinite else { return .null }
    let text = String(value)
    return .number(text.hasSuffix(".0") ? String(text.dropLast(2)) : text)
  }

  /// Returns a JSON string, or null for nil.
  package static func text(_ value: String?) -> JSON { value.map(JSON.string) ?? .null }
}

// MARK: Access

extension JSON {
  package var isNull: Bool { self == .null }

  package var boolean: Bool? {
    guard case .bool(let value) = self else { return nil }
    return value
  }

  package var string: String? {
    guard case .string(let value) = self else { return nil }
    return value
  }

  /// The number as written; nil if this is not a number.
  package var number: String? {
    guard case .number(let value) = self else { return nil }
    return value
  }

  /// The value of a number that is written as an integer and fits in 64 bits; otherwise nil.
  package var integer: Int64? { number.flatMap { Int64($0) } }

  /// The double nearest to the number; nil if this is not a number, or if it is out of range.
  package var float: Double? { number.flatMap { Double($0) }.flatMap { $0.isFinite ? $0 : nil } }

  package var array: [JSON]? {
    guard case .array(let items) = self else { return nil }
    return items
  }

  package var members: [Member]? {
    guard case .object(let members) = self else { return nil }
    return members
  }

  /// The value of a key; nil if this is not an object or lacks the key. Setting a value turns this into an object and
  /// replaces or appends the key. Setting nil removes the key.
  package subscript(key: String) -> JSON? {
    get { members?.first { isSameText($0.key, key) }?.value }
    set {
      var members = members ?? []
      let index = members.firstIndex { isSameText($0.key, key) }
      switch (index, newValue) {
      case (let index?, let value?): members[index].value = value
      case (let index?, nil): members.remove(at: index)
      case (nil, let value?): members.append(Member(key, value))
      case (nil, nil): break
      }
      self = .object(members)
    }
  }

  /// The value at an index; nil if this is not an array or if the index is out of range.
  package subscript(index: Int) -> JSON? {
    guard case .array(let items) = self, items.indices.contains(index) else { return nil }
    return items[index]
  }
}

/// Returns whether two strings consist of the same bytes. Swift's own equality treats composed and decomposed letters
/// as equal.
func isSameText(_ left: String, _ right: String) -> Bool {
  let (left, right) = (left.utf8Span.span, right.utf8Span.span)
  return left.count == right.count && left.indices.allSatisfy { left[$0] == right[$0] }
}

// MARK: Literals

extension JSON: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByStringInterpolation,
  ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  package init(nilLiteral: ()) { self = .null }
  package init(booleanLiteral value: Bool) { self = .bool(value) }
  package init(integerLiteral value: Int64) { self = .integer(value) }
  package init(floatLiteral value: Double) { self = .float(value) }
  package init(stringLiteral value: String) { self = .string(value) }
  package init(arrayLiteral elements: JSON...) { self = .array(elements) }
  /// Keeps the order of the keys.
  package init(dictionaryLiteral elements: (String, JSON)...) {
    self = .object(elements.map { Member($0.0, $0.1) })
  }
}

// MARK: Writing

extension JSON {
  /// How a value is formatted as text.
  package struct Layout: Sendable {
    /// Whether each item is on a line of its own, indented by two spaces per level.
    package var isPretty: Bool
    /// Whether keys are sorted by their bytes instead of keeping their order.
    package var sortsKeys: Bool
    /// Whether scalars that control a terminal or change the text direction are escaped as `\u` and four digits, so
    /// that users can see them. The value stays the same. The store does not use this.
    package var escapesControls: Bool

    package init(isPretty: Bool = false, sortsKeys: Bool = false) {
      self.init(isPretty: isPretty, sortsKeys: sortsKeys, escapesControls: isPretty)
    }

    private init(isPretty: Bool, sortsKeys: Bool, escapesControls: Bool) {
      self.isPretty = isPretty
      self.sortsKeys = sortsKeys
      self.escapesControls = escapesControls
    }

    /// The layout for programs and the store, which escapes only what the grammar requires.
    package static let compact = Layout()
    /// The layout for users and files.
    package static let pretty = Layout(isPretty: true)
    /// The layout for users or for a log that puts a value on one line.
    package static let line = Layout(isPretty: false, sortsKeys: false, escapesControls: true)
  }

  /// Returns the value as JSON text in UTF-8.
  package func bytes(_ layout: Layout = .compact) -> [UInt8] {
    var writer = JSONWriter(layout: layout)
    writer.write(self, indent: 0)
    return writer.bytes
  }

  package func text(_ layout: Layout = .compact) -> String {
    String(decoding: bytes(layout), as: UTF8.self)
  }

  /// Stands for a value that is too long for memory. The writer of the text inserts the value; see `pieces(_:)`.
  package static func placeholder(_ number: Int) -> JSON { .number("\u{0}\(number)") }

  /// Returns the text in pieces: what precedes each placeholder with the placeholder's number, then the rest.
  ///
  /// - Parameter indent: the level at which the value is in a document whose other parts are written separately.
  package func pieces(_ layout: Layout, indent: Int = 0) -> (
    texts: [(text: [UInt8], placeholder: Int)], rest: [UInt8]
  ) {
    var writer = JSONWriter(layout: layout)
    writer.write(self, indent: indent)
    return (writer.texts, writer.bytes)
  }
}

private struct JSONWriter {
  let layout: JSON.Layout
  /// The text since the last placeholder.
  var bytes: [UInt8] = []
  var texts: [(text: [UInt8], placeholder: Int)] = []

  init(layout: JSON.Layout) { self.layout = layout }

  mutating func write(_ value: JSON, indent: Int) {
    switch value {
    case .null: bytes.append(contentsOf: "null".utf8)
    case .bool(let flag): bytes.append(contentsOf: (flag ? "true" : "false").utf8)
    case .number(let digits):
      // No number of a text begins with this character.
      if digits.utf8.first == 0, let number = Int(digits.dropFirst()) {
        texts.append((bytes, number))
        bytes = []
      } else {
        bytes.append(contentsOf: digits.utf8)
      }
    case .string(let text): write(text)
    case .array(let items):
      write(items, between: "[]", indent: indent) { writer, item in
        writer.write(item, indent: indent + 1)
      }
    case .object(let members):
      let ordered =
        layout.sortsKeys
        ? members.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) } : members
      write(ordered, between: "{}", indent: indent) { writer, member in
        writer.write(member.key)
        writer.bytes.append(UInt8(ascii: ":"))
        if writer.layout.isPretty { writer.bytes.append(UInt8(ascii: " ")) }
        writer.write(member.value, indent: indent + 1)
      }
    }
  }

  private mutating func write<Item>(
    _ items: [Item], between brackets: String, indent: Int, each: (inout JSONWriter, Item) -> Void
  ) {
    bytes.append(contentsOf: brackets.utf8.prefix(1))
    for (index, item) in items.enumerated() {
      if index > 0 { bytes.append(UInt8(ascii: ",")) }
      lineBreak(indent + 1)
      each(&self, item)
    }
    if !items.isEmpty { lineBreak(indent) }
    bytes.append(contentsOf: brackets.utf8.suffix(1))
  }

  private mutating func lineBreak(_ indent: Int) {
    guard layout.isPretty else { return }
    bytes.append(UInt8(ascii: "\n"))
    bytes.append(contentsOf: repeatElement(UInt8(ascii: " "), count: indent * 2))
  }

  private mutating func write(_ text: String) {
    bytes.append(UInt8(ascii: "\""))
    // Most strings need no escapes and are copied as a whole.
    if layout.escapesControls, text.utf8.contains(where: Self.mayBeginControl) {
      for scalar in text.unicodeScalars {
        if isControl(scalar), scalar.value >= 0x20 {
          bytes += Array(
            (#"\u"# + hexadecimal([UInt8(scalar.value >> 8 & 0xff), UInt8(scalar.value & 0xff)]))
              .utf8)
        } else {
          for byte in UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter {
            if Self.needsEscape(byte) { escape(byte) } else { bytes.append(byte) }
          }
        }
      }
    } else if text.utf8.contains(where: Self.needsEscape) {
      for byte in text.utf8 {
        if Self.needsEscape(byte) { escape(byte) } else { bytes.append(byte) }
      }
    } else {
      bytes.append(contentsOf: text.utf8)
    }
    bytes.append(UInt8(ascii: "\""))
  }

  /// Returns whether a byte may begin the UTF-8 form of a scalar, U+007F or higher, for which `isControl(_:)` is true.
  private static func mayBeginControl(_ byte: UInt8) -> Bool {
    byte == 0x7f || byte == 0xc2 || byte == 0xd8 || byte == 0xe2 || byte == 0xef
  }

  private static func needsEscape(_ byte: UInt8) -> Bool {
    byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
  }

  private mutating func escape(_ byte: UInt8) {
    switch byte {
    case 0x0a: bytes.append(contentsOf: #"\n"#.utf8)
    case 0x0d: bytes.append(contentsOf: #"\r"#.utf8)
    case 0x09: bytes.append(contentsOf: #"\t"#.utf8)
    case 0..<0x20: bytes.append(contentsOf: (#"\u00"# + hexadecimal([byte])).utf8)
    default: bytes += [UInt8(ascii: "\\"), byte]
    }
  }
}

/// Returns whether a scalar controls a terminal, breaks a line, or invisibly changes the direction of the text around
/// it. These are C0 and C1 controls, line and paragraph separators, bidirectional controls and marks, and U+FEFF.
package func isControl(_ scalar: Unicode.Scalar) -> Bool {
  switch scalar.value {
  case 0..<0x20, 0x7F...0x9F, 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069, 0xFEFF: true
  default: false
  }
}
