import JSONDocument
import Reasons
import Waymark
import WaymarkCare

/// Handles `-` in place of a file, and files that only this process can open: pipes and devices.
struct StandardStreams {
  /// The command line with `-` resolved and with piped files replaced by temporary copies.
  private(set) var invocation: Invocation
  private var piped: [String: PipedFile] = [:]

  /// - Throws: `WaymarkError` for a `-` where none is allowed.
  init(_ typed: Invocation) throws {
    invocation = typed
    guard let spec = CommandTable.all.first(where: { $0.words == typed.words }) else { return }
    for option in spec.options where option.dash == .standardOutput && isDash(option.requestKey) {
      invocation.arguments[option.requestKey] = .null
    }
    for operand in spec.operands where operand.dash == .standardInput { try takeInput(operand.key) }
    try refuseDashes(spec)
  }

  /// Removes the temporary copies.
  func end() { for file in piped.values { file.remove() } }

  /// Returns the failure with temporary paths replaced by the names that the user typed.
  func naming(_ failure: WaymarkError) -> WaymarkError {
    func named(_ text: String, _ dash: String = "standard input") -> String {
      piped.reduce(text) { $0.replacing($1.value.path, with: $1.key == "-" ? dash : $1.key) }
    }
    return WaymarkError(
      exitCode: failure.exitCode, code: failure.reason, message: .init(word: named("\(failure.message)")),
      next: failure.next.map { $0.mapText { named($0, "-") } }, field: failure.field,
      candidates: failure.candidates)
  }

  private func isDash(_ key: String) -> Bool { invocation.arguments[key] == "-" }

  /// Copies the files of an operand that only this process can open.
  private mutating func takeInput(_ key: String) throws {
    guard let typed = invocation.arguments[key] else { return }
    do {
      switch typed {
      case .array(let paths): invocation.arguments[key] = .array(try paths.map { try copied($0) })
      default: invocation.arguments[key] = try copied(typed)
      }
    } catch {
      end()
      throw error
    }
  }

  private mutating func copied(_ typed: JSON) throws -> JSON {
    guard let path = typed.string, PipedFile.isNeeded(for: path) else { return typed }
    let file = try piped[path] ?? PipedFile(path)
    piped[path] = file
    return .string(file.path)
  }

  private func refuseDashes(_ spec: CommandSpec) throws {
    let operands = spec.operands.filter(\.isPath).map { ($0.placeholder, $0.key) }
    // `--file` names the source of a passphrase; there, `-` means standard input.
    let options = spec.options.filter { $0.isPath && $0.flag != "--file" }.map { ($0.flag, $0.requestKey) }
    for (name, key) in operands + options where isDash(key) {
      throw WaymarkError(
        exitCode: ExitCode.usage, code: .usage,
        message: "\(name) can't be “-” here: it must be a file.", next: .waymark("help \(spec.name)"))
    }
  }
}

extension CommandSpec.Operand {
  fileprivate var isPath: Bool { if case .path = type { true } else { false } }
}

extension CommandSpec.Option {
  fileprivate var isPath: Bool { if case .path = type { true } else { false } }
}
