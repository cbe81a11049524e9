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
    "help": "trip add",
  ]
}
