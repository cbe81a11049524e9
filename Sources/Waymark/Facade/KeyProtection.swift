import JSONDocument
import Wire

/// What became of a key file whose passphrase was set or removed.
public struct KeyProtection: Hashable, Sendable, Decodable {
  /// The key files, one after the other.
  public let keys: [Key]
  /// Copies of keys among the backups that nothing protects.
  public let unsealedCopies: [String]

  /// One key file.
  public struct Key: Hashable, Sendable, Decodable {
    /// Its path.
    public let file: String
    /// `device`, `root` or `issuer`.
    public let kind: String
    /// Whether a passphrase protects it now.
    public let isSealed: Bool
    /// Whether the file was written.
    public let isChanged: Bool

    private enum CodingKeys: String, CodingKey {
      case file
      case kind
      case isSealed = "sealed"
      case isChanged = "changed"
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

extension Home {
  /// Seals the key files of this home with a passphrase; those that are sealed get another. Works beside a running
  /// node.
  ///
  /// - Throws: `WaymarkError` with the code `passphrase_needed` or `wrong_passphrase` if the present one is needed.
  @discardableResult
  public func protectKeys(with passphrase: Passphrase) throws -> KeyProtection {
    try protect { try $0.set { passphrase } }
  }

  /// Writes the key files of this home as they were before they were sealed.
  @discardableResult
  public func unprotectKeys() throws -> KeyProtection { try protect { try $0.remove() } }

  private func protect(_ body: (KeyPassphrases) throws -> JSON) throws -> KeyProtection {
    do {
      return try body(try KeyPassphrases(self, file: nil)).decoded()
    } catch {
      throw WaymarkError.opening(self, error)
    }
  }
}
