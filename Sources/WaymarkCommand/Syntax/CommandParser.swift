import Console
import Control
import JSONDocument
import Records
import Waymark
import WaymarkCare

/// A parsed command line.
struct Invocation: Equatable, Sendable {
  var words: [String]
  /// The arguments of the request.
  var arguments: JSON
  var options: GlobalOptions

  var requestName: String { words.joined(separator: ".") }
  var request: ControlRequest { ControlRequest(command: requestName, arguments: arguments) }

  /// Returns the arguments that this process needs itself.
  func arguments<Arguments: Decodable>(as type: Arguments.Type) throws -> Arguments {
    try AnswerCoding.decode(type, from: arguments)
  }
}

/// Turns the words of a command line into a request, or into an error that says what to type.
struct CommandParser {
  let table: [CommandSpec]
  /// The directory that relative paths refer to; nil if the working directory is gone.
  let directory: String?

  init(table: [CommandSpec] = CommandTable.all, directory: String?) {
    self.table = table
    self.directory = directory
  }

  func parse(_ arguments: [String]) throws -> Invocation {
    var tokens = try self.tokens(arguments)
    tokens.operands = canonical(tokens.operands)
    replaceSyncDirection(in: &tokens)
    var globals = GlobalOptions()
    for option in tokens.options { try apply(option, to: &globals) }
    if tokens.operands.isEmpty { return help([], globals) }
    if globals.help { return help(tokens.operands.map(\.self), globals) }
    let (spec, operands) = try command(tokens.operands)
    var request = JSON.object([])
    // Options first: an unknown option explains the mistake better than a missing operand.
    for option in tokens.options where !isGlobal(option.flag) {
      try take(option, for: spec, into: &request)
    }
    try take(operands, for: spec, into: &request)
    try checkRequired(spec, request)
    if globals.yes { request["yes"] = true }
    return Invocation(words: spec.words, arguments: request, options: globals)
  }

  private func help(_ topic: [String], _ globals: GlobalOptions) -> Invocation {
    Invocation(
      words: ["help"], arguments: ["topic": .array(topic.map(JSON.string))], options: globals)
  }

  // MARK: Tokens

  private struct Option {
    let flag: String
    let value: String?
  }

  private struct Tokens {
    var operands: [String] = []
    var options: [Option] = []
  }

