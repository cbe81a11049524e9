import VirtualDisk
import Wire

// Guided search: choosing runs by what earlier runs have reached
//
// Fresh seeds find common bugs quickly. A bug that needs two or three rare events at once is hardly ever met, because
// each seed has to arrive at all of them by chance. The search therefore keeps the options of every run that reached
// something new, and makes further runs from them:
//
//        fresh seed, every third run                     options of an earlier run, varied
//                 │                                                    ▲
//                 ▼                                                    │ picks a feature that few runs have
//            Run.outcome ──▶ outcome.features ──▶ new features? ──▶ corpus
//                                                                      │
//   run A   ────────●──────▶                     half of all variations branch at about the event at which the feature
//                   │ “names lost”               occurred: everything up to it is repeated, and what follows has
//   branch          └──────▶                     other random numbers, mostly with one fault far more often
//
// A feature is a rare state together with something that it coincided with (`Marks`). First a state is picked, then one
// of its features; each among a few random ones, as the one that few runs have, from which few runs were made, and which
// a short run reaches. So the search spends its time on what is rare, and leaves a state that leads nowhere.
//
// The search is a value: `next()` returns options, and `learn(_:)` takes the outcome of their run. Both depend on nothing
// but the first seed and what was learned before, so the same search makes the same runs. What a failing run reached is
// not kept, because further runs from it would fail too.

/// A search for failing runs that varies the options of runs that reached rare states.
package struct GuidedSearch: Sendable {
  /// A run that reached something that no run before it had reached.
  private struct Entry {
    let options: Options
    let features: [Feature: Int]
    /// The number of events of the whole run.
    let events: Int
  }

  /// What is known of a feature.
  private struct Knowledge {
    /// The number of runs that had the feature.
    var runs = 0
    /// The number of runs that were made because of it.
    var tries = 0
    /// The numbers of the corpus entries that have it: at first the one that found it, then others that found something
    /// else.
    var entries: [Int] = []
  }

  private let seed: UInt64
  private let events: Int?
  private var random: SplitMix
  private var runs: UInt64 = 0
  private var seeds: UInt64 = 0
  private var corpus: [Entry] = []
  private var known: [Feature: Knowledge] = [:]
  /// The states that were reached, in the order in which they were found.
  private var marks: [String] = []
  /// The known features of each state, in the order in which they were found.
  private var found: [String: [Feature]] = [:]

  /// Creates a search.
  ///
  /// - Parameters:
  ///   - seed: the first of the fresh seeds; the search also depends on it in all other respects.
  ///   - events: the number of events during which faults occur in runs from fresh seeds; nil for the usual number.
  package init(seed: UInt64, events: Int? = nil) {
    (self.seed, self.events) = (seed, events)
    random = SplitMix(seed: seed ^ 0x6775_6964_6564_0001)
  }

  /// The number of different features that the runs have reached.
  package var featureCount: Int { known.count }

  /// The number of runs that reached something new.
  package var corpusCount: Int { corpus.count }

  /// Returns the options of the next run.
  package mutating func next() -> Options {
    defer { runs += 1 }
    guard !corpus.isEmpty, !runs.isMultiple(of: Self.freshEvery) else {
      defer { seeds += 1 }
      let fresh = seed &+ seeds
      return events.map { Options(seed: fresh, events: $0) } ?? Options(seed: fresh)
    }
    let feature = rareFeature()
    known[feature]?.tries += 1
    // The tries of a state are those of all of its features.
    if !feature.circumstance.isEmpty { known[Feature(mark: feature.mark, circumstance: "")]?.tries += 1 }
    let entry = entry(with: feature)
    return random.happens(perThousand: Self.branches)
      ? branched(entry, at: entry.features[feature] ?? 0) : varied(entry.options)
  }

  /// Learns what a run has reached.
  package mutating func learn(_ outcome: Outcome) {
    guard outcome.failure == nil else { return }
    // In order of occurrence, so that nothing depends on the order of a dictionary.
    let reached = outcome.features.sorted { ($0.value, $0.key) < ($1.value, $1.key) }.map(\.key)
    let isNew = reached.contains { known[$0] == nil }
    if isNew {
      corpus.append(Entry(options: outcome.options, features: outcome.features, events: outcome.events))
    }
    for feature in reached {
      if known[feature] == nil { found[feature.mark, default: []].append(feature) }
      if known[feature] == nil, feature.circumstance.isEmpty { marks.append(feature.mark) }
      var knowledge = known[feature] ?? Knowledge()
      knowledge.runs += 1
      if isNew, knowledge.entries.count < Self.entriesMax { knowledge.entries.append(corpus.count - 1) }
      known[feature] = knowledge
    }
  }

  /// Returns a rare feature of a rare state.
  private mutating func rareFeature() -> Feature {
    let mark = rarest(drawn(from: marks)) { Feature(mark: $0, circumstance: "") }
    return rarest(drawn(from: found[mark] ?? [])) { $0 }
  }

  private mutating func drawn<Item>(from items: [Item]) -> [Item] {
    (0..<Self.candidates).map { _ in items[random.below(items.count)] }
  }

  /// Returns the item whose feature has the lowest cost, the first one of several.
  private func rarest<Item>(_ items: [Item], feature: (Item) -> Feature) -> Item {
    items.dropFirst().reduce(items[0]) { cost(feature($1)) < cost(feature($0)) ? $1 : $0 }
  }

  /// Returns a number that is lower the rarer a feature is, the fewer runs were made because of it, and the shorter those
  /// would be.
  private func cost(_ feature: Feature) -> Int {
    let knowledge = known[feature] ?? Knowledge()
    let events = knowledge.entries.map { corpus[$0].events }.min() ?? 0
    return (knowledge.runs + Self.costOfTry * knowledge.tries) * (events + Self.costOfStart)
  }

  /// Returns the shorter of two random runs that reached a feature.
  private mutating func entry(with feature: Feature) -> Entry {
    let entries = known[feature]?.entries ?? []
    let two = (0..<2).map { _ in corpus[random.pick(entries) ?? corpus.count - 1] }
    return two[1].events < two[0].events ? two[1] : two[0]
  }

  private static let freshEvery: UInt64 = 3
  /// The share of branches among the variations, per thousand.
  private static let branches = 500
  private static let candidates = 6
  private static let costOfTry = 2
  /// What a run costs in addition to its events, in events.
  private static let costOfStart = 4_000
  private static let entriesMax = 8
}

