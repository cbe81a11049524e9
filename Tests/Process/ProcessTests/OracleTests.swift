import Processes
import Testing

/// Five nodes and a model of the merge that shares no code with them: `Tests/Independent/Oracle`.
@Suite(.serialized) struct OracleTests {
  @Test func `five nodes hold what a model written from the protocol predicts`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let (code, said) = try await stage.script(
      "Tests/Independent/Oracle/run", ["20261121", "150", "\(100 * Child.patience)"], seconds: 160)
    #expect(code == 0, "\(said)")
  }

  @Test func `short histories of copies, clocks, backups and revocations match the model`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let (code, said) = try await stage.script(
      "Tests/Independent/Oracle/run", ["histories", "20261121", "6", "12"], seconds: 160)
    #expect(code == 0, "\(said)")
  }
}
