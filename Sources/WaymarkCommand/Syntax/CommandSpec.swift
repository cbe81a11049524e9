/// The syntax of one command, from which parsing, help and usage errors are derived.
struct CommandSpec: Sendable {
  let words: [String]
  let summary: String
  var operands: [Operand] = []
  var options: [Option] = []
  /// Whether the last word may be left out: `waymark peers` means `waymark peers list`.
  var impliesLastWord = false
  /// A paragraph that `help` adds. Indented lines are examples, which are not wrapped.
  var details: String?
  /// The arguments of the example in help; empty if the command needs none.
  var exampleArguments: String?

  /// A positional argument.
  struct Operand: Sendable {
    let placeholder: String
    let key: String
    var type = ValueType.text
    var isOptional = false
    /// Whether it takes all words that follow; only the last operand can.
    var isRepeated = false
    var dash = Dash.refused

    var usage: String {
      let text = placeholder + (isRepeated ? "…" : "")
      return isOptional ? "[\(text)]" : text
    }
  }

  /// An argument that begins with two dashes.
  struct Option: Sendable {
    let flag: String
    /// The name of the value in help; nil for a flag without a value.
    let placeholder: String?
    let summary: String
    var type = ValueType.text
    var isRepeated = false
    var isRequired = false
    /// The value if the flag stands alone; another value then follows after an equals sign: `--qr=full`.
    var valueAlone: String?
    var dash = Dash.refused

    var takesNextWord: Bool { placeholder != nil && valueAlone == nil }

    /// The flag with its value, as help shows it: `--key FILE`.
    var usage: String {
      guard let placeholder else { return flag }
      return valueAlone == nil ? "\(flag) \(placeholder)" : "\(flag)[=\(placeholder)]"
    }

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

  /// What `-` means in place of a path.
  enum Dash: Sendable {
    case refused
    case standardInput
    case standardOutput
  }

  /// The type of a value, and its form in the request.
  enum ValueType: Sendable {
    case text
    /// A path, which is made absolute unless it is `-`.
    case path
    /// A duration such as `10m`; the request carries milliseconds.
    case duration
    case words([String])
    /// A field such as `name=Rome`; the request carries name and value as a pair.
    case field
  }

  /// Whether it has an operand of the form `FIELD=VALUE`.
  var takesFields: Bool { operands.contains { if case .field = $0.type { true } else { false } } }

  /// The name as the user types it.
  var name: String { words.joined(separator: " ") }
  var requestName: String { words.joined(separator: ".") }

  /// `waymark peers add ADDR:PORT`
  var usage: String {
    var parts = ["waymark"] + words
    if impliesLastWord, let last = parts.popLast() { parts.append("[\(last)]") }
    parts += operands.map(\.usage)
    parts += options.map { option in
      option.isRequired ? option.usage : "[\(option.usage)]" + (option.isRepeated ? "…" : "")
    }
    return parts.joined(separator: " ")
  }
}

/// Options that every command takes, anywhere on the line.
struct GlobalOptions: Equatable, Sendable {
  var home: String?
  var json = false
  var noColor = false
  var noPager = false
  var yes = false
  var help = false

  static let specs: [CommandSpec.Option] = [
    .init(flag: "--home", placeholder: "DIR", summary: "the home of the node", type: .path),
    .init(flag: "--json", placeholder: nil, summary: "print the answer as JSON"),
    .init(flag: "--no-color", placeholder: nil, summary: "no colours, even on a terminal"),
    .init(flag: "--no-pager", placeholder: nil, summary: "don't show long output page by page"),
    .init(flag: "--yes", placeholder: nil, summary: "confirm without being asked"),
    .init(flag: "--help", placeholder: nil, summary: "show help for the command"),
  ]
}

extension CommandSpec {
  /// A complete command line, shown in help; a test parses all examples.
  var example: String? {
    exampleArguments.map { $0.isEmpty ? "waymark \(name)" : "waymark \(name) \($0)" }
  }
}
