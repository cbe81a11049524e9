import JSONDocument
package import Sodium
package import Storage
import Wire

/// Where a home keeps what lies beside its store: in files of its directory, or in memory.
package protocol HomeStorage: Sendable {
  /// What ties the incarnation to this home.
  var incarnation: any IncarnationStorage { get }
  /// The copy of the preferences that is readable without the store.
  var preferences: any PreferencesCopy { get }
  /// See `Home.keyStates`.
  var keyStates: KeyStates { get }
  /// Whether the circle's root key is here.
  var hasRootKey: Bool { get }

  /// The circle's root key.
  ///
  /// - Throws: `WaymarkError`, with code `keyMissing` if it is not here.
  func rootKey(_ passphrases: PassphraseSource) throws -> SigningKey

  /// The directory, for what can be nowhere else.
  ///
  /// - Parameter what: as the beginning of a sentence: "A control socket".
  /// - Throws: `WaymarkError` with code `in_memory` if there is none.
  func directory(for what: String) throws -> String

  /// Writes a backup of what is committed now to a file.
  func backUp(
    _ store: Store, to path: String, _ about: BackupAbout, overwrites: Bool, allowsDamage: Bool,
    progress: @escaping @Sendable (_ done: Int64, _ total: Int64) -> Void
  ) throws -> BackupWork
}

/// A backup that is written, or how to write it away from the node.
package enum BackupWork {
  case done(BackupSummary)
  case elsewhere(@Sendable () throws -> BackupSummary)
}

// MARK: A directory

/// What a home keeps in its directory.
struct HomeFiles: HomeStorage {
  private let home: Home

  init(_ home: Home) { self.home = home }

  var incarnation: any IncarnationStorage { IncarnationToken(home) }

  var preferences: any PreferencesCopy { PreferencesFile(path: home.settings) }

  var keyStates: KeyStates {
    KeyStates(device: Self.state(of: home.deviceKey), root: Self.state(of: home.rootKey))
  }

  private static func state(of path: String) -> KeyStates.Protection? {
    do {
      return try KeyFile.kind(at: path).map { $0.isSealed ? .sealed : .plain }
    } catch {
      return .unreadable
    }
  }

  var hasRootKey: Bool { Files.exists(home.rootKey) }

  func rootKey(_ passphrases: PassphraseSource) throws -> SigningKey {
    try SigningKey(seed: try KeyFile.secrets(.root, at: home.rootKey, passphrases))
  }

  func directory(for what: String) throws -> String { home.path }

  /// From a connection of its own, which only reads.
  func backUp(
    _ store: Store, to path: String, _ about: BackupAbout, overwrites: Bool, allowsDamage: Bool,
    progress: @escaping @Sendable (_ done: Int64, _ total: Int64) -> Void
  ) throws -> BackupWork {
    let store = home.store
    return .elsewhere {
      let partial = Store.partialBackup(of: path)
      TemporaryFiles.add(partial)
      defer { TemporaryFiles.forget(partial) }
      return try Store.backup(
        storeAt: store, to: path, about: about, overwrites: overwrites, allowsDamage: allowsDamage,
        progress: progress)
    }
  }
}
