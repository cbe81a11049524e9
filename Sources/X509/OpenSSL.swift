// The only file that calls libcrypto.

#if AppStore && !canImport(Security)
  import CCrypto

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
      defer { ERR_clear_error() }
      guard let leaf = Certificate(self.leaf), let intermediate = Certificate(self.intermediate),
        let root = Certificate(root)
      else { return nil }
      let path = [leaf, intermediate, root]
      guard leaf.has(marks.leaf), intermediate.has(marks.intermediate), intermediate.isAuthority,
        leaf.maySign,
        path.allSatisfy({ $0.isValid(at: time_t(seconds)) }), Self.isValid(path)
      else { return nil }
      return VerificationKey(of: leaf)
    }

    /// Whether libcrypto finds the path that consists of exactly these certificates valid, apart from the time.
    private static func isValid(_ path: [Certificate]) -> Bool {
      guard let store = X509_STORE_new() else { return false }
      defer { X509_STORE_free(store) }
      guard let context = X509_STORE_CTX_new() else { return false }
      defer { X509_STORE_CTX_free(context) }
      guard let untrusted = waymark_certificates(path[1].pointer) else { return false }
      defer { waymark_free_certificates(untrusted) }
      guard X509_STORE_add_cert(store, path[2].pointer) == 1,
        X509_STORE_CTX_init(context, store, path[0].pointer, untrusted) == 1,
        let options = X509_STORE_CTX_get0_param(context)
      else { return false }
      X509_VERIFY_PARAM_set_flags(options, UInt(X509_V_FLAG_NO_CHECK_TIME))
      X509_VERIFY_PARAM_set_auth_level(options, securityLevel)
      guard X509_verify_cert(context) == 1, let found = X509_STORE_CTX_get0_chain(context) else {
        return false
      }
      // The root alone could have signed the leaf as well.
      return waymark_count(found) == CInt(path.count)
        && path.indices.allSatisfy {
          X509_cmp(waymark_certificate(found, CInt($0)), path[$0].pointer) == 0
        }
    }

    /// 128 bits of security for every key and every hash in the path.
    private static let securityLevel: CInt = 3
  }

  /// A decoded certificate.
  private final class Certificate {
    let pointer: OpaquePointer

    /// Decodes DER with nothing after it.
    init?(_ bytes: [UInt8]) {
      let decoded = bytes.withUnsafeBufferPointer { buffer -> OpaquePointer? in
        var next = buffer.baseAddress
        guard let certificate = d2i_X509(nil, &next, buffer.count) else { return nil }
        guard next == buffer.baseAddress.map({ $0 + buffer.count }) else {
          X509_free(certificate)
          return nil
        }
        return certificate
      }
      guard let decoded else { return nil }
      pointer = decoded
    }

    deinit { X509_free(pointer) }

    /// Whether there is an extension with a dotted object identifier.
    func has(_ identifier: String) -> Bool {
      guard let object = OBJ_txt2obj(identifier, 1) else { return false }
      defer { ASN1_OBJECT_free(object) }
      return X509_get_ext_by_OBJ(pointer, object, -1) >= 0
    }

    /// Whether the time, in seconds since 1970, is in the period of validity, both ends included. In libcrypto's own
    /// check the last second is not.
    func isValid(at seconds: time_t) -> Bool {
      // -2 is an error.
      [-1, 0].contains(ASN1_TIME_cmp_time_t(X509_get0_notBefore(pointer), seconds))
        && [0, 1].contains(ASN1_TIME_cmp_time_t(X509_get0_notAfter(pointer), seconds))
    }

    /// Whether basic constraints make it an authority. Without this check libcrypto takes a certificate without basic
    /// constraints for one if its key usage says so.
    var isAuthority: Bool {
      let wanted = UInt32(EXFLAG_BCONS | EXFLAG_CA)
      return X509_get_extension_flags(pointer) & wanted == wanted
    }

    /// Whether the key may be used for signatures. A certificate without key usage has no restriction.
    var maySign: Bool { X509_get_key_usage(pointer) & UInt32(KU_DIGITAL_SIGNATURE) != 0 }
  }

  /// A public key on P-256.
  package final class VerificationKey {
    private let key: OpaquePointer

    fileprivate init?(of certificate: Certificate) {
      guard let key = X509_get_pubkey(certificate.pointer) else { return nil }
      guard isOnP256(key) else {
        EVP_PKEY_free(key)
        return nil
      }
      self.key = key
    }

    deinit { EVP_PKEY_free(key) }

    /// Whether a signature, r ‖ s in 64 bytes, is the ECDSA signature with SHA-256 over a message.
    package func hasSigned(_ message: [UInt8], _ signature: [UInt8]) -> Bool {
      defer { ERR_clear_error() }
      guard let encoded = ECDSASignature(signature)?.der, let context = EVP_MD_CTX_new() else { return false }
      defer { EVP_MD_CTX_free(context) }
      guard EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key) == 1 else { return false }
      return EVP_DigestVerify(context, encoded, encoded.count, message, message.count) == 1
    }
  }

  /// A private key on P-256, with which a stand-in for the App Store signs.
  ///
  /// libcrypto only reads the key after it was made.
  package final class SignatureKey: @unchecked Sendable {
    private let key: OpaquePointer

    /// - Parameter scalar: 32 bytes.
    package init?(scalar: [UInt8]) {
      guard scalar.count == 32 else { return nil }
      // ECPrivateKey of RFC 5915: version 1, the scalar, the curve P-256.
      let der: [UInt8] =
        [0x30, 0x31, 0x02, 0x01, 0x01, 0x04, 0x20] + scalar
        + [0xa0, 0x0a, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07]
      let decoded = der.withUnsafeBufferPointer { buffer -> OpaquePointer? in
        var next = buffer.baseAddress
        return d2i_PrivateKey(EVP_PKEY_EC, nil, &next, buffer.count)
      }
      guard let decoded else { return nil }
      key = decoded
    }

    deinit { EVP_PKEY_free(key) }

    /// Returns the ECDSA signature with SHA-256 over a message: r ‖ s in 64 bytes; nil if libcrypto fails.
    package func sign(_ message: [UInt8]) -> [UInt8]? {
      guard let context = EVP_MD_CTX_new() else { return nil }
      defer { EVP_MD_CTX_free(context) }
      var count = 0
      guard EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key) == 1,
        EVP_DigestSign(context, nil, &count, message, message.count) == 1
      else { return nil }
      var der = [UInt8](repeating: 0, count: count)
      guard EVP_DigestSign(context, &der, &count, message, message.count) == 1 else { return nil }
      return ECDSASignature(der: Array(der.prefix(count)))?.bytes
    }
  }

  private func isOnP256(_ key: OpaquePointer) -> Bool {
    var name = [CChar](repeating: 0, count: 64)
    var count = 0
    guard EVP_PKEY_get_base_id(key) == EVP_PKEY_EC,
      EVP_PKEY_get_group_name(key, &name, name.count, &count) == 1
    else { return false }
    return String(decoding: name.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self) == "prime256v1"
  }

  /// An ECDSA signature on P-256 in both of its forms: r ‖ s, and DER, which libcrypto reads and writes.
  private struct ECDSASignature {
    /// r ‖ s in 64 bytes.
    let bytes: [UInt8]

    init?(_ bytes: [UInt8]) {
      guard bytes.count == 64 else { return nil }
      self.bytes = bytes
    }

    /// Reads DER as libcrypto writes it.
    init?(der: [UInt8]) {
      var (bytes, rest) = ([UInt8](), der.dropFirst(2))
      for _ in 0..<2 {
        guard rest.count >= 2, rest.popFirst() == 0x02, let count = rest.popFirst(), rest.count >= count
        else {
          return nil
        }
        let number = Array(rest.prefix(Int(count)).drop { $0 == 0 })
        guard number.count <= 32 else { return nil }
        bytes += [UInt8](repeating: 0, count: 32 - number.count) + number
        rest = rest.dropFirst(Int(count))
      }
      self.init(bytes)
    }

    /// SEQUENCE of two INTEGERs, each as short as possible and not negative.
    var der: [UInt8] {
      let content = [bytes.prefix(32), bytes.suffix(32)].flatMap { half -> [UInt8] in
        var number = Array(half.drop { $0 == 0 })
        if number.first.map({ $0 >= 0x80 }) ?? true { number.insert(0, at: 0) }
        return [0x02, UInt8(number.count)] + number
      }
      return [0x30, UInt8(content.count)] + content
    }
  }
#endif
