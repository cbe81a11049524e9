import Testing

/// The vectors of `Protocol/purchase.md` and an independent verifier: `Tests/Independent/Purchase`.
@Suite struct PurchaseVectorTests {
  @Test func `an independent verifier agrees with every vector of purchases`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let (code, said) = try await stage.script("Tests/Independent/Purchase/run", [], seconds: 240)
    #expect(code == 0, "\(said)")
  }
}
