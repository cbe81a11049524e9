import VirtualDisk

/// What goes wrong in a run: the network, processes, disks, clocks, authority, and members that keep to no rule.
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
  // Whose records are the right ones
  case override = "override"
  // Members that keep to no rule
  case forge, malleate, truncate, foreign, replay, equivocate, gap, brokenLink = "broken-link"
  case unknownDependency = "unknown-dependency", future, past, lie, hoard, garble, oversize, unsolicited
  case poison, wrongLane = "wrong-lane", claimPremium = "claim-premium", beyondCut = "beyond-cut", storm
  case sloppy, otherBody = "other-body", unknownAuthor = "unknown-author", closedLane = "closed-lane"
  case strangeProfile = "strange-profile", branches, deaf, lyingAnswer = "lying-answer", trickle
  // What is said of the circle goes ahead of the sets
  case hearsay

  package var description: String { rawValue }

  /// Whether it is something that only an adversary does.
  var isByzantine: Bool {
    switch self {
    case .forge, .malleate, .truncate, .foreign, .replay, .equivocate, .gap, .brokenLink, .unknownDependency,
      .future, .past, .lie, .hoard, .garble, .oversize, .unsolicited, .poison, .wrongLane, .claimPremium,
      .beyondCut, .storm, .sloppy, .otherBody, .unknownAuthor, .closedLane, .strangeProfile, .branches, .deaf,
      .lyingAnswer, .trickle:
      true
    default: false
    }
  }
}

/// How often something happened in runs.
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
