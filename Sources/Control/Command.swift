// How a command travels: the terminal makes a command from the command line. The client sends the command to the
// running node through the control socket, or opens the home itself if no node is running. The node performs the
// command, and the answer goes back the same way. Arguments and answers are typed values from one end to the other;
// they become JSON only on the socket and with `--json`.

package import Waymark

/// A named request with arguments, which is answered by a single value.
///
/// A file of this module defines a command's arguments, its answer and what it does. The file of the same name in
/// `WaymarkCommand` defines its syntax, help and output.
package protocol Command: Codable, Sendable {
  associatedtype Answer: Codable & Sendable

  /// The words of the command, joined with dots: `peers.ping`.
  static var name: String { get }
  /// The name in requests and in the schema of the JSON document, `waymark.NAME/1`. Differs from `name` only if several
  /// commands share a type.
  var documentName: String { get }
  /// Whether the command changes nothing, and can therefore be repeated safely.
  var isReadOnly: Bool { get }
}

extension Command {
  package var documentName: String { Self.name }
  package var isReadOnly: Bool { false }
}

/// A command that is performed by a node.
package protocol NodeCommand: Command {
  /// The key file whose passphrase may be needed; nil for the root key in the home.
  var keyFile: String? { get }
  /// The time limit of the command itself; nil if it has none.
  var patienceMilliseconds: Int64? { get }

  /// Whether the command writes nothing to the home, though it may write files elsewhere.
  var needsNoWriting: Bool { get }
  /// Whether the command reads the files of attachments.
  var readsFiles: Bool { get }

  /// - Throws: any error; `Node.failure(_:)` converts it to a `WaymarkError`.
  func perform(on node: isolated Node, _ call: CommandCall) async throws -> Answer
  /// Performs the command if no node is running.
  ///
  /// - Throws: `WaymarkError`
  func performWithoutNode(
    _ home: Home, _ tell: @escaping @Sendable (CommandEvent) -> Void
  ) async throws -> Answer
}

extension NodeCommand {
  package var keyFile: String? { nil }
  package var patienceMilliseconds: Int64? { nil }
  package var needsNoWriting: Bool { isReadOnly }
  package var readsFiles: Bool { !isReadOnly }

  package func performWithoutNode(
    _ home: Home, _ tell: @escaping @Sendable (CommandEvent) -> Void
  ) async throws -> Answer {
    try await openAndPerform(home, tell)
  }
}

/// A command that waits for nothing but the store, so it can be answered on the client's own thread.
package protocol PromptCommand: NodeCommand {
  /// Whether this command, with its arguments, waits for nothing else.
  var isPrompt: Bool { get }

  func perform(on node: isolated Node) throws -> Answer
}

extension PromptCommand {
  package var isPrompt: Bool { true }

  package func perform(on node: isolated Node, _ call: CommandCall) async throws -> Answer {
    try perform(on: node)
  }
}

/// A command that asks for confirmation before a change with large consequences.
package protocol ConfirmableCommand: Command {
  var yes: Bool? { get set }
}

/// The context of a command that is being performed.
package struct CommandCall: Sendable {
  /// Sends an event to the client that waits for the answer; can be called on any thread.
  package var tell: @Sendable (CommandEvent) -> Void
  /// The passphrase of a sealed key that the command needs. It crosses the control socket on a line of its own.
  package var passphrase: Passphrase?
  /// Whether the client has hung up. A command that has not begun by then is not carried out.
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
