// Protocol/pairing-code.md

package import Sodium

/// Six digits that a person reads on one device and types on another.
package final class PairingCode: Sendable {
  package static let count = 6
  /// How many codes there are.
  package static let numbers = 1_000_000

  /// The digits as text: the password of CPace.
  package let digits: SecretBuffer

  /// Creates the code of a number, which must be random.
  package init(number: Int) throws(SodiumError) {
    precondition((0..<Self.numbers).contains(number), "a code of more than six digits")
    var bytes = Self.digits(of: number)
    digits = try SecretBuffer(taking: &bytes)
  }

  /// Parses a code as a person types it: six digits, with blanks and dashes anywhere. Returns nil for any other text.
  package init?(_ text: String) {
    guard text.utf8.count <= 32 else { return nil }
    var bytes = text.utf8.filter { !Self.separators.contains($0) }
    guard bytes.count == Self.count, bytes.allSatisfy({ (0x30...0x39).contains($0) }),
      let digits = try? SecretBuffer(taking: &bytes)
    else { return nil }
    self.digits = digits
  }

  private static let separators: Set<UInt8> = [0x20, 0x09, 0x0a, 0x0d, UInt8(ascii: "-")]

  private static func digits(of number: Int) -> [UInt8] {
    var (bytes, rest) = ([UInt8](repeating: 0, count: count), number)
    for index in bytes.indices.reversed() {
      bytes[index] = UInt8(ascii: "0") + UInt8(rest % 10)
      rest /= 10
    }
    return bytes
  }

  /// The code in two groups, as a person reads it aloud: `482 913`.
  package var shown: String {
    let characters = (0..<digits.count).map { Character(UnicodeScalar(digits[$0])) }
    return String(characters.prefix(3)) + " " + String(characters.dropFirst(3))
  }
}
