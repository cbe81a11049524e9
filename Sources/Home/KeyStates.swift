/// How the key files of a home are protected.
public struct KeyStates: Hashable, Sendable, Codable {
  /// The key file of this device; nil if there is none.
  public let device: Protection?
  /// The file of the circle's root key; nil if it is not here.
  public let root: Protection?

  /// How one key file is protected.
  public enum Protection: String, Hashable, Sendable, Codable {
    /// By a passphrase.
    case sealed
    /// By the file system alone.
    case plain
    /// The file can't be read, or is damaged.
    case unreadable
  }
}

extension Home {
  /// How the key files of this home are protected.
  package var keyStates: KeyStates { storage.keyStates }
}
