import JSONDocument
import Processes
import Testing

/// The walkthroughs under `examples/`: each verifies what it describes.
@Suite(.serialized) struct ExampleTests {
  @Test(arguments: [
    ("lan", []), ("two-machines", []), ("free-and-premium", ["\(30 * Child.patience)"]),
    ("restore-after-loss", []),
  ])
  func `an example passes its own checks`(name: String, arguments: [String]) async throws {
    let stage = try Stage()
    defer { stage.end() }
    let (code, said) = try await stage.script("examples/\(name)/run", arguments, seconds: 120)
    #expect(code == 0, "\(said.suffix(2_000))")
    #expect(said.contains("All checks passed"))
  }

  @Test func `five devices find each other on loopback where network namespaces are not available`()
    async throws
  {
    let stage = try Stage()
    defer { stage.end() }
    let (code, said) = try await stage.script("examples/lan/run", ["loopback"], seconds: 120)
    #expect(code == 0, "\(said.suffix(2_000))")
  }
}