  /// Separates operands from options. An option takes a value either in every command or in none, so this does not need
  /// to know the command.
  private func tokens(_ arguments: [String]) throws -> Tokens {
    var tokens = Tokens()
    var asksVersion = false
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      if argument == "--" {
        tokens.operands += rest
        break
      }
      guard argument.hasPrefix("--") || argument == "-h" else {
        try refuseShortOption(argument)
        tokens.operands.append(argument)
        continue
      }
      if argument == "--version" {
        asksVersion = true
        continue
      }
      let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let flag = argument == "-h" ? "--help" : String(parts[0])
      guard let spec = option(named: flag) else { throw unknownOption(flag, tokens.operands) }
      var value = parts.count == 2 ? String(parts[1]) : spec.valueAlone
      if spec.placeholder != nil, value == nil {
        guard let next = rest.popFirst() else {
          throw WaymarkError.usage(
            "\(flag) needs a value: \(flag) \(spec.placeholder ?? "").", next: helpOn(tokens.operands))
        }
        value = next
      } else if spec.placeholder == nil, value != nil {
        throw WaymarkError.usage("\(flag) takes no value.", next: helpOn(tokens.operands))
      }
      tokens.options.append(Option(flag: flag, value: value))
    }
    if asksVersion { tokens.operands = ["version"] }
    return tokens
  }

  /// Rejects short options. `-5` is a number and `-` is standard input; any other single dash is a mistake.
  private func refuseShortOption(_ argument: String) throws {
    guard argument.hasPrefix("-"), let second = argument.dropFirst().first, second.isLetter else { return }
    throw WaymarkError.usage("There is no option \(argument).", next: .waymark("help"))
  }

  private func option(named flag: String) -> CommandSpec.Option? {
    (GlobalOptions.specs + table.flatMap(\.options)).first { $0.flag == flag }
  }

  private func isGlobal(_ flag: String) -> Bool { GlobalOptions.specs.contains { $0.flag == flag } }

  private func unknownOption(_ flag: String, _ operands: [String]) -> WaymarkError {
    let own = table.filter { operands.starts(with: $0.words) }.flatMap(\.options)
    let meant =
      nearest(flag, among: GlobalOptions.specs + own) ?? nearest(flag, among: table.flatMap(\.options))
    return .usage(
      "There is no option \(printable(flag))." + (meant.map { " Did you mean \($0)?" } ?? ""),
      next: helpOn(operands))
  }

  /// Returns the nearest flag. Compares without the dashes, which would make short flags look alike.
  private func nearest(_ flag: String, among options: [CommandSpec.Option]) -> String? {
    func letters(_ flag: String) -> String { String(flag.drop { $0 == "-" }) }
    let known = Array(Set(options.map { letters($0.flag) })).sorted()
    return Suggestion.nearest(to: letters(flag), among: known).map { "--" + $0 }
  }

  /// The help page for the words typed so far.
  private func helpOn(_ operands: [String]) -> Step {
    let known = table.map(\.words).filter { operands.starts(with: $0) }.max { $0.count < $1.count }
    let group = table.contains { $0.words.first == operands.first } ? Array(operands.prefix(1)) : []
    return .waymark((["help"] + (known ?? group)).joined(separator: " "))
  }

  private func apply(_ option: Option, to globals: inout GlobalOptions) throws {
    switch option.flag {
    // An empty path is refused later, when the home is resolved.
    case "--home": globals.home = try option.value.map { $0.isEmpty ? $0 : try absolute($0) }
    case "--json": globals.json = true
    case "--no-color": globals.noColor = true
    case "--no-pager": globals.noPager = true
    case "--yes": globals.yes = true
    case "--help": globals.help = true
    default: break
    }
  }

  // MARK: Command

  /// Replaces `sync --take PEER` with `mirror --from PEER`, and `sync --push` with `assert`.
  private func replaceSyncDirection(in tokens: inout Tokens) {
    guard tokens.operands == ["sync"] else { return }
    if let index = tokens.options.firstIndex(where: { $0.flag == "--take" }) {
      tokens.operands = ["mirror"]
      tokens.options[index] = Option(flag: "--from", value: tokens.options[index].value)
    } else if let index = tokens.options.firstIndex(where: { $0.flag == "--push" }) {
      tokens.operands = ["assert"]
      tokens.options.remove(at: index)
    }
  }

  /// Former names of commands, which scripts still use.
  private static let aliases = [
    (["log", "level"], ["logging", "level"]), (["log"], ["entry"]),
    (["entitlement", "show"], ["premium", "show"]),
  ]

  /// Short names of actions, as other programs have them.
  private static let actionAliases = ["ls": "list", "rm": "delete"]

  /// Replaces aliases with the words of their command, also after `help`.
  private func canonical(_ operands: [String]) -> [String] {
    let start = operands.first == "help" ? 1 : 0
    var words = Array(operands.dropFirst(start))
    if let (former, present) = Self.aliases.first(where: { words.starts(with: $0.0) }) {
      words = present + words.dropFirst(former.count)
    }
    words = singular(words)
    if words.count > 1, let action = Self.actionAliases[words[1]], !hasCommand(words[0], words[1]),
      hasCommand(words[0], action)
    {
      words[1] = action
    }
    return operands.prefix(start) + words
  }

  private func hasCommand(_ group: String, _ action: String) -> Bool {
    table.contains { $0.words == [group, action] }
  }

  /// Replaces the plural of a kind: `trips` is `trip list`, and `trips show` is `trip show`.
  private func singular(_ words: [String]) -> [String] {
    guard let first = words.first, !table.contains(where: { $0.words[0] == first }),
      let kind = Schema.known.listed.first(where: { $0.plural == first })
    else { return words }
    let isAction = words.count > 1 && hasCommand(kind.name, Self.actionAliases[words[1]] ?? words[1])
    return [kind.name] + (isAction ? [] : ["list"]) + words.dropFirst()
  }

  /// The command that the first words name, and the words that follow them.
  private func command(_ words: [String]) throws -> (CommandSpec, [String]) {
    let exact = table.filter { words.starts(with: $0.words) }
    if let spec = exact.max(by: { $0.words.count < $1.words.count }) {
      return (spec, Array(words.dropFirst(spec.words.count)))
    }
    let implied = table.first { $0.impliesLastWord && Array(words) == Array($0.words.dropLast()) }
    if let implied { return (implied, []) }
    throw unknownCommand(words)
  }

  private func unknownCommand(_ words: [String]) -> WaymarkError {
    let first = words[0]
    let group = table.filter { $0.words.count > 1 && $0.words[0] == first }
    guard !group.isEmpty else {
      let meant = Suggestion.nearest(to: first, among: Array(Set(table.map { $0.words[0] })))
      return .usage(
        "There is no command “\(printable(first))”." + (meant.map { " Did you mean `waymark \($0)`?" } ?? ""),
        next: .waymark("help"))
    }
    let actions = group.map { $0.words.dropFirst().joined(separator: " ") }
    guard words.count > 1 else {
      return .usage(
        "`waymark \(first)` needs one of: \(actions.joined(separator: ", ")).",
        next: .waymark("help \(first)"))
    }
    let meant = Suggestion.nearest(to: words[1], among: actions)
    let hint =
      meant.map { " Did you mean `waymark \(first) \($0)`?" }
      ?? " It has: \(actions.joined(separator: ", "))."
    return .usage(
      "`waymark \(first)` has no “\(printable(words[1]))”.\(hint)", next: .waymark("help \(first)"))
  }

  // MARK: Arguments

  private func take(_ words: [String], for spec: CommandSpec, into request: inout JSON) throws {
    var rest = words[...]
    for operand in spec.operands {
      guard let first = rest.popFirst() else {
        if operand.isOptional { continue }
        throw WaymarkError.usage(
          "`waymark \(spec.name)` needs \(operand.placeholder). Usage: \(spec.usage)",
          next: .waymark("help \(spec.name)"))
      }
      guard operand.isRepeated else {
        request[operand.key] = try value(first, operand.type, operand.placeholder, spec)
        continue
      }
      let all = [first] + rest
      rest = []
      request[operand.key] = .array(try all.map { try value($0, operand.type, operand.placeholder, spec) })
    }
    if let extra = rest.first {
      throw WaymarkError.usage(
        "Unexpected argument “\(printable(extra))”. Usage: \(spec.usage)", next: .waymark("help \(spec.name)")
      )
    }
  }

  private func take(_ option: Option, for spec: CommandSpec, into request: inout JSON) throws {
    guard let found = spec.options.first(where: { $0.flag == option.flag }) else {
      let options = spec.options.map(\.flag)
      let field = option.flag.dropFirst(2)
      if Schema.known.kind(named: spec.words[0])?.field(named: String(field)) != nil,
        spec.takesFields
      {
        throw WaymarkError.usage(
          "`waymark \(spec.name)` has no option \(option.flag); write \(field)=VALUE.",
          next: .waymark("help \(spec.name)"))
      }
      throw WaymarkError.usage(
        "`waymark \(spec.name)` has no option \(option.flag)"
          + (options.isEmpty ? "." : "; it has \(options.joined(separator: ", "))."),
        next: .waymark("help \(spec.name)"))
    }
    guard let text = option.value else {
      request[found.requestKey] = true
      return
    }
    let read = try value(text, found.type, found.flag, spec)
    let key = found.requestKey
    if found.isRepeated {
      request[key] = .array((request[key]?.array ?? []) + [read])
    } else if request[key] != nil {
      throw WaymarkError.usage("\(found.flag) is given twice.", next: .waymark("help \(spec.name)"))
    } else {
      request[key] = read
    }
  }

  /// Checks that all required options are given; one message names all that are missing.
  private func checkRequired(_ spec: CommandSpec, _ request: JSON) throws {
    let missing = spec.options.filter { $0.isRequired && request[$0.requestKey] == nil }.map(\.usage)
    guard !missing.isEmpty else { return }
    throw WaymarkError.usage(
      "`waymark \(spec.name)` needs \(missing.joined(separator: " and ")). Usage: \(spec.usage)",
      next: .waymark("help \(spec.name)"))
  }

  private func value(
    _ text: String, _ type: CommandSpec.ValueType, _ name: String, _ spec: CommandSpec
  ) throws -> JSON {
    switch type {
    case .text: return .string(text)
    case .path: return .string(text == "-" ? text : try absolute(text))
    case .duration:
      guard let milliseconds = Duration.milliseconds(in: text) else {
        throw WaymarkError.usage(
          "Invalid \(name) “\(printable(text))”: expected a number and a unit, such as 30s, 10m, 2h or 1d.",
          next: .waymark("help \(spec.name)"))
      }
      return .integer(milliseconds)
    case .words(let allowed):
      guard allowed.contains(text) else {
        throw WaymarkError.usage(
          "Invalid \(name) “\(printable(text))”: expected \(Self.either(allowed)).",
          next: .waymark("help \(spec.name)"))
      }
      return .string(text)
    case .field:
      guard let equals = text.firstIndex(of: "="), equals != text.startIndex else {
        if takesBareName(spec), !text.isEmpty, !text.hasPrefix("=") { return ["name", .string(text)] }
        throw WaymarkError.usage(
          "Invalid field “\(printable(text))”: expected NAME=VALUE.",
          next: .waymark("help \(spec.name)"))
      }
      let (name, value) = (String(text[..<equals]), String(text[text.index(after: equals)...]))
      let isPath = !value.isEmpty && Self.pathFields[spec.words[0]] == name
      return [.string(name), .string(isPath ? try absolute(value) : value)]
    }
  }

  /// The fields whose value is typed as the path of a file, by the first word of the command.
  private static let pathFields = ["attachment": "file", "profile": "avatar"]

  /// Whether a word without `=` is the name of a new record.
  private func takesBareName(_ spec: CommandSpec) -> Bool {
    spec.words.last == "add" && Schema.known.kind(named: spec.words[0])?.field(named: "name") != nil
  }

  /// `a, b or c`
  private static func either(_ words: [String]) -> String {
    guard let last = words.last, words.count > 1 else { return words.first ?? "" }
    return words.dropLast().joined(separator: ", ") + " or " + last
  }

  private func absolute(_ path: String) throws -> String {
    if path.hasPrefix("/") { return path }
    guard !path.isEmpty else {
      throw WaymarkError.usage("The path of a file is empty.", next: .waymark("help"))
    }
    return try (directory ?? workingDirectory()) + "/" + path
  }
}
