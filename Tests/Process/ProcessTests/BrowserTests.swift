import Testing

/// The page in Chromium: `Tests/Independent/Browser`.
@Suite struct BrowserTests {
  @Test func `the page in a file shows habits, trips and devices, and loads nothing`() async throws {
    try await check("file")
  }

  @Test func `the live page follows its node, acts, and gives nothing to others`() async throws {
    try await check("live")
  }

  private func check(_ part: String) async throws {
    let stage = try Stage()
    defer { stage.end() }
    let (code, said) = try await stage.script("Tests/Independent/Browser/run", [part], seconds: 500)
    #expect(code == 0, "\(said)")
  }
}
