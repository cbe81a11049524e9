import JSONDocument
import Testing

/// Two nodes of a circle, and hostile devices that share no code with them: `Tests/Independent/Hostile`.
@Suite struct HostileCircleTests {
  @Test(arguments: [["brief"], ["random", "20261121", "30"]])
  func `a circle withstands whatever a hostile device does`(words: [String]) async throws {
    let stage = try Stage()
    defer { stage.end() }
    let (code, said) = try await stage.script("Tests/Independent/Hostile/run", words, seconds: 240)
    #expect(code == 0, "\(said)")
  }
}
