import Testing

/// The vectors and `Protocol/waymark.cddl`: `Tests/Independent/Schema`. `make schema` includes those that are as large as a
/// limit allows.
@Suite struct SchemaTests {
  @Test func `every vector of ordinary size agrees with the schema of the protocol`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let (code, said) = try await stage.script("Tests/Independent/Schema/run", ["--quick"], seconds: 240)
    #expect(code == 0, "\(said)")
  }
}
