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
    try readyForCommand()
    switch request.command {
    case "verify" where request.flag("deep") || request.flag("repair"):
      return try await verifyDeep(request, events)
    case "verify": return try await verify(request)
    case "cleanup": return try await cleanUp(request)
    case "restamp": return try await restamp(request)
    case "mirror": return try await mirror(request, events)
    case "assert": return try await assertState(request, events)
    default: break
    }
    if let done = try await performWithNetwork(request, events) { return done }
    throw WaymarkError.usage(
      "There is no command `\(shortened(request.words.joined(separator: " ")))`.", next: "waymark help")
  }
}
