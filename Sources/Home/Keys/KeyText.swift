// Sources/store.md, "Key files".

import Sodium
import Wire

/// The content of a key file: the secrets themselves, or the secrets sealed with a passphrase.
///
/// A checksum distinguishes a damaged file from a wrong passphrase, so that damaged bytes are never used as a key. A
/// key has exactly one encoding: bytes are accepted only if writing the parsed key would produce the same ones.
enum KeyText {
  /// The reason why bytes are not accepted as a key file of the expected kind.
  enum Flaw: Error, Hashable {
    case damaged
    /// Opening the file would cost more work than the program allows.
    case tooCostly
  }

  enum Content: ~Copyable {
    case plain(SecretBuffer)
    case sealed(Sealed)
    /// The secrets are in the key store of an app.
    case kept(KeptKey)
  }

  // MARK: Plain

  static func plain(_ secrets: borrowing SecretBuffer, _ purpose: KeyPurpose) throws(SodiumError)
    -> SecretBuffer
  {
    precondition(secrets.count == purpose.secretBytes, "\(secrets.count) bytes for a \(purpose) key")
    var text = try SecretBuffer(capacity: purpose.plainBytes)
    text.append(contentsOf: Array(purpose.title.utf8) + [lineEnd])
    for index in 0..<secrets.count {
      text.append(digit(secrets[index] >> 4))
      text.append(digit(secrets[index] & 15))
      if index % KeyPurpose.keyBytes == KeyPurpose.keyBytes - 1 { text.append(lineEnd) }
    }
    text.append(contentsOf: checkLine(checksum(secrets, purpose)))
    return text
  }

  /// Returns the hash of the secrets, 32 bytes each, without line breaks.
  private static func checksum(_ secrets: borrowing SecretBuffer, _ purpose: KeyPurpose) -> [UInt8] {
    var hasher = Blake2b256()
    hasher.update(Array("\(purpose.title)\0".utf8))
    secrets.withBytes { hasher.update($0) }
    return Blake2b256.bytes(hasher.finish())
  }

  // MARK: Reading

  /// Parses the content of a key file.
  ///
  /// - Throws: `Flaw`, or `SodiumError` if there is no memory for a secret.
  static func parse(_ file: borrowing SecretBuffer, _ purpose: KeyPurpose) throws -> Content {
    if hasFirstLine(file, purpose.title) { return .plain(try parsePlain(file, purpose)) }
    if let kept = KeptKey(parsing: file, purpose) { return .kept(kept) }
    guard hasFirstLine(file, purpose.sealedTitle) else { throw Flaw.damaged }
    return .sealed(try Sealed(parsing: file.withBytes { Array($0) }, purpose))
  }

  /// The kind of key in a file, and how it is protected; nil if it is not a key file.
  static func kind(
    _ file: borrowing SecretBuffer
  ) -> (purpose: KeyPurpose, protection: KeyStates.Protection)? {
    for purpose in KeyPurpose.allCases {
      if hasFirstLine(file, purpose.title) { return (purpose, .plain) }
      if hasFirstLine(file, purpose.sealedTitle) { return (purpose, .sealed) }
      if hasFirstLine(file, purpose.keptTitle) { return (purpose, .kept) }
    }
    return nil
  }

  private static func hasFirstLine(_ file: borrowing SecretBuffer, _ title: String) -> Bool {
    let line = Array(title.utf8) + [lineEnd]
    return file.withBytes { $0.starts(with: line) }
  }

  private static func parsePlain(
    _ file: borrowing SecretBuffer, _ purpose: KeyPurpose
  ) throws -> SecretBuffer {
    guard file.count == purpose.plainBytes else { throw Flaw.damaged }
    var secrets = try SecretBuffer(capacity: purpose.secretBytes)
    var place = purpose.title.utf8.count + 1
    while secrets.count < purpose.secretBytes {
      guard let high = value(file[place]), let low = value(file[place + 1]) else { throw Flaw.damaged }
      secrets.append(high << 4 | low)
      place += secrets.count % KeyPurpose.keyBytes == 0 ? 3 : 2
    }
    guard try plain(secrets, purpose).equals(file) else { throw Flaw.damaged }
    return secrets
  }

  // MARK: Digits, without copies that would not be wiped

  fileprivate static let lineEnd = UInt8(ascii: "\n")

  private static func digit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
  }

  private static func value(_ digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    default: nil
    }
  }

  fileprivate static func checkLine(_ hash: [UInt8]) -> [UInt8] {
    Array("check \(hexadecimal(hash.prefix(8)))\n".utf8)
  }
}

