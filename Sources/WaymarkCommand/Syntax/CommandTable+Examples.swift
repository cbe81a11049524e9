extension CommandSpec {
  /// A line that makes sense as it is typed; a test parses them all.
  var example: String? {
    if let arguments = exampleArguments { return "waymark \(name) \(arguments)".trimmingSuffix }
    return CommandTable.examples[name].map { "waymark \(name) \($0)".trimmingSuffix }
  }
}

extension String {
  fileprivate var trimmingSuffix: String { hasSuffix(" ") ? String(dropLast()) : self }
}

extension CommandTable {
  /// What follows the words of a command in its example.
  static let examples: [String: String] = [
    "run": "--listen [::]:7433",
    "keys passphrase set": "",
    "keys passphrase remove": "",
    "verify": "--deep",
    "entitlement show": "",
    "entitlement install": "entitlement",
    "entitlement buy": "--mock --until 2027-12-31",
    "entitlement cancel": "--mock",
    "issuer init": "issuer",
    "issuer issue": "--key issuer --circle ID --until 2027-12-31 --output entitlement",
    "issuer trust": "issuer.pub",
    "import": "export.json --preview",
    "export": "--format ics --trip Rome --output rome.ics",
    "mirror": "--from laptop --preview",
    "assert": "--preview",
    "cleanup": "--preview",
    "restamp": "--preview",
    "service install": "",
    "service uninstall": "",
    "service status": "",
    "completions": "bash",
    "manual": "",
    "paths": "",
    "version": "",
    "help": "trip add",
  ]
}
