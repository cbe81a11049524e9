/// How the key files of a home are protected.
public struct KeyStates: Hashable, Sendable, Codable {
  /// The key file of this device; nil if there is none.
  public let device: Protection?
  /// The key file of the circle's root key; nil if this home does not have it.
  public let root: Protection?
  /// The key file with which this device issues premium to its own circle; nil if there is none.
  public let issuer: Protection?

  /// How one key file is protected.
  public enum Protection: String, Hashable, Sendable, Codable {
    /// A passphrase protects the file.
    case sealed
    /// Only the file system protects the file.
    case plain
    /// The key is in the key store of an app, and the file has only its name.
    case kept
    /// The file can't be read, or is damaged.
    case unreadable
  }
}

extension Home {
  /// How the key files of this home are protected.
  package var keyStates: KeyStates { storage.keyStates }
}
