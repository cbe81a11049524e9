// Protocol/purchase.md, "Reading" and "Verifying".

import JSONDocument
import Wire
import X509

/// A JWS in compact form, such as StoreKit's signed transactions. It has been read but not verified, so nothing that it
/// says may be relied on before `isGenuine`.
package struct SignedToken: Hashable, Sendable {
  /// The text that is signed: the first two parts with the dot between them.
  private let message: [UInt8]
  private let header: JSON
  private let signature: [UInt8]
  let payload: JSON

  /// Reads a token; nil if it is not readable.
  init?(_ text: String) {
    let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 3, let header = Self.object(parts[0]), let payload = Self.object(parts[1]),
      let signature = Base64.decode(canonical: parts[2], .url)
    else { return nil }
    (self.header, self.payload, self.signature) = (header, payload, signature)
    message = Array(parts[0]) + [UInt8(ascii: ".")] + Array(parts[1])
  }

  private static func object(_ part: Substring.UTF8View) -> JSON? {
    guard let bytes = Base64.decode(canonical: part, .url), !bytes.starts(with: [0xef, 0xbb, 0xbf]),
      let json = try? JSON.parse(bytes, depthMax: Limits.purchaseTokenDepthMax), json.members != nil
    else { return nil }
    return json
  }

  /// Whether one of the pinned roots vouches for the signature.
  ///
  /// - Parameters:
  ///   - roots: certificates, as DER.
  ///   - signed: when the token says that it was signed, in milliseconds since 1970. The certificates have to be valid
  ///     at this time.
  func isGenuine(_ roots: [[UInt8]], signed: Int64) -> Bool {
    guard header["alg"]?.string == "ES256", header["crit"] == nil, let path = path else { return false }
    return roots.contains { root in
      path.key(upTo: root, at: signed / 1_000, Self.marks)?.hasSigned(message, signature) ?? false
    }
  }

  /// The leaf and the intermediate certificate. The root that was sent with them is not used.
  private var path: SigningPath? {
    guard let sent = header["x5c"]?.array, sent.count == 3 else { return nil }
    let certificates = sent.compactMap { item in
      item.string.flatMap { Base64.decode(canonical: $0.utf8, .standard) }
    }
    guard certificates.count == 3 else { return nil }
    return SigningPath(leaf: certificates[0], intermediate: certificates[1])
  }

  /// The extensions by which Apple marks the certificates for the App Store.
  private static let marks = SigningPath.Marks(
    leaf: "1.2.840.113635.100.6.11.1", intermediate: "1.2.840.113635.100.6.2.1")
}

extension JSON {
  /// Whether an optional field is absent, or has the type that `read` reads. `null` counts as absent.
  fileprivate func field<Value>(_ key: String, _ read: (JSON) -> Value?) -> Field<Value> {
    guard let value = self[key], !value.isNull else { return .absent }
    return read(value).map(Field.value) ?? .wrong
  }

  func text(_ key: String) -> Field<String> { field(key, \.string) }

  func flag(_ key: String) -> Field<Bool> { field(key, \.boolean) }

  /// A time in milliseconds since 1970, written with digits only.
  func time(_ key: String) -> Field<Int64> {
    field(key) { value in
      guard let digits = value.number, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
        let time = Int64(digits), time <= Limits.timeMillisecondsMax
      else { return nil }
      return time
    }
  }
}

/// A field of a payload.
enum Field<Value> {
  case absent
  case value(Value)
  /// The field has another type than it should have.
  case wrong
}

/// The error that a payload lacks a required field, or has one of a wrong type.
struct UnreadablePayload: Error {}

extension Field {
  func required() throws(UnreadablePayload) -> Value {
    guard case .value(let value) = self else { throw UnreadablePayload() }
    return value
  }

  func optional() throws(UnreadablePayload) -> Value? {
    switch self {
    case .absent: nil
    case .value(let value): value
    case .wrong: throw UnreadablePayload()
    }
  }
}
