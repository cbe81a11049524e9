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
    "init": "--name laptop",
    "invite": "--expires 1h",
    "join": "--name phone",
    "run": "--listen [::]:7433",
    "verify": "--deep",
    "restore": "laptop.waymark --preview",
    "mirror": "--from laptop --preview",
    "assert": "--preview",
    "cleanup": "--preview",
    "restamp": "--preview",
    "help": "trip add",
  ]
}
