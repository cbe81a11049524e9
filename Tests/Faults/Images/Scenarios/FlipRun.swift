import Membership
import Replication
import SQLite
import Storage
import VirtualDisk
import Wire

/// Results of a run with flipped bits.
package struct FlipFigures: Sendable {
  package var flips = 0
  /// Flips after which the store could not be opened: its own tables or SQLite detected them.
  package var refused = 0
  /// Flips that altered the bytes of a change set.
  package var altered = 0
  /// Flips in the write-ahead log that discarded the newest transactions.
  package var older = 0
  /// Flips that a deep verification found, whatever they hit.
  package var found = 0
  package var failures: [String] = []

  package init() {}
}

/// Flips single bits of a store's files at random: the process never ends, no altered change set is served to a peer,
/// and a deep verification finds each one.
package final class FlipRun {
  private let props: Props
  private var random: SplitMix
  private let original: Disk
  private let sets: [RawChangeSet]
  private var figures = FlipFigures()

  package static func run(_ props: Props, seed: UInt64, flips: Int) throws -> FlipFigures {
    let run = try FlipRun(props, seed)
    for number in 0..<flips { run.flip(number) }
    return run.figures
  }

  private init(_ props: Props, _ seed: UInt64) throws {
    self.props = props
    random = SplitMix(seed: seed)
    let stage = try Stage(props.founded.copy(), props)
    try stage.start()
    var words = SplitMix(seed: seed)
    for number in 1...30 as ClosedRange<UInt64> {
      if number == 25 { try stage.store.checkpoint() }
      // Incompressible text: change sets make up most of the file, so that few flips are enough to hit some.
      let notes = (0..<200).map { _ in String(words.next(), radix: 36) }.joined(separator: " ")
      let drafts = [
        insert(trip(number), [1: .text("Trip \(number)"), 2: .text(notes)]),
        lodging(number, of: trip(number)),
      ]
      if number.isMultiple(of: 3) {
        try stage.bobWrites("all", at: Moment(number), drafts[0])
        try stage.commit(Array((stage.heard["all"] ?? []).suffix(1)))
      } else {
        try stage.write(at: Moment(number), drafts)
      }
    }
    original = stage.disk.copy()
    sets = try Self.sets(stage.volume)
  }

  private static func sets(_ volume: Volume) throws -> [RawChangeSet] {
    let reader = try Connection(on: volume, Stage.path, isReadOnly: true)
    try reader.setUpReadOnly()
    let sql = "SELECT header, signature, plan, field_values FROM change_sets ORDER BY number"
    return try reader.with(sql) { row in
      var sets: [RawChangeSet] = []
      while try row.step() {
        sets.append(
          RawChangeSet(
            header: row.bytes(0), signature: row.bytes(1), plan: row.bytes(2), values: row.bytes(3)))
      }
      return sets
    }
  }

  // MARK: One flip

  private func flip(_ number: Int) {
    let disk = original.copy()
    let names = disk.names
    let name = names[random.below(names.count)]
    let (byte, bit) = (random.below(disk.size(of: name) ?? 1), random.below(8))
    _ = disk.flipBit(in: name, byte: byte, bit: bit)
    figures.flips += 1
    do {
      try look(at: disk, isInLog: name.hasSuffix("-wal"))
    } catch {
      figures.failures.append("flip \(number), bit \(bit) of byte \(byte) of \(name): \(error)")
    }
  }

  private func look(at disk: Disk, isInLog: Bool) throws {
    let stage = try Stage(disk, props)
    do { try stage.start() } catch {
      figures.refused += 1
      return
    }
    let held = try? Self.sets(stage.volume)
    let isOlder = isInLog && held.map { $0.count < sets.count && $0 == Array(sets.prefix($0.count)) } ?? false
    let isAltered = !isOlder && held != sets
    if isOlder { figures.older += 1 }
    if isAltered { figures.altered += 1 }
    if isFound(stage) {
      figures.found += 1
    } else if isAltered {
      throw Finding("an altered change set was not found")
    }
    try serve(stage)
    goOn(stage)
  }

  /// A verification that fails to run has found something too.
  private func isFound(_ stage: Stage) -> Bool {
    do { return try stage.findings() != nil } catch { return true }
  }

  /// Everything that is read for a peer is unchanged since it was signed.
  private func serve(_ stage: Stage) throws {
    let store = try stage.store
    for lane in Lane.allCases {
      for head in store.heads(lane) where head.sequence > 0 {
        let want = Want(log: head.log, from: 1, through: head.sequence, tip: head.id)
        guard let served = try? store.read(lane, [want], bytesMax: .max, setsMax: .max) else { continue }
        for set in served.sets {
          guard sets.contains(set.raw) else { throw Finding("an altered change set is served") }
        }
      }
    }
  }

  /// Other work of a node may fail, but does not end the process.
  private func goOn(_ stage: Stage) {
    _ = try? stage.write(at: 900, insert(trip(99), [1: .text("Quito")]))
    _ = try? stage.store.rebuild()
    _ = try? stage.store.checkpoint()
  }
}
