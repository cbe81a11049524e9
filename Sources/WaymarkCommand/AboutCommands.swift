import Console
import Control
import Waymark
import WaymarkCare

/// `version`: the version of this program, and its build traits.
struct ShowVersion: TerminalCommand {
  var isReadOnly: Bool { true }

  struct Answer: Codable {
    let version: String
    let traits: [String]
  }

  static let syntax = CommandSpec(
    words: ["version"], summary: "show the version of this program", exampleArguments: "")

  func run(_ run: CommandContext) async throws -> Answer {
    Answer(version: WaymarkVersion.text, traits: WaymarkVersion.traits)
  }

  func render(_ answer: Answer, into rendering: inout Rendering) {
    let traits = answer.traits.isEmpty ? "" : " (\(answer.traits.joined(separator: ", ")))"
    rendering.data.line("waymark \(answer.version)\(traits)")
  }
}

/// `paths`: the locations of this node's files.
struct ShowPaths: TerminalCommand {
  var isReadOnly: Bool { true }

  struct Answer: Codable {
    let home: String
    let store: String
    let keys: String
    let deviceKey: String
    /// Nil if this device does not have the root key.
    let rootKey: String?
    /// Nil if this device does not issue premium to its circle.
    let issuerKey: String?
    let passphrases: KeyStates
    let settings: String
    let backups: String
    let socket: String
  }

  static let syntax = CommandSpec(
    words: ["paths"], summary: "show where the files of this node are", exampleArguments: "")

  func run(_ run: CommandContext) async throws -> Answer {
    let (home, states) = (run.home, run.home.keyStates)
    return Answer(
      home: home.path, store: home.store, keys: home.keys, deviceKey: home.deviceKey,
      rootKey: states.root.map { _ in home.rootKey },
      issuerKey: states.issuer.map { _ in home.issuerKey }, passphrases: states, settings: home.settings,
      backups: home.backups, socket: home.controlSocket)
  }

  func render(_ answer: Answer, into rendering: inout Rendering) {
    let pairs = [
      ("home", answer.home), ("store", answer.store), ("keys", answer.keys),
      ("device key", answer.deviceKey), ("root key", answer.rootKey),
      ("issuer key", answer.issuerKey),
      ("passphrase", sealing(answer.passphrases)), ("settings", answer.settings),
      ("backups", answer.backups), ("socket", answer.socket),
    ]
    rendering.data.pairs(pairs.compactMap { name, value in value.map { (name, printable($0)) } })
  }

  /// Which keys have a passphrase.
  private func sealing(_ states: KeyStates) -> String {
    [("device", states.device), ("root", states.root), ("issuer", states.issuer)].compactMap { key, state in
      switch state {
      case nil: nil
      case .sealed: "\(key) key with a passphrase"
      case .plain: "\(key) key without a passphrase"
      case .kept: "\(key) key in the key store of an app"
      case .unreadable: "\(key) key unreadable"
      }
    }.joined(separator: ", ")
  }
}

/// `completions`: the completion script of a shell.
struct PrintCompletions: TerminalCommand {
  var shell: String
  var isReadOnly: Bool { true }

  struct Answer: Codable {
    let shell: String
    let text: String
  }

  static let syntax = CommandSpec(
    words: ["completions"], summary: "print a completion script for a shell",
    operands: [.init(placeholder: "SHELL", key: "shell", type: .words(Completions.shells))],
    details: """
      SHELL is bash, zsh or fish. `make install` installs all three scripts. To install one by hand:
        waymark completions bash > ~/.local/share/bash-completion/completions/waymark
        waymark completions zsh > DIR/_waymark, with DIR one of $fpath
        waymark completions fish > ~/.config/fish/completions/waymark.fish
      """, exampleArguments: "bash")

  func run(_ run: CommandContext) async throws -> Answer {
    Answer(shell: shell, text: Completions().script(for: shell))
  }

  func render(_ answer: Answer, into rendering: inout Rendering) { rendering.data.text(answer.text) }
}

/// `manual`: the manual page.
struct PrintManual: TerminalCommand {
  var isReadOnly: Bool { true }

  struct Answer: Codable {
    let text: String
  }

  static let syntax = CommandSpec(
    words: ["manual"], summary: "print the manual page (waymark manual | man -l -)", exampleArguments: "")

  func run(_ run: CommandContext) async throws -> Answer { Answer(text: ManualPage.text) }

  func render(_ answer: Answer, into rendering: inout Rendering) { rendering.data.text(answer.text) }
}
