import Console
import Control
import Waymark
import WaymarkCare

/// `keys passphrase set`: seals the keys of this device.
struct SetPassphrase: TerminalCommand {
  typealias Answer = KeyProtection

  /// The file that the new passphrase is read from.
  var file: String?
  /// The key file; nil for the keys of this device.
  var key: String?

  static let syntax = CommandSpec(
    words: ["keys", "passphrase", "set"], summary: "seal the keys of this device with a passphrase",
    options: [
      .init(
        flag: "--file", placeholder: "F",
        summary: "read the new passphrase from its first line; - for standard input", type: .path),
      keyOption,
    ],
    details: """
      Seals the device key, and the root key and the issuer key if this device has them. You type the passphrase twice, or it is
      read from the first line of --file or of the file that WAYMARK_PASSPHRASE_FILE names. If the keys are
      already sealed you are asked for the current passphrase. A running node is not affected; its next start
      asks for the passphrase (waymark help keys). A forgotten passphrase can't be recovered.
      """, exampleArguments: "")

  func run(_ run: CommandContext) async throws -> KeyProtection {
    try KeyPassphrases(run.home, file: key).set { try TerminalPassphrases(run.terminal, file: file).new() }
  }

  func render(_ answer: KeyProtection, into rendering: inout Rendering) { rendering.keys(answer) }
}

/// `keys passphrase remove`: stores the keys without a passphrase again.
struct RemovePassphrase: TerminalCommand {
  typealias Answer = KeyProtection

  /// The file that the current passphrase is read from.
  var file: String?
  /// The key file; nil for the keys of this device.
  var key: String?

  static let syntax = CommandSpec(
    words: ["keys", "passphrase", "remove"], summary: "remove the passphrase from the keys",
    options: [
      .init(
        flag: "--file", placeholder: "F",
        summary: "read the passphrase from its first line; - for standard input", type: .path),
      keyOption,
    ], exampleArguments: "")

  func run(_ run: CommandContext) async throws -> KeyProtection {
    try KeyPassphrases(run.home, file: key).remove()
  }

  func render(_ answer: KeyProtection, into rendering: inout Rendering) { rendering.keys(answer) }
}

private let keyOption = CommandSpec.Option(
  flag: "--key", placeholder: "FILE", summary: "use this key file, not the keys of this device", type: .path)

extension Rendering {
  fileprivate mutating func keys(_ protection: KeyProtection) {
    for key in protection.keys {
      let state = key.isSealed ? "sealed" : "without a passphrase"
      let already = key.isChanged ? "" : " (unchanged)"
      data.line("\(key.kind) key \(state)\(already): \(printable(key.file))")
    }
    guard !protection.unsealedCopies.isEmpty else { return }
    notes.paragraph(
      "Old copies of keys in the backups folder are not sealed. Seal them with --key, or delete them:")
    for copy in protection.unsealedCopies { notes.line("  \(printable(copy))") }
  }
}
