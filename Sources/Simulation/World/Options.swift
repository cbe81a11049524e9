import VirtualDisk
import Wire

/// The configuration of a run, which determines everything that happens: the same options always give the same run.
///
/// As in swarm testing (Groce et al., "Swarm Testing", 2012), each seed chooses which faults can occur in its run and
/// how often, so that rare faults are not drowned out by frequent ones.
package struct Options: Hashable, Sendable {
  package var seed: UInt64
  /// The number of honest devices.
  package var devices: Int
  /// The number of honest devices without an entitlement.
  package var free: Int
  /// The number of adversaries: members that break the rules.
  package var adversaries: Int
  /// The number of events during which faults occur. After that, everything is healed.
  package var events: Int
  /// The mean time between two faults, in virtual milliseconds.
  package var faultsEvery: Int64
  /// The mean time between two user actions, in virtual milliseconds.
  package var peopleEvery: Int64
  /// The relative frequency of each fault. Faults that are not listed don't occur.
  package var faults: [Fault: Int]
  /// The number of different records to which users write. Fewer records mean more conflicts.
  package var records: Int
  /// The share of user actions, per thousand, that write more data than is pushed to peers.
  package var large = 10
  /// The quota of the adversaries in each lane, in bytes; 0 for the protocol's. Honest devices have a grant.
  package var quota = 0
  /// The number of different files that users attach to records; 0 for a run without files.
  package var files = 0
  /// The mean time between two purchases, in virtual milliseconds; 0 for a run without purchases.
  package var purchasesEvery: Int64 = 0
  /// The mean time between two withdrawals or new entitlements, in virtual milliseconds; 0 for a run without them.
  package var withdrawalsEvery: Int64 = 0
  /// The points at which the run continues with other random numbers.
  package var branches: [Branch] = []

  /// Creates the options that a seed chooses.
  ///
  /// - Parameter events: the number of events during which faults occur.
  package init(seed: UInt64, events: Int = 1_500) {
    var random = SplitMix(seed: seed ^ 0x57a9_6d61_726b_0001)
    self.seed = seed
    self.events = events
    devices = 2 + min(random.below(4) + random.below(5), 7)
    free = random.happens(perThousand: 450) ? random.below(devices) : 0
    adversaries = random.happens(perThousand: 500) ? 1 + random.below(2) : 0
    faultsEvery = Int64(random.logarithmic(10, 1_000))
    peopleEvery = Int64(random.logarithmic(5, 2_000))
    records = random.logarithmic(2, 60)
    faults = [:]
    let share = 100 + random.below(800)
    for fault in Fault.allCases where !fault.isOfFiles && random.happens(perThousand: share) {
      guard adversaries > 0 || !fault.isByzantine else { continue }
      // Overrides get a higher weight, because many of them find no peer to ask and do nothing.
      faults[fault] = (1 + random.below(20)) * (fault.isByzantine || fault == .override ? 3 : 1)
    }
    // One run in ten has no faults at all, to find failures that occur without any.
    if random.happens(perThousand: 100) { (faults, adversaries) = ([:], 0) }
    if random.happens(perThousand: 330), let theme = random.pick(Theme.allCases) {
      concentrate(on: theme, &random)
    }
    // Drawn separately, so that what older seeds do stays the same in other respects.
    var separate = SplitMix(seed: seed ^ 0x7175_6f74_6173_0001)
    if adversaries > 0, separate.happens(perThousand: 400) { quota = separate.logarithmic(1_000, 40_000) }
    drawFiles()
    var purchases = SplitMix(seed: seed ^ 0x7075_7263_6873_0001)
    if purchases.happens(perThousand: Self.runsWithPurchases) {
      purchasesEvery = Int64(purchases.logarithmic(10, 1_000))
    }
    var withdrawals = SplitMix(seed: seed ^ 0x7769_7468_6472_0001)
    if withdrawals.happens(perThousand: Self.runsWithWithdrawals) {
      withdrawalsEvery = Int64(withdrawals.logarithmic(50, 5_000))
    }
  }

  /// Decides whether the run has files, and which of their faults.
  private mutating func drawFiles() {
    var random = SplitMix(seed: seed ^ 0x6669_6c65_7300_0001)
    guard random.happens(perThousand: Self.runsWithFiles) else { return }
    files = random.logarithmic(1, 12)
    for fault in Fault.allCases where fault.isOfFiles && random.happens(perThousand: 600) {
      let weight = 2 + random.below(20)
      guard !faults.isEmpty, adversaries > 0 || !fault.isByzantine else { continue }
      faults[fault] = fault.isByzantine ? weight * 2 : weight
    }
  }

  /// The share of runs with files, per thousand.
  private static let runsWithFiles = 250

  /// The share of runs with purchases, per thousand.
  private static let runsWithPurchases = 300

  /// The share of runs with withdrawals, per thousand.
  private static let runsWithWithdrawals = 250

  /// Restricts the run to the faults of a theme, or to most of those.
  private mutating func concentrate(on theme: Theme, _ random: inout SplitMix) {
    devices = (theme == .circle ? 5 : theme == .order ? 3 : 2) + random.below(4)
    free = theme == .guile ? random.below(2) : 0
    adversaries =
      switch theme {
      case .guile, .promises: 1 + random.below(2)
      case .circle: random.below(2)
      case .order: random.below(3)
      default: 0
      }
    if theme == .load { large = 400 }
    faultsEvery = Int64(random.logarithmic(20, 300))
    peopleEvery = Int64(random.logarithmic(10, 300))
    // Overrides need connected peers to ask, but partitions last for seconds, so space out the faults.
    if theme == .order { faultsEvery *= 10 }
    if theme == .wander {
      devices = 2
      events *= 4
      (faultsEvery, peopleEvery) = (faultsEvery * 10, peopleEvery * 100)
    }
    faults = theme.faults.filter { adversaries > 0 || !$0.key.isByzantine }
    for fault in theme.faults.keys.sorted(by: { $0.rawValue < $1.rawValue })
    where random.happens(perThousand: 250) {
      faults[fault] = nil
    }
  }
}

