#if canImport(Security)
  import Foundation
  import Security
  import Sodium

  /// Keeps a device's keys in Apple's keychain: readable after the first unlock, on this device only.
  ///
  /// The keys are in no backup and not in iCloud Keychain. An extension of the app can read them if it shares the access
  /// group, but a ``StoreReader`` needs no keys.
  ///
  /// *Untried*: this was written without a Mac.
  public struct Keychain: KeyStore {
    private let service: String
    private let accessGroup: String?

    /// - Parameters:
    ///   - service: the name of the items, such as the bundle identifier of the app.
    ///   - accessGroup: the keychain access group; nil for that of the app.
    public init(service: String, accessGroup: String? = nil) {
      self.service = service
      self.accessGroup = accessGroup
    }

    public func save(_ secret: UnsafeRawBufferPointer, as name: String) throws {
      var item = query(name)
      item[kSecAttrAccessible] = kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
      // The data is copied by `SecItemAdd`, and this object refers to the caller's bytes only until it returns.
      guard let start = secret.baseAddress else { throw KeychainError(status: errSecParam) }
      item[kSecValueData] =
        NSData(
          bytesNoCopy: UnsafeMutableRawPointer(mutating: start), length: secret.count, freeWhenDone: false)
      let status = SecItemAdd(item as CFDictionary, nil)
      guard status == errSecSuccess else { throw KeychainError(status: status) }
    }

    public func read(_ name: String, _ body: (UnsafeRawBufferPointer) throws -> Void) throws -> Bool {
      var item = query(name)
      item[kSecReturnData] = true
      item[kSecMatchLimit] = kSecMatchLimitOne
      var found: CFTypeRef?
      let status = SecItemCopyMatching(item as CFDictionary, &found)
      if status == errSecItemNotFound { return false }
      guard status == errSecSuccess, let data = found as? Data else { throw KeychainError(status: status) }
      try data.withUnsafeBytes(body)
      return true
    }

    private func query(_ name: String) -> [CFString: Any] {
      var query: [CFString: Any] = [
        kSecClass: kSecClassGenericPassword, kSecAttrService: service, kSecAttrAccount: name,
        kSecAttrSynchronizable: false, kSecUseDataProtectionKeychain: true,
      ]
      if let accessGroup { query[kSecAttrAccessGroup] = accessGroup }
      return query
    }
  }

  /// An error of the keychain.
  public struct KeychainError: Error, Hashable, CustomStringConvertible {
    /// The status that the keychain returned.
    public let status: OSStatus

    public var description: String {
      "\(SecCopyErrorMessageString(status, nil) as String? ?? "error") (\(status))"
    }
  }
#endif
