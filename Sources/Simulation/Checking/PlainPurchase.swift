// Protocol/purchase.md, "Reading", "Which purchases are kept": an independent reader, used by the judge only.

/// What two purchases by one signer are compared by. Nothing about it is verified.
package struct PlainPurchase {
  /// Which of a signer's purchases replace each other; nil for all that are not readable.
  package struct Subscription: Hashable {
    package let environment: [UInt8]
    let original: [UInt8]
  }

  package let subscription: Subscription?
  package let purchased: UInt64
  package let signed: UInt64
  package let renewalSigned: UInt64

  package init(transaction: [UInt8], renewal: [UInt8]?) {
    guard let payload = PlainToken.payload(transaction), let read = Self.transaction(payload) else {
      (subscription, purchased, signed, renewalSigned) = (nil, 0, 0, 0)
      return
    }
    let info = renewal.flatMap(PlainToken.payload).flatMap(Self.renewal)
    (subscription, purchased, signed) = read
    renewalSigned = info.flatMap { $0.subscription == read.subscription ? $0.signed : nil } ?? 0
  }

  private typealias Members = [[UInt8]: PlainToken.Value]

  private static func transaction(
    _ members: Members
  ) -> (subscription: Subscription, purchased: UInt64, signed: UInt64)? {
    let texts = ["subscriptionGroupIdentifier", "type", "inAppOwnershipType", "appAccountToken"]
    let flag = members["isUpgraded"]
    guard let subscription = subscription(members), members["bundleId"]?.text != nil,
      members["productId"]?.text != nil,
      let purchased = members["purchaseDate"]?.time, let signed = members["signedDate"]?.time,
      texts.allSatisfy({ members[$0].isAbsent || members[$0]?.text != nil }),
      ["expiresDate", "revocationDate"].allSatisfy({ members[$0].isAbsent || members[$0]?.time != nil }),
      flag.isAbsent || flag == .flag
    else { return nil }
    return (subscription, purchased, signed)
  }

  private static func renewal(_ members: Members) -> (subscription: Subscription, signed: UInt64)? {
    let grace = members["gracePeriodExpiresDate"]
    guard let subscription = subscription(members), let signed = members["signedDate"]?.time,
      grace.isAbsent || grace?.time != nil
    else { return nil }
    return (subscription, signed)
  }

  private static func subscription(_ members: Members) -> Subscription? {
    guard let environment = members["environment"]?.text,
      let original = members["originalTransactionId"]?.text
    else { return nil }
    return Subscription(environment: environment, original: original)
  }
}

extension PlainPurchase {
  /// Returns the encoded statements without the purchases that others by the same signer replace; nil if one of them is
  /// invalid.
  package static func kept(_ statements: [[UInt8]]) -> [[UInt8]]? {
    guard let read = try? statements.map({ (bytes: $0, statement: try PlainStatement($0)) }) else {
      return nil
    }
    let dropped = replaced(read.map(\.statement))
    return read.filter { !dropped.contains($0.statement.id) }.map(\.bytes)
  }

  /// Returns the ids of the purchases that others by the same signer replace.
  static func replaced(_ statements: some Sequence<PlainStatement>) -> Set<Name32> {
    var bySigner: [Name32: [(purchase: PlainPurchase, id: Name32)]] = [:]
    for statement in statements {
      guard case .purchase(let purchase) = statement.body else { continue }
      bySigner[statement.signer, default: []].append((purchase, statement.id))
    }
    var dropped: Set<Name32> = []
    for purchases in bySigner.values {
      var (seen, count) = (Set<Subscription?>(), 0)
      for (purchase, id) in purchases.sorted(by: isNewer) {
        if seen.insert(purchase.subscription).inserted, count < 16 {
          count += 1
        } else {
          dropped.insert(id)
        }
      }
    }
    return dropped
  }

  private static func isNewer(
    _ one: (purchase: PlainPurchase, id: Name32), _ other: (purchase: PlainPurchase, id: Name32)
  ) -> Bool {
    (one.purchase.purchased, one.purchase.signed, one.purchase.renewalSigned, one.id)
      > (other.purchase.purchased, other.purchase.signed, other.purchase.renewalSigned, other.id)
  }
}

extension [[UInt8]: PlainToken.Value] {
  fileprivate subscript(key: String) -> PlainToken.Value? { self[Array(key.utf8)] }
}

extension PlainToken.Value? {
  /// Whether a field is absent; `null` counts as absent.
  fileprivate var isAbsent: Bool { self == nil || self == .null }
}

/// Reads a JWS in compact form without verifying it.
enum PlainToken {
  /// A value of a payload, as far as it matters here.
  enum Value: Equatable {
    case text([UInt8])
    /// A number as it is written.
    case number([UInt8])
    case flag
    case null
    case other

    var text: [UInt8]? { if case .text(let text) = self { text } else { nil } }

    /// A time: decimal digits only, at most 2⁴⁸ − 1.
    var time: UInt64? {
      guard case .number(let digits) = self, digits.allSatisfy({ (0x30...0x39).contains($0) }) else {
        return nil
      }
      return UInt64(String(decoding: digits, as: UTF8.self)).flatMap { $0 < 1 << 48 ? $0 : nil }
    }
  }

