import VirtualDisk
import Wire

/// Results of a run over images.
package struct ImageFigures: Sendable {
  /// Moments: before each write, sync, truncation, creation and deletion.
  package var points = 0
  package var images = 0
  /// Images identical to one that had been checked.
  package var repeated = 0
  package var secondFaults = 0
  package var failures: [String] = []

  package init() {}

  package static func += (left: inout Self, right: Self) {
    left.points += right.points
    left.images += right.images
    left.repeated += right.repeated
    left.secondFaults += right.secondFaults
    left.failures += right.failures
  }
}

/// The images that a crash at any moment of a scenario could leave, each opened and checked.
package final class ImageRun {
  /// How much a run covers: everything, or one in so many moments, drawn at random, with so many kinds of damage.
  package struct Extent: Sendable {
    package var moments = 1
    package var damages = Survival.variants.count + 1
    package var secondFaults = 8
    package var verifications = 4
    /// Changes the settings of the connection or the disk before a scenario's steps.
    package var spoil: @Sendable (Stage) throws -> Void = { _ in }

    package init() {}
  }

  private let scenario: Scenario
  private let props: Props
  private let extent: Extent
  private var random: SplitMix
  private var seen: Set<ImageKey> = []
  private var figures = ImageFigures()

  private struct ImageKey: Hashable {
    let content: [UInt8]
    let allowed: [Observation]
  }

  package static func run(
    _ scenario: Scenario, _ props: Props, seed: UInt64, extent: Extent = Extent()
  ) throws -> ImageFigures {
    let run = ImageRun(scenario, props, seed, extent)
    try run.run()
    return run.figures
  }

  private init(_ scenario: Scenario, _ props: Props, _ seed: UInt64, _ extent: Extent) {
    (self.scenario, self.props, self.extent) = (scenario, props, extent)
    random = SplitMix(seed: seed)
  }

  private func run() throws {
    let observations = try scenario.observations(props)
    let stage = try scenario.stage(props)
    try extent.spoil(stage)
    for (number, step) in scenario.steps.enumerated() {
      // An interrupted step has happened as a whole or not at all; an interrupted first start is completed by the
      // next.
      let allowed = [observations[number], observations[number + 1]].compactMap { $0 }
      var moment = 0
      stage.disk.observer = { [unowned self] operation in
        moment += 1
        guard self.random.below(self.extent.moments) == 0 else { return }
        self.figures.points += 1
        self.lookAtAll(
          stage.disk, allowed, "\(self.scenario.name), step \(number + 1), before \(operation) \(moment)")
      }
      try step(stage)
      stage.disk.observer = nil
      guard let last = observations[number + 1] else { continue }
      lookAtAll(stage.disk, [last], "\(scenario.name), after step \(number + 1)")
    }
  }

  // MARK: Images

  private func lookAtAll(_ disk: Disk, _ allowed: [Observation], _ place: String) {
    let count = Survival.variants.count + 1
    let first = extent.damages == count ? 0 : random.below(count)
    for index in first..<first + extent.damages {
      let number = index % count
      guard number < Survival.variants.count else {
        look(at: disk.copy(), allowed, "\(place), kill")
        continue
      }
      let survival = Survival.variants[number]
      look(at: disk.afterPowerLoss(survival, &random), allowed, "\(place), power loss (\(survival))")
    }
  }

  private func look(at image: Disk, _ allowed: [Observation], _ place: String) {
    guard seen.insert(ImageKey(content: image.contentHash, allowed: allowed)).inserted else {
      figures.repeated += 1
      return
    }
    figures.images += 1
    do {
      if figures.images.isMultiple(of: extent.secondFaults) { try failAgain(image.copy(), allowed) }
      try check(image, allowed)
    } catch {
      figures.failures.append("\(place): \(error)")
    }
  }

  private func check(_ image: Disk, _ allowed: [Observation]) throws {
    let stage = try Stage(image, props)
    try stage.open()
    try expect(stage, allowed)
    if let damage = try stage.damage() { throw Finding("SQLite says: \(damage)") }
    try stage.admit()
    if figures.images.isMultiple(of: extent.verifications), try stage.isMember,
      let findings = try stage.findings()
    {
      throw Finding("verification: \(findings)")
    }
    try goOn(stage)
  }

  private func expect(_ stage: Stage, _ allowed: [Observation]) throws {
    let found = try stage.observe()
    guard !allowed.contains(found) else { return }
    throw Finding(
      "holds \(found) where there must be \(allowed.map(\.description).joined(separator: " or "))")
  }

  /// Whatever a store shows, it may have sent to others, so it must not lose it again. And it must accept writes.
  private func goOn(_ stage: Stage) throws {
    let shown = try stage.observe()
    let later = try Stage(stage.disk.afterPowerLoss(Survival(.nothing), &random), props)
    try later.open()
    guard try later.observe() == shown else { throw Finding("data visible after the start was lost later") }
    try later.admit()
    try later.write(at: 900_000, insert(trip(99), [1: .text("Quito")]))
    let written = try later.observe()
    try later.kill()
    later.disk.powerLoss(Survival(.nothing), &random)
    try later.open()
    guard try later.observe() == written else { throw Finding("data written after the start was lost") }
  }

  /// The start on an image is interrupted at a random moment too.
  private func failAgain(_ image: Disk, _ allowed: [Observation]) throws {
    figures.secondFaults += 1
    let stage = try Stage(image, props)
    image.faults.changesUntilStop = random.below(40)
    // Logs are rebuilt by the circle's statements after the start, not during it.
    try? stage.open()
    try stage.kill()
    image.faults = DiskFaults()
    image.powerLoss(&random)
    try stage.open()
    try expect(stage, allowed)
  }
}

/// An error in what an image shows.
struct Finding: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
