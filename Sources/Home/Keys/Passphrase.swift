import Foundation
package import Sodium
import Wire

/// The words that a person protects key files with, in guarded memory until nobody needs them.
public final class Passphrase: Hashable, Sendable {
  package let secret: SecretBuffer

  /// Takes the bytes over, without a line's end, and wipes the array.
  ///
  /// - Throws: `WaymarkError` if they are too few or too many.
  package init(_ bytes: inout [UInt8]) throws {
    defer { wipe(&bytes) }
    guard bytes.count >= Limits.passphraseBytesMin else {
      throw WaymarkError.home(
        .badPassphrase, "A passphrase has at least \(Limits.passphraseBytesMin) characters.",
        next: "four words that nobody would guess are good")
    }
    guard bytes.count <= Limits.passphraseBytesMax, !bytes.contains(0), !bytes.contains(UInt8(ascii: "\n"))
    else {
      throw WaymarkError.home(
        .badPassphrase, "A passphrase is one line of at most \(Limits.passphraseBytesMax) bytes.",
        next: "choose a shorter one; \(waymark: "help keys")")
    }
    secret = try SecretBuffer(taking: &bytes)
  }

  /// The first line of a file, a pipe too; `-` is standard input.
  package convenience init(file: String) throws {
    let descriptor = file == "-" ? dup(STDIN_FILENO) : open(file, O_RDONLY | O_CLOEXEC)
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
    var line = try Self.firstLine(descriptor, file)
    try self.init(&line)
  }

  /// Reads byte by byte, so that what follows the line is left for others. The caller wipes it.
  private static func firstLine(_ descriptor: Int32, _ file: String) throws -> [UInt8] {
    var line: [UInt8] = []
    // No growth, which would leave a copy behind.
    line.reserveCapacity(Limits.passphraseBytesMax + 2)
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
      .badPassphrase, "The passphrase can't be read from \(file): \(reason(code).lowercased()).",
      next: "ls -l \(shellWord(file))")
  }

  public static func == (left: Passphrase, right: Passphrase) -> Bool {
    left.secret.equals(right.secret)
  }

  /// By identity only: a hash of the words would say something about them.
  public func hash(into hasher: inout Hasher) {}
}

/// Where the passphrase of a sealed key file comes from.
public struct PassphraseSource: Sendable {
  /// Gives a passphrase to try on a key file; nil if there is none, or no other than those given before.
  ///
  /// `attempt` counts from 0 for each file.
  package let passphrase: @Sendable (_ file: String, _ attempt: Int) throws -> Passphrase?

  /// Asks a closure for the passphrase of a file; see ``Home/init(path:passphrases:)``.
  ///
  /// `attempt` counts from 0 for each file; nil ends the asking.
  public init(_ passphrase: @escaping @Sendable (_ file: String, _ attempt: Int) throws -> Passphrase?) {
    self.passphrase = passphrase
  }

  /// From the file that `WAYMARK_PASSPHRASE_FILE` names: for services, where nobody can be asked.
  public static let environment = PassphraseSource { _, attempt in
    guard attempt == 0, let file = environmentFile else { return nil }
    return try Passphrase(file: file)
  }

  /// Nobody to ask.
  static let none = PassphraseSource { _, _ in nil }

  /// What `WAYMARK_PASSPHRASE_FILE` says.
  package static var environmentFile: String? {
    ProcessInfo.processInfo.environment["WAYMARK_PASSPHRASE_FILE"].flatMap { $0.isEmpty ? nil : $0 }
  }

  /// One that is known already, else what another source gives.
  package static func first(_ known: Passphrase?, then other: PassphraseSource) -> PassphraseSource {
    guard let known else { return other }
    return PassphraseSource { file, attempt in
      attempt == 0 ? known : try other.passphrase(file, attempt - 1)
    }
  }
}

extension Passphrase {
  /// Takes the bytes of one line of text over, and wipes the array.
  ///
  /// - Throws: ``WaymarkError`` with the code `bad_passphrase` if they are too few or too many.
  public convenience init(wiping bytes: inout [UInt8]) throws {
    try self.init(&bytes)
  }
}
