package import JSONDocument
import Wire

/// One command as it reaches the node: its words joined with dots, and its arguments by name.
package struct CommandRequest: Hashable, Sendable {
  package var command: String
  /// An object; paths in it are absolute.
  package var arguments: JSON
  /// Opens a sealed key that the command needs; it crosses the control socket on a line of its own.
  package var passphrase: Passphrase?
  /// Who waits for the answer; it does not cross the control socket.
  package var caller = CommandCaller()

  package init(_ command: String, _ arguments: JSON = .object([])) {
    self.command = command
    self.arguments = arguments
  }

  /// The request line of the control socket.
  package var json: JSON { ["command": .string(command), "arguments": arguments] }

  /// Reads a request line; nil if it is not one.
  package init?(json: JSON) {
    guard let command = json["command"]?.string else { return nil }
    let arguments = json["arguments"] ?? .object([])
    guard arguments.members != nil else { return nil }
    self.init(command, arguments)
  }
}

/// Who waits for the answer to a command. All are equal, as this is not part of what is asked.
package struct CommandCaller: Hashable, Sendable {
  /// Whether it has hung up. A command that has not begun by then is not carried out.
  package let hasLeft: @Sendable () -> Bool

  package init(hasLeft: @escaping @Sendable () -> Bool = { false }) { self.hasLeft = hasLeft }

  package static func == (left: CommandCaller, right: CommandCaller) -> Bool { true }

  package func hash(into hasher: inout Hasher) {}
}

extension CommandRequest {
  /// The words of the command as a person types them.
  var words: [String] { command.split(separator: ".").map(String.init) }

  package func text(_ name: String) -> String? { arguments[name]?.string }

  /// The argument, or a failure that says what is missing.
  func required(_ name: String, _ what: String) throws -> String {
    guard let text = text(name) else {
      throw WaymarkError.usage("`waymark \(words.joined(separator: " "))` needs \(what).")
    }
    return text
  }

  func flag(_ name: String) -> Bool { arguments[name]?.boolean ?? false }

  func texts(_ name: String) -> [String] {
    arguments[name]?.array?.compactMap(\.string) ?? text(name).map { [$0] } ?? []
  }

  /// The `field=value` pairs, in the order in which they were typed.
  func fields() throws -> [(name: String, value: String)] {
    var pairs: [(name: String, value: String)] = []
    for item in arguments["fields"]?.array ?? [] {
      guard let name = item[0]?.string, let value = item[1]?.string else {
        throw WaymarkError.usage("A field is given as `name=value`.")
      }
      if pairs.contains(where: { $0.name == name }) {
        throw WaymarkError.usage("The field `\(name)` is given twice.")
      }
      pairs.append((name, value))
    }
    return pairs
  }
}

/// The document of a command, with its schema first.
func document(_ command: String, _ members: [JSON.Member]) -> JSON {
  .object([JSON.Member("schema", .string("waymark.\(command)/1"))] + members)
}

extension CommandRequest {
  package func performWithoutNode(
    _ home: Home, events: @escaping @Sendable (JSON) -> Void
  ) async throws -> JSON {
    try await SuspectStore.check(home) { progress in
      events([
        "type": "progress", "stage": .string(progress.stage), "done": .integer(progress.done),
        "total": .integer(progress.total),
      ])
    }
    let node = try Node.open(home)
    let result = await node.answer(self, events: events)
    await node.close()
    return try result.get()
  }
}
