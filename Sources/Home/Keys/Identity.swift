package import Sodium
package import Wire

/// The keys of this device.
package struct Identity: Sendable {
  package let signing: SigningKey
  package let transport: AgreementKey

  package init(signing: SigningKey, transport: AgreementKey) {
    self.signing = signing
    self.transport = transport
  }

  package var device: DeviceKey {
    guard let raw = Bytes32(signing.publicKey) else { preconditionFailure("an Ed25519 key of another size") }
    return DeviceKey(raw)
  }

  package var transportKey: TransportKey {
    guard let raw = Bytes32(transport.publicKey) else { preconditionFailure("an X25519 key of another size") }
    return TransportKey(raw)
  }

  /// Generates new keys.
  package static func generate() throws -> Identity {
    Identity(signing: try SigningKey(), transport: try AgreementKey())
  }

  /// Saves the keys in a new file of a home or, if the home has a key store, there.
  package func save(in home: Home) throws {
    var secrets = try SecretBuffer(capacity: KeyPurpose.device.secretBytes)
    signing.exportSeed(to: &secrets)
    transport.exportSecret(to: &secrets)
    try KeyFile.create(secrets, .device, at: home.deviceKey, in: home.keyStore)
  }

  /// Whether a home has other keys than these.
  ///
  /// - Parameter hash: the hash of the key file when it last held these keys. If the file is unchanged, it is not opened,
  ///   which could need a passphrase and takes long.
  /// - Throws: `WaymarkError` if the key file has changed and can't be opened.
  package func differs(from home: Home, unlessFileHas hash: [UInt8]?) throws -> Bool {
    guard !home.isInMemory, home.keyFileHash == nil || home.keyFileHash != hash else { return false }
    let found = try Identity.load(from: home)
    return found.device != device || found.transportKey != transportKey
  }

  /// Loads the keys of a home. If the key file is sealed, the passphrase comes from the home's passphrase source.
  package static func load(from home: Home) throws -> Identity { try open(in: home).identity }

  /// Like `load`, and also returns the passphrase that opened the file; nil if the file is plain.
  package static func open(in home: Home) throws -> (identity: Identity, passphrase: Passphrase?) {
    let opened = try KeyFile.opened(.device, at: home.deviceKey, home.passphrases, in: home.keyStore)
    let identity = Identity(
      signing: try SigningKey(seed: opened.secrets),
      transport: try AgreementKey(secret: opened.secrets, at: KeyPurpose.keyBytes))
    return (identity, opened.passphrase)
  }
}

extension Home {
  /// The hash of the file with this device's keys; nil if it can't be read.
  package var keyFileHash: [UInt8]? { try? KeyFile.hash(at: deviceKey) }
}
