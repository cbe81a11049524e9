#if canImport(Security)
  @_exported public import struct Home.Keychain
  @_exported public import struct Home.KeychainError
#endif
