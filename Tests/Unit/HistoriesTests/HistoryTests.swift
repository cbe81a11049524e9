import Histories
import JSONDocument
import Testing

/// Random histories on real nodes, compared with a model after each step. `make histories` runs more of them.
struct HistoryTests {
  @Test(arguments: 1...8) func `nodes show what a model of the history shows`(seed: UInt64) async throws {
    let devices = 2 + Int(seed) % 3
    let steps = HistoryStep.history(40, devices: devices, seed: seed)
    let (failure, journal) = try await HistoryRun.run(steps, devices: devices)
    #expect(failure == nil, "\(failure.map { "\($0)" } ?? "")\n\(journal.joined(separator: "\n"))")
  }

  @Test func `a history is read back as it was written`() {
    let steps = HistoryStep.history(100, devices: 3, seed: 1)
    #expect(steps.compactMap { HistoryStep($0.json) } == steps)
    #expect(Set(steps.map(\.action)).count == HistoryStep.Action.allCases.count)
    for bad in [["wish", 0, [1, 2, 3, 4]], ["edit", -1, [1, 2, 3, 4]], ["edit", 0, [1]], "edit"] as [JSON] {
      #expect(HistoryStep(bad) == nil)
    }
  }
}
