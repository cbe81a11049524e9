import Console
import Control
import Platform
import JSONDocument
import Records
import Waymark
import WaymarkCare

/// The completions that depend on the store, which the shells' scripts ask for with `waymark __complete -- WORD…`: names
/// of records and devices, keys of settings, and fields with their values.
///
/// Nothing is changed, no passphrase is asked for, and on any error nothing is printed, because a message would end up
/// in the middle of the line that is being typed.
struct LiveCompletions {
  static let command = "__complete"

  /// The placeholders in the command table whose values are completed from the store.
  static let placeholders: Set<String> = [
    "ID", "TRIP", "T", "HABIT", "PEER", "DEVICE", "PEER|RECORD", "RECORD", "KEY", "OPERATION",
    "winner|loser|DEVICE",
    "LODGING", "TRANSPORTATION", "ACTIVITY",
  ]

  private let line: CompletionLine
  private let home: Home

  /// - Parameter words: the words after `waymark`, as the shell sees them; the last one is to be completed.
  init?(_ words: [String], environment: [String: String]) {
    line = CompletionLine(words.map(Self.unquoted))
    guard let home = try? Home.resolve(flag: line.values["--home"], environment: environment) else {
      return nil
    }
    self.home = home
  }

  /// Prints the completions, one a line, and ends the process after a moment even if a node does not answer.
  func print(on terminal: Terminal) async {
    startThread {
      sleepThread(seconds: Self.seconds)
      _exit(0)
    }
    let found = ((try? await candidates()) ?? []).filter {
      $0.lowercased().hasPrefix(line.current.lowercased())
    }
    for candidate in found.prefix(Self.candidatesMax) where !candidate.contains(where: \.isNewline) {
      terminal.data(line.prefix + candidate)
    }
  }

  private static let seconds = 2.0
  private static let candidatesMax = 500

  /// bash and zsh pass words as they were typed, with quotes and backslashes.
  private static func unquoted(_ word: String) -> String {
    var result = ""
    var isEscaped = false
    for letter in word {
      if !isEscaped, letter == "\\" {
        isEscaped = true
      } else {
        if isEscaped || (letter != "'" && letter != "\"") { result.append(letter) }
        isEscaped = false
      }
    }
    return result
  }

  // MARK: Choosing

  private func candidates() async throws -> [String] {
    guard let spec = line.spec else { return [] }
    if let option = line.option {
      return try await values(of: spec.options.first { $0.flag == option }?.placeholder ?? "", spec)
    }
    guard let operand = line.operand(of: spec) else { return [] }
    if case .field = operand.type { return try await fields(spec) }
    return try await values(of: operand.placeholder, spec)
  }

  private func values(of placeholder: String, _ spec: CommandSpec) async throws -> [String] {
    switch placeholder {
    case "ID" where spec.words[0] == "conflicts": try await answer(ListConflicts.self).conflicts.map(\.id)
    case "ID": try await names(spec.words[0], deleted: spec.words.last == "restore")
    case "TRIP", "T": try await names("trip")
    case "HABIT", "LODGING", "TRANSPORTATION", "ACTIVITY": try await names(placeholder.lowercased())
    case "PEER", "DEVICE": try await devices()
    case "winner|loser|DEVICE": try await ["winner", "loser"] + devices()
    case "RECORD": try await records()
    case "PEER|RECORD": try await devices() + records()
    case "KEY": try await answer(ListSettings.self).settings.map(\.key)
    case "OPERATION":
      try await answer(ShowHistory.self).operations.map { String($0.id.description.prefix(8)) }
    default:
      if let kind = Schema.known.kind(named: placeholder.lowercased()) {
        try await names(kind.name)
      } else {
        []
      }
    }
  }

  // MARK: Fields

