import VirtualDisk

/// Something a node does to its store, in steps each of which is there as a whole or not at all.
package struct Scenario: Sendable, CustomStringConvertible {
  package let name: String
  /// Whether there is a store with a circle at first.
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

  /// A stage where the steps can begin.
  func stage(_ props: Props) throws -> Stage {
    let stage = try Stage(isFounded ? props.founded.copy() : Disk(), props)
    if isFounded { try stage.start() }
    try prepare(stage)
    return stage
  }

  /// What there is before the first step and after each of them. A store that was not opened yet holds nothing.
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

/// What all scenarios begin with.
package final class Props {
  let cast: Cast
  /// A disk with a store that knows its circle, closed.
  let founded = Disk()
  /// The store that a program of the first schema left behind.
  let oldStore: [UInt8]

  package init(oldStore: [UInt8]) throws {
    cast = try Cast()
    self.oldStore = oldStore
    let stage = try Stage(founded, self)
    try stage.open()
    try stage.save(cast.genesis, try cast.certificate("alice"), try cast.certificate("bob"))
    stage.close()
  }
}
