package import JSONDocument
import Records
import Replication
import Storage
import Wire

extension Node {
  /// Carries out one command and gives its document.
  ///
  /// - Parameter events: what a long command says meanwhile, as JSON lines with a `type`.
  /// - Throws: `WaymarkError`, with the exit code and the next step.
  package func perform(
    _ request: CommandRequest, events: @escaping @Sendable (JSON) -> Void = { _ in }
  ) async throws -> JSON {
    if let done = try performNow(request) { return done }
    switch request.command {
    case "import": return try await importFiles(request, events)
    case "export": return try await exportFile(request)
    case "verify" where request.flag("deep") || request.flag("repair"):
      return try await verifyDeep(request, events)
    case "verify": return try await verify(request)
    case "cleanup": return try await cleanUp(request)
    case "restamp": return try await restamp(request)
    case "mirror": return try await mirror(request, events)
    case "assert": return try await assertState(request, events)
    default: break
    }
    throw WaymarkError.usage(
      "There is no command `\(shortened(request.words.joined(separator: " ")))`.", next: "waymark help")
  }

  /// Carries out a command that waits for nothing; nil for others.
  func performNow(_ request: CommandRequest) throws -> JSON? {
    try checkOpen()
    try foldDue()
    return try performHere(request)
  }

  /// The commands that need nothing but the store and the circle; nil for others.
  private func performHere(_ request: CommandRequest) throws -> JSON? {
    switch request.command {
    case "entitlement.show": showEntitlement(request)
    case "entitlement.install": try installEntitlement(request)
    case "entitlement.buy": try buyMock(request)
    case "entitlement.cancel": try cancelMock(request)
    case "issuer.trust": try trustIssuer(request)
    default: nil
    }
  }
}
