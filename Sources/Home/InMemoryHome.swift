import Backups
import JSONDocument
import Reasons
package import Sodium
import Storage
import Synchronization
import Wire

/// The storage of a home in memory, which is lost with the node.
final class InMemoryHome: HomeStorage {
  /// The root key, in guarded memory that is wiped when freed; nil on a device that did not found the circle.
  private let root: SigningKey?
  private let issuer = Mutex(SigningKey?.none)
  private let place = InMemoryIncarnation()
  private let copy = InMemoryPreferences()

  init(root: SigningKey?) { self.root = root }

  var incarnation: any IncarnationStorage { place }

  var preferences: any PreferencesCopy { copy }

  var keyStates: KeyStates {
    KeyStates(device: .plain, root: hasRootKey ? .plain : nil, issuer: hasIssuerKey ? .plain : nil)
  }

  var hasRootKey: Bool { root != nil }

  var hasIssuerKey: Bool { issuer.withLock { $0 != nil } }

  func rootKey(_ passphrases: PassphraseSource) throws -> OpenedKey {
    guard let root else {
      throw WaymarkError.home(
        .keyMissing, "This node is in memory and did not found the circle.",
        next: "run this on the node that founded it")
    }
    return OpenedKey(key: root, passphrase: nil)
  }

  func issuerKey(_ passphrases: PassphraseSource) throws -> OpenedKey {
    guard let key = issuer.withLock(\.self) else {
      throw WaymarkError.home(
        .keyMissing, "This node is in memory and has no issuer's key.", next: .waymark("premium self"))
    }
    return OpenedKey(key: key, passphrase: nil)
  }

  /// The passphrase is ignored, because nothing is written.
  func keepIssuerKey(_ key: SigningKey, sealedWith passphrase: Passphrase?) throws {
    issuer.withLock { $0 = key }
  }

  func forgetIssuerKey() throws { issuer.withLock { $0 = nil } }

  func directory(for what: String) throws -> String {
    throw WaymarkError.failed(
      .inMemory, "\(what) needs a directory, but this node is in memory.",
      next: "open the node on a directory: \(waymark: "help paths")")
  }

  /// Writes the backup before returning, through the store's own connection, because no other connection can read a
  /// store in memory.
  func backUp(
    _ store: Store, to path: String, _ about: BackupAbout, overwrites: Bool, allowsDamage: Bool,
    holdsFiles: Bool,
    progress: @escaping @Sendable (_ done: Int64, _ total: Int64) -> Void
  ) throws -> BackupWork {
    .done(
      try store.backup(
        to: path, about: about, overwrites: overwrites, allowsDamage: allowsDamage,
        holdsFiles: holdsFiles, progress: progress))
  }
}

/// The incarnation of a store in memory. No copy of such a store can exist elsewhere.
private final class InMemoryIncarnation: IncarnationStorage, Sendable {
  func names(_ incarnation: Incarnation) -> Bool { true }

  func write(_ incarnation: Incarnation) {}
}

extension Home {
  /// Creates a home in memory.
  ///
  /// Its path lies below a file that is not a directory, so code that bypasses the storage can't create files by
  /// mistake.
  package init(inMemoryWith root: SigningKey?) {
    self.init(
      path: "/dev/null/waymark-in-memory/\(hexadecimal(randomBytes(16)))",
      storage: InMemoryHome(root: root))
  }
}
