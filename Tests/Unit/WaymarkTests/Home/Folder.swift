import Foundation
import Sodium
import WaymarkCare

@testable import Waymark

/// A private temporary folder of one test; it is removed with the value.
final class Folder: Sendable {
  let path: String

  init() throws {
    path = FileManager.default.temporaryDirectory.appending(path: "waymark-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func file(_ name: String) -> String { path + "/" + name }

  func write(_ bytes: [UInt8], _ name: String, mode: mode_t = 0o600) throws -> String {
    try Data(bytes).write(to: URL(filePath: file(name)))
    chmod(file(name), mode)
    return file(name)
  }

  var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }
}

/// The code with which an operation on a home was refused; nil if it was not.
func code(_ body: () throws -> Void) -> Reason? {
  do {
    try body()
    return nil
  } catch {
    return (error as? WaymarkError)?.reason
  }
}

/// As cheap as possible, so that a test may try often.
let cheap = PassphraseCost(passes: 1, memoryBytes: PassphraseCost.memoryBytesMin)

func words(_ text: String) throws -> Passphrase {
  var bytes = Array(text.utf8)
  return try Passphrase(&bytes)
}

/// Returns the given passphrases, one after another.
func giving(_ texts: String...) -> PassphraseSource {
  PassphraseSource { _, attempt in attempt < texts.count ? try words(texts[attempt]) : nil }
}

/// A test secret: these bytes, repeated.
func secret(_ purpose: KeyPurpose, _ byte: UInt8 = 7) throws -> SecretBuffer {
  var bytes = (0..<purpose.secretBytes).map { byte &+ UInt8($0) }
  return try SecretBuffer(taking: &bytes)
}

func copy(_ secret: borrowing SecretBuffer) -> [UInt8] { secret.withBytes { Array($0) } }

func bytes(_ path: String) throws -> [UInt8] { [UInt8](try Data(contentsOf: URL(filePath: path))) }

func mode(_ path: String) -> mode_t {
  var status = stat()
  return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : 0
}
