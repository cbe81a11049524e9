// Protocol/circle.md, "Branch proof"

import LogStorage
package import Replication
package import Wire

/// The trees of which a device has written too many branches, and the evidence for it.
extension Store {
  /// The trees of which more than the permitted branches are stored.
  package var excessiveTrees: Set<LogTree> { Set(logs.treeBranches.keys.filter(logs.isExcessive)) }

  /// Returns the intact sets at the forks of a tree: the first set of each branch, and one that competes with it.
  package func setsAtForks(of tree: LogTree) throws -> [VerifiedChangeSet] {
    var numbers: Set<Int64> = []
    for log in logs.all where log.tree == tree {
      for branch in logs[log] {
        numbers.formUnion(
          try [logs.number(branch.number, branch.first), logs.sibling(of: branch)].compactMap(\.self))
      }
    }
    return try numbers.sorted().compactMap { try intactSet($0) }
  }

  /// Returns the numbers from which a device may choose for a new incarnation: those of which no set of the device is
  /// stored or quarantined.
  package func freeNumbers(of device: DeviceKey) throws -> Set<Int> {
    var free = Set(1...Limits.incarnationsMax)
    for log in logs.all where log.device == device { free.remove(log.incarnation.number) }
    try eachQuarantined { _, header in
      if header.log.device == device { free.remove(header.log.incarnation.number) }
    }
    return free
  }
}
