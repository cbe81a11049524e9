import Membership
import Sodium
import Wire

/// The circle's root key: the one that founds, and that helps when no admin can.
enum RootKey {
  /// Reads it from a file, and sees that it is the one of the circle.
  ///
  /// - Parameter purpose: what it is needed for, as the beginning of a sentence.
  static func read(_ path: String, of circle: Circle, for purpose: String) throws -> SigningKey {
    var secrets: [[UInt8]]
    do {
      secrets = try KeyFile.read(.root, count: 1, from: path)
    } catch let error as HomeError {
      throw CommandFailure(
        exitCode: ExitCode.badKey, code: "root_key",
        message: "\(purpose) needs the root key of the circle. \(error.message)",
        next: "name the file that holds it: --root-key FILE")
    }
    defer { for index in secrets.indices { wipe(&secrets[index]) } }
    let root = try SigningKey(seed: secrets[0])
    guard DeviceKey(root) == circle.genesis.root else {
      throw CommandFailure(
        exitCode: ExitCode.badKey, code: "root_key", message: "\(path) is not the root key of this circle.",
        next: "name the file that holds it: --root-key FILE")
    }
    return root
  }
}
