// How a command travels: the terminal makes one of what was typed, the client carries it to the node through the
// control socket, or opens the home itself where no node runs; the node performs it, and its answer goes back the same
// way. Arguments and answers are values of their own types from one end to the other; JSON is only what they look like
// on the socket and behind `--json`.

package import Waymark

/// Something that can be asked for by name, with its arguments. Its answer is one value.
///
/// A command stands in one place: its arguments, its answer and what it does in a file of this module, and how it is
/// typed, explained and shown in the file of the same name in the command line.
package protocol Command: Codable, Sendable {
  associatedtype Answer: Codable & Sendable

  /// The words that name it, joined with dots: `peers.ping`.
  static var name: String { get }
  /// The name in requests and in the schema of its document, `waymark.NAME/1`; `name` unless several share a type.
  var documentName: String { get }
  /// Whether nothing is different after it, so that it can be given again.
  var isReadOnly: Bool { get }
}

extension Command {
  package var documentName: String { Self.name }
  package var isReadOnly: Bool { false }
}

/// A command that a node performs.
package protocol NodeCommand: Command {
  /// The key file whose passphrase it may need; nil for the root key.
  var keyFile: String? { get }
  /// When it gives up by itself; nil if it has no limit of its own.
  var patienceMilliseconds: Int64? { get }

  /// - Throws: any error; `Node.failure(_:)` makes a sentence of it.
  func perform(on node: isolated Node, _ call: CommandCall) async throws -> Answer
  /// Performs it where no node runs.
  ///
  /// - Throws: `WaymarkError`
  func performWithoutNode(
    _ home: Home, _ tell: @escaping @Sendable (CommandEvent) -> Void
  ) async throws -> Answer
}

extension NodeCommand {
  package var keyFile: String? { nil }
  package var patienceMilliseconds: Int64? { nil }

  package func performWithoutNode(
    _ home: Home, _ tell: @escaping @Sendable (CommandEvent) -> Void
  ) async throws -> Answer {
    try await openAndPerform(home, tell)
  }
}

/// A command that waits for nothing but the store: it is answered on the thread of who asks.
package protocol PromptCommand: NodeCommand {
  func perform(on node: isolated Node) throws -> Answer
}

extension PromptCommand {
  package func perform(on node: isolated Node, _ call: CommandCall) async throws -> Answer {
    try perform(on: node)
  }
}

/// A command that asks for a yes before it does what can't be taken back.
package protocol ConfirmableCommand: Command {
  var yes: Bool? { get set }
}

/// What a command can use while it is performed.
package struct CommandCall: Sendable {
  /// Tells who waits for the answer what happens meanwhile; called on any thread.
  package var tell: @Sendable (CommandEvent) -> Void
  /// Opens a sealed key that the command needs; it crosses the control socket on a line of its own.
  package var passphrase: Passphrase?
  /// Whether who waits has hung up. A command that has not begun by then is not carried out.
  package var hasLeft: @Sendable () -> Bool

  package init(
    passphrase: Passphrase? = nil, hasLeft: @escaping @Sendable () -> Bool = { false },
    tell: @escaping @Sendable (CommandEvent) -> Void = { _ in }
  ) {
    self.tell = tell
    self.passphrase = passphrase
    self.hasLeft = hasLeft
  }
}