/// A set of faults on which a run concentrates. Bugs that need two or three rare faults at once are hardly ever found
/// when all faults compete.
private enum Theme: CaseIterable {
  /// Members are revoked and readmitted while statements and change sets take different routes.
  case circle
  /// Disks fail to sync, and power fails.
  case durability
  /// More data has to be sent than links can carry at once.
  case load
  /// Adversaries misbehave most of the time.
  case guile
  /// Devices change their addresses so often, and for so long, that peers' rate limits are exhausted and recover.
  case wander
  /// Users keep overriding records while the sets that the overrides need are slow to arrive.
  case order
  /// Members announce more than they deliver, so that other members have to deliver the rest.
  case promises

  /// The relative frequency of each fault.
  var faults: [Fault: Int] {
    switch self {
    case .circle:
      [
        .revoke: 8, .mutual: 4, .crossed: 6, .torn: 24, .hearsay: 12, .partition: 8, .preference: 4,
        .clone: 10, .jump: 3, .kill: 3, .cut: 3, .branches: 40, .equivocate: 10, .manyBranches: 6,
      ]
    case .durability:
      [
        .syncError: 12, .powerLoss: 12, .restart: 10, .kill: 4, .killInside: 4, .diskFull: 2, .jump: 6,
        .restamp: 6,
      ]
    case .load:
      [
        .narrow: 16, .partition: 10, .cut: 4, .delay: 4, .oneWay: 4, .slowDisk: 3, .diskFull: 3, .pause: 3,
        .restart: 2, .kill: 2,
      ]
    case .wander: [.address: 40, .cut: 1, .jump: 1]
    case .order:
      [
        .override: 40, .lyingAnswer: 6, .trickle: 2, .hoard: 2, .partition: 2, .clog: 1, .narrow: 2, .cut: 3,
        .kill: 3, .killInside: 4, .restart: 3, .diskFull: 5, .restore: 2, .clone: 2, .revoke: 5, .crossed: 2,
        .torn: 3, .preference: 1, .expire: 1, .branches: 3,
      ]
    case .promises:
      [
        .trickle: 16, .withhold: 4, .lie: 3, .hoard: 3, .lyingAnswer: 2, .override: 6, .partition: 12,
        .clog: 6, .cut: 6,
        .hearsay: 4, .kill: 4, .restart: 2, .diskFull: 2, .pause: 2,
      ]
    case .guile:
      Dictionary(
        uniqueKeysWithValues: Fault.allCases.filter { $0.isByzantine && !$0.isOfFiles }.map { ($0, 4) }
      )
      .merging(
        [
          .sloppy: 16, .closedLane: 12, .preference: 6, .expire: 2, .partition: 4, .kill: 4, .clone: 2,
          .jump: 2,
        ],
        uniquingKeysWith: max)
    }
  }
}

