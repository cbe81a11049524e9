import Platform
package import Membership
package import Purchases
import Reasons
import Records
package import Sodium
package import Wire

/// The tasks of an issuer of entitlements: creating a key, and signing entitlements for a circle.
///
/// Works without a store and without a node.
public enum Issuer {
  private static let publicHeader = "waymark-issuer-1"
  private static let certificateHeader = "waymark-entitlement-1"
  private static let fileBytesMax = 64 * 1024

  /// Creates an issuer's key in `path`, readable by its owner only, and `path.pub`. Returns the public key.
  package static func create(_ path: String) throws -> DeviceKey {
    let publicPath = path + ".pub"
    try OutputFile.checkName(path)
    for existing in [path, publicPath] where Files.isTaken(existing) {
      throw WaymarkError.failed(
        .exists, "\(existing) already exists, and keys are not overwritten.",
        next: "use another file, or move this one away")
    }
    let key = try SigningKey()
    var secrets = try SecretBuffer(capacity: KeyPurpose.issuer.secretBytes)
    key.exportSeed(to: &secrets)
    try KeyFile.create(secrets, .issuer, at: path)
    let text = "\(publicHeader) \(hexadecimal(key.publicKey))\n"
    try Files.create(publicPath, Array(text.utf8), mode: 0o644)
    return try publicKey(of: key)
  }

  /// Reads the public key from a file that `create` wrote.
  package static func readPublicKey(_ path: String) throws -> DeviceKey {
    let content = try words(of: path)
    guard content.count == 2, content[0] == publicHeader, let key = DeviceKey(hex: content[1]),
      Signature.isValidPublicKey(key.bytes)
    else {
      throw badKey("\(path) does not contain an issuer's public key.", .waymark("issuer init FILE"))
    }
    return key
  }

  /// A request for an entitlement, with the values as the user typed them.
  package struct EntitlementRequest: Sendable {
    package var keyFile: String
    package var circle: String
    /// The ids of the devices that get premium; empty for all devices in the circle.
    package var devices: [String]
    package var until: String
    /// The start of the entitlement; nil for the current time.
    package var from: String?

    package init(keyFile: String, circle: String, devices: [String], until: String, from: String? = nil) {
      self.keyFile = keyFile
      self.circle = circle
      self.devices = devices
      self.until = until
      self.from = from
    }
  }

  /// A signed entitlement, and its text for `waymark entitlement install`.
  package struct IssuedEntitlement: Sendable {
    package let circle: CircleID
    /// The first millisecond at which it no longer holds.
    package let notAfter: Int64
    package let text: String
  }

  /// Signs an entitlement.
  ///
  /// - Parameters:
  ///   - now: milliseconds since 1970.
  ///   - passphrases: the source of the passphrase if the issuer's key is sealed.
  package static func issue(
    _ request: EntitlementRequest, now: Int64, passphrases: PassphraseSource = .environment
  ) throws -> IssuedEntitlement {
    let circle = try id(ofCircle: request.circle)
    let devices = try request.devices.map { text in
      guard let device = DeviceKey(hex: text) else {
        throw WaymarkError.badValue(
          "--device", text, allowed: "expected the 64 hexadecimal digits of a device's id")
      }
      return device
    }
    let from = try request.from.map { try time($0, "--from") } ?? now
    let until = try end(request.until, "--until")
    guard from < until else {
      throw WaymarkError.badValue(
        "--until", request.until, allowed: "it must be after the start, \(timeText(milliseconds: from))")
    }
    let key = try readKey(request.keyFile, passphrases)
    let entitlement = Entitlement(
      circle: circle, issuer: try publicKey(of: key),
      devices: devices.isEmpty ? nil : Array(Set(devices)), plan: "premium", issuedAt: now, notBefore: from,
      notAfter: until, serial: Bytes16(randomBytes(16)) ?? .zero, source: "issuer")
    return IssuedEntitlement(
      circle: circle, notAfter: until, text: certificateText(try Statement(signing: entitlement, with: key)))
  }

  private static func id(ofCircle text: String) throws -> CircleID {
    guard let circle = CircleID(hex: text) else {
      throw WaymarkError.badValue(
        "--circle", text, allowed: "expected the 64 hexadecimal digits that `waymark init` printed")
    }
    return circle
  }

  /// Parses the end of a period: a day, which means its end in UTC, or a time with its offset. Returns the first moment
  /// after the period.
  package static func end(_ text: String, _ name: String) throws -> Int64 {
    try time(text, name) + (isDay(text) ? 86_400_000 : 0)
  }

  private static func isDay(_ text: String) -> Bool { text.utf8.count == 10 }

  /// Parses a day, which means its first moment in UTC, or a time with its offset.
  private static func time(_ text: String, _ name: String) throws -> Int64 {
    let written = WrittenTime(text)
    guard let moment = written?.milliseconds ?? (isDay(text) ? written?.wallMilliseconds : nil), moment >= 0
    else {
      throw WaymarkError.badValue(
        name, text, allowed: "expected a day (2027-03-01) or a time with its offset (2027-03-01T12:00:00Z)")
    }
    return moment
  }

  /// Writes the text of an entitlement to a file that the user has specified.
  package static func write(
    _ certificate: String, to path: String, besides home: Home? = nil, overwrites: Bool
  ) throws {
    try OutputFile(path, in: home, overwrites: overwrites).write(Array(certificate.utf8))
  }

