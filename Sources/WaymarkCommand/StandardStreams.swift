import JSONDocument
import Waymark

/// Handles `-` in place of a file, and files that only this process can open: pipes and devices.
struct StandardStreams {
  /// The command line with `-` resolved and with piped files replaced by temporary copies.
  private(set) var invocation: Invocation
  private var piped: [String: PipedFile] = [:]

  /// - Throws: `WaymarkError` for a `-` where none is allowed.
  init(_ typed: Invocation) throws {
    invocation = typed
    switch typed.words {
    case ["export"] where typed["output"] == "-", ["issuer", "issue"] where typed["output"] == "-":
      invocation.arguments["output"] = .null
    case ["metrics"] where typed["write"] == "-": invocation.arguments["write"] = .null
    case ["import"]: try takeInput()
    case ["entitlement", "install"]: try takeEntitlement()
    default: break
    }
    try refuseDashes()
  }

  /// Removes the temporary copies.
  func end() { for file in piped.values { file.remove() } }

  /// Returns the failure with temporary paths replaced by the names that the user typed.
  func naming(_ failure: WaymarkError) -> WaymarkError {
    func named(_ text: String, _ dash: String = "standard input") -> String {
      piped.reduce(text) { $0.replacing($1.value.path, with: $1.key == "-" ? dash : $1.key) }
    }
    return WaymarkError(
      exitCode: failure.exitCode, code: failure.code, message: named(failure.message),
      next: failure.next.map { $0.mapText { named($0, "-") } }, candidates: failure.candidates)
  }

  private mutating func takeEntitlement() throws {
    guard let path = invocation["file"], PipedFile.isNeeded(for: path) else { return }
    let file = try PipedFile(path)
    piped[path] = file
    invocation.arguments["file"] = .string(file.path)
  }

  private mutating func takeInput() throws {
    var paths = invocation.arguments["files"]?.array?.compactMap(\.string) ?? []
    do {
      for index in paths.indices where PipedFile.isNeeded(for: paths[index]) {
        let file = try piped[paths[index]] ?? PipedFile(paths[index])
        piped[paths[index]] = file
        paths[index] = file.path
      }
    } catch {
      end()
      throw error
    }
    invocation.arguments["files"] = .array(paths.map(JSON.string))
  }

  private func refuseDashes() throws {
    guard let spec = CommandTable.all.first(where: { $0.words == invocation.words }) else { return }
    let operands = spec.operands.filter(\.isPath).map { ($0.placeholder, $0.key) }
    // `--file` names the source of a passphrase; there, `-` means standard input.
    let options = spec.options.filter { $0.isPath && $0.flag != "--file" }.map { ($0.flag, $0.requestKey) }
    for (name, key) in operands + options where invocation[key] == "-" {
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