extension Options: CustomStringConvertible {
  /// The options as one line, which `init(line:)` can parse.
  package var description: String {
    let listed = faults.sorted { $0.key.rawValue < $1.key.rawValue }.map { "\($0.key):\($0.value)" }
    return
      "seed=\(seed) devices=\(devices) free=\(free) adversaries=\(adversaries) events=\(events) "
      + "faults-every=\(faultsEvery) people-every=\(peopleEvery) records=\(records) large=\(large) "
      + "quota=\(quota) files=\(files) purchases=\(purchasesEvery) withdrawals=\(withdrawalsEvery) "
      + "faults=\(listed.isEmpty ? "none" : listed.joined(separator: ","))"
      + (branches.isEmpty ? "" : " branch=" + branches.map(\.description).joined(separator: ","))
  }

  /// Parses `name=value` words. The seed chooses the options that are not given. Nil if a word is invalid or there is
  /// no seed.
  package init?(line: String) {
    var values: [Substring: Substring] = [:]
    for word in line.split(separator: " ") {
      let parts = word.split(separator: "=", maxSplits: 1)
      guard parts.count == 2 else { return nil }
      values[parts[0]] = parts[1]
    }
    guard let seed = values.removeValue(forKey: "seed").flatMap({ UInt64($0) }) else { return nil }
    self.init(seed: seed)
    for (name, value) in values {
      guard set(name, value) else { return nil }
    }
  }

  private mutating func set(_ name: Substring, _ value: Substring) -> Bool {
    if name == "faults" { return setFaults(value) }
    if name == "branch" { return setBranches(value) }
    guard let number = Int(value), number >= 0 else { return false }
    switch name {
    case "devices": devices = number
    case "free": free = number
    case "adversaries": adversaries = number
    case "events": events = number
    case "faults-every": faultsEvery = Int64(number)
    case "people-every": peopleEvery = Int64(number)
    case "records": records = number
    case "large": large = number
    case "quota": quota = number
    case "files": files = number
    case "purchases": purchasesEvery = Int64(number)
    case "withdrawals": withdrawalsEvery = Int64(number)
    default: return false
    }
    return true
  }

  private mutating func setBranches(_ list: Substring) -> Bool {
    let parsed = list.split(separator: ",", omittingEmptySubsequences: false).map { Branch($0) }
    branches = parsed.compactMap(\.self)
    return branches.count == parsed.count
  }

  private mutating func setFaults(_ list: Substring) -> Bool {
    faults = [:]
    guard list != "none" else { return true }
    for item in list.split(separator: ",") {
      let parts = item.split(separator: ":")
      guard parts.count == 2, let fault = Fault(rawValue: String(parts[0])), let weight = Int(parts[1]) else {
        return false
      }
      faults[fault] = weight
    }
    return true
  }
}

extension SplitMix {
  /// Returns a random number between two bounds that is roughly log-uniform: all orders of magnitude are about equally
  /// likely.
  mutating func logarithmic(_ low: Int, _ high: Int) -> Int {
    var (low, high) = (low, high)
    while high > 2 * low {
      if happens(perThousand: 500) { high = max(high / 2, low) } else { low = min(low * 2, high) }
      if happens(perThousand: 250) { break }
    }
    return low + below(high - low + 1)
  }

  mutating func pick<Items: RandomAccessCollection>(_ items: Items) -> Items.Element? {
    guard !items.isEmpty else { return nil }
    return items[items.index(items.startIndex, offsetBy: below(items.count))]
  }

  /// Returns a random wait of about this many milliseconds on average, sometimes much longer.
  mutating func wait(_ average: Int64) -> Int64 {
    var sum: Int64 = 0
    for _ in 0..<2 { sum += Int64(below(Int(max(average, 1)) + 1)) }
    return happens(perThousand: 100) ? sum * 3 : sum
  }
}
