// Builds that verify no certificates.

#if !AppStore && !canImport(Security)
  /// Whether this build verifies certificates.
  package let verifiesCertificates = false

  extension SigningPath {
    /// Returns nil, because this build verifies no certificates.
    package func key(upTo root: [UInt8], at seconds: Int64, _ marks: Marks) -> VerificationKey? { nil }
  }

  /// A public key. This build has none.
  package struct VerificationKey {
    private init() {}

    package func hasSigned(_ message: [UInt8], _ signature: [UInt8]) -> Bool { false }
  }

  /// A private key. This build has none.
  package struct SignatureKey: Sendable {
    package init?(scalar: [UInt8]) { return nil }

    package func sign(_ message: [UInt8]) -> [UInt8]? { nil }
  }
#endif
