import Testing

/// The checker of recorded histories, and what clients of real nodes are told during faults: `Tests/Faults/Consistency`.
@Suite(.serialized) struct ConsistencyTests {
  @Test func `the checker of histories refuses each kind of violation and accepts what is right`()
    async throws
  {
    try await run("self-test", seconds: 60)
  }

  @Test func `clients of five nodes with faults are told nothing that violates a guarantee`()
    async throws
  {
    try await run("0.1", "20261128", seconds: 200)
  }

  private func run(_ words: String..., seconds: Int) async throws {
    let stage = try Stage()
    defer { stage.end() }
    let (code, said) = try await stage.script("Tests/Faults/Consistency/run", words, seconds: seconds)
    #expect(code == 0, "\(said)")
  }
}
