// Identifiers as distinct types: Sources/README.md, "Glossary".

/// An identifier of a fixed number of bytes, shown to people as hexadecimal digits.
package protocol FixedIdentifier: Hashable, Comparable, Sendable, CustomStringConvertible {
  static var bytesCount: Int { get }
  var bytes: [UInt8] { get }
  /// Creates an identifier from exactly `bytesCount` bytes; returns nil for any other number of bytes.
  init?(bytes: ArraySlice<UInt8>)
}

/// An identifier of 32 bytes: a public key or a hash.
package protocol Identifier32: FixedIdentifier {
  var raw: Bytes32 { get }
  init(_ raw: Bytes32)
}

/// An identifier of 16 bytes.
package protocol Identifier16: FixedIdentifier {
  var raw: Bytes16 { get }
  init(_ raw: Bytes16)
}

extension Identifier32 {
  public static func < (left: Self, right: Self) -> Bool { left.raw < right.raw }
  package static var bytesCount: Int { 32 }
  package var bytes: [UInt8] { raw.bytes }
  package init?(bytes: ArraySlice<UInt8>) {
    guard let raw = Bytes32(bytes) else { return nil }
    self.init(raw)
  }
}

extension Identifier16 {
  public static func < (left: Self, right: Self) -> Bool { left.raw < right.raw }
  package static var bytesCount: Int { 16 }
  package var bytes: [UInt8] { raw.bytes }
  package init?(bytes: ArraySlice<UInt8>) {
    guard let raw = Bytes16(bytes) else { return nil }
    self.init(raw)
  }
}

/// Identifies a circle: the BLAKE2b-256 hash of its genesis.
public struct CircleID: Identifier32 {
  package let raw: Bytes32
  package init(_ raw: Bytes32) { self.raw = raw }
}

/// Identifies a device, a circle's root or an issuer: an Ed25519 public key.
public struct DeviceKey: Identifier32 {
  package let raw: Bytes32
  package init(_ raw: Bytes32) { self.raw = raw }
}

/// The Noise static key of a device: an X25519 public key.
package struct TransportKey: Identifier32 {
  package let raw: Bytes32
  package init(_ raw: Bytes32) { self.raw = raw }
}

/// Identifies a change set: the BLAKE2b-256 hash of its header.
package struct ChangeSetID: Identifier32 {
  package let raw: Bytes32
  package init(_ raw: Bytes32) { self.raw = raw }
}

/// Identifies a statement: the BLAKE2b-256 hash of its kind and body.
package struct StatementID: Identifier32 {
  package let raw: Bytes32
  package init(_ raw: Bytes32) { self.raw = raw }
}

/// Identifies a file: the BLAKE2b-256 hash of its size and its leaf list.
package struct FileID: Identifier32 {
  package let raw: Bytes32
  package init(_ raw: Bytes32) { self.raw = raw }
}

/// Identifies the logs that a device writes in one data directory. The first four bits state the incarnation's number
/// minus 1; the rest is random.
package struct Incarnation: Identifier16 {
  package let raw: Bytes16
  package init(_ raw: Bytes16) { self.raw = raw }

  /// Creates an incarnation with a number from 1 to 16.
  package init(random: Bytes16, number: Int) {
    precondition((1...Limits.incarnationsMax).contains(number), "an incarnation with the number \(number)")
    raw = Bytes16(random.word0 & ~(0xf << 60) | UInt64(number - 1) << 60, random.word1)
  }

  /// The number of the incarnation among those of its device, from 1 to `Limits.incarnationsMax`.
  package var number: Int { Int(raw.word0 >> 60) + 1 }
}

/// Identifies an operation that a person carried out, such as one command, one import or one undo.
public struct OperationID: Identifier16 {
  package let raw: Bytes16
  package init(_ raw: Bytes16) { self.raw = raw }
}

/// Identifies a record within its kind.
package struct RecordID: Identifier16 {
  package let raw: Bytes16
  package init(_ raw: Bytes16) { self.raw = raw }
}