// MARK: Variations

extension GuidedSearch {
  /// Returns options that repeat a run until about the time at which it reached a feature, and then differ.
  private mutating func branched(_ entry: Entry, at event: Int) -> Options {
    var options = entry.options
    // After the event with the feature, to continue from there; just before it, to repeat the same operation with another
    // moment of death, for example; or a little earlier, so that what led to it can differ too.
    let earlier = [0, 1, random.logarithmic(2, 60)][random.below(3)]
    let place = max(event - earlier, 1)
    let kept = options.branches.filter { $0.event < place }.suffix(Self.branchesMax - 1)
    let fault = random.happens(perThousand: 700) ? random.pick(possibleFaults(options)) : nil
    options.branches = kept + [Branch(at: place, seed: random.next(), fault: fault)]
    // Faults go on for long enough to meet the state that was reached, but not for much longer, so that more runs fit
    // into the same time.
    options.events = place + 100 + random.logarithmic(50, 600)
    return options
  }

  private func possibleFaults(_ options: Options) -> [Fault] {
    Fault.allCases.filter {
      (options.adversaries > 0 || !$0.isByzantine) && (options.files > 0 || !$0.isOfFiles)
    }
  }

  /// Returns options that differ in one or two respects.
  private mutating func varied(_ options: Options) -> Options {
    var options = options
    // In a run with other options, a branch would come at an event that has nothing to do with the state it was for.
    options.branches = []
    for _ in 0...random.below(2) { vary(&options) }
    return options
  }

  private mutating func vary(_ options: inout Options) {
    let listed = options.faults.keys.sorted { $0.rawValue < $1.rawValue }
    switch random.below(8) {
    case 0, 1: options.seed = random.next()
    case 2:
      if let fault = random.pick(possibleFaults(options)) { options.faults[fault] = 1 + random.below(40) }
    case 3: if let fault = random.pick(listed) { options.faults[fault] = nil }
    case 4: if let fault = random.pick(listed) { options.faults[fault]? *= 4 }
    case 5:
      let more = random.happens(perThousand: 500) ? 1 : -1
      options.devices = min(max(options.devices + more, 2), Self.devicesMax)
      options.free = min(options.free, options.devices - 1)
    case 6: options.events = min(options.events * 3 / 2, max(options.events, Self.eventsMax))
    default:
      let isMore = random.happens(perThousand: 500)
      if random.happens(perThousand: 500) {
        options.faultsEvery = isMore ? max(options.faultsEvery / 2, 5) : options.faultsEvery * 2
      } else {
        options.peopleEvery = isMore ? max(options.peopleEvery / 2, 5) : options.peopleEvery * 2
      }
    }
  }

  private static let branchesMax = 4
  private static let devicesMax = 8
  private static let eventsMax = 3_000
}
