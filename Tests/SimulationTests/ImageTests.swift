import CrashImages
import Foundation
import Testing

@Suite struct ImageTests {
  static let fixture = URL(filePath: #filePath)
    .appending(path: "../../Fixtures/schema-1/store.db").standardized

  @Test(arguments: Scenario.all)
  func `whatever a crash leaves of a step is all of it or nothing`(_ scenario: Scenario) throws {
    let props = try Props(oldStore: [UInt8](Data(contentsOf: Self.fixture)))
    var extent = ImageRun.Extent()
    extent.moments = 30
    extent.damages = 2
    let figures = try ImageRun.run(scenario, props, seed: 1, extent: extent)
    #expect(figures.images > 0)
    #expect(figures.failures.prefix(3).isEmpty, "\(figures.failures.count) of \(figures.images)")
  }
}
