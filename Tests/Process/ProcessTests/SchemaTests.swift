import Testing

/// The vectors and `Protocol/waymark.cddl`: `Tests/Independent/Schema`.
@Suite struct SchemaTests {
  @Test func `every vector agrees with the schema of the protocol`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let (code, said) = try await stage.script("Tests/Independent/Schema/run", [], seconds: 240)
    #expect(code == 0, "\(said)")
  }
}
