import VirtualDisk

/// A node's work on its store, in steps each of which happens as a whole or not at all.
package struct Scenario: Sendable, CustomStringConvertible {
  package let name: String
  /// Whether a store with a circle exists before the first step.
  let isFounded: Bool
  let prepare: @Sendable (Stage) throws -> Void
  let steps: [@Sendable (Stage) throws -> Void]

  package var description: String { name }

  init(
    _ name: String, isFounded: Bool = true,
    given prepare: @escaping @Sendable (Stage) throws -> Void = { _ in },
    steps: [@Sendable (Stage) throws -> Void]
  ) {
    self.name = name
    self.isFounded = isFounded
    self.prepare = prepare
    self.steps = steps
  }

  /// A stage on which the steps can begin.
  func stage(_ props: Props) throws -> Stage {
    let stage = try Stage(isFounded ? props.founded.copy() : Disk(), props)
    if isFounded { try stage.start() }
    try prepare(stage)
    return stage
  }

  /// The state before the first step and after each of them. A store that has not been opened yet is empty.
  func observations(_ props: Props) throws -> [Observation?] {
    let stage = try stage(props)
    var observations = [stage.isOpen ? try stage.observe() : nil]
    for step in steps {
      try step(stage)
      observations.append(stage.isOpen ? try stage.observe() : nil)
    }
    return observations
  }
}

/// The initial state of all scenarios.
package final class Props {
  let cast: Cast
  /// A disk with a closed store that knows its circle.
  let founded = Disk()

  package init() throws {
    cast = try Cast()
    let stage = try Stage(founded, self)
    try stage.open()
    try stage.save(cast.genesis, try cast.certificate("alice"), try cast.certificate("bob"))
    stage.close()
  }
}
