// Protocol/circle.md, "Statements": bodies are maps with integer keys and no unknown ones.

import Wire

/// Reads a canonical map with small integer keys in ascending order. Unexpected keys are rejected.
struct MapReader {
  var reader: CBORReader
  private var pairsLeft: Int
  private var pending: UInt64?
  private var last: UInt64?

  static let version: UInt64 = 1

  /// Reads the start of a map and its format version, which is the value of key 0.
  init(_ bytes: [UInt8], version: UInt64 = Self.version) throws(WireError) {
    reader = CBORReader(bytes)
    pairsLeft = try reader.map(max: 32)
    try required(0)
    let start = reader.offset
    guard try reader.unsigned() == version else { throw .unexpected(offset: start) }
  }

  /// Advances to the value of a required key.
  mutating func required(_ key: UInt64) throws(WireError) {
    guard try optional(key) else { throw .unexpected(offset: reader.offset) }
  }

  /// Advances to the value of a key if the key is present. Returns whether it is present.
  mutating func optional(_ key: UInt64) throws(WireError) -> Bool {
    if pending == nil, pairsLeft > 0 {
      let next = try reader.nextKey(after: last)
      pending = next
      last = next
      pairsLeft -= 1
    }
    guard pending == key else { return false }
    pending = nil
    return true
  }

  /// Checks that nothing is left in the map or after it.
  func end() throws(WireError) {
    guard pending == nil, pairsLeft == 0 else { throw .unexpected(offset: reader.offset) }
    try reader.end()
  }

  /// Checks that the remaining values are well formed, without interpreting them, and that nothing follows the map.
  mutating func skipRest() throws(WireError) {
    if pending != nil { _ = try reader.skipValue() }
    pending = nil
    while pairsLeft > 0 {
      last = try reader.nextKey(after: last)
      pairsLeft -= 1
      _ = try reader.skipValue()
    }
    try end()
  }

  // MARK: Common values

  /// Reads keys 1 and 2, the circle and the signer, which every statement has except the genesis and the fork proof.
  mutating func common() throws(WireError) -> (CircleID, DeviceKey) {
    (CircleID(try bytes32(1)), DeviceKey(try bytes32(2)))
  }

  mutating func bytes32(_ key: UInt64) throws(WireError) -> Bytes32 {
    try required(key)
    return try reader.bytes32()
  }

  mutating func bytes16(_ key: UInt64) throws(WireError) -> Bytes16 {
    try required(key)
    return try reader.bytes16()
  }

  /// Reads a time in milliseconds since 1970, which must fit into the 48 bits of a clock.
  mutating func milliseconds(_ key: UInt64) throws(WireError) -> Int64 {
    try required(key)
    return Int64(try reader.unsigned(max: Int(Limits.timeMillisecondsMax)))
  }

  mutating func unsigned(_ key: UInt64, max: Int) throws(WireError) -> Int {
    try required(key)
    return try reader.unsigned(max: max)
  }

  mutating func lane(_ key: UInt64) throws(WireError) -> Lane {
    try required(key)
    return try reader.lane()
  }

  /// Reads a token that another party signed: printable ASCII without spaces.
  mutating func token(_ key: UInt64) throws(WireError) -> String {
    try required(key)
    return try reader.token(max: Limits.purchaseTokenBytesMax)
  }

  /// Reads a line of text that is meant for people. It must have 1 to `Limits.nameBytesMax` bytes and no control
  /// characters.
  mutating func name(_ key: UInt64) throws(WireError) -> String {
    try required(key)
    let start = reader.offset
    let text = try reader.text(max: Limits.nameBytesMax)
    guard isName(text) else { throw .unexpected(offset: start) }
    return text
  }

  /// Reads a non-empty list in strictly ascending order.
  mutating func ascending<Element: Comparable>(
    _ key: UInt64, max: Int, _ read: (inout CBORReader) throws(WireError) -> Element
  ) throws(WireError) -> [Element] {
    try required(key)
    return try reader.ascending(max: max, read)
  }
}

extension CBORReader {
  /// Reads a non-empty array in strictly ascending order.
  mutating func ascending<Element: Comparable>(
    max: Int, _ read: (inout CBORReader) throws(WireError) -> Element
  ) throws(WireError) -> [Element] {
    let start = offset
    let count = try array(max: max)
    guard count > 0 else { throw .unexpected(offset: start) }
    var elements: [Element] = []
    for _ in 0..<count {
      let position = offset
      let element = try read(&self)
      if let last = elements.last, last >= element { throw .notCanonical(offset: position) }
      elements.append(element)
    }
    return elements
  }

  mutating func lane() throws(WireError) -> Lane {
    let start = offset
    guard let lane = Lane(rawValue: UInt8(try unsigned(max: 255))) else { throw .unexpected(offset: start) }
    return lane
  }

  /// Reads an address as text, which must be printable ASCII without spaces. Only the code that dials interprets it.
  mutating func address() throws(WireError) -> String { try token(max: Limits.addressBytesMax) }

  /// Reads text of printable ASCII without spaces, which must not be empty.
  mutating func token(max: Int) throws(WireError) -> String {
    let start = offset
    let text = try text(max: max)
    guard isToken(text, bytesMax: max) else { throw .unexpected(offset: start) }
    return text
  }
}

/// Whether text is valid as an address in a statement or ticket.
package func isAddress(_ text: String) -> Bool { isToken(text, bytesMax: Limits.addressBytesMax) }

private func isToken(_ text: String, bytesMax: Int) -> Bool {
  (1...bytesMax).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7e).contains($0) }
}
