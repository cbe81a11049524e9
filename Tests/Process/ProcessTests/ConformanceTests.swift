import Testing

/// The checks that judge a client from outside: `Tests/Independent/Conformance`.
@Suite(.serialized) struct ConformanceTests {
  @Test func `the node passes the checks that judge clients, and planted faults fail them`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let (code, said) = try await stage.script("Tests/Independent/Conformance/run", ["brief"], seconds: 240)
    #expect(code == 0, "\(said)")
  }
}
