package import Sodium

/// A signing key read from its file, and the passphrase that opened the file.
package struct OpenedKey: Sendable {
  package let key: SigningKey
  /// The passphrase that sealed the file; nil if the file is plain.
  package let passphrase: Passphrase?

  init(key: SigningKey, passphrase: Passphrase?) {
    self.key = key
    self.passphrase = passphrase
  }

  init(
    _ purpose: KeyPurpose, at path: String, _ passphrases: PassphraseSource, in keys: (any KeyStore)?
  ) throws {
    let opened = try KeyFile.opened(purpose, at: path, passphrases, in: keys)
    self.init(key: try SigningKey(seed: opened.secrets), passphrase: opened.passphrase)
  }
}
