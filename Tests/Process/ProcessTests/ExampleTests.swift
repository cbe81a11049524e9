import JSONDocument
import Processes
import Testing

/// The stories under `examples/`: each checks what it tells.
@Suite(.serialized) struct ExampleTests {
  @Test(arguments: [
    ("lan", []), ("two-machines", []), ("free-and-premium", ["\(30 * Child.patience)"]),
    ("restore-after-loss", []),
  ])
  func `an example holds what it says`(name: String, arguments: [String]) async throws {
    let stage = try Stage()
    defer { stage.end() }
    let (code, said) = try await stage.script("examples/\(name)/run", arguments, seconds: 120)
    #expect(code == 0, "\(said.suffix(2_000))")
    #expect(said.contains("All of it held"))
  }

  @Test func `five devices find each other on loopback where no networks can be made`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let (code, said) = try await stage.script("examples/lan/run", ["loopback"], seconds: 120)
    #expect(code == 0, "\(said.suffix(2_000))")
  }
}
