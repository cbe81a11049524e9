import Foundation
import Storage
import Wire

/// What takes the place of a home: a complete one beside it, and what becomes of the old.
package struct Replacement {
  /// Where the old store and keys go: a folder of the backups that is not there yet.
  package let aside: String
  /// The root key stays if the new store is of the same circle.
  let isSameCircle: Bool

  fileprivate var marker: Data {
    Data("\(isSameCircle ? "same circle" : "other circle")\n\(aside)\n".utf8)
  }

  fileprivate init?(marker: Data) {
    let lines = String(decoding: marker, as: UTF8.self).split(separator: "\n")
    guard lines.count == 2 else { return nil }
    isSameCircle = lines[0] == "same circle"
    aside = String(lines[1])
  }

  package init(aside: String, isSameCircle: Bool) {
    self.aside = aside
    self.isSameCircle = isSameCircle
  }
}

extension Home {
  private var marker: String { staging + "/ready" }

  /// Whether a join or a restore was complete and only its last step is missing.
  package var isReplacing: Bool { Files.exists(marker) }

  /// Removes what an interrupted attempt left.
  package func discard() throws {
    guard Files.exists(path) else { return }
    try FileManager.default.removeItem(atPath: path)
  }

  /// Copies the store of this home to another.
  package func copyStore(to other: Home, under _: HomeLock) throws {
    // Whoever closes a store leaves it in one file.
    do { try Store(path: store, isLocked: true).rest() }
    try FileManager.default.copyItem(atPath: store, toPath: other.store)
    other.protectStore()
  }

  /// Copies the store as it is, damaged as it may be, before something is done to it.
  package func copyStoreFile(to folder: String) throws {
    try makeAside(folder)
    for suffix in ["-wal", ""] where Files.exists(store + suffix) {
      try FileManager.default.copyItem(atPath: store + suffix, toPath: "\(folder)/store.db\(suffix)")
    }
  }

  /// Puts the complete home in `staging` in the place of this one. The old store moves aside; so do the keys, if
  /// others come.
  package func replace(_ replacement: Replacement, at now: Int64, under lock: HomeLock) throws {
    try Files.replace(marker, with: [UInt8](replacement.marker), mode: 0o600)
    try finishReplacing(at: now, under: lock)
  }

  /// Finishes a replacement that was complete but not yet in place when the process ended.
  package func finishReplacing(at now: Int64) throws {
    guard isReplacing else { return }
    // Another process may be at it: done twice at once, it would take the new store for the old one.
    let lock = try HomeLock(self)
    defer { lock.release() }
    try finishReplacing(at: now, under: lock)
  }

  /// The same for who has the lock. May be interrupted and done again at any point.
  package func finishReplacing(at now: Int64, under _: HomeLock) throws {
    guard isReplacing else { return }
    let staged = Home(path: staging)
    let written = try Data(contentsOf: URL(filePath: marker))
    let replacement =
      try Replacement(marker: written)
      ?? Replacement(
        aside: automaticBackup(before: "join", at: now, suffix: ""), isSameCircle: false)
    if Files.exists(staged.deviceKey) { try retireKeys(replacement) }
    if Files.exists(staged.store) {
      try move(from: store, to: replacement.aside + "/store.db")
      try move(from: staged.store, to: store)
    }
    if Files.exists(staged.deviceKey) { try Files.move(staged.deviceKey, to: deviceKey) }
    if Files.exists(staged.rootKey) { try Files.move(staged.rootKey, to: rootKey) }
    try staged.discard()
  }

  /// Moves keys aside that are here without a store, before others are made; gives the folder they are in now.
  package func setKeysAside(at now: Int64, under _: HomeLock) throws -> String? {
    let left = [deviceKey, rootKey].filter(Files.exists)
    guard !left.isEmpty else { return nil }
    let folder = try automaticBackup(before: "init", at: now, suffix: "")
    try makeAside(folder)
    for file in left { try Files.move(file, to: "\(folder)/\(Files.name(of: file))") }
    return folder
  }

  /// Copies the keys aside; the root key of a circle that this device leaves goes away here.
  private func retireKeys(_ replacement: Replacement) throws {
    for file in [deviceKey, rootKey] where Files.exists(file) {
      try makeAside(replacement.aside)
      let copy = "\(replacement.aside)/\(Files.name(of: file))"
      if !Files.exists(copy) { try KeyFile.keepCopy(of: file, at: copy) }
    }
    if !replacement.isSameCircle { try? FileManager.default.removeItem(atPath: rootKey) }
  }

  /// Moves a store, the database itself last: as long as that is there, it is this step that goes on.
  private func move(from store: String, to target: String) throws {
    guard Files.exists(store) else { return }
    if let slash = target.lastIndex(of: "/") { try makeAside(String(target[..<slash])) }
    for suffix in ["-wal", "-shm", ""] where Files.exists(store + suffix) {
      try Files.move(store + suffix, to: target + suffix)
    }
  }

  /// Makes a folder of the backups.
  package func makeAside(_ folder: String) throws {
    try Files.makeFolder(backups)
    try Files.makeFolder(folder)
  }
}
