import Control
import Foundation
import JSONDocument
import Waymark

/// Commands that need no store.
enum LocalCommands {
  /// `keys passphrase set` and `remove`.
  static func keyPassphrase(_ invocation: Invocation, _ terminal: Terminal, _ home: Home) throws -> JSON {
    let passphrases = try KeyPassphrases(home, file: invocation["key"])
    guard invocation.words.last == "set" else { return try passphrases.remove() }
    return try passphrases.set { try TerminalPassphrases(terminal, file: invocation["file"]).new() }
  }

  /// `issuer init FILE`
  static func makeIssuer(_ invocation: Invocation) throws -> JSON {
    let file = invocation["file"] ?? ""
    let key = try Issuer.create(file)
    return [
      "schema": "waymark.issuer.init/1", "key": .string(file), "public": .string(file + ".pub"),
      "issuer": .string(key.description),
    ]
  }

  /// `issuer issue`: the certificate goes to the file that `--output` names, else to standard output.
  static func issue(_ invocation: Invocation, _ terminal: Terminal, _ home: Home) throws -> JSON {
    func required(_ key: String) throws -> String {
      guard let value = invocation[key] else {
        throw WaymarkError.usage(
          "`waymark issuer issue` needs --\(key).", next: "waymark help issuer issue")
      }
      return value
    }
    let order = Issuer.Order(
      keyFile: try required("key"), circle: try required("circle"),
      devices: invocation.arguments["device"]?.array?.compactMap(\.string) ?? [],
      until: try required("until"),
      from: invocation["from"])
    let certificate = try Issuer.issue(order, now: systemWall(), passphrases: home.passphrases)
    var document: JSON = ["schema": "waymark.issuer.issue/1"]
    if let output = invocation["output"] {
      try Issuer.write(
        certificate, to: output, besides: home, overwrites: invocation.arguments["yes"]?.boolean == true)
      document["output"] = .string(output)
      return document
    }
    if !invocation.options.json { terminal.raw(certificate) }
    document["certificate"] = .string(certificate.trimmingCharacters(in: .newlines))
    return document
  }
}
