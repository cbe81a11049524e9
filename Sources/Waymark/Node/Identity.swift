import Sodium
import Wire

/// The keys of this device.
struct Identity: Sendable {
  let signing: SigningKey
  let transport: AgreementKey

  var device: DeviceKey {
    guard let raw = Bytes32(signing.publicKey) else { preconditionFailure("an Ed25519 key of another size") }
    return DeviceKey(raw)
  }

  var transportKey: TransportKey {
    guard let raw = Bytes32(transport.publicKey) else { preconditionFailure("an X25519 key of another size") }
    return TransportKey(raw)
  }

  /// Keys that no device has had before.
  static func generate() throws -> Identity {
    Identity(signing: try SigningKey(), transport: try AgreementKey())
  }

  func save(to path: String) throws {
    var secrets = try SecretBuffer(capacity: KeyPurpose.device.secretBytes)
    signing.exportSeed(to: &secrets)
    transport.exportSecret(to: &secrets)
    try KeyFile.create(secrets, .device, at: path)
  }

  /// The keys in a home; its passphrases are asked if the file is sealed.
  static func load(from home: Home) throws -> Identity {
    let secrets = try KeyFile.secrets(.device, at: home.deviceKey, home.passphrases)
    return Identity(
      signing: try SigningKey(seed: secrets),
      transport: try AgreementKey(secret: secrets, at: KeyPurpose.keyBytes))
  }
}
