import Platform
import Storage
import Wire

/// The replacement of a home's store and keys by those of a complete home in `staging`.
package struct Replacement {
  /// A new folder among the backups for the old store and keys.
  package let aside: String
  /// Whether the new store belongs to the same circle, so that the root key is kept.
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

  /// Removes this home's directory with everything in it. This is for temporary homes, such as `staging`, and for a
  /// home that was created by a restore that then failed.
  package func discard() throws {
    guard Files.exists(path) else { return }
    try FileManager.default.removeItem(atPath: path)
  }

  /// Copies the store of this home to another.
  package func copyStore(to other: Home, under _: HomeLock) throws {
    // Closing the store moves its data into one file, except for what a reader of another program has kept in the log.
    do { try Store(path: store, isLocked: true).rest() }
    try copyStoreFiles(to: other.store)
    other.protectStore()
  }

  /// Copies the store's files without opening them, to keep a damaged store before it is changed.
  package func copyStoreFile(to folder: String) throws {
    try createFolder(folder)
    try copyStoreFiles(to: "\(folder)/store.db")
  }

  /// Copies the write-ahead log first: what reaches the database in between is then in both.
  private func copyStoreFiles(to target: String) throws {
    for suffix in ["-wal", ""] where Files.exists(store + suffix) {
      try FileManager.default.copyItem(atPath: store + suffix, toPath: target + suffix)
    }
  }

  /// Replaces the store and keys of this home with those of the complete home in `staging`. The old store is moved to
  /// the backups, and so are the old keys if `staging` has new ones.
  package func replace(_ replacement: Replacement, at now: Int64, under lock: HomeLock) throws {
    // Without a folder for the new files, the old ones would stay; see `replaceFiles`.
    try Files.makeFolder(Home(path: staging).files)
    try Files.replace(marker, with: [UInt8](replacement.marker), mode: 0o600)
    try finishReplacing(at: now, under: lock)
  }

  /// Finishes a replacement that was complete but not yet in place when the process ended.
  package func finishReplacing(at now: Int64) throws {
    guard isReplacing else { return }
    // If two processes did this at once, the second would treat the new store as the old one.
    let lock = try HomeLock(self)
    defer { lock.release() }
    try finishReplacing(at: now, under: lock)
  }

  /// Finishes a replacement under the caller's lock. It can be interrupted at any point, and then repeated.
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
      try replaceFiles(by: staged, replacement)
      try move(from: store, to: replacement.aside + "/store.db")
      try move(from: staged.store, to: store)
    }
    if Files.exists(staged.deviceKey) { try Files.move(staged.deviceKey, to: deviceKey) }
    if Files.exists(staged.rootKey) { try Files.move(staged.rootKey, to: rootKey) }
    if Files.exists(staged.issuerKey) { try Files.move(staged.issuerKey, to: issuerKey) }
    try staged.discard()
  }

  /// Moves the folder with the old files to the backups, and the one with the new files into place. Once the new one
  /// is in place, there is none in `staging`, so a repeated attempt does nothing.
  private func replaceFiles(by staged: Home, _ replacement: Replacement) throws {
    guard Files.isDirectory(staged.files) else { return }
    let aside = replacement.aside + "/files"
    if Files.isDirectory(files), !Files.exists(aside) {
      try createFolder(replacement.aside)
      try Files.move(files, to: aside)
    }
    try Files.move(staged.files, to: files)
  }

  /// Moves keys without a store to the backups, before new ones are created.
  ///
  /// - Returns: the folder with the old keys; nil if there were none.
  package func moveFormerKeys(at now: Int64, under _: HomeLock) throws -> String? {
    let left = [deviceKey, rootKey, issuerKey].filter(Files.exists)
    guard !left.isEmpty else { return nil }
    let folder = try automaticBackup(before: "init", at: now, suffix: "")
    try createFolder(folder)
    for file in left { try Files.move(file, to: "\(folder)/\(Files.name(of: file))") }
    return folder
  }

  /// Copies the keys to the backups, and removes the root key and the issuer's key of a circle that this device leaves.
  private func retireKeys(_ replacement: Replacement) throws {
    for file in [deviceKey, rootKey, issuerKey] where Files.exists(file) {
      try createFolder(replacement.aside)
      let copy = "\(replacement.aside)/\(Files.name(of: file))"
      if !Files.exists(copy) { try KeyFile.keepCopy(of: file, at: copy) }
    }
    guard !replacement.isSameCircle else { return }
    for file in [rootKey, issuerKey] { try? FileManager.default.removeItem(atPath: file) }
  }

  /// Moves a store's files, the database last. As long as the database is there, a repeated attempt resumes with this
  /// step.
  private func move(from store: String, to target: String) throws {
    guard Files.exists(store) else { return }
    if let slash = target.lastIndex(of: "/") { try createFolder(String(target[..<slash])) }
    for suffix in ["-wal", "-shm", ""] where Files.exists(store + suffix) {
      try Files.move(store + suffix, to: target + suffix)
    }
  }

  /// Creates a folder among the backups.
  package func createFolder(_ folder: String) throws {
    try Files.makeFolder(backups)
    try Files.makeFolder(folder)
  }
}
