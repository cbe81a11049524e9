public import Home

extension Home {
  /// Seals the key files of this home with a passphrase, including files that are sealed with another passphrase. May
  /// be called while the node is running.
  ///
  /// - Throws: `WaymarkError` with the code `passphrase_needed` or `wrong_passphrase` if the current one is needed.
  @discardableResult
  public func protectKeys(with passphrase: Passphrase) throws -> KeyProtection {
    try protect { try $0.set { passphrase } }
  }

  /// Replaces the sealed key files of this home by plain ones.
  @discardableResult
  public func unprotectKeys() throws -> KeyProtection { try protect { try $0.remove() } }

  private func protect(_ body: (KeyPassphrases) throws -> KeyProtection) throws -> KeyProtection {
    try body(try KeyPassphrases(self, file: nil))
  }
}
