/// A value of 32 bytes that is stored inline, such as a hash, a public key or an id. Values are ordered byte by byte.
///
/// The bytes are held as four big-endian words, so that comparing the words in order compares the bytes in order.
@frozen
package struct Bytes32: Hashable, Sendable {
  package let word0: UInt64
  package let word1: UInt64
  package let word2: UInt64
  package let word3: UInt64

  package static let count = 32
  package static let zero = Bytes32(0, 0, 0, 0)

  package init(_ word0: UInt64, _ word1: UInt64, _ word2: UInt64, _ word3: UInt64) {
    self.word0 = word0
    self.word1 = word1
    self.word2 = word2
    self.word3 = word3
  }

  /// Creates a value from exactly 32 bytes; returns nil for any other number of bytes.
  package init?(_ bytes: ArraySlice<UInt8>) {
    guard bytes.count == Self.count else { return nil }
    let start = bytes.startIndex
    self.init(
      bigEndianWord(bytes, at: start), bigEndianWord(bytes, at: start + 8),
      bigEndianWord(bytes, at: start + 16), bigEndianWord(bytes, at: start + 24))
  }

  package init?(_ bytes: [UInt8]) { self.init(bytes[...]) }

  package func append(to bytes: inout [UInt8]) {
    appendBigEndian(word0, to: &bytes)
    appendBigEndian(word1, to: &bytes)
    appendBigEndian(word2, to: &bytes)
    appendBigEndian(word3, to: &bytes)
  }

  package var bytes: [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(Self.count)
    append(to: &result)
    return result
  }

  /// Returns the sum of two big-endian numbers modulo 2²⁵⁶. This adds a record to a digest.
  package static func &+ (left: Bytes32, right: Bytes32) -> Bytes32 {
    let (sum3, carry3) = left.word3.addingReportingOverflow(right.word3)
    let (sum2, carry2) = added(left.word2, right.word2, carry3)
    let (sum1, carry1) = added(left.word1, right.word1, carry2)
    let (sum0, _) = added(left.word0, right.word0, carry1)
    return Bytes32(sum0, sum1, sum2, sum3)
  }

  /// Returns the difference of two big-endian numbers modulo 2²⁵⁶. This removes a record from a digest.
  package static func &- (left: Bytes32, right: Bytes32) -> Bytes32 {
    let negated = Bytes32(~right.word0, ~right.word1, ~right.word2, ~right.word3) &+ Bytes32(0, 0, 0, 1)
    return left &+ negated
  }

  private static func added(_ a: UInt64, _ b: UInt64, _ carry: Bool) -> (UInt64, Bool) {
    let (sum, first) = a.addingReportingOverflow(b)
    let (total, second) = sum.addingReportingOverflow(carry ? 1 : 0)
    return (total, first || second)
  }
}

extension Bytes32: Comparable {
  package static func < (left: Bytes32, right: Bytes32) -> Bool {
    if left.word0 != right.word0 { return left.word0 < right.word0 }
    if left.word1 != right.word1 { return left.word1 < right.word1 }
    if left.word2 != right.word2 { return left.word2 < right.word2 }
    return left.word3 < right.word3
  }
}

/// A value of 16 bytes that is stored inline: the id of a record, an operation or an incarnation. Values are ordered
/// byte by byte.
@frozen
package struct Bytes16: Hashable, Sendable {
  package let word0: UInt64
  package let word1: UInt64

  package static let count = 16
  package static let zero = Bytes16(0, 0)

  package init(_ word0: UInt64, _ word1: UInt64) {
    self.word0 = word0
    self.word1 = word1
  }

  /// Creates a value from exactly 16 bytes; returns nil for any other number of bytes.
  package init?(_ bytes: ArraySlice<UInt8>) {
    guard bytes.count == Self.count else { return nil }
    let start = bytes.startIndex
    self.init(bigEndianWord(bytes, at: start), bigEndianWord(bytes, at: start + 8))
  }

  package init?(_ bytes: [UInt8]) { self.init(bytes[...]) }

  package func append(to bytes: inout [UInt8]) {
    appendBigEndian(word0, to: &bytes)
    appendBigEndian(word1, to: &bytes)
  }

  package var bytes: [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(Self.count)
    append(to: &result)
    return result
  }
}

extension Bytes16: Comparable {
  package static func < (left: Bytes16, right: Bytes16) -> Bool {
    left.word0 != right.word0 ? left.word0 < right.word0 : left.word1 < right.word1
  }
}

/// Returns the eight bytes that begin at `index` as a big-endian number. The caller must have checked that there are
/// eight.
package func bigEndianWord(_ bytes: ArraySlice<UInt8>, at index: Int) -> UInt64 {
  var word: UInt64 = 0
  for offset in 0..<8 { word = word << 8 | UInt64(bytes[index + offset]) }
  return word
}

package func appendBigEndian(_ word: UInt64, to bytes: inout [UInt8]) {
  // All eight bytes are appended at once, because appending them one by one took a tenth of the time of folding.
  unsafe withUnsafeBytes(of: word.bigEndian) { unsafe bytes.append(contentsOf: $0) }
}
