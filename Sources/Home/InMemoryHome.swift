import JSONDocument
package import Sodium
import Storage
import Synchronization
import Wire

/// What a home keeps in memory; all of it is gone with the node.
final class InMemoryHome: HomeStorage {
  /// In guarded memory, which is wiped when it is freed; nil on a device that did not found the circle.
  private let root: SigningKey?
  private let place = InMemoryIncarnation()
  private let copy = InMemoryPreferences()

  init(root: SigningKey?) { self.root = root }

  var incarnation: any IncarnationStorage { place }

  var preferences: any PreferencesCopy { copy }

  var keyStates: KeyStates { KeyStates(device: .plain, root: root == nil ? nil : .plain) }

  var hasRootKey: Bool { root != nil }

  func rootKey(_ passphrases: PassphraseSource) throws -> SigningKey {
    guard let root else {
      throw WaymarkError.home(
        .keyMissing, "This device, which is in memory, did not found the circle.",
        next: "do this on the node that founded it")
    }
    return root
  }

  func directory(for what: String) throws -> String {
    throw WaymarkError.failed(
      .inMemory, "\(what) needs a directory, and this node is in memory.",
      next: "open the node on a directory: \(waymark: "help paths")")
  }

  /// Nobody else can read the store.
  func backUp(
    _ store: Store, to path: String, _ about: BackupAbout, overwrites: Bool, allowsDamage: Bool,
    progress: @escaping @Sendable (_ done: Int64, _ total: Int64) -> Void
  ) throws -> BackupWork {
    .done(
      try store.backup(
        to: path, about: about, overwrites: overwrites, allowsDamage: allowsDamage,
        progress: progress))
  }
}

/// No copy of a store in memory can have another place.
private final class InMemoryIncarnation: IncarnationStorage, Sendable {
  func names(_ incarnation: Incarnation) -> Bool { true }

  func write(_ incarnation: Incarnation) {}
}

extension Home {
  /// A home in memory.
  ///
  /// What reaches past its storage for a file finds a path below something that is no directory: nothing can be made
  /// there by mistake.
  package init(inMemoryWith root: SigningKey?) {
    self.init(
      path: "/dev/null/waymark-in-memory/\(hexadecimal(randomBytes(16)))",
      storage: InMemoryHome(root: root))
  }
}
