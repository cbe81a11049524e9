import CrashImages
import Foundation
import Simulation
import SQLite
import Testing
import VirtualDisk

@testable import Storage

@Suite struct ImageTests {
  /// Disks and settings that lose committed data: a check that misses this would find nothing.
  enum Spoiling: CaseIterable {
    case lyingDisk, noSyncs

    func callAsFunction(_ stage: Stage) throws {
      switch self {
      case .lyingDisk: stage.disk.faults.liesAboutSyncs = true
      case .noSyncs: try stage.store.connection.execute("PRAGMA synchronous = OFF")
      }
    }
  }

  @Test(arguments: Spoiling.allCases)
  func `the images of a disk that is never synced are reported as wrong`(_ spoiling: Spoiling) throws {
    let props = try Props()
    let scenario = try #require(Scenario.all.first { $0.name == "a local write of one lane" })
    var extent = ImageRun.Extent()
    extent.moments = 4
    extent.spoil = { try spoiling($0) }
    let figures = try ImageRun.run(scenario, props, seed: 1, extent: extent)
    #expect(figures.failures.count > 0)
  }

  @Test(arguments: Scenario.all)
  func `a crash leaves all of a step or nothing`(_ scenario: Scenario) throws {
    let props = try Props()
    var extent = ImageRun.Extent()
    extent.moments = 30
    extent.damages = 2
    let figures = try ImageRun.run(scenario, props, seed: 1, extent: extent)
    #expect(figures.images > 0)
    #expect(figures.failures.prefix(3).isEmpty, "\(figures.failures.count) of \(figures.images)")
  }
}
