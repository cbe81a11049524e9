import Testing

/// Faults of real processes, in short; the long runs are `make kill`, `make pause` and the like:
/// `Tests/Faults/Nodes`.
@Suite(.serialized) struct FaultTests {
  @Test func `three nodes that are killed sixty times lose nothing that they acknowledged`() async throws {
    try await run("kill", "60", "20261121", seconds: 300)
  }

  @Test func `suspended nodes reconnect once to each peer, and lose nothing`() async throws {
    try await run("pause", "4", "20261121", "1", seconds: 100)
  }

  @Test func `a node obeys every signal to end`() async throws {
    try await run("stop", "50", "20261121", seconds: 150)
  }

  @Test func `a node on a full disk refuses writes, serves reads, and recovers without an operator`()
    async throws
  {
    try await run("full", "2", "20261121", seconds: 100)
  }

  @Test func `a node with few descriptors survives a flood of connections and still obeys its owner`()
    async throws
  {
    try await run("descriptors", "2", "32", seconds: 100)
  }

  @Test func `forty damaged files lead to an error message or a correct result, and never to a crash`()
    async throws
  {
    try await run("damage", "40", "20261121", seconds: 100)
  }

  @Test func `clocks that jump by years block no write and show nothing before its time`() async throws {
    try await run("clock", "3", "20261121", seconds: 150)
  }

  @Test func `five nodes whose links fail converge once these are healed`() async throws {
    try await run("partitions", "1", "20261121", "3", seconds: 150)
  }

  @Test func `nodes discover each other on a network, and a stranger there learns and changes nothing`()
    async throws
  {
    try await run("lan", "20261122", seconds: 150)
  }

  @Test func `a node whose disk fails stops, and verifies its store before it serves again`() async throws {
    try await run("sync", "3", "20261121", seconds: 100)
  }

  private func run(_ words: String..., seconds: Int) async throws {
    let stage = try Stage()
    defer { stage.end() }
    let (code, said) = try await stage.script("Tests/Faults/Nodes/run", words, seconds: seconds)
    #expect(code == 0, "\(said)")
  }
}
