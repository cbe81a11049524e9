package import Backups
import Platform
import JSONDocument
package import Sodium
package import Storage
import Wire

/// The storage of a home for everything except the store: files in its directory, or memory.
package protocol HomeStorage: Sendable {
  /// Ties the incarnation to this home.
  var incarnation: any IncarnationStorage { get }
  /// The copy of the preferences that can be read without the store.
  var preferences: any PreferencesCopy { get }
  /// See `Home.keyStates`.
  var keyStates: KeyStates { get }
  /// Whether this home has the circle's root key.
  var hasRootKey: Bool { get }

  /// Whether this home has a key with which it issues premium to its own circle.
  var hasIssuerKey: Bool { get }

  /// The circle's root key.
  ///
  /// - Throws: `WaymarkError`, with code `keyMissing` if this home does not have it.
  func rootKey(_ passphrases: PassphraseSource) throws -> OpenedKey

  /// The key with which this home issues premium to its own circle.
  ///
  /// - Throws: `WaymarkError`, with code `keyMissing` if this home does not have one.
  func issuerKey(_ passphrases: PassphraseSource) throws -> OpenedKey

  /// Keeps a new issuer's key.
  ///
  /// - Parameter passphrase: the passphrase to seal the key with; nil for none.
  /// - Throws: `WaymarkError`, with code `alreadyThere` if this home has one.
  func keepIssuerKey(_ key: SigningKey, sealedWith passphrase: Passphrase?) throws

  /// Removes the issuer's key, which the circle trusts no longer.
  func forgetIssuerKey() throws

  /// The directory, for uses that need one.
  ///
  /// - Parameter what: the use, as the beginning of a sentence: "A control socket".
  /// - Throws: `WaymarkError` with code `in_memory` if there is none.
  func directory(for what: String) throws -> String

  /// Writes a backup of the committed state to a file.
  func backUp(
    _ store: Store, to path: String, _ about: BackupAbout, overwrites: Bool, allowsDamage: Bool,
    holdsFiles: Bool,
    progress: @escaping @Sendable (_ done: Int64, _ total: Int64) -> Void
  ) throws -> BackupWork
}

/// A finished backup, or the work to write it off the node.
package enum BackupWork {
  case done(BackupSummary)
  case elsewhere(@Sendable () throws -> BackupSummary)
}

// MARK: Directory

/// The storage of a home in its directory.
struct HomeFiles: HomeStorage {
  private let home: Home

  init(_ home: Home) { self.home = home }

  var incarnation: any IncarnationStorage { IncarnationToken(home) }

  var preferences: any PreferencesCopy { PreferencesFile(path: home.settings) }

  var keyStates: KeyStates {
    KeyStates(
      device: Self.state(of: home.deviceKey), root: Self.state(of: home.rootKey),
      issuer: Self.state(of: home.issuerKey))
  }

  private static func state(of path: String) -> KeyStates.Protection? {
    do {
      return try KeyFile.kind(at: path)?.protection
    } catch {
      return .unreadable
    }
  }

  var hasRootKey: Bool { Files.exists(home.rootKey) }

  var hasIssuerKey: Bool { Files.exists(home.issuerKey) }

  func rootKey(_ passphrases: PassphraseSource) throws -> OpenedKey {
    try OpenedKey(.root, at: home.rootKey, passphrases, in: home.keyStore)
  }

  func issuerKey(_ passphrases: PassphraseSource) throws -> OpenedKey {
    try OpenedKey(.issuer, at: home.issuerKey, passphrases, in: home.keyStore)
  }

  func keepIssuerKey(_ key: SigningKey, sealedWith passphrase: Passphrase?) throws {
    var secrets = try SecretBuffer(capacity: KeyPurpose.issuer.secretBytes)
    key.exportSeed(to: &secrets)
    try KeyFile.create(
      secrets, .issuer, at: home.issuerKey, sealedWith: passphrase, in: home.keyStore)
  }

  func forgetIssuerKey() throws { try FileManager.default.removeItem(atPath: home.issuerKey) }

  func directory(for what: String) throws -> String { home.path }

  /// Reads the store through a read-only connection of its own.
  func backUp(
    _ store: Store, to path: String, _ about: BackupAbout, overwrites: Bool, allowsDamage: Bool,
    holdsFiles: Bool,
    progress: @escaping @Sendable (_ done: Int64, _ total: Int64) -> Void
  ) throws -> BackupWork {
    let store = home.store
    return .elsewhere {
      let partial = Store.partialBackup(of: path)
      TemporaryFiles.add(partial)
      defer { TemporaryFiles.forget(partial) }
      return try Store.backup(
        storeAt: store, to: path, about: about, overwrites: overwrites, allowsDamage: allowsDamage,
        holdsFiles: holdsFiles, progress: progress)
    }
  }
}
