package import Membership
import Reasons
package import Sodium
import Wire

/// The circle's root key, which founds the circle and acts if no admin can.
package enum RootKey {
  /// Reads the key from a file, or from the home if no file is given, and checks that it is the circle's root key.
  ///
  /// - Parameters:
  ///   - passphrases: the source of the passphrase if the file is sealed.
  ///   - purpose: the reason why the key is needed, as the beginning of a sentence.
  package static func read(
    _ path: String?, at home: Home, of circle: Circle, _ passphrases: PassphraseSource, for purpose: String
  ) throws -> SigningKey {
    try open(path, at: home, of: circle, passphrases, for: purpose).key
  }

  /// Like `read`, and also returns the passphrase that opened the file.
  package static func open(
    _ path: String?, at home: Home, of circle: Circle, _ passphrases: PassphraseSource, for purpose: String
  ) throws -> OpenedKey {
    let root: OpenedKey
    do {
      root =
        try path.map { try OpenedKey(.root, at: $0, passphrases, in: home.keyStore) }
        ?? home.storage.rootKey(passphrases)
    } catch let error as WaymarkError where [.keyMissing, .keyNotHere].contains(error.reason) {
      throw WaymarkError(
        exitCode: ExitCode.badKey, code: .rootKey,
        message: "\(purpose) needs the root key of the circle. \(error.message)", next: nameIt)
    }
    guard DeviceKey(root.key) == circle.genesis.root else {
      throw WaymarkError(
        exitCode: ExitCode.badKey, code: .rootKey,
        message: "\(path ?? home.rootKey) is not the root key of this circle.",
        next: nameIt)
    }
    return root
  }

  package static func save(_ root: SigningKey, in home: Home) throws {
    var secrets = try SecretBuffer(capacity: KeyPurpose.root.secretBytes)
    root.exportSeed(to: &secrets)
    try KeyFile.create(secrets, .root, at: home.rootKey, in: home.keyStore)
  }

  private static let nameIt: Step = "specify the file that holds it: --root-key FILE"
}
