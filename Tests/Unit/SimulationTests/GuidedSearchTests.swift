import Simulation
import Testing

/// Branches of runs, and the search that makes them at rare states.
@Suite struct GuidedSearchTests {
  // MARK: Branches

  /// Runs a world and returns the lines of its log, divided into events.
  private func events(of options: Options) -> [[String]] {
    var events: [[String]] = []
    let outcome = Run.outcome(of: options) { line in
      // Details of an event are indented.
      if !line.hasPrefix(" ") { events.append([]) }
      if !events.isEmpty { events[events.count - 1].append(line) }
    }
    #expect(outcome.failure == nil, "\(options)")
    return events
  }

  private func branched(_ branches: Branch...) -> Options {
    var options = Options(seed: 3, events: 200)
    options.branches = branches
    return options
  }

  @Test func `a branch repeats the run up to its event, and then differs`() {
    let (plain, other) = (events(of: branched()), events(of: branched(Branch(at: 120, seed: 9))))
    #expect(plain.prefix(120) == other.prefix(120))
    // The event after the branch is already in the queue, but what it draws differs.
    #expect(plain[120..<150] != other[120..<150])
  }

  @Test func `a second branch repeats the first one`() {
    let first = Branch(at: 100, seed: 9, fault: .kill)
    let (one, two) = (events(of: branched(first)), events(of: branched(Branch(at: 140, seed: 4), first)))
    #expect(one.prefix(140) == two.prefix(140))
    #expect(one[140..<170] != two[140..<170])
  }

  @Test func `a branch with a fault attempts that fault every other time from then on`() {
    var options = branched(Branch(at: 60, seed: 5, fault: .pause))
    options.faultsEvery = 20
    let faults = events(of: options).dropFirst(60).joined().filter { $0.hasPrefix("  fault: ") }
    let pauses = faults.count { $0 == "  fault: pause" }
    #expect(options.faults[.pause] == nil)
    #expect(faults.count > 20)
    #expect(abs(2 * pauses - faults.count) < faults.count / 2, "\(pauses) of \(faults.count)")
  }

  @Test func `branches can be parsed from the line that a run prints`() {
    let options = branched(Branch(at: 7, seed: .max), Branch(at: 40, seed: 1, fault: .override))
    #expect(options.description.hasSuffix("branch=7:18446744073709551615,40:1:forced-direction"))
    #expect(Options(line: options.description) == options)
  }

  @Test(arguments: ["", "7", "7:", "0:1", "-7:1", "7:1:rain", "7:1:kill:2", "7:1,", "7:1,x"])
  func `a line with an invalid branch is refused`(_ branches: String) {
    #expect(Options(line: "seed=1 branch=7:1") != nil)
    #expect(Options(line: "seed=1 branch=\(branches)") == nil)
  }

  // MARK: Search

  private struct Searched {
    let options: [Options]
    let features: Set<Feature>
  }

  /// Makes the first runs of a search.
  private static func search(_ seed: UInt64, runs: Int) -> Searched {
    var search = GuidedSearch(seed: seed, events: events)
    var (options, features): ([Options], Set<Feature>) = ([], [])
    for _ in 0..<runs {
      let next = search.next()
      let outcome = Run.outcome(of: next)
      search.learn(outcome)
      options.append(next)
      features.formUnion(outcome.features.keys)
    }
    #expect(search.featureCount == features.count)
    return Searched(options: options, features: features)
  }

  private static let events = 60
  private static let seed: UInt64 = 500
  private static let searched = search(seed, runs: 12)

  @Test func `the same first seed gives the same runs`() {
    #expect(Self.search(Self.seed, runs: 6).options == Array(Self.searched.options.prefix(6)))
  }

  @Test func `a search branches at rare states, varies options, and tries fresh seeds`() {
    let fresh = (0..<4 as Range<UInt64>).map { Options(seed: Self.seed + $0, events: Self.events) }
    #expect(Self.searched.options.filter(fresh.contains) == fresh)
    let others = Self.searched.options.filter { !fresh.contains($0) }
    #expect(others.contains { !$0.branches.isEmpty })
    #expect(others.contains { $0.branches.isEmpty })
  }

  @Test func `a search reaches more rare states than as many fresh seeds`() {
    var plain: Set<Feature> = []
    for seed in 0..<12 as Range<UInt64> {
      plain.formUnion(Run.outcome(of: Options(seed: Self.seed + seed, events: Self.events)).features.keys)
    }
    #expect(Self.searched.features.count > plain.count, "\(Self.searched.features.count), \(plain.count)")
  }
}