  /// Returns the members of the payload; nil if the token is not readable.
  static func payload(_ token: [UInt8]) -> [[UInt8]: Value]? {
    let parts = token.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 3, let header = bytes(parts[0]), let payload = bytes(parts[1]),
      bytes(parts[2]) != nil, object(header) != nil
    else { return nil }
    return object(payload)
  }

  /// Decodes base64url without padding.
  private static func bytes(_ part: ArraySlice<UInt8>) -> [UInt8]? {
    var bytes: [UInt8] = []
    var (buffer, bits) = (UInt32(0), 0)
    for letter in part {
      guard let digit = alphabet.firstIndex(of: letter) else { return nil }
      buffer = buffer << 6 & 0xffff | UInt32(digit)
      bits += 6
      guard bits >= 8 else { continue }
      bits -= 8
      bytes.append(UInt8(truncatingIfNeeded: buffer >> UInt32(bits)))
    }
    // A single letter at the end, or bits that say nothing, are not canonical.
    guard bits < 6, buffer & (1 << UInt32(bits) - 1) == 0 else { return nil }
    return bytes
  }

  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

  /// Reads a JSON object; nil if it is anything else.
  private static func object(_ text: [UInt8]) -> [[UInt8]: Value]? {
    guard String(validating: text, as: UTF8.self) != nil else { return nil }
    var reader = Reader(text: text)
    reader.blanks()
    guard let members = reader.object(level: 1) else { return nil }
    reader.blanks()
    return reader.offset == text.count ? members : nil
  }

  /// Reads JSON text from front to back.
  private struct Reader {
    let text: [UInt8]
    var offset = 0

    mutating func blanks() {
      while let byte = next, [0x20, 0x09, 0x0a, 0x0d].contains(byte) { offset += 1 }
    }

    private var next: UInt8? { offset < text.count ? text[offset] : nil }

    private mutating func take(_ word: String) -> Bool {
      guard text[offset...].starts(with: Array(word.utf8)) else { return false }
      offset += word.utf8.count
      return true
    }

    mutating func object(level: Int) -> [[UInt8]: Value]? {
      guard level <= 16, take("{") else { return nil }
      var members: [[UInt8]: Value] = [:]
      blanks()
      if take("}") { return members }
      repeat {
        blanks()
        guard let key = string() else { return nil }
        blanks()
        guard take(":"), let value = value(level), members.updateValue(value, forKey: key) == nil else {
          return nil
        }
      } while take(",")
      return take("}") ? members : nil
    }

    private mutating func array(level: Int) -> Bool {
      guard level <= 16, take("[") else { return false }
      blanks()
      if take("]") { return true }
      repeat {
        guard value(level) != nil else { return false }
      } while take(",")
      return take("]")
    }

    /// Reads a value inside an array or object of a level, with the blanks around it.
    private mutating func value(_ level: Int) -> Value? {
      blanks()
      defer { blanks() }
      switch next {
      case UInt8(ascii: "{"): return object(level: level + 1).map { _ in .other }
      case UInt8(ascii: "["): return array(level: level + 1) ? .other : nil
      case UInt8(ascii: "\""): return string().map { .text($0) }
      case UInt8(ascii: "n"): return take("null") ? .null : nil
      case UInt8(ascii: "t"): return take("true") ? .flag : nil
      case UInt8(ascii: "f"): return take("false") ? .flag : nil
      default: return number().map { .number($0) }
      }
    }

    private mutating func digits() -> Int {
      let start = offset
      while let byte = next, (0x30...0x39).contains(byte) { offset += 1 }
      return offset - start
    }

    private mutating func number() -> [UInt8]? {
      let start = offset
      _ = take("-")
      if !take("0"), digits() == 0 { return nil }
      if take("."), digits() == 0 { return nil }
      if take("e") || take("E") {
        if !take("+") { _ = take("-") }
        guard digits() > 0 else { return nil }
      }
      return Array(text[start..<offset])
    }

    private mutating func string() -> [UInt8]? {
      guard take("\"") else { return nil }
      var content: [UInt8] = []
      while let byte = next, byte != UInt8(ascii: "\"") {
        guard byte >= 0x20 else { return nil }
        offset += 1
        guard byte == UInt8(ascii: "\\") else {
          content.append(byte)
          continue
        }
        guard let scalar = escaped() else { return nil }
        content += Array(String(scalar).utf8)
      }
      return take("\"") ? content : nil
    }

    private mutating func escaped() -> Unicode.Scalar? {
      for (letter, scalar) in [
        ("\"", "\""), ("\\", "\\"), ("/", "/"), ("b", "\u{8}"), ("f", "\u{c}"), ("n", "\n"), ("r", "\r"),
        ("t", "\t"),
      ] as [(String, Unicode.Scalar)] where take(letter) { return scalar }
      guard take("u"), let unit = unit() else { return nil }
      guard (0xd800..<0xdc00).contains(unit) else { return Unicode.Scalar(unit) }
      guard take("\\u"), let low = self.unit(), (0xdc00..<0xe000).contains(low) else { return nil }
      return Unicode.Scalar(0x10000 + (unit - 0xd800) << 10 + (low - 0xdc00))
    }

    private mutating func unit() -> UInt32? {
      var unit: UInt32 = 0
      for _ in 0..<4 {
        guard let byte = next, let digit = Character(Unicode.Scalar(byte)).hexDigitValue else { return nil }
        unit = unit << 4 | UInt32(digit)
        offset += 1
      }
      return unit
    }
  }
}
