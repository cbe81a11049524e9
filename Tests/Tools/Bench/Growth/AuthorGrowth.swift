import Engine
import JSONDocument
import Membership
import Processes
import Replication
import Sodium
import Storage
import Wire

/// One store with a growing number of authors, and how that increases the data sent to an empty device.
struct AuthorGrowth {
  private let rounds: Int
  private let setCount = 256
  private let recordsInSet = 100

  init(_ rounds: Int) { self.rounds = rounds }

  /// How the devices took turns writing.
  private enum Habit: CaseIterable {
    /// Each writes all of its sets before it receives any of another.
    case apart
    /// They take turns, and each set follows all earlier ones.
    case inTurn
  }

  func grids(_ sizes: [Int]) throws -> [Grid] {
    let records = Table.text(Double(setCount * recordsInSet))
    return try Habit.allCases.map { habit in
      let how = habit == .apart ? "written apart, nobody having seen the others'" : "written by turns"
      var grid = Grid(
        "Authors: \(records) habit logs in \(setCount) sets \(how), cores and stores in memory",
        [
          "authors", "rows/s to an empty device", "B/row", "heads list, B", "change after all others', B",
          "the next, B", "equal again, B", "a change behind again, B",
        ])
      for size in sizes {
        progress("\(size) authors, \(habit) …")
        grid.add("\(size)", try figures(size, habit))
      }
      return grid
    }
  }

  private func figures(_ authors: Int, _ habit: Habit) throws -> [Double] {
    // The device that has written nothing comes last.
    let family = try Family(authors + 1)
    let history = try history(authors, habit, family)
    var rates: [Double] = []
    for _ in 1..<rounds { rates.append(try AuthorRun(family, history, reader: authors).rowsPerSecond) }
    let run = try AuthorRun(family, history, reader: authors)
    rates.append(run.rowsPerSecond)
    let bytes = try run.bytes()
    return [
      rates.median, Double(run.bulk.bytes) / Double(history.rows), bytes.heads, bytes.change, bytes.next,
      bytes.equal, bytes.behind,
    ]
  }

  private func history(_ authors: Int, _ habit: Habit, _ family: Family) throws -> History {
    let store = try Store.inMemory()
    var positions: [Int: Author] = [:]
    var sets: [VerifiedChangeSet] = []
    for number in 0..<setCount {
      let device = habit == .apart ? number * authors / setCount : number % authors
      let key = family.keys[device]
      let log = LogKey(device: DeviceKey(key), incarnation: InMemoryNode.incarnation(device), lane: .records)
      var author =
        try positions[device]
        ?? Author(
          position: habit == .apart
            ? AuthorPosition(
              circle: family.circle.id, log: log, sequence: 0, id: nil, clock: .zero, logBytes: 0,
              unseen: [])
            : store.authorPosition(circle: family.circle.id, log: log),
          key: key, seed: { Bytes16(UInt64(device) + 1, UInt64(number)) })
      let drafts = (0..<recordsInSet).map {
        HabitEntries.draft(author: device, UInt64(number * recordsInSet + $0))
      }
      let operation = OperationDraft(id: OperationID(Bytes16(9, UInt64(number))), verb: "import")
      let written = try author.write(
        drafts, operation: operation, wall: Network.start - 1_000_000 + Moment(number))
      if habit == .apart { positions[device] = author }
      _ = try store.commit(written, horizon: Clock(raw: .max))
      sets += written
    }
    return History(sets: sets, rows: setCount * recordsInSet)
  }
}

/// Everything that was written before any comparison.
private struct History {
  let sets: [VerifiedChangeSet]
  let rows: Int
}

/// One device filled from another that holds everything, and their traffic afterwards.
private final class AuthorRun {
  let rowsPerSecond: Double
  let bulk: Traffic
  private let network: Network
  private var link: LinkID

  init(_ family: Family, _ history: History, reader: Int) throws {
    network = Network(family)
    let store = try Store.inMemory()
    _ = try store.commit(history.sets, horizon: Clock(raw: .max))
    network.add(try InMemoryNode(0, network, store: store))
    network.add(try InMemoryNode(reader, network))
    let begun = now()
    link = try network.connect(0, 1)
    let (full, empty) = (network.nodes[0], network.nodes[1])
    let digest = full.replicator.store.digest(.records)
    guard
      network.run(600_000, until: { empty.replicator.store.digest(.records).sum == digest.sum })
    else { throw Failure("the empty device did not receive everything") }
    rowsPerSecond = Double(history.rows) / (now() - begun)
    network.run(Network.quietMilliseconds)
    bulk = network.traffic
  }

  /// Bytes of: the list of heads in one direction; a change that follows new sets of every other author; the next
  /// one; a reconnect of equal devices; a reconnect where one change is missing. All but the first include everything
  /// that is sent about them, in both directions.
  func bytes() throws -> (heads: Double, change: Double, next: Double, equal: Double, behind: Double) {
    let heads = network.nodes[0].replicator.store.heads(.records)
    let list = Message.heads(.records, heads, complete: true).encoded.count
    let change = try network.spread(from: 0).traffic.bytes
    let next = try network.spread(from: 0).traffic.bytes
    let equal = try meeting {}
    let behind = try meeting { _ = try network.nodes[0].write() }
    try network.checkAgreement()
    return (Double(list), Double(change), Double(next), equal, behind)
  }

  /// Bytes of the session after a reconnect, without the handshake.
  private func meeting(_ meanwhile: () throws -> Void) throws -> Double {
    network.disconnect(link)
    network.run(1_000)
    try meanwhile()
    network.forgetTraffic()
    link = try network.connect(1, 0)
    network.run(Network.quietMilliseconds)
    return Double(network.traffic.bytes)
  }
}
