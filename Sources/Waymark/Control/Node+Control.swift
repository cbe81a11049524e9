import Membership
import Storage
import Synchronization
import Transport
package import Wire

extension Node {
  /// Answers a command; whatever goes wrong is a failure that a person can act on.
  package func answer(
    _ request: CommandRequest, events: @escaping @Sendable (JSON) -> Void
  ) async -> Result<JSON, WaymarkError> {
    // It has waited for its turn; by now perhaps for no one.
    guard !Task.isCancelled, !request.caller.hasLeft() else { return .failure(.cancelled) }
    commandsUnderWay.add(1, ordering: .relaxed)
    defer { commandsUnderWay.subtract(1, ordering: .relaxed) }
    do { return .success(try await perform(request, events: events)) } catch {
      return .failure(failure(error))
    }
  }

  /// Who opens a sealed key for a command: the passphrase that came with it, else whoever may be asked.
  func passphrases(for request: CommandRequest) -> PassphraseSource {
    // A node that serves asks nobody: whoever sent the command may be asked, and sends it again.
    .first(request.passphrase, then: control == nil ? home.passphrases : .environment)
  }

  /// Serves the command line on the home's socket until the node closes.
  ///
  /// An app that does so can be asked by `waymark --home DIR` while it runs.
  ///
  /// - Throws: `WaymarkError` if the socket can't be made, and for a node in memory.
  public func serveControl() throws {
    try checkOpen()
    _ = try home.storage.directory(for: "A control socket")
    let place: ControlPlace
    do { place = try .toServe(home) } catch { throw WaymarkError.opening(home, error) }
    let server = try ControlServer(
      at: place, promptly: { [weak self] request in self?.answerPromptly(request)?.reply },
      isAlive: { [weak self] in self?.isAlive ?? false },
      handler: { [weak self] request, events in
        guard let self else { return WaymarkError.hungUp.json }
        return await self.answer(request, events: events).reply
      })
    server.start()
    control = server
  }

  /// Answers a command that needs nothing but the store on the caller's thread, so that none has to be woken; nil if
  /// the node is at work, or the command needs more.
  private nonisolated func answerPromptly(_ request: CommandRequest) -> Result<JSON, WaymarkError>? {
    var answer: Result<JSON, WaymarkError>?
    _ = executor.now { answer = assumeIsolated { $0.answerHere(request) } }
    return answer
  }

  /// Whether the node carries out a command, or takes up work within a second.
  private nonisolated var isAlive: Bool {
    commandsUnderWay.load(ordering: .relaxed) > 0
      || executor.answers(within: Int(Limits.controlLifeMilliseconds))
  }

  private func answerHere(_ request: CommandRequest) -> Result<JSON, WaymarkError>? {
    commandsUnderWay.add(1, ordering: .relaxed)
    defer { commandsUnderWay.subtract(1, ordering: .relaxed) }
    do { return try performNow(request).map { .success($0) } } catch { return .failure(failure(error)) }
  }

  /// Why something failed, as a sentence for people.
  func failure(_ error: any Error) -> WaymarkError {
    isLostWrite(error) ? storeBroke(error) : .reading(home, error)
  }
}

extension Result<JSON, WaymarkError> {
  /// The last line of an answer on the control socket.
  fileprivate var reply: JSON {
    switch self {
    case .success(let document): ["type": "result", "document": document]
    // Who asks from outside has not closed it, and comes again.
    case .failure(let failure): failure.code == "closed" ? WaymarkError.hungUp.json : failure.json
    }
  }
}

/// The version of the program.
package enum WaymarkVersion {
  package static let text = "0.1.0"
  /// When it was made.
  package static let date = "2026-11-22"

  /// The build traits that this program was made with.
  package static var traits: [String] {
    (BuildTraits.allFeatures ? ["AllFeatures"] : []) + (BuildTraits.mockPurchases ? ["MockPurchases"] : [])
  }
}
