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
    var secrets = [signing.exportSeed(), transport.exportSecret()]
    defer { for index in secrets.indices { wipe(&secrets[index]) } }
    try KeyFile.write(secrets, .device, to: path)
  }

  static func load(from path: String) throws -> Identity {
    var secrets = try KeyFile.read(.device, count: 2, from: path)
    defer { for index in secrets.indices { wipe(&secrets[index]) } }
    return Identity(
      signing: try SigningKey(seed: secrets[0]), transport: try AgreementKey(secret: secrets[1]))
  }
}
