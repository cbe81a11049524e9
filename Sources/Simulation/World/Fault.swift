import VirtualDisk

/// The kinds of faults in a run: network, processes, disks, clocks, authority, and adversaries.
package enum Fault: String, CaseIterable, Hashable, Sendable, CustomStringConvertible {
  // The network
  case delay, clog, partition, oneWay = "one-way", flap, cut, halfOpen = "half-open", narrow, refused, move,
    address
  // Processes
  case kill, killInside = "kill-inside", powerLoss = "power-loss", crashLoop = "crash-loop", pause, restart
  case restore, clone, lostPlace = "lost-place"
  // Disks
  case diskFull = "disk-full", readError = "read-error", writeError = "write-error", syncError = "sync-error"
  case slowDisk = "slow-disk"
  // Clocks
  case skew, drift, jump, farJump = "far-jump", freeze
  // Authority
  case buy, expire, preference, revoke, mutual, strangerIssuer = "stranger-issuer", invite, restamp
  case crossed, torn, pausePeer = "pause-peer"
  // Overrides
  // A seed draws from the faults sorted by raw value. This one keeps its old value, because a new one would change what
  // existing seeds do.
  case override = "forced-direction"
  // Adversaries
  case forge, malleate, truncate, foreign, replay, equivocate, gap, brokenLink = "broken-link"
  case unknownDependency = "unknown-dependency", future, past, lie, hoard, garble, oversize, unsolicited
  case poison, wrongLane = "wrong-lane", claimPremium = "claim-premium", beyondCut = "beyond-cut", storm
  case sloppy, otherPlan = "other-plan", unknownAuthor = "unknown-author", closedLane = "closed-lane"
  case strangeProfile = "strange-profile", branches, deaf, lyingAnswer = "lying-answer", trickle
  case unreadable, otherValues = "other-values", withhold, logBytes = "log-bytes"
  // Keeps its old value, like `override`.
  case otherTree = "other-number"
  case manyBranches = "many-branches"
  // The circle's statements arrive before the sets that they concern
  case hearsay
  // Files. Only seeds with files draw these, from a stream of their own.
  case killInFile = "kill-in-file", fullInFile = "full-in-file", alterLeaf = "alter-leaf"
  case keepPolicy = "keep-policy", trashDays = "trash-days", dayJump = "day-jump"
  case falseLeaf = "false-leaf", falseList = "false-list", withholdLeaf = "withhold-leaf"
  case falseHolder = "false-holder"

  package var description: String { rawValue }

  /// Whether only an adversary causes this fault.
  var isByzantine: Bool {
    switch self {
    case .forge, .malleate, .truncate, .foreign, .replay, .equivocate, .gap, .brokenLink, .unknownDependency,
      .future, .past, .lie, .hoard, .garble, .oversize, .unsolicited, .poison, .wrongLane, .claimPremium,
      .beyondCut, .storm, .sloppy, .otherPlan, .unknownAuthor, .closedLane, .strangeProfile, .branches, .deaf,
      .lyingAnswer, .trickle, .unreadable, .otherValues, .withhold, .logBytes, .otherTree, .manyBranches,
      .falseLeaf, .falseList, .withholdLeaf, .falseHolder:
      true
    default: false
    }
  }

  /// Whether the fault concerns files, so that it occurs only in runs with files.
  var isOfFiles: Bool {
    switch self {
    case .killInFile, .fullInFile, .alterLeaf, .keepPolicy, .trashDays, .dayJump, .falseLeaf, .falseList,
      .withholdLeaf, .falseHolder:
      true
    default: false
    }
  }
}

/// Counts of the things that happened in runs, by name.
package struct Tally: Sendable {
  package private(set) var counts: [String: Int] = [:]

  package init() {}

  package subscript(name: String) -> Int { counts[name] ?? 0 }

  package mutating func count(_ name: String, by amount: Int = 1) { counts[name, default: 0] += amount }

  package mutating func add(_ other: Tally) { counts.merge(other.counts, uniquingKeysWith: +) }
}

extension Tally {
  mutating func add(_ disk: DiskCounters) {
    count("disk operations", by: disk.operations.reduce(0, +))
    count("disk read or write errors", by: disk.inputOutputErrors)
    count("disk sync errors", by: disk.syncErrors)
    count("disk out of room", by: disk.outOfRoom)
    count("disk short reads", by: disk.shortReads)
    count("disk writes dropped", by: disk.changesDropped)
    count("disk writes torn", by: disk.changesTorn)
    count("disk writes reordered", by: disk.changesReordered)
    count("disk names lost", by: disk.namesLost)
  }
}
