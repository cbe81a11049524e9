import Platform
import Reasons
package import Sodium
import Wire

/// A passphrase for key files, in guarded memory that is wiped when released.
public final class Passphrase: Hashable, Sendable {
  package let secret: SecretBuffer

  /// Moves the bytes, which must not include a line end, into guarded memory and wipes the array.
  ///
  /// - Throws: `WaymarkError` if there are too few or too many.
  package init(_ bytes: inout [UInt8]) throws {
    defer { wipe(&bytes) }
    guard bytes.count >= Limits.passphraseBytesMin else {
      throw WaymarkError.home(
        .badPassphrase, "A passphrase must have at least \(Limits.passphraseBytesMin) characters.",
        next: "use four words that are hard to guess")
    }
    guard bytes.count <= Limits.passphraseBytesMax, !bytes.contains(0), !bytes.contains(UInt8(ascii: "\n"))
    else {
      throw WaymarkError.home(
        .badPassphrase, "A passphrase must be one line of at most \(Limits.passphraseBytesMax) bytes.",
        next: "choose a shorter one; \(waymark: "help keys")")
    }
    secret = try SecretBuffer(taking: &bytes)
  }

  /// Reads the first line of a file or pipe; `-` is standard input.
  ///
  /// - Parameter isNew: whether the passphrase is to be set, and not to be tried on a key.
  package convenience init(file: String, isNew: Bool = true) throws {
    let descriptor = file == "-" ? dup(STDIN_FILENO) : open(file, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { throw Self.unreadable(file) }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw Self.unreadable(file) }
    guard status.st_mode & S_IFMT != S_IFDIR else { throw Self.unreadable(file, EISDIR) }
    guard status.st_mode & S_IFMT != S_IFREG || file == "-" || status.st_mode & 0o007 == 0 else {
      throw WaymarkError.home(
        .badPassphrase, "Every user of this machine can read the passphrase in \(file).",
        next: "chmod 600 \(shellWord(file))")
    }
    let beginning = file == "-" ? [] : try PipeWriter.wait(descriptor, file)
    var line = try Self.firstLine(descriptor, file, after: beginning)
    guard isNew || line.count >= Limits.passphraseBytesMin else {
      wipe(&line)
      throw WaymarkError.home(
        .wrongPassphrase,
        "The first line of \(file) is not the passphrase: every passphrase has at least "
          + "\(Limits.passphraseBytesMin) characters.",
        next: "put the passphrase on the first line of \(file)")
    }
    try self.init(&line)
  }

  /// Reads byte by byte, so that the rest of the input stays unread. The caller wipes the result.
  private static func firstLine(
    _ descriptor: Int32, _ file: String, after beginning: [UInt8]
  ) throws -> [UInt8] {
    var line: [UInt8] = []
    // Growing the array would leave an unwiped copy behind.
    line.reserveCapacity(Limits.passphraseBytesMax + 2)
    line += beginning
    if line.last == UInt8(ascii: "\n") { return [] }
    var byte: UInt8 = 0
    while line.count <= Limits.passphraseBytesMax {
      let count = read(descriptor, &byte, 1)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else {
        wipe(&line)
        throw unreadable(file)
      }
      if count == 0 || byte == UInt8(ascii: "\n") { break }
      line.append(byte)
    }
    byte = 0
    if line.last == UInt8(ascii: "\r") { line.removeLast() }
    return line
  }

  private static func unreadable(_ file: String, _ code: Int32 = errno) -> WaymarkError {
    WaymarkError.home(
      .badPassphrase, "The passphrase can't be read from \(file): \(systemReason(code).lowercased()).",
      next: "ls -l \(shellWord(file))")
  }

  public static func == (left: Passphrase, right: Passphrase) -> Bool {
    left.secret.equals(right.secret)
  }

  /// Adds nothing to the hash, because a hash would reveal something about the passphrase.
  public func hash(into hasher: inout Hasher) {}
}

/// A source of passphrases for sealed key files.
public struct PassphraseSource: Sendable {
  /// Returns the next passphrase to try on a key file; nil if none is left.
  ///
  /// `attempt` counts from 0 for each file.
  package let passphrase: @Sendable (_ file: String, _ attempt: Int) throws -> Passphrase?

  /// Creates a source that calls a closure for the passphrase of a file; see ``Home/init(path:passphrases:keys:)``.
  ///
  /// `attempt` counts from 0 for each file; nil ends the attempts.
  public init(_ passphrase: @escaping @Sendable (_ file: String, _ attempt: Int) throws -> Passphrase?) {
    self.passphrase = passphrase
  }

  /// The file in `WAYMARK_PASSPHRASE_FILE`, for services that run without a terminal.
  public static let environment = PassphraseSource { _, attempt in
    guard attempt == 0, let file = environmentFile else { return nil }
    return try Passphrase(file: file, isNew: false)
  }

  /// A source without any passphrase.
  static let none = PassphraseSource { _, _ in nil }

  /// The value of `WAYMARK_PASSPHRASE_FILE`; nil if it is empty or not set.
  package static var environmentFile: String? {
    ProcessInfo.processInfo.environment["WAYMARK_PASSPHRASE_FILE"].flatMap { $0.isEmpty ? nil : $0 }
  }

  /// Returns a source that tries a known passphrase first, then the passphrases of another source.
  package static func first(_ known: Passphrase?, then other: PassphraseSource) -> PassphraseSource {
    guard let known else { return other }
    return PassphraseSource { file, attempt in
      attempt == 0 ? known : try other.passphrase(file, attempt - 1)
    }
  }
}

extension Passphrase {
  /// Creates a passphrase from the bytes of one line of text, and wipes the array.
  ///
  /// - Throws: ``WaymarkError`` with the code `bad_passphrase` if there are too few or too many.
  public convenience init(wiping bytes: inout [UInt8]) throws {
    try self.init(&bytes)
  }
}