// The identifiers in the public API, which are read from text and encoded as text.
extension DeviceKey: Codable, LosslessStringConvertible {}
extension CircleID: Codable, LosslessStringConvertible {}
extension OperationID: Codable, LosslessStringConvertible {}

extension FixedIdentifier {
  /// The identifier in lower-case hexadecimal, with two digits per byte.
  public var description: String { hexadecimal(bytes) }

  package init?(bytes: [UInt8]) { self.init(bytes: bytes[...]) }

  package init?(hex: some StringProtocol) {
    guard let bytes = bytesFromHexadecimal(hex) else { return nil }
    self.init(bytes: bytes)
  }

  /// Parses hexadecimal digits of either case. Returns nil for any other text.
  public init?(_ description: String) { self.init(hex: description) }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let text = try container.decode(String.self)
    guard let id = Self(hex: text) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "expected \(2 * Self.bytesCount) hexadecimal digits")
    }
    self = id
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}

/// Identifies a ticket by eight bytes that do not reveal its secret.
package struct TicketID: Hashable, Sendable {
  package static let count = 8

  private let word: UInt64

  package init(_ word: UInt64) { self.word = word }

  /// Creates an id from exactly 8 bytes; returns nil for any other number of bytes.
  package init?(bytes: some Collection<UInt8>) {
    let slice = ArraySlice(bytes)
    guard slice.count == Self.count else { return nil }
    word = bigEndianWord(slice, at: slice.startIndex)
  }

  package var bytes: [UInt8] {
    var bytes: [UInt8] = []
    appendBigEndian(word, to: &bytes)
    return bytes
  }
}

/// One of the two streams of change sets.
public enum Lane: UInt8, CaseIterable, Sendable, Comparable {
  /// Key-value settings, such as the onboarding flag. This lane syncs for every user.
  case settings = 0
  /// Trips, habits and the profile. This lane syncs only with premium.
  case records = 1

  public static func < (left: Lane, right: Lane) -> Bool { left.rawValue < right.rawValue }
}

/// Encodes bytes as lower-case hexadecimal text.
package func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
  let digits = Array("0123456789abcdef".utf8)
  var text: [UInt8] = []
  for byte in bytes {
    text.append(digits[Int(byte >> 4)])
    text.append(digits[Int(byte & 15)])
  }
  return String(decoding: text, as: UTF8.self)
}

/// Builds a string from the ASCII characters that `write` appends.
///
/// - Parameter countMax: the greatest number of characters that `write` may append.
package func asciiText(_ countMax: Int, _ write: (inout OutputSpan<UInt8>) -> Void) -> String {
  unsafe String(unsafeUninitializedCapacity: countMax) { buffer in
    var text = unsafe OutputSpan(buffer: buffer, initializedCount: 0)
    write(&text)
    return unsafe text.finalize(for: buffer)
  }
}

/// Decodes hexadecimal text of either case. Returns nil for any other text.
package func bytesFromHexadecimal(_ text: some StringProtocol) -> [UInt8]? {
  let digits = Array(text.utf8)
  guard digits.count.isMultiple(of: 2) else { return nil }
  var result: [UInt8] = []
  result.reserveCapacity(digits.count / 2)
  for index in stride(from: 0, to: digits.count, by: 2) {
    guard let high = nibble(digits[index]), let low = nibble(digits[index + 1]) else { return nil }
    result.append(high << 4 | low)
  }
  return result
}

private func nibble(_ digit: UInt8) -> UInt8? {
  switch digit {
  case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
  case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
  case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
  default: nil
  }
}

/// A device, with the name that the local device shows for it.
public struct DeviceReference: Hashable, Sendable, Codable, Identifiable {
  /// The key of the device.
  public let device: DeviceKey
  /// The name of the device, as shown on the local device.
  public let name: String

  public var id: DeviceKey { device }

  package init(device: DeviceKey, name: String) {
    self.device = device
    self.name = name
  }
}
