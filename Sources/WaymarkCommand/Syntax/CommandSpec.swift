/// One command as it is typed: parsing, help and usage errors are derived from this.
struct CommandSpec: Sendable {
  let words: [String]
  let summary: String
  var operands: [Operand] = []
  var options: [Option] = []
  /// `waymark peers` means `waymark peers list`.
  var impliesLastWord = false
  /// A line or two that `help` adds.
  var details: String?
  /// What follows the words in an example; an empty text where nothing needs to.
  var exampleArguments: String?

  /// What stands at a place of its own.
  struct Operand: Sendable {
    let placeholder: String
    let key: String
    var type = ValueType.text
    var isOptional = false
    /// Takes all that follows; only the last one can.
    var isRepeated = false

    var usage: String {
      let text = placeholder + (isRepeated ? "…" : "")
      return isOptional ? "[\(text)]" : text
    }
  }

  /// What begins with two dashes.
  struct Option: Sendable {
    let flag: String
    /// How the value is called in help; nil for a flag without one.
    let placeholder: String?
    let summary: String
    var type = ValueType.text
    var isRepeated = false

    /// `--no-discovery` is `noDiscovery` in the request, `--timeout 30s` is `timeoutMilliseconds`.
    var requestKey: String {
      let parts = flag.drop { $0 == "-" }.split(separator: "-")
      let words = parts.enumerated().map { index, part in
        index == 0 ? String(part) : part.prefix(1).uppercased() + part.dropFirst()
      }
      if case .duration = type { return words.joined() + "Milliseconds" }
      return words.joined()
    }
  }

  /// What a value may be, and what the request carries for it.
  enum ValueType: Sendable {
    case text
    /// Made absolute; `-` stays.
    case path
    /// `10m`; the request carries milliseconds.
    case duration
    case words([String])
    /// `field=value`; the request carries pairs.
    case field
  }

  /// The command as it is typed, and as the request names it.
  var name: String { words.joined(separator: " ") }
  var requestName: String { words.joined(separator: ".") }

  /// `waymark peers add ADDR:PORT`
  var usage: String {
    var parts = ["waymark"] + words
    if impliesLastWord, let last = parts.popLast() { parts.append("[\(last)]") }
    parts += operands.map(\.usage)
    parts += options.map { option in
      let text = option.placeholder.map { "\(option.flag) \($0)" } ?? option.flag
      return "[\(text)]" + (option.isRepeated ? "…" : "")
    }
    return parts.joined(separator: " ")
  }
}

/// Options that every command takes, anywhere on the line.
struct GlobalOptions: Equatable, Sendable {
  var home: String?
  var json = false
  var noColor = false
  var yes = false
  var help = false

  static let specs: [CommandSpec.Option] = [
    .init(flag: "--home", placeholder: "DIR", summary: "where this node lives", type: .path),
    .init(flag: "--json", placeholder: nil, summary: "print one JSON document"),
    .init(flag: "--no-color", placeholder: nil, summary: "no colour, even on a terminal"),
    .init(flag: "--yes", placeholder: nil, summary: "do it without asking"),
    .init(flag: "--help", placeholder: nil, summary: "explain the command"),
  ]
}

extension CommandSpec {
  /// A line that makes sense as it is typed; a test parses them all.
  var example: String? {
    exampleArguments.map { $0.isEmpty ? "waymark \(name)" : "waymark \(name) \($0)" }
  }
}
