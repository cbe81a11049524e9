import Platform
import Reasons
package import Sodium
import Wire

/// Access to key files: regular files, not links, that belong to this user and have mode 0600.
///
/// A key is written once and never replaced by another; only its passphrase can be set and removed. See `KeyText` for
/// the content.
package enum KeyFile {
  /// - Parameters:
  ///   - passphrase: the passphrase to seal the file with; nil for none. It is ignored if there is a key store.
  ///   - keys: where to keep the secrets in place of the file; nil for the file itself.
  package static func create(
    _ secrets: borrowing SecretBuffer, _ purpose: KeyPurpose, at path: String,
    sealedWith passphrase: Passphrase? = nil, in keys: (any KeyStore)? = nil
  ) throws {
    guard let keys else { return try put(try text(secrets, purpose, passphrase, .usual, path), at: path) }
    let kept = try KeptKey(secrets, purpose)
    // The key is kept before a file names it.
    try kept.save(secrets, in: keys)
    var text = kept.text
    try put(try SecretBuffer(taking: &text), at: path)
  }

  private static func put(_ text: borrowing SecretBuffer, at path: String) throws {
    do {
      try text.withBytes { bytes throws(DurableFile.Trouble) in
        try DurableFile.put(path, mode: 0o600, .new, bytes)
      }
    } catch {
      guard error.code == EEXIST else { throw unwritable(path, error) }
      throw WaymarkError.home(
        .alreadyThere, "\(path) already exists and will not be overwritten.",
        next: "if it is no longer needed, move it away; \(waymark: "paths") shows where key files are")
    }
  }

  /// The secrets of a key file, 32 bytes per key.
  ///
  /// - Parameters:
  ///   - passphrases: the source of the passphrase, used only if the file is sealed.
  ///   - keys: the key store of the app; nil if it has none.
  package static func secrets(
    _ purpose: KeyPurpose, at path: String, _ passphrases: PassphraseSource, in keys: (any KeyStore)? = nil
  ) throws -> SecretBuffer {
    let opened = try opened(purpose, at: path, passphrases, in: keys)
    return opened.secrets
  }

  /// Opens a sealed file with the first passphrase that works.
  private static func unseal(
    _ sealed: KeyText.Sealed, _ path: String, _ passphrases: PassphraseSource
  ) throws -> Opened {
    var attempt = 0
    while let passphrase = try passphrases.passphrase(path, attempt) {
      do {
        if let secrets = try sealed.open(passphrase.secret) {
          return Opened(secrets: secrets, passphrase: passphrase)
        }
      } catch SodiumError.outOfMemory {
        throw WaymarkError.home(
          .passphraseNeeded,
          "Opening \(path) takes \(sealed.cost.memoryBytes / (1024 * 1024)) MiB of memory, more than is available.",
          next: .waymark("keys passphrase remove", on: "a machine with more memory"))
      }
      attempt += 1
    }
    guard attempt == 0 else { throw WaymarkError.wrongPassphrase(path) }
    throw WaymarkError.home(
      .passphraseNeeded,
      "The key file \(path) is sealed with a passphrase, and there is no terminal to ask for the passphrase.",
      next: "run this on a terminal, or set the file that holds the passphrase: WAYMARK_PASSPHRASE_FILE=FILE")
  }

  /// The secrets of a file, and the passphrase that opened it if it was sealed.
  struct Opened: ~Copyable {
    let secrets: SecretBuffer
    let passphrase: Passphrase?
  }

  /// Copies a key file byte for byte, whether sealed, plain or damaged.
  static func keepCopy(of path: String, at target: String) throws {
    let file = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard file >= 0 else { throw unreadable(path, errno) }
    defer { close(file) }
    var room = try SecretBuffer(capacity: 16 * Limits.keyFileBytesMax)
    do {
      try room.fill { free throws(DurableFile.Trouble) in
        try DurableFile.readAll(free) { read(file, $0, $1) }
      }
      try room.withBytes { bytes throws(DurableFile.Trouble) in
        try DurableFile.put(target, mode: 0o600, .new, bytes)
      }
    } catch {
      throw unwritable(target, error)
    }
  }

  // MARK: Sealing

  /// The kind of a key file, which can be read without the passphrase.
  struct Kind: Hashable, Sendable {
    let purpose: KeyPurpose
    let protection: KeyStates.Protection

    var isSealed: Bool { protection == .sealed }
  }

  /// The kind of a key file; nil if there is none.
  static func kind(at path: String) throws -> Kind? {
    guard access(path, F_OK) == 0 || errno != ENOENT else { return nil }
    guard let kind = KeyText.kind(try bytes(of: path)) else { throw damaged(path) }
    return Kind(purpose: kind.purpose, protection: kind.protection)
  }

  /// Returns the hash of all bytes of a key file, by which a changed file is recognised.
  static func hash(at path: String) throws -> [UInt8] {
    let file = try bytes(of: path)
    var hasher = Blake2b256()
    file.withBytes { hasher.update($0) }
    return Blake2b256.bytes(hasher.finish())
  }

  /// Like `secrets`, and also returns the passphrase that opened the file.
  static func opened(
    _ purpose: KeyPurpose, at path: String, _ passphrases: PassphraseSource, in keys: (any KeyStore)?
  ) throws -> Opened {
    switch try content(purpose, at: path) {
    case .kept(let kept): return Opened(secrets: try kept.secrets(in: keys, at: path), passphrase: nil)
    case .plain(let secrets): return Opened(secrets: secrets, passphrase: nil)
    case .sealed(let sealed): return try unseal(sealed, path, passphrases)
    }
  }

  /// Replaces a file with one that holds the same secrets: sealed if a passphrase is given, plain otherwise.
  static func rewrite(
    _ secrets: borrowing SecretBuffer, _ purpose: KeyPurpose, at path: String,
    sealedWith passphrase: Passphrase?,
    cost: PassphraseCost = .usual
  ) throws {
    let text = try text(secrets, purpose, passphrase, cost, path)
    let old = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    defer { if old >= 0 { close(old) } }
    do {
      try text.withBytes { bytes throws(DurableFile.Trouble) in
        try DurableFile.put(path, mode: 0o600, .replacing, bytes)
      }
    } catch {
      throw unwritable(path, error)
    }
    if old >= 0 { overwrite(old) }
  }

  private static func text(
    _ secrets: borrowing SecretBuffer, _ purpose: KeyPurpose, _ passphrase: Passphrase?,
    _ cost: PassphraseCost,
    _ path: String
  ) throws -> SecretBuffer {
    guard let passphrase else { return try KeyText.plain(secrets, purpose) }
    do {
      let sealed = try KeyText.Sealed(secrets, purpose, passphrase: passphrase.secret, cost: cost)
      var text = sealed.text
      // The key would be lost if the new file could not be read again.
      guard try KeyText.Sealed(parsing: text, purpose) == sealed else { throw damaged(path) }
      return try SecretBuffer(taking: &text)
    } catch SodiumError.outOfMemory {
      throw WaymarkError.home(
        .unwritable,
        "Sealing \(path) takes \(cost.memoryBytes / (1024 * 1024)) MiB of memory, more than is available; the file is unchanged.",
        next: "close other programs, then try again"
      )
    }
  }

  /// Overwrites the content of an unlinked file, as far as the disk allows: copy-on-write file systems and flash
  /// storage may keep the old blocks. A file that still has another hard link is left unchanged.
  private static func overwrite(_ file: Int32) {
    var status = stat()
    guard fstat(file, &status) == 0, status.st_nlink == 0, status.st_size <= Limits.keyFileBytesMax else {
      return
    }
    let zeros = [UInt8](repeating: 0, count: Int(status.st_size))
    _ = pwrite(file, zeros, zeros.count, 0)
    _ = syncFile(file)
  }

  // MARK: Reading

  private static func content(_ purpose: KeyPurpose, at path: String) throws -> KeyText.Content {
    let file = try bytes(of: path)
    if let other = KeyText.kind(file)?.purpose, other != purpose {
      throw WaymarkError.home(
        .keyDamaged,
        "\(path) holds a key of another kind (\(other.rawValue)); the \(purpose.rawValue) key is needed.",
        next: "use the right file; \(waymark: "paths") shows where this device's key files are")
    }
    do {
      return try KeyText.parse(file, purpose)
    } catch KeyText.Flaw.tooCostly {
      throw WaymarkError.home(
        .keyDamaged,
        "Opening the key file \(path) would take more work than Waymark allows; the file is unchanged.",
        next: "check where the file comes from: Waymark did not write it")
    } catch KeyText.Flaw.damaged {
      throw damaged(path)
    }
  }

  /// All bytes of a file, after checking that it is a regular file of this user with the right mode and size.
  private static func bytes(of path: String) throws -> SecretBuffer {
    // O_NONBLOCK, since opening a named pipe would block forever.
    let file = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard file >= 0 else { throw unreadable(path, errno) }
    defer { close(file) }
    try checkOwner(file, path)
    var room = try SecretBuffer(capacity: Limits.keyFileBytesMax + 1)
    do {
      try room.fill { free throws(DurableFile.Trouble) in
        try DurableFile.readAll(free) { read(file, $0, $1) }
      }
    } catch {
      throw unreadable(path, error.code)
    }
    guard room.count > 0, room.count <= Limits.keyFileBytesMax else { throw damaged(path) }
    return room
  }

  private static func checkOwner(_ file: Int32, _ path: String) throws {
    var status = stat()
    guard fstat(file, &status) == 0 else { throw unreadable(path, errno) }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw WaymarkError.home(
        .keyDamaged, "\(path) is not a regular file, so it can't be a key.",
        next: "put a copy of the key there; \(waymark: "help keys")")
    }
    guard status.st_uid == geteuid() else {
      throw WaymarkError.home(
        .keyExposed, "The key file \(path) belongs to another user.",
        next: "run this as the user that the key belongs to")
    }
    guard status.st_mode & 0o077 == 0 else {
      throw WaymarkError.home(
        .keyExposed, "The key file \(path) is open to other users.", next: "chmod 600 \(shellWord(path))")
    }
  }

  // MARK: Errors

  private static let putBack: Step = "restore the file from a copy, or join the circle again"

  private static func damaged(_ path: String) -> WaymarkError {
    WaymarkError.home(
      .keyDamaged, "The key file \(path) is damaged; it was left unchanged.", next: putBack)
  }

  private static func unreadable(_ path: String, _ code: Int32) -> WaymarkError {
    guard code != ELOOP else {
      return WaymarkError.home(
        .keyExposed, "\(path) is a link; keys are read only from the file itself.",
        next: "use the file that it points to")
    }
    return WaymarkError.home(
      .keyMissing, "The key file \(path) can't be read: \(systemReason(code)).", next: putBack)
  }

  private static func unwritable(_ path: String, _ trouble: DurableFile.Trouble) -> WaymarkError {
    WaymarkError.home(
      .unwritable, "\(path) can't be written: \(systemReason(trouble.code).lowercased()).",
      next: "ls -ld \(shellWord(parentFolder(of: path)))")
  }
}
