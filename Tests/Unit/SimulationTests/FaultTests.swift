import CrashImages
import Foundation
import Testing

@Suite struct FaultTests {
  @Test(arguments: Scenario.all)
  func `a step that the disk fails has not happened, and works when the fault is gone`(
    _ scenario: Scenario
  ) throws {
    let props = try Props()
    let figures = try FaultRun.run(scenario, props, seed: 1, share: 400)
    #expect(figures.failures.prefix(3).isEmpty, "\(figures.failures.count) of \(figures.fired)")
  }
}
