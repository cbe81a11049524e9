import Replication
import Wire

// Small worlds of a circle.
//
// A script says what the devices of a circle did, in the order of time: which change sets each wrote, what it had seen
// by then, and which statements were signed. For example, Bob writes three sets, Carol edits the same trip after she
// has seen the second one, and Alice revokes Bob and keeps only his first set:
//
//     Bob      0 ── 1 ── 2
//                    ╲
//     Carol           3              Alice: revocation of Bob, keeps 0
//
// `SignedWorld` turns a script into real, signed bytes. `Search` delivers them to one node (`Node`), in every order in
// which a set comes after those that it has seen, and a statement comes at any time. After each delivery the node is
// observed (`Observation`) and compared with what the protocol's pages say of the delivered items, whatever their
// order:
//
//     script ──▶ SignedWorld ──▶ Node ──▶ Observation ──┐
//        │                                              ├── equal, line by line
//        └──▶ MembershipOracle ─▶ LogOracle ─▶ RecordOracle
//
// The oracles share no rule with the program. They take only two things from the real bytes: the stamps of the sets,
// because stamps depend on hashes, and which values are absent, because an erase that a cut excludes later may have
// taken values already. `Expectation` checks that an erase explains each absent value.

enum Actor: String, CaseIterable {
  case root, alice, bob, carol, dave

  static let devices: [Actor] = [.alice, .bob, .carol, .dave]
}

/// A set of sets or statements, by position in the script.
typealias Mask = UInt32

extension Mask {
  init(_ positions: some Sequence<Int>) { self = positions.reduce(0) { $0 | 1 << Mask($1) } }

  func has(_ position: Int) -> Bool { self >> Mask(position) & 1 == 1 }
  func with(_ position: Int) -> Mask { self | 1 << Mask(position) }

  var positions: [Int] {
    var (rest, found) = (self, [Int]())
    while rest != 0 {
      found.append(rest.trailingZeroBitCount)
      rest &= rest - 1
    }
    return found
  }
}

struct PlannedEntry {
  let type: EntryType
  let trip: Int
  var fields: [FieldNumber: String] = [:]
}

struct PlannedSet {
  let author: Actor
  var incarnation = 1
  /// The set that this one follows in its log.
  var previous: Int?
  /// Sets of other logs that the author had folded, in addition to everything that they and `previous` had seen.
  var seen: [Int] = []
  var entries: [PlannedEntry]
  /// Whether the author's clock was twenty minutes ahead.
  var isAhead = false
}

enum PlannedStatement {
  case certificate(by: Actor, for: Actor, isAdmin: Bool = true)
  /// Keeps the logs of the device up to these sets, and these statements, by position.
  case revocation(by: Actor, of: Actor, kept: [Int] = [], valid: [Int] = [])
  /// Ends the device's first log after a set, or before its first one.
  case logCut(by: Actor, after: Int?)
  /// Proves that a device wrote too many branches after a set, or from the beginning.
  case branchProof(of: Actor, after: Int?)

  var signer: Actor {
    switch self {
    case .certificate(let by, _, _), .revocation(let by, _, _, _), .logCut(let by, _): by
    case .branchProof(let of, _): of
    }
  }
}

struct Script {
  let name: String
  var sets: [PlannedSet]
  /// The statements that the node holds from the beginning come first.
  var statements: [PlannedStatement]
  var heldAtStart = 0
  /// Whether the time at which sets dated ahead are due comes in the course of the world.
  var timePasses = false

  var log: [WorldLog] { sets.map { WorldLog(device: $0.author, incarnation: $0.incarnation) } }
}

struct WorldLog: Hashable, Comparable {
  let device: Actor
  let incarnation: Int

  static func < (left: WorldLog, right: WorldLog) -> Bool {
    (left.device.rawValue, left.incarnation) < (right.device.rawValue, right.incarnation)
  }
}

/// What follows from a script about positions in logs and about what each author had seen.
struct Ancestry {
  let logs: [WorldLog]
  let sequences: [Int]
  /// Each set and its predecessors in its log.
  let paths: [Mask]
  /// The sets of other logs that each set declares as dependencies.
  let dependencies: [Mask]
  /// Everything that must be delivered before a set, without the set.
  let known: [Mask]

  init(_ script: Script) {
    logs = script.log
    var (sequences, paths): ([Int], [Mask]) = ([], [])
    var (dependencies, known): ([Mask], [Mask]) = ([], [])
    for (index, set) in script.sets.enumerated() {
      let path = set.previous.map { paths[$0] } ?? 0
      sequences.append(set.previous.map { sequences[$0] + 1 } ?? 1)
      paths.append(path.with(index))
      let heads = set.seen + (set.previous.map { [$0] } ?? [])
      let seen = heads.reduce(0) { $0 | known[$1].with($1) }
      known.append(seen)
      let foreign = seen & ~Mask(seen.positions.filter { script.log[$0] == script.log[index] })
      // The newest set of each branch, unless the log has declared it before.
      let followed = Mask(foreign.positions.compactMap { script.sets[$0].previous })
      let declared = path.positions.reduce(0) { declared, ancestor in
        dependencies[ancestor].positions.reduce(declared) { $0 | paths[$1] }
      }
      dependencies.append(foreign & ~followed & ~declared)
    }
    (self.sequences, self.paths, self.dependencies, self.known) = (sequences, paths, dependencies, known)
  }
}
