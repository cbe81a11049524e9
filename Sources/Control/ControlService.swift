import Platform
import Home
package import JSONDocument
import Reasons
public import Waymark
import Wire

extension Node {
  /// Serves the command line on the home's socket until the node closes.
  ///
  /// While an app serves its node in this way, `waymark --home DIR` works with that node.
  ///
  /// - Throws: `WaymarkError` if the socket can't be created, and for a node in memory.
  public func serveControl() throws {
    try core.checkOpen()
    try core.checkHasDirectory("A control socket")
    servesCommands(ControlSocket(try startControlServer()))
  }

  private func startControlServer() throws -> ControlServer {
    let place: ControlSocketPath
    do { place = try .toServe(home) } catch { throw core.failure(error) }
    let server = try ControlServer(
      at: place, promptly: { [weak self] request in self?.answerPromptly(request) },
      isAlive: { [weak self] in self?.isAlive ?? false },
      handler: { [weak self] request, call in
        switch await self?.answer(to: request, call) {
        case .success(let answer): .result(answer)
        case .failure(let failure): .failure(failure.forClients)
        case nil: .failure(.hungUp)
        }
      })
    server.start()
    return server
  }

  /// The control socket that a node serves.
  private final class ControlSocket: NodeService {
    private let server: ControlServer

    init(_ server: ControlServer) { self.server = server }

    var isServing: Bool { !server.isStopped }

    func stop() { server.stop() }

    func restart(for node: isolated Node) throws { try node.serveControl() }
  }

  /// Performs a command, and converts every error to one that a person can act on.
  package func answer<Asked: NodeCommand>(
    _ command: Asked, _ call: CommandCall = CommandCall()
  ) async -> Result<Asked.Answer, WaymarkError> {
    // The client may have hung up while the command was waiting for its turn.
    guard !Task.isCancelled, !call.hasLeft() else { return .failure(.cancelled) }
    beginCommand()
    defer { endCommand() }
    do {
      try readyForCommand()
      return .success(try await command.perform(on: self, call))
    } catch {
      return .failure(core.failure(error))
    }
  }

  /// Answers a command on the caller's thread, without waking another. Returns nil if the node is busy, or if the
  /// command needs more than the store.
  private nonisolated func answerPromptly(_ request: ControlRequest) -> ControlReply? {
    guard let type = Commands.named(request.command) as? any PromptCommand.Type else { return nil }
    return runNow { $0.promptReply(to: request, type) } ?? nil
  }

  /// Returns nil if the command needs more than the store.
  private func promptReply(
    to request: ControlRequest, _ type: (some PromptCommand).Type
  ) -> ControlReply? {
    beginCommand()
    defer { endCommand() }
    do {
      let command = try request.command(as: type)
      guard command.isPrompt else { return nil }
      try readyForCommand()
      return .result(try AnswerCoding.encode(try command.perform(on: self)))
    } catch {
      return .failure(core.failure(error).forClients)
    }
  }

  /// Performs the command of a request and returns its answer as JSON.
  package func answer(
    to request: ControlRequest, _ call: CommandCall = CommandCall()
  ) async -> Result<JSON, WaymarkError> {
    guard let type = Commands.named(request.command) else {
      let words = shortened(request.command.replacing(".", with: " "))
      return .failure(.usage("There is no command `\(words)`.", next: .waymark("help")))
    }
    return await answer(to: request, type, call)
  }

  private func answer(
    to request: ControlRequest, _ type: (some NodeCommand).Type, _ call: CommandCall
  ) async -> Result<JSON, WaymarkError> {
    do {
      let command = try request.command(as: type)
      return .success(try AnswerCoding.encode(try await answer(command, call).get()))
    } catch {
      return .failure(core.failure(error))
    }
  }
}

extension WaymarkError {
  /// The failure as reported to a client. The client did not close the node, so "closed" becomes "hung up".
  fileprivate var forClients: WaymarkError { code == WaymarkError.closed.code ? .hungUp : self }
}

extension ControlRequest {
  /// - Throws: `WaymarkError` if the arguments don't fit the command.
  package func command<Asked: Command>(as type: Asked.Type) throws -> Asked {
    var arguments = arguments
    if type is any KindCommand.Type {
      arguments["kind"] = .string(String(command.prefix { $0 != "." }))
    }
    do {
      return try AnswerCoding.decode(type, from: arguments)
    } catch let failure as WaymarkError {
      throw failure
    } catch {
      // Names of Swift types are never shown.
      throw WaymarkError.usage("An argument of `\(command)` is missing or has the wrong type.")
    }
  }
}