  /// Reads the entitlement from a file that `issue` wrote.
  package static func readCertificate(_ path: String) throws -> Statement {
    try certificate(in: try Files.read(path, bytesMax: fileBytesMax), of: path)
  }

  /// Reads a file with a signed transaction of the App Store; nil if it holds something else.
  package static func readPurchase(_ path: String) throws -> SignedPurchase? {
    SignedPurchase(try Files.read(path, bytesMax: fileBytesMax))
  }

  /// Signs an entitlement for the circle for which a purchase was made, for as long as the purchase is known to last.
  ///
  /// - Parameters:
  ///   - purchase: StoreKit's signed transaction.
  ///   - home: the home whose configuration says which purchases give premium.
  /// - Throws: `WaymarkError` if the build can't verify purchases, or the purchase does not count now.
  package static func issue(
    _ purchase: SignedPurchase, keyFile: String, circle: String, home: Home, now: Int64,
    passphrases: PassphraseSource = .environment
  ) throws -> IssuedEntitlement {
    guard verifiesPurchases else {
      throw WaymarkError.failed(
        .purchaseUnjudged, "This build can't verify purchases in the App Store.",
        next: "build one that can: swift build --traits AppStore")
    }
    let policy = BuildTraits.purchases(try home.purchases)
    let circle = try id(ofCircle: circle)
    let key = try readKey(keyFile, passphrases)
    let issuer = try publicKey(of: key)
    let body = Purchase(
      circle: circle, device: issuer, transaction: purchase.transaction, renewal: purchase.renewal)
    _ = try PurchaseCheck(circle: circle, policy: policy).transaction(of: body, purchase) { _ in false }
    guard let subscription = body.subscription(by: policy), let period = subscription.period,
      period.contains(now)
    else {
      let state = body.subscription(by: policy)?.state(at: now).rawValue ?? "not for this circle"
      throw WaymarkError.failed(
        .purchaseNotListed, "The purchase gives no premium now: it is \(state.replacing("_", with: " ")).",
        next: "use a newer transaction of the same purchase")
    }
    let hash = Blake2b256.bytes(Blake2b256.hash(body.encoded))
    let end = period.end ?? now + lifetimeMilliseconds
    let entitlement = Entitlement(
      circle: circle, issuer: issuer, devices: nil, plan: "premium", issuedAt: now, notBefore: now,
      notAfter: end, serial: Bytes16(Array(hash.prefix(16))) ?? .zero, source: "app-store")
    return IssuedEntitlement(
      circle: circle, notAfter: end, text: certificateText(try Statement(signing: entitlement, with: key)))
  }

  /// How long an entitlement lasts that is made from a purchase for life. No device withdraws it by itself after a
  /// refund.
  private static let lifetimeMilliseconds: Int64 = 365 * 86_400_000

  /// Parses the entitlement from the content of such a file; `place` names the source in errors.
  package static func certificate(in content: [UInt8], of place: String) throws -> Statement {
    let content = content.count > fileBytesMax ? [] : words(in: content)
    guard content.count == 2, content[0] == certificateHeader, let bytes = Data(base64Encoded: content[1])
    else { throw badCertificate("\(place.capitalizedFirst) does not contain an entitlement.") }
    do {
      return try Statement([UInt8](bytes))
    } catch {
      throw badCertificate("The entitlement in \(place) is damaged.")
    }
  }

  private static func certificateText(_ statement: Statement) -> String {
    "\(certificateHeader) \(Data(statement.bytes).base64EncodedString())\n"
  }

  /// Reads an issuer's key from a file that `create` wrote.
  package static func signingKey(_ path: String, _ passphrases: PassphraseSource) throws -> SigningKey {
    try readKey(path, passphrases)
  }

  private static func readKey(_ path: String, _ passphrases: PassphraseSource) throws -> SigningKey {
    if let first = (try? words(of: path))?.first, first == publicHeader {
      throw badKey(
        "\(path) holds the public key of an issuer; signing needs the key itself.",
        "use the file without .pub that \(waymark: "issuer init FILE") wrote")
    }
    guard Files.isTaken(path) else {
      throw badKey("There is no issuer's key at \(path).", .waymark("issuer init \(shellWord(path))"))
    }
    return try SigningKey(seed: try KeyFile.secrets(.issuer, at: path, passphrases))
  }

  private static func publicKey(of key: SigningKey) throws -> DeviceKey {
    guard let publicKey = DeviceKey(bytes: key.publicKey) else {
      throw WaymarkError.failed(
        .key, "The public key has the wrong length.",
        next: "put a copy of the key back, or make a new one: \(waymark: "issuer init FILE")")
    }
    return publicKey
  }

  private static func words(of path: String) throws -> [String] {
    words(in: try Files.read(path, bytesMax: fileBytesMax))
  }

  private static func words(in bytes: [UInt8]) -> [String] {
    String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isWhitespace).map(String.init)
  }

  private static func badCertificate(_ message: LocalizableText) -> WaymarkError {
    .failed(.noCertificate, message, next: "install the file exactly as \(waymark: "issuer issue") wrote it")
  }

  private static func badKey(_ message: LocalizableText, _ next: Step) -> WaymarkError {
    WaymarkError(exitCode: ExitCode.badKey, code: .key, message: message, next: next)
  }
}
