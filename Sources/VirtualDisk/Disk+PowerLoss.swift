// Sources/store.md, "Durability"

/// Describes which unsynced changes survive a power loss.
package struct Survival: Sendable, CustomStringConvertible {
  package enum Part: Sendable {
    case nothing
    case everything
    /// Each change survives with this probability, independently of the others.
    case some(perThousand: Int)
    /// All changes before a random one survive, and that one is torn.
    case beginning
  }

  package var part: Part
  /// The size in bytes of the blocks into which a write is torn, as on real devices. Each block survives independently.
  /// Nil if a write survives or is lost as a whole.
  package var piece: Int?
  /// Whether changes are applied in random order.
  package var isReordered = false
  /// Whether lost pieces of a file that has grown hold garbage instead of zeros.
  package var leavesGarbage = false

  package init(_ part: Part, piece: Int? = nil, isReordered: Bool = false, leavesGarbage: Bool = false) {
    (self.part, self.piece, self.isReordered, self.leavesGarbage) = (part, piece, isReordered, leavesGarbage)
  }

  /// The variants with which tests make crash images.
  package static let variants = [
    Survival(.nothing),
    Survival(.everything),
    Survival(.some(perThousand: 500)),
    Survival(.some(perThousand: 500), piece: 512),
    Survival(.some(perThousand: 500), piece: 4_096, isReordered: true),
    Survival(.some(perThousand: 900), piece: 512, isReordered: true, leavesGarbage: true),
    Survival(.beginning, piece: 512),
    Survival(.beginning, piece: 4_096, leavesGarbage: true),
  ]

  package var description: String {
    "\(part)" + (piece.map { ", torn at \($0)" } ?? "") + (isReordered ? ", reordered" : "")
      + (leavesGarbage ? ", garbage" : "")
  }
}

extension Disk {
  /// Simulates a power loss with a random variant. All processes must have ended or been cut off before the call.
  package func powerLoss(_ random: inout some RandomNumberGenerator) {
    powerLoss(Survival.variants[random.below(Survival.variants.count)], &random)
  }

  package func powerLoss(_ survival: Survival, _ random: inout some RandomNumberGenerator) {
    let image = afterPowerLoss(survival, &random)
    files = image.files.mapValues { $0.copy(on: self) }
    unsyncedNames = [:]
    counters.powerLosses += 1
    counters.changesDropped += image.counters.changesDropped
    counters.changesTorn += image.counters.changesTorn
    counters.changesReordered += image.counters.changesReordered
    counters.namesLost += image.counters.namesLost
    restart()
  }

  /// Returns the disk as it would be after a power loss at this moment.
  package func afterPowerLoss(_ survival: Survival, _ random: inout some RandomNumberGenerator) -> Disk {
    let image = Disk(seed: random.next())
    for name in Set(files.keys).union(unsyncedNames.keys).sorted() {
      let states = unsyncedNames[name] ?? [files[name]]
      let state = states[survival.choose(states.count, &random)]
      if state !== states[states.count - 1] { image.counters.namesLost += 1 }
      guard let state else { continue }
      let file = DiskFile(on: image)
      file.content = state.surviving(survival, image, &random)
      file.durable = file.content
      image.files[name] = file
    }
    return image
  }
}

extension Survival {
  /// Chooses which of a name's `count` states survives, and returns its index.
  fileprivate func choose(_ count: Int, _ random: inout some RandomNumberGenerator) -> Int {
    switch part {
    case .nothing: 0
    case .everything: count - 1
    case .some, .beginning: count == 1 ? 0 : random.below(count)
    }
  }
}

extension DiskFile {
  fileprivate func surviving(
    _ survival: Survival, _ image: Disk, _ random: inout some RandomNumberGenerator
  ) -> [UInt8] {
    var result = durable
    guard !changes.isEmpty else { return result }
    let order = survival.order(changes.count, &random)
    if survival.isReordered, changes.count > 1 { image.counters.changesReordered += 1 }
    let end = if case .beginning = survival.part { random.below(changes.count + 1) } else { changes.count }
    for index in order {
      let change = changes[index]
      switch survival.part {
      case .nothing: image.counters.changesDropped += 1
      case .everything: result.apply(change, of: written)
      case .beginning where index < end: result.apply(change, of: written)
      case .beginning where index > end: image.counters.changesDropped += 1
      case .beginning: put(change, into: &result, keeping: 500, survival, image, &random)
      case .some(let share): put(change, into: &result, keeping: share, survival, image, &random)
      }
    }
    return result
  }

  /// Applies a change or random pieces of a write, or drops the change, at random.
  private func put(
    _ change: FileChange, into result: inout [UInt8], keeping share: Int, _ survival: Survival, _ image: Disk,
    _ random: inout some RandomNumberGenerator
  ) {
    guard let range = change.bytes, let piece = survival.piece else {
      guard random.happens(perThousand: share) else { return image.counters.changesDropped += 1 }
      return result.apply(change, of: written)
    }
    image.counters.changesTorn += 1
    if survival.leavesGarbage {
      while result.count < change.offset + range.count { result.append(UInt8(random.below(256))) }
    }
    var offset = change.offset
    let end = change.offset + range.count
    while offset < end {
      let next = min(end, (offset / piece + 1) * piece)
      if random.happens(perThousand: share) {
        let start = range.lowerBound + offset - change.offset
        result.apply(FileChange(offset: offset, bytes: start..<start + next - offset), of: written)
      }
      offset = next
    }
  }
}

extension Survival {
  fileprivate func order(_ count: Int, _ random: inout some RandomNumberGenerator) -> [Int] {
    var order = Array(0..<count)
    guard isReordered else { return order }
    for index in order.indices.dropFirst().reversed() { order.swapAt(index, random.below(index + 1)) }
    return order
  }
}
