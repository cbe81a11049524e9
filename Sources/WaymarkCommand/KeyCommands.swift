import Control
import Waymark

/// `keys passphrase set`: seals the keys of this device.
struct SetPassphrase: TerminalCommand {
  typealias Answer = KeyProtection

  /// The file that the new passphrase is read from.
  var file: String?
  /// The key file; nil for those of this device.
  var key: String?

  static let syntax = CommandSpec(
    words: ["keys", "passphrase", "set"], summary: "seal the keys of this device with a passphrase",
    options: [
      .init(
        flag: "--file", placeholder: "F",
        summary: "the new passphrase is its first line; - for standard input", type: .path),
      keyOption,
    ],
    details: """
      Seals the device's key, and the root key if it is here. The passphrase is typed twice, or it
      is the first line of --file or of the file that WAYMARK_PASSPHRASE_FILE names. That of keys
      which are sealed already is asked for. A running node goes on; its next start asks
      (waymark help keys). A forgotten passphrase can't be recovered.
      """, exampleArguments: "")

  func run(_ run: CommandRun) async throws -> KeyProtection {
    try KeyPassphrases(run.home, file: key).set { try TerminalPassphrases(run.terminal, file: file).new() }
  }

  func render(_ answer: KeyProtection, into rendering: inout Rendering) { rendering.keys(answer) }
}

/// `keys passphrase remove`: keeps the keys without a passphrase again.
struct RemovePassphrase: TerminalCommand {
  typealias Answer = KeyProtection

  /// The file that the present passphrase is read from.
  var file: String?
  /// The key file; nil for those of this device.
  var key: String?

  static let syntax = CommandSpec(
    words: ["keys", "passphrase", "remove"], summary: "keep the keys without a passphrase again",
    options: [
      .init(
        flag: "--file", placeholder: "F", summary: "the passphrase is its first line; - for standard input",
        type: .path),
      keyOption,
    ], exampleArguments: "")

  func run(_ run: CommandRun) async throws -> KeyProtection {
    try KeyPassphrases(run.home, file: key).remove()
  }

  func render(_ answer: KeyProtection, into rendering: inout Rendering) { rendering.keys(answer) }
}

private let keyOption = CommandSpec.Option(
  flag: "--key", placeholder: "FILE", summary: "this key file instead of those of this device", type: .path)

extension Rendering {
  fileprivate mutating func keys(_ protection: KeyProtection) {
    for key in protection.keys {
      let state = key.isSealed ? "sealed" : "without a passphrase"
      let already = key.isChanged ? "" : " (it was so already)"
      data.line("\(key.kind) key \(state)\(already): \(printable(key.file))")
    }
    guard !protection.unsealedCopies.isEmpty else { return }
    notes.paragraph(
      "Copies of keys that were set aside are not sealed. Seal them with --key, or remove them:")
    for copy in protection.unsealedCopies { notes.line("  \(printable(copy))") }
  }
}
