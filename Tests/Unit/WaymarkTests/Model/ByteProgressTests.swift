import Home
import Testing

@testable import Model

/// When the progress of a copy is told.
struct ByteProgressTests {
  private static let mebibyte = 1_048_576

  private static func mebibytes(_ numbers: Int...) -> [Int] { numbers.map { $0 * mebibyte } }

  private static func ones(_ count: Int) -> [Int] { [Int](repeating: mebibyte, count: count) }

  private static let copies: [(total: Int, steps: [Int], told: [Int])] = [
    // A short copy needs no progress.
    (1, [1], []), (16 * mebibyte, ones(16), []),
    (16 * mebibyte + 1, [16 * mebibyte + 1], [16 * mebibyte + 1]),
    (20 * mebibyte, ones(20), mebibytes(4, 8, 12, 16, 20)),
    (17 * mebibyte, ones(17), mebibytes(4, 8, 12, 16, 17)),
    (20 * mebibyte, mebibytes(3, 3, 3, 3, 3, 3, 2), mebibytes(6, 12, 18, 20)),
  ]

  @Test func `the progress of a long copy is told every four mebibytes, and at its end`() {
    for copy in Self.copies {
      var progress = ByteProgress("adding", total: copy.total)
      var told: [WorkProgress] = []
      for step in copy.steps {
        if let event = progress.add(step) { told.append(event) }
      }
      let expected = copy.told.map { WorkProgress(stage: "adding", done: $0, total: copy.total) }
      #expect(told == expected, "\(copy.total) bytes in \(copy.steps.count) steps")
    }
  }
}