  private func fields(_ spec: CommandSpec) async throws -> [String] {
    guard let kind = Schema.known.kind(named: spec.words[0]) else { return [] }
    let given = Set(line.operands.compactMap { $0.split(separator: "=").first.map(String.init) })
    guard let equals = line.current.firstIndex(of: "=") else {
      return kind.assignableNames.filter { !given.contains($0) }.map { $0 + "=" }
    }
    let name = String(line.current[..<equals])
    return try await values(ofField: name, of: kind).map { "\(name)=\($0)" }
  }

  private func values(ofField name: String, of kind: Kind) async throws -> [String] {
    if kind == Kind.attachment, Kind.owners.contains(where: { $0.name == name }) {
      return try await names(name)
    }
    guard let field = kind.field(named: name), field.part(named: name) == 0 else { return [] }
    switch field.type {
    case .bool: return ["yes", "no"]
    case .reference(let number), .keyReference(let number):
      guard let target = Schema.known.kind(number) else { return [] }
      return try await names(target.name)
    default: return field.rule.words
    }
  }

  // MARK: The store

  private func names(_ kind: String, deleted: Bool = false) async throws -> [String] {
    // Entries have no names, and there can be very many.
    guard let known = Schema.known.listed.first(where: { $0.name == kind }), known != Kind.habitEntry else {
      return []
    }
    guard let title = known.listing?.title else { return [] }
    let items = try await answer(ListRecords.self, ["kind": .string(kind), "deleted": .bool(deleted)]).items
    return items.compactMap { item in
      if case .text(let name) = item.record.cell(title) { name } else { nil }
    }
  }

  private func records() async throws -> [String] {
    try await names("trip") + names("habit") + names("organization")
  }

  private func devices() async throws -> [String] {
    try await answer(ListMembers.self).members.filter { !$0.isOwn }.map(\.name)
  }

  private func answer<Asked: NodeCommand>(_ type: Asked.Type, _ arguments: JSON = [:]) async throws
    -> Asked.Answer
  {
    try await ControlClient.perform(AnswerCoding.decode(type, from: arguments), home: home)
  }
}

/// A command line that is being typed.
private struct CompletionLine {
  /// The command, as far as it is known.
  private(set) var spec: CommandSpec?
  private(set) var operands: [String] = []
  private(set) var values: [String: String] = [:]
  /// The option whose value is being typed; nil for an operand.
  private(set) var option: String?
  /// The word or value to complete.
  let current: String
  /// The part of the word before it: `--take=`.
  let prefix: String

  init(_ words: [String]) {
    var place: [String] = []
    let typed = words.last ?? ""
    for word in words.dropLast() {
      if let flag = option {
        values[flag] = word
        option = nil
      } else if word.hasPrefix("--") {
        let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
        if parts.count == 2 { values[parts[0]] = parts[1] } else if Self.takesValue(word) { option = word }
      } else if operands.isEmpty, CommandTable.all.contains(where: { $0.words.starts(with: place + [word]) })
      {
        place.append(word)
      } else {
        operands.append(word)
      }
    }
    spec =
      CommandTable.all.first { $0.words == place }
      ?? CommandTable.all.first {
        $0.impliesLastWord && $0.words.dropLast().elementsEqual(place)
      }
    if option == nil, typed.hasPrefix("--"), let equals = typed.firstIndex(of: "=") {
      option = String(typed[..<equals])
      prefix = String(typed[...equals])
      current = String(typed[typed.index(after: equals)...])
    } else {
      (prefix, current) = ("", typed)
    }
  }

  private static func takesValue(_ flag: String) -> Bool {
    (GlobalOptions.specs + CommandTable.all.flatMap(\.options)).contains {
      $0.flag == flag && $0.takesNextWord
    }
  }

  /// The operand that is being typed.
  func operand(of spec: CommandSpec) -> CommandSpec.Operand? {
    if operands.count < spec.operands.count { return spec.operands[operands.count] }
    return spec.operands.last.flatMap { $0.isRepeated ? $0 : nil }
  }
}
