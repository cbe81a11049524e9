import Platform
import Reasons
import Sodium
import Wire

/// The result of setting or removing the passphrase of key files.
public struct KeyProtection: Hashable, Sendable, Codable {
  /// The key files.
  public let keys: [Key]
  /// The paths of those key copies in the backups folder that no passphrase protects.
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

/// Sets and removes the passphrase of key files without changing the keys.
///
/// May run while the node is running, because the node has already read its keys.
package struct KeyPassphrases: Sendable {
  private let home: Home
  private let files: [String]
  private let cost: PassphraseCost

  /// - Parameter file: a single key file of any kind; nil for those of the home.
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
    // The founding device may have moved its root key elsewhere, but the device key must be there.
    files = [home.deviceKey] + [home.rootKey, home.issuerKey].filter(Files.exists)
  }

  /// Seals each file with the passphrase, including files that are sealed with another passphrase.
  ///
  /// Nothing is written unless all files can be opened. After an interruption, the call can be repeated with the same
  /// passphrase: files that this passphrase already opens are left unchanged.
  ///
  /// - Parameter passphrase: returns the new passphrase; called once.
  package func set(_ passphrase: () throws -> Passphrase) throws -> KeyProtection {
    let held = try files.map { try openIfKnown($0) }
    let passphrase = try passphrase()
    var keys: [Key] = []
    for (file, (key, trouble)) in zip(files, held) {
      // An interrupted attempt may already have sealed the file with the new passphrase.
      guard let key = key ?? (try? open(file, .first(passphrase, then: .none))) else {
        throw trouble ?? WaymarkError.wrongPassphrase(file)
      }
      keys.append(key)
    }
    for key in keys where key.passphrase != passphrase {
      try KeyFile.rewrite(key.secrets, key.purpose, at: key.file, sealedWith: passphrase, cost: cost)
    }
    return protection(keys.map { ($0, $0.passphrase != passphrase) }, isSealed: true)
  }

  /// Replaces each sealed file by a plain one.
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
    /// The passphrase that opened the file; nil if it was plain.
    let passphrase: Passphrase?

    init(_ file: String, _ purpose: KeyPurpose, _ opened: consuming KeyFile.Opened) {
      self.file = file
      self.purpose = purpose
      passphrase = opened.passphrase
      secrets = opened.secrets
    }
  }

  /// Opens a file; returns the error instead if its passphrase is missing or wrong.
  private func openIfKnown(_ file: String) throws -> (key: Key?, trouble: (any Error)?) {
    do {
      return (try open(file, home.passphrases), nil)
    } catch let error as WaymarkError where [.wrongPassphrase, .passphraseNeeded].contains(error.code) {
      return (nil, error)
    }
  }

  private func open(_ file: String, _ passphrases: PassphraseSource) throws -> Key {
    let kind = try kind(of: file)
    guard kind.protection != .kept else {
      throw WaymarkError.home(
        .key, "The key of \(file) is in the key store of an app, which protects it; it needs no passphrase.",
        next: "use this home in that app")
    }
    return Key(file, kind.purpose, try KeyFile.opened(kind.purpose, at: file, passphrases, in: nil))
  }

  private func kind(of file: String) throws -> KeyFile.Kind {
    guard let kind = try KeyFile.kind(at: file) else {
      throw WaymarkError.home(
        .keyMissing, "There is no key file \(file).",
        next: "\(waymark: "paths") shows where this device's key files are")
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
  /// The paths of the unsealed key copies that a join or a restore has left.
  var unsealedKeyCopies: [String] {
    let folders = (try? FileManager.default.contentsOfDirectory(atPath: backups)) ?? []
    let copies = folders.sorted().flatMap { folder in
      ["device.key", "root.key", "issuer.key"].map { "\(backups)/\(folder)/\($0)" }
    }
    // The keys of a join that is not complete.
    return (copies + [moved(to: pendingJoin).deviceKey]).filter {
      (try? KeyFile.kind(at: $0))?.protection == .plain
    }
  }
}
