// Certificate paths and ECDSA signatures: what Protocol/purchase.md, "Verifying", needs of X.509.
//
// One of three files does the work: `OpenSSL.swift` in builds with the trait AppStore, `AppleSecurity.swift` on Apple's
// platforms, and `Unavailable.swift` in all other builds.

/// A path from a certificate that signs to a pinned root, with exactly one certificate between them.
///
/// The certificates are DER. All of them may come from a hostile peer except the root.
package struct SigningPath: Hashable, Sendable {
  package var leaf: [UInt8]
  package var intermediate: [UInt8]

  package init(leaf: [UInt8], intermediate: [UInt8]) {
    self.leaf = leaf
    self.intermediate = intermediate
  }

  /// The extensions that the certificates have to have, as dotted object identifiers.
  package struct Marks: Hashable, Sendable {
    package var leaf: String
    package var intermediate: String

    package init(leaf: String, intermediate: String) {
      self.leaf = leaf
      self.intermediate = intermediate
    }
  }
}
