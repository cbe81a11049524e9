import CrashImages
import Foundation
import Testing

@Suite struct FlipTests {
  @Test func `a flipped bit is never served, and is found if it alters a change set`() throws {
    let props = try Props()
    let figures = try FlipRun.run(props, seed: 1, flips: 100)
    #expect(figures.altered > 0)
    #expect(figures.failures.prefix(3).isEmpty, "\(figures.failures.count) of \(figures.flips)")
  }
}
