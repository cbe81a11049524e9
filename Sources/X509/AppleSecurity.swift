// Apple's platforms verify with the frameworks Security and CryptoKit. This file has been neither compiled nor run.

#if canImport(Security)
  import CryptoKit
  import Foundation
  import Security

  /// Whether this build verifies certificates.
  package let verifiesCertificates = true

  extension SigningPath {
    /// Returns the leaf's key if the path to the root is valid (RFC 5280) at a time, both certificates have their
    /// marks, and the leaf may sign and has a key on P-256; otherwise nil.
    ///
    /// - Parameters:
    ///   - root: the pinned root, as DER.
    ///   - seconds: the time at which the certificates have to be valid, since 1970 UTC.
    package func key(upTo root: [UInt8], at seconds: Int64, _ marks: Marks) -> VerificationKey? {
      let certificates = [leaf, intermediate, root].compactMap {
        SecCertificateCreateWithData(nil, Data($0) as CFData)
      }
      guard certificates.count == 3, leaf.hasExtension(marks.leaf),
        intermediate.hasExtension(marks.intermediate)
      else { return nil }
      var trust: SecTrust?
      let path = [certificates[0], certificates[1]] as CFArray
      guard SecTrustCreateWithCertificates(path, SecPolicyCreateBasicX509(), &trust) == errSecSuccess,
        let trust, SecTrustSetAnchorCertificates(trust, [certificates[2]] as CFArray) == errSecSuccess,
        SecTrustSetAnchorCertificatesOnly(trust, true) == errSecSuccess,
        SecTrustSetNetworkFetchAllowed(trust, false) == errSecSuccess,
        SecTrustSetVerifyDate(trust, Date(timeIntervalSince1970: TimeInterval(seconds)) as CFDate)
          == errSecSuccess, SecTrustEvaluateWithError(trust, nil),
        let chain = SecTrustCopyCertificateChain(trust) as? [SecCertificate],
        chain.map({ Array(SecCertificateCopyData($0) as Data) }) == [leaf, intermediate, root],
        let key = SecCertificateCopyKey(certificates[0]),
        let point = SecKeyCopyExternalRepresentation(key, nil) as Data?
      else { return nil }
      return (try? P256.Signing.PublicKey(x963Representation: point)).map(VerificationKey.init)
    }
  }

  /// A public key on P-256.
  package struct VerificationKey {
    fileprivate let key: P256.Signing.PublicKey

    /// Whether a signature, r ‖ s in 64 bytes, is the ECDSA signature with SHA-256 over a message.
    package func hasSigned(_ message: [UInt8], _ signature: [UInt8]) -> Bool {
      guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature) else {
        return false
      }
      return key.isValidSignature(signature, for: message)
    }
  }

  /// A private key on P-256, with which a stand-in for the App Store signs.
  package struct SignatureKey: Sendable {
    private let key: P256.Signing.PrivateKey

    /// - Parameter scalar: 32 bytes.
    package init?(scalar: [UInt8]) {
      guard let key = try? P256.Signing.PrivateKey(rawRepresentation: scalar) else { return nil }
      self.key = key
    }

    /// Returns the ECDSA signature with SHA-256 over a message: r ‖ s in 64 bytes; nil if it fails.
    package func sign(_ message: [UInt8]) -> [UInt8]? {
      (try? key.signature(for: message)).map { Array($0.rawRepresentation) }
    }
  }

  extension [UInt8] {
    /// Whether a certificate contains the encoding of a dotted object identifier: iOS has no call that lists extensions.
    fileprivate func hasExtension(_ identifier: String) -> Bool {
      let numbers = identifier.split(separator: ".").compactMap { UInt($0) }
      guard numbers.count > 2 else { return false }
      var content: [UInt8] = []
      for number in [numbers[0] * 40 + numbers[1]] + numbers[2...] {
        var digits = [UInt8(number & 0x7f)]
        var rest = number >> 7
        while rest > 0 {
          digits.insert(UInt8(rest & 0x7f) | 0x80, at: 0)
          rest >>= 7
        }
        content += digits
      }
      let encoded = [0x06, UInt8(content.count)] + content
      return indices.contains { self[$0...].starts(with: encoded) }
    }
  }
#endif
