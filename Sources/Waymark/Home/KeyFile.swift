import Sodium
import Wire

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// A file that holds secrets: text, mode 0600, written once and never overwritten.
///
/// The first line says what it is, the last is a checksum, so that a damaged file is noticed before a key is
/// made from it.
enum KeyFile {
  enum Purpose: String {
    case device = "waymark device key v1"
    case root = "waymark root key v1"
    case issuer = "waymark issuer key v1"
  }

  static func write(_ secrets: [[UInt8]], _ purpose: Purpose, to path: String) throws {
    var text = Array(content(secrets, purpose).utf8)
    defer { wipe(&text) }
    let temporary = path + ".new"
    unlink(temporary)
    let file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw HomeError(.unwritable, "\(path) can't be written: \(reason()).") }
    defer { close(file) }
    guard text.withUnsafeBytes({ Glibc.write(file, $0.baseAddress, $0.count) }) == text.count,
      fsync(file) == 0
    else { throw HomeError(.unwritable, "\(path) can't be written: \(reason()).") }
    // A link fails where the name is taken, a rename would overwrite a key.
    guard link(temporary, path) == 0 else {
      unlink(temporary)
      throw HomeError(.alreadyThere, "\(path) is there already and is never overwritten.")
    }
    unlink(temporary)
    syncDirectory(of: path)
  }

  /// The secrets of a key file, 32 bytes each. The caller wipes them.
  static func read(_ purpose: Purpose, count: Int, from path: String) throws -> [[UInt8]] {
    let file = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
    guard file >= 0 else {
      throw HomeError(
        .keyMissing, "The key file \(path) can't be read: \(reason()).",
        next: "put the file back from where you keep a copy, or join the circle anew")
    }
    defer { close(file) }
    try checkMode(file, path)
    var bytes = [UInt8](repeating: 0, count: 4_096)
    defer { wipe(&bytes) }
    let length = bytes.withUnsafeMutableBytes { Glibc.read(file, $0.baseAddress, $0.count) }
    guard length > 0, length < bytes.count else { throw damaged(path) }
    let lines = String(decoding: bytes[..<length], as: UTF8.self)
      .split(separator: "\n", omittingEmptySubsequences: true).map(String.init)
    guard lines.count == count + 2, lines[0] == purpose.rawValue else { throw damaged(path) }
    let secrets = lines[1...count].compactMap { bytesFromHexadecimal($0) }
    guard secrets.count == count, secrets.allSatisfy({ $0.count == 32 }),
      lines[count + 1] == checksum(secrets, purpose)
    else { throw damaged(path) }
    return secrets
  }

  private static func content(_ secrets: [[UInt8]], _ purpose: Purpose) -> String {
    ([purpose.rawValue] + secrets.map { hexadecimal($0) } + [checksum(secrets, purpose)])
      .joined(separator: "\n") + "\n"
  }

  private static func checksum(_ secrets: [[UInt8]], _ purpose: Purpose) -> String {
    let hash = Blake2b256.hashBytes(prefix: Array((purpose.rawValue + "\0").utf8), parts: secrets)
    return "check " + hexadecimal(hash.prefix(8))
  }

  private static func damaged(_ path: String) -> HomeError {
    HomeError(
      .keyDamaged, "The key file \(path) is damaged; it has been left as it is.",
      next: "put the file back from where you keep a copy, or join the circle anew")
  }

  private static func checkMode(_ file: Int32, _ path: String) throws {
    var status = stat()
    guard fstat(file, &status) == 0 else { throw damaged(path) }
    guard status.st_uid == geteuid() else {
      throw HomeError(.keyExposed, "The key file \(path) belongs to another user.")
    }
    guard status.st_mode & 0o077 == 0 else {
      throw HomeError(
        .keyExposed, "The key file \(path) is open to other users.", next: "chmod 600 \(path)")
    }
  }

  private static func syncDirectory(of path: String) {
    guard let slash = path.lastIndex(of: "/") else { return }
    let directory = open(String(path[..<slash]), O_RDONLY | O_CLOEXEC)
    guard directory >= 0 else { return }
    fsync(directory)
    close(directory)
  }
}

/// BLAKE2b-256 of a path, to name a socket by.
func pathHash(_ path: String) -> [UInt8] {
  Blake2b256.hashBytes(prefix: Array("waymark/path/v1\0".utf8), parts: [Array(path.utf8)])
}
