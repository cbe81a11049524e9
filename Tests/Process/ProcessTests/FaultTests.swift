import Testing

/// What befalls real processes, in short; at length it is `make kill`, `make pause` and their like: `Tests/Faults/Nodes`.
@Suite(.serialized) struct FaultTests {
  @Test func `three nodes that are killed sixty times lose nothing that they acknowledged`() async throws {
    try await run("kill", "60", "20261121", seconds: 300)
  }

  @Test func `nodes that stood still find one another again, once, and lose nothing`() async throws {
    try await run("pause", "4", "20261121", "1", seconds: 100)
  }

  @Test func `a node hears every time that it is told to end`() async throws {
    try await run("stop", "50", "20261121", seconds: 150)
  }

  @Test func `a full disk refuses writes, serves reads, and is left behind without an operator`() async throws
  {
    try await run("full", "2", "20261121", seconds: 100)
  }

  @Test func `a flood of connections leaves a node with few descriptors alive and at its owner's command`()
    async throws
  {
    try await run("descriptors", "2", "32", seconds: 100)
  }

  @Test func `forty damaged files end in words or in what was written, and never in a signal`() async throws {
    try await run("damage", "40", "20261121", seconds: 100)
  }

  @Test func `clocks that jump by years refuse nothing and show nothing before its time`() async throws {
    try await run("clock", "3", "20261121", seconds: 150)
  }

  @Test func `five nodes whose links fail agree once these are healed`() async throws {
    try await run("partitions", "1", "20261121", "3", seconds: 150)
  }

  @Test
  func `nodes find each other on a network by themselves, and a stranger there learns and changes nothing`()
    async throws
  {
    try await run("lan", "20261122", seconds: 150)
  }

  @Test func `a node whose disk keeps nothing stops, and verifies its store before it serves again`()
    async throws
  {
    try await run("sync", "3", "20261121", seconds: 100)
  }

  private func run(_ words: String..., seconds: Int) async throws {
    let stage = try Stage()
    defer { stage.end() }
    let (code, said) = try await stage.script("Tests/Faults/Nodes/run", words, seconds: seconds)
    #expect(code == 0, "\(said)")
  }
}
