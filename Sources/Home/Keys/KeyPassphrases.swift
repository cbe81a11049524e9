import Foundation
import Sodium
import Wire

/// What became of key files whose passphrase was set or removed.
public struct KeyProtection: Hashable, Sendable, Codable {
  /// The key files, one after the other.
  public let keys: [Key]
  /// Copies of keys among the backups that nothing protects.
  public let unsealedCopies: [String]

  /// One key file.
  public struct Key: Hashable, Sendable, Codable {
    /// Its path.
    public let file: String
    /// `device`, `root` or `issuer`.
    public let kind: String
    /// Whether a passphrase protects it now.
    public let isSealed: Bool
    /// Whether the file was written.
    public let isChanged: Bool

    private enum CodingKeys: String, CodingKey {
      case file
      case kind
      case isSealed = "sealed"
      case isChanged = "changed"
    }
  }
}

/// Sets and removes the passphrase of key files: the seal comes and goes, the keys stay what they are.
///
/// Works beside a running node, which has read its keys.
package struct KeyPassphrases: Sendable {
  private let home: Home
  private let files: [String]
  private let cost: PassphraseCost

  /// - Parameter file: one key file, of any kind; nil for those of the home.
  package init(_ home: Home, file: String?) throws {
    try self.init(home, file: file, cost: .usual)
  }

  init(_ home: Home, file: String?, cost: PassphraseCost) throws {
    self.home = home
    self.cost = cost
    if let file {
      files = [file]
      return
    }
    guard home.hasStore || Files.exists(home.keys) else { throw WaymarkError.noStore(home) }
    try home.prepare()
    // A founder's root key may have been taken elsewhere; a device's key may not be missing.
    files = [home.deviceKey] + (Files.exists(home.rootKey) ? [home.rootKey] : [])
  }

  /// Seals each file with the passphrase; one that is sealed gets another.
  ///
  /// Nothing is written unless all of them can be opened. Who is ended in between does it again with the same
  /// passphrase: a file that it opens already is left alone.
  ///
  /// - Parameter passphrase: the new one; called once.
  package func set(_ passphrase: () throws -> Passphrase) throws -> KeyProtection {
    let held = try files.map { try openIfKnown($0) }
    let passphrase = try passphrase()
    var keys: [Key] = []
    for (file, (key, trouble)) in zip(files, held) {
      // It may have been sealed with the new one by an attempt that was ended.
      guard let key = key ?? (try? open(file, .first(passphrase, then: .none))) else {
        throw trouble
          ?? WaymarkError.home(
            .wrongPassphrase, "That is not the passphrase of \(file).",
            next: "try again; \(waymark: "help keys")")
      }
      keys.append(key)
    }
    for key in keys where key.passphrase != passphrase {
      try KeyFile.rewrite(key.secrets, key.purpose, at: key.file, sealedWith: passphrase, cost: cost)
    }
    return protection(keys.map { ($0, $0.passphrase != passphrase) }, isSealed: true)
  }

  /// Writes each file that is sealed as it was before.
  package func remove() throws -> KeyProtection {
    let keys = try files.map { try open($0, home.passphrases) }
    for key in keys where key.passphrase != nil {
      try KeyFile.rewrite(key.secrets, key.purpose, at: key.file, sealedWith: nil)
    }
    return protection(keys.map { ($0, $0.passphrase != nil) }, isSealed: false)
  }

  /// A key file that has been opened.
  private final class Key {
    let file: String
    let purpose: KeyPurpose
    let secrets: SecretBuffer
    /// What opened it; nil if nothing was needed.
    let passphrase: Passphrase?

    init(_ file: String, _ purpose: KeyPurpose, _ opened: consuming KeyFile.Opened) {
      self.file = file
      self.purpose = purpose
      passphrase = opened.passphrase
      secrets = opened.secrets
    }
  }

  /// The key, or which passphrase was missing.
  private func openIfKnown(_ file: String) throws -> (key: Key?, trouble: (any Error)?) {
    do {
      return (try open(file, home.passphrases), nil)
    } catch let error as WaymarkError where [.wrongPassphrase, .passphraseNeeded].contains(error.code) {
      return (nil, error)
    }
  }

  private func open(_ file: String, _ passphrases: PassphraseSource) throws -> Key {
    let purpose = try kind(of: file).purpose
    return Key(file, purpose, try KeyFile.opened(purpose, at: file, passphrases))
  }

  private func kind(of file: String) throws -> KeyFile.Kind {
    guard let kind = try KeyFile.kind(at: file) else {
      throw WaymarkError.home(
        .keyMissing, "There is no key file \(file).",
        next: "\(waymark: "paths") says where those of this device are")
    }
    return kind
  }

  private func protection(_ keys: [(key: Key, isChanged: Bool)], isSealed: Bool) -> KeyProtection {
    KeyProtection(
      keys: keys.map { key, isChanged in
        KeyProtection.Key(
          file: key.file, kind: key.purpose.rawValue, isSealed: isSealed, isChanged: isChanged)
      },
      unsealedCopies: isSealed ? home.unsealedKeyCopies : [])
  }
}

extension Home {
  /// Seals the key files of this home with a passphrase; those that are sealed get another. Works beside a running
  /// node.
  ///
  /// - Throws: `WaymarkError` with the code `passphrase_needed` or `wrong_passphrase` if the present one is needed.
  @discardableResult
  public func protectKeys(with passphrase: Passphrase) throws -> KeyProtection {
    try protect { try $0.set { passphrase } }
  }

  /// Writes the key files of this home as they were before they were sealed.
  @discardableResult
  public func unprotectKeys() throws -> KeyProtection { try protect { try $0.remove() } }

  private func protect(_ body: (KeyPassphrases) throws -> KeyProtection) throws -> KeyProtection {
    try body(try KeyPassphrases(self, file: nil))
  }

  /// Copies of keys that a join or a restore has set aside among the backups, and that nothing protects.
  var unsealedKeyCopies: [String] {
    let folders = (try? FileManager.default.contentsOfDirectory(atPath: backups)) ?? []
    return folders.sorted().flatMap { folder in
      ["device.key", "root.key"].map { "\(backups)/\(folder)/\($0)" }
    }.filter { (try? KeyFile.kind(at: $0))?.isSealed == false }
  }
}