/// The purpose of the keys in a file.
package enum KeyPurpose: String, CaseIterable {
  case device
  case root
  case issuer

  static let keyBytes = 32

  var title: String { "waymark \(rawValue) key v1" }
  var sealedTitle: String { "waymark sealed \(rawValue) key v1" }
  var keptTitle: String { "waymark kept \(rawValue) key v1" }
  /// The length of all secrets: a device has a signing key and a transport key, the others a signing key only.
  package var secretBytes: Int { self == .device ? 2 * Self.keyBytes : Self.keyBytes }

  /// The length of a plain file: the title, a line per key, the checksum.
  fileprivate var plainBytes: Int {
    title.utf8.count + 1 + secretBytes / Self.keyBytes * (2 * Self.keyBytes + 1) + "check ".utf8.count + 17
  }
}

extension KeyText {
  /// Secrets encrypted with a passphrase.
  struct Sealed: Hashable, Sendable {
    let purpose: KeyPurpose
    let cost: PassphraseCost
    let salt: [UInt8]
    let nonce: [UInt8]
    let content: [UInt8]

    /// Seals secrets with a fresh salt and nonce.
    init(
      _ secrets: borrowing SecretBuffer, _ purpose: KeyPurpose, passphrase: borrowing SecretBuffer,
      cost: PassphraseCost
    ) throws(SodiumError) {
      precondition(secrets.count == purpose.secretBytes, "\(secrets.count) bytes for a \(purpose) key")
      self.purpose = purpose
      self.cost = cost
      salt = randomBytes(SymmetricKey.saltBytes)
      nonce = randomBytes(SymmetricKey.longNonceBytes)
      let key = try SymmetricKey(passphrase: passphrase, salt: salt, cost: cost)
      let header = Self.header(purpose, cost, salt, nonce)
      content = key.sealed(secrets, nonce: nonce, associatedData: header)
    }

    /// Decrypts the secrets; nil if the passphrase is wrong.
    func open(_ passphrase: borrowing SecretBuffer) throws(SodiumError) -> SecretBuffer? {
      let key = try SymmetricKey(passphrase: passphrase, salt: salt, cost: cost)
      return try key.opened(content, nonce: nonce, associatedData: Self.header(purpose, cost, salt, nonce))
    }

    // MARK: Text

    var text: [UInt8] {
      let body = Self.header(purpose, cost, salt, nonce) + Array("\(hexadecimal(content))\n".utf8)
      return body + KeyText.checkLine(Blake2b256.hashBytes(prefix: [], parts: [body]))
    }

    /// The first three lines, which the seal authenticates too.
    private static func header(
      _ purpose: KeyPurpose, _ cost: PassphraseCost, _ salt: [UInt8], _ nonce: [UInt8]
    ) -> [UInt8] {
      let argon = "argon2id \(cost.passes) \(cost.memoryBytes / 1024) \(hexadecimal(salt))"
      return Array("\(purpose.sealedTitle)\n\(argon)\nxchacha20poly1305 \(hexadecimal(nonce))\n".utf8)
    }

    init(parsing text: [UInt8], _ purpose: KeyPurpose) throws(Flaw) {
      let lines = text.split(separator: KeyText.lineEnd).map {
        String(decoding: $0, as: UTF8.self).split(separator: " ").map(String.init)
      }
      guard lines.count == 5, lines[1].count == 4, lines[2].count == 2, lines[3].count == 1,
        let passes = Int(lines[1][1]), let kibibytes = Int(lines[1][2]), passes > 0, kibibytes > 0,
        let salt = bytesFromHexadecimal(lines[1][3]), salt.count == SymmetricKey.saltBytes,
        let nonce = bytesFromHexadecimal(lines[2][1]), nonce.count == SymmetricKey.longNonceBytes,
        let content = bytesFromHexadecimal(lines[3][0]),
        content.count == purpose.secretBytes + SymmetricKey.longTagBytes
      else { throw .damaged }
      (self.purpose, self.salt, self.nonce, self.content) = (purpose, salt, nonce, content)
      guard passes <= Limits.passphrasePassesMax, kibibytes <= Limits.passphraseMemoryBytesMax / 1024 else {
        throw .tooCostly
      }
      cost = PassphraseCost(passes: passes, memoryBytes: kibibytes * 1024)
      guard cost.memoryBytes >= PassphraseCost.memoryBytesMin, self.text == text else { throw .damaged }
    }
  }
}

extension PassphraseCost {
  /// The cost that `waymark keys passphrase set` uses.
  static let usual = PassphraseCost(
    passes: Limits.passphrasePasses, memoryBytes: Limits.passphraseMemoryBytes)
}
