package import Reasons
import Sodium

extension WaymarkError {
  /// Checks, before a node opens, that this machine's libsodium accepts the same signatures as those of all other
  /// devices.
  ///
  /// - Throws: `WaymarkError` with the code `signature_rule`.
  package static func checkSignatureRule() throws {
    guard SignatureRule.isFollowed else { throw signatureRule(libraryVersion: SignatureRule.libraryVersion) }
  }

  package static func signatureRule(libraryVersion: String) -> WaymarkError {
    .failed(
      .signatureRule,
      "libsodium \(libraryVersion) decides by a different rule which signatures are valid, so this device would "
        + "disagree with the others about the same changes; nothing was opened.",
      next: "install a libsodium from 1.0.18 to 1.0.22, then \(waymark: "run")")
  }
}
