import SQLite
import VirtualDisk
import Wire

/// Results of a run with failing operations.
package struct FaultFigures: Sendable {
  package var runs = 0
  /// Runs in which the fault had an effect.
  package var fired = 0
  /// Runs in which a step succeeded in spite of it.
  package var borne = 0
  package var failures: [String] = []

  package init() {}

  package static func += (left: inout Self, right: Self) {
    left.runs += right.runs
    left.fired += right.fired
    left.borne += right.borne
    left.failures += right.failures
  }
}

/// Every operation of a scenario's steps fails, once or from then on: the step must throw the expected error, memory
/// and disk must agree that it has not happened, and once the fault is gone it must succeed.
package final class FaultRun {
  /// A kind of fault, and the operations that it affects.
  struct Kind: Sendable {
    let name: String
    let fault: FileFault
    let operations: Set<DiskOperation>
  }

  private static let kinds = [
    Kind(name: "a read fails", fault: .inputOutput, operations: [.read]),
    Kind(name: "a write fails", fault: .inputOutput, operations: [.write, .truncate, .create, .delete]),
    Kind(name: "no room", fault: .noRoom, operations: [.write]),
    Kind(name: "a sync fails", fault: .inputOutput, operations: [.sync, .syncDirectory]),
  ]

  private let scenario: Scenario
  private let props: Props
  private var random: SplitMix
  private var figures = FaultFigures()

  /// - Parameter share: tries one in this many operations, drawn at random.
  package static func run(
    _ scenario: Scenario, _ props: Props, seed: UInt64, share: Int = 1
  ) throws -> FaultFigures {
    let run = FaultRun(scenario, props, seed)
    let observations = try scenario.observations(props)
    for step in scenario.steps.indices {
      let counts = try run.operations(of: step)
      for kind in kinds {
        let count = kind.operations.reduce(0) { $0 + counts[$1.rawValue] }
        for after in 0..<count where run.random.below(share) == 0 {
          for lasts in [false, true] { run.fail(step, kind, after, lasts, observations) }
        }
      }
    }
    return run.figures
  }

  private init(_ scenario: Scenario, _ props: Props, _ seed: UInt64) {
    (self.scenario, self.props) = (scenario, props)
    random = SplitMix(seed: seed)
  }

  private func stage(before step: Int) throws -> Stage {
    let stage = try scenario.stage(props)
    for earlier in scenario.steps[..<step] { try earlier(stage) }
    return stage
  }

  /// How many operations of each kind a step performs.
  private func operations(of step: Int) throws -> [Int] {
    let stage = try stage(before: step)
    let before = stage.disk.counters.operations
    try scenario.steps[step](stage)
    return zip(stage.disk.counters.operations, before).map { $0 - $1 }
  }

  private func fail(
    _ step: Int, _ kind: Kind, _ after: Int, _ lasts: Bool, _ observations: [Observation?]
  ) {
    figures.runs += 1
    do {
      let stage = try stage(before: step)
      stage.disk.faults.failure = DiskFaults.Failure(
        kind.fault, at: kind.operations, after: after, lasts: lasts)
      let count = stage.disk.counters.errors
      var refusal: (any Error)?
      do { try scenario.steps[step](stage) } catch { refusal = error }
      let errors = stage.disk.counters.errors - count
      stage.disk.faults = DiskFaults()
      guard errors > 0 else { return }
      figures.fired += 1
      try look(at: stage, after: refusal, step, kind, (observations[step], observations[step + 1]))
    } catch {
      let time = lasts ? "from \(after + 1) on" : "at \(after + 1)"
      figures.failures.append("\(scenario.name), step \(step + 1), \(kind.name) \(time): \(error)")
    }
  }

  private func look(
    at stage: Stage, after refusal: (any Error)?, _ step: Int, _ kind: Kind,
    _ observations: (before: Observation?, after: Observation?)
  ) throws {
    let survival = Survival.variants[random.below(Survival.variants.count)]
    let images = [stage.disk.copy(), stage.disk.afterPowerLoss(survival, &random)]
    if let refusal {
      try expectNamed(refusal, kind)
      if stage.isOpen, let before = observations.before {
        try expect(stage, [before], "after the fault")
      }
      try scenario.steps[step](stage)
    } else {
      figures.borne += 1
    }
    let after = [observations.after].compactMap { $0 }
    try expect(stage, after, "after a retry")
    for image in images {
      let other = try Stage(image, props)
      try other.open()
      try expect(other, after + [observations.before].compactMap { $0 }, "after a crash")
      if let damage = try other.damage() { throw Finding("SQLite says: \(damage)") }
    }
    try stage.kill()
    try stage.open()
    try expect(stage, after, "after the next start")
  }

  /// SQLITE_CANTOPEN: the file is missing, or may not be opened.
  private static let cannotOpen: Int32 = 14

  private func expectNamed(_ error: any Error, _ kind: Kind) throws {
    guard let error = error as? SQLiteError else { throw Finding("unnamed: \(error)") }
    let isNamed =
      kind.fault == .noRoom ? error.isFull : error.isInputOutput || error.code & 0xff == Self.cannotOpen
    guard isNamed else { throw Finding("\(kind.name), but the error is \(error)") }
  }

  private func expect(_ stage: Stage, _ allowed: [Observation], _ when: String) throws {
    let found = try stage.observe()
    guard !allowed.contains(found) else { return }
    let wanted = allowed.map(\.description).joined(separator: " or ")
    throw Finding("\(when) the store holds \(found) instead of \(wanted)")
  }
}
