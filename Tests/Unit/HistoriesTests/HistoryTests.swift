import Histories
import JSONDocument
import Testing

/// Random histories on real nodes, compared with a model after each step. `make histories` runs more of them.
struct HistoryTests {
  @Test(arguments: 1...8) func `nodes show what a model of the history shows`(seed: UInt64) async throws {
    let devices = 2 + Int(seed) % 3
    let steps = HistoryStep.history(40, devices: devices, seed: seed)
    let outcome = try await HistoryRun.run(steps, devices: devices)
    let (failure, journal) = (outcome.failure, outcome.journal)
    #expect(failure == nil, "\(failure.map { "\($0)" } ?? "")\n\(journal.joined(separator: "\n"))")
  }

  /// Histories that differed once, shortened.
  static let found: [(what: String, steps: JSON)] = [
    (
      "the creation of a record is undone twice, on two devices",
      [
        ["create", 1, [107, 899, 306, 220]], ["undo", 1, [336, 690, 95, 304]],
        ["meet", 1, [514, 508, 948, 118]],
        ["undo", 2, [302, 185, 455, 783]],
      ]
    ),
    (
      "the creation of a record is undone after it was deleted",
      [
        ["create", 1, [652, 29, 403, 27]], ["edit", 1, [126, 131, 982, 675]],
        ["delete", 1, [382, 228, 434, 492]],
        ["profile", 0, [845, 644, 152, 291]], ["meet", 2, [960, 139, 727, 194]],
        ["undo", 0, [640, 863, 12, 752]],
      ]
    ),
    (
      "the data of an attachment is erased, and then read",
      [
        ["delete", 2, [882, 530, 740, 13]], ["create", 2, [770, 383, 598, 588]],
        ["attach", 2, [222, 329, 966, 150]], ["meet", 1, [37, 705, 400, 428]],
        ["eraseData", 0, [322, 92, 484, 531]],
      ]
    ),
    (
      "a record that was never sent is in the trash, and its device is readmitted",
      [
        ["edit", 1, [648, 82, 146, 770]], ["undo", 1, [80, 774, 0, 559]],
        ["sync", 1, [946, 229, 635, 139]], ["readmit", 1, [900, 669, 42, 496]],
      ]
    ),
    (
      "a record is deleted by a device that is not revoked, and its author is readmitted",
      [
        ["sync", 0, [406, 864, 755, 601]], ["attach", 2, [49, 749, 921, 309]],
        ["meet", 2, [47, 723, 368, 875]], ["delete", 1, [844, 397, 100, 304]],
        ["readmit", 2, [83, 542, 537, 984]],
      ]
    ),
    (
      "a backup finds a damaged change set, and a peer has it",
      [
        ["move", 2, [43, 443, 105, 409]], ["meet", 2, [7, 374, 470, 868]],
        ["damage", 0, [876, 879, 986, 839]],
      ]
    ),
    (
      "a profile that was written and undone is not written again at a readmission",
      [
        ["profile", 2, [458, 711, 797, 58]], ["undo", 2, [572, 831, 735, 191]],
        ["readmit", 2, [920, 111, 60, 452]], ["profile", 1, [390, 624, 474, 614]],
      ]
    ),
  ]

  @Test(arguments: found) func `a history that differed once is equal to the model`(
    what: String, steps: JSON
  ) async throws {
    let history = try #require(steps.array).compactMap { HistoryStep($0) }
    #expect(history.count == steps.array?.count)
    let failure = try await HistoryRun.run(history, devices: 3).failure
    #expect(failure == nil, "\(what): \(failure.map { "\($0)" } ?? "")")
  }

  @Test func `a history is read back as it was written`() {
    let steps = HistoryStep.history(500, devices: 3, seed: 1, isSimulated: true)
    #expect(steps.compactMap { HistoryStep($0.json) } == steps)
    #expect(Set(steps.map(\.action)).count == HistoryStep.Action.allCases.count)
    for bad in [["wish", 0, [1, 2, 3, 4]], ["edit", -1, [1, 2, 3, 4]], ["edit", 0, [1]], "edit"] as [JSON] {
      #expect(HistoryStep(bad) == nil)
    }
  }
}
