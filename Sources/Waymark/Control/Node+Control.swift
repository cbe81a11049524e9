import Membership
import Storage
package import Wire

extension Node {
  /// Answers a command; whatever goes wrong is a failure that a person can act on.
  package func answer(
    _ request: CommandRequest, events: @escaping @Sendable (JSON) -> Void
  ) async -> Result<JSON, WaymarkError> {
    do {
      return .success(try await perform(request, events: events))
    } catch  where isLostWrite(error) {
      return .failure(storeBroke(error))
    } catch {
      return .failure(.reading(home, error))
    }
  }

  /// Serves the command line on the home's socket until the node closes.
  ///
  /// An app that does so can be asked by `waymark --home DIR` while it runs.
  ///
  /// - Throws: `WaymarkError` if the socket can't be made, and for a node in memory.
  public func serveControl() throws {
    try checkOpen()
    _ = try home.keeping.directory(for: "A control socket")
    let place: ControlPlace
    do { place = try .toServe(home) } catch { throw WaymarkError.opening(home, error) }
    let server = try ControlServer(at: place) { [weak self] request, events in
      guard let self else { return WaymarkError.hungUp.json }
      switch await self.answer(request, events: events) {
      case .success(let document): return ["type": "result", "document": document]
      // Who asks from outside has not closed it, and comes again.
      case .failure(let failure): return failure.code == "closed" ? WaymarkError.hungUp.json : failure.json
      }
    }
    server.start()
    control = server
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
