import Platform
import Simulation

/// The accumulated figures of all runs.
struct Report {
  private var runs = 0
  private var failures = 0
  private var events = 0
  private var virtualMilliseconds: Int64 = 0
  private var seconds = 0.0
  private var tally = Tally()
  /// The number of runs in which each counted event happened, by the event's name.
  private var runsWith = Tally()
  /// The features that any run has reached, as text.
  private var features: Set<String> = []

  /// The content of a report file.
  private struct Figures: Codable {
    let runs: Int
    let failures: Int
    let events: Int
    let virtualMilliseconds: Int64
    let seconds: Double
    let counts: [String: Int]
    let runsWith: [String: Int]
    let features: [String]
  }

  mutating func add(_ run: () -> Outcome) -> Outcome {
    let begin = Self.processorSeconds()
    let outcome = run()
    seconds += Self.processorSeconds() - begin
    runs += 1
    if outcome.failure != nil { failures += 1 }
    events += outcome.events
    virtualMilliseconds += outcome.virtualMilliseconds
    tally.add(outcome.tally)
    features.formUnion(outcome.features.keys.map(\.description))
    for (name, count) in outcome.tally.counts where count > 0 { runsWith.count(name) }
    return outcome
  }

  /// Adds another process's report; returns false if that report is not valid.
  mutating func add(json: Data) -> Bool {
    guard let other = try? JSONDecoder().decode(Figures.self, from: json) else { return false }
    runs += other.runs
    failures += other.failures
    events += other.events
    seconds += other.seconds
    virtualMilliseconds += other.virtualMilliseconds
    features.formUnion(other.features)
    for (name, count) in other.counts { tally.count(name, by: count) }
    for (name, count) in other.runsWith { runsWith.count(name, by: count) }
    return true
  }

  private static func processorSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  private var eventsPerSecond: Int { seconds > 0 ? Int(Double(events) / seconds) : 0 }

  var speed: String { "\(events) events, \(eventsPerSecond) per second" }

  var text: String {
    var lines = [
      "\(runs) runs, \(failures) failed; \(events) events, \(eventsPerSecond) per second of CPU time; "
        + "\(virtualMilliseconds / 3_600_000) simulated hours; \(features.count) features"
    ]
    for (name, count) in tally.counts.sorted(by: { $0.key < $1.key }) where count > 0 {
      let padded = name + String(repeating: " ", count: max(0, 32 - name.count))
      lines.append("  \(padded) \(count) in \(runsWith[name]) runs")
    }
    return lines.joined(separator: "\n")
  }

  /// The figures as one JSON object, with counts by name.
  var json: String {
    let figures = Figures(
      runs: runs, failures: failures, events: events, virtualMilliseconds: virtualMilliseconds,
      seconds: seconds, counts: tally.counts, runsWith: runsWith.counts,
      features: features.sorted())
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    return (try? encoder.encode(figures)).map { String(decoding: $0, as: UTF8.self) + "\n" } ?? ""
  }
}
