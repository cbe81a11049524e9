import Platform
import JSONDocument
import Simulation

/// The parsed command line, which carries out the runs that it requests.
struct Command {
  private var first: UInt64 = 1
  private var count: UInt64?
  private var minutes: Double?
  private var events: Int?
  private var line: String?
  private var search: GuidedSearch?
  private var isGuided = false
  private var isTold = false
  private var repeats = false
  private var shrinks = true
  private var goesOn = false
  /// The report files given with `--sum`, which are added up.
  private var parts: [String] = []
  private var reportFile: String?

  private var report = Report()

  static let usage = """
    Simulate a circle of devices under a virtual clock, with faults of all kinds.

    Usage:
      simulator --seed N                 run one seed and print its options
      simulator --seeds FIRST COUNT      run consecutive seeds until one fails
      simulator --minutes M [--seed N]   run consecutive seeds until one fails or the time is up
      simulator --guided N [COUNT]       vary the runs that reached rare states, with fresh seeds from N, until one
                                         fails; COUNT runs, or as long as --minutes says
      simulator --run 'seed=… …'         run exactly these options, as printed for a failure

    Options:
      --events N    number of events during which faults occur (default 1500)
      --tell        print every event of a single run
      --twice       run each seed twice and compare the runs
      --all         continue after a failure
      --no-shrink   don't search for a smaller run that also fails
      --report F    write the figures to file F as JSON instead of printing them
      --sum F…      add up the figures in report files F… and print them

    """

  init?(_ arguments: ArraySlice<String>) {
    var rest = arguments
    while let word = rest.popFirst() {
      switch word {
      case "--tell": isTold = true
      case "--twice": repeats = true
      case "--all": goesOn = true
      case "--no-shrink": shrinks = false
      case "--sum":
        parts = Array(rest)
        rest = []
      default:
        guard let value = rest.popFirst(), take(word, value, &rest) else { return nil }
      }
    }
    if count == nil, minutes == nil { count = 1 }
  }

  private mutating func take(_ word: String, _ value: String, _ rest: inout ArraySlice<String>) -> Bool {
    switch word {
    case "--seed":
      guard let seed = UInt64(value) else { return false }
      first = seed
    case "--seeds":
      guard let seed = UInt64(value), let number = rest.popFirst().flatMap({ UInt64($0) }) else {
        return false
      }
      (first, count) = (seed, number)
    case "--guided":
      guard let seed = UInt64(value) else { return false }
      (first, isGuided) = (seed, true)
      if let number = rest.first.flatMap({ UInt64($0) }) {
        count = number
        rest.removeFirst()
      }
    case "--minutes":
      guard let number = Double(value), number > 0 else { return false }
      minutes = number
    case "--events":
      guard let number = Int(value), number > 0 else { return false }
      events = number
    case "--run":
      guard Options(line: value) != nil else { return false }
      line = value
    case "--report": reportFile = value
    default: return false
    }
    return true
  }

  /// Runs what the command line requests; returns true if no check failed.
  mutating func run() -> Bool {
    if !parts.isEmpty { return sum() }
    if let line, let options = Options(line: line) { return runOne(options) }
    if isGuided { search = GuidedSearch(seed: first, events: events) }
    if count == 1, minutes == nil { return runOne(options(0)) }
    let deadline = minutes.map { Date(timeIntervalSinceNow: $0 * 60) }
    var number: UInt64 = 0
    var isWell = true
    while isWell || goesOn {
      if let count, number >= count { break }
      if let deadline, Date() >= deadline { break }
      if !pass(options(number)) { isWell = false }
      number += 1
      progress(number)
    }
    tell()
    return isWell
  }

  /// Returns the options of a run: those that the search chooses, or those of the seed with this number.
  private mutating func options(_ number: UInt64) -> Options {
    if let chosen = search?.next() { return chosen }
    let seed = first &+ number
    return events.map { Options(seed: seed, events: $0) } ?? Options(seed: seed)
  }

  private mutating func runOne(_ options: Options) -> Bool {
    print(options)
    let isTold = isTold
    let isWell = pass(options) { if isTold { print($0) } }
    tell()
    return isWell
  }

  /// Runs one simulated world. Returns false if a check failed, or if the run differs when it is repeated.
  private mutating func pass(_ options: Options, tell: ((String) -> Void)? = nil) -> Bool {
    let outcome = report.add { Run.outcome(of: options, log: isTold ? tell : nil) }
    search?.learn(outcome)
    if repeats {
      let again = Run.outcome(of: options)
      guard again.trace == outcome.trace, again.events == outcome.events else {
        print("NOT DETERMINISTIC: \(options)\n  first run: \(outcome.events) events; second: \(again.events)")
        return false
      }
    }
    guard let failure = outcome.failure else { return true }
    print("FAILED: \(options)\n  \(failure)")
    // Shrinking may take a long time, so flush the output first: the failure should appear in a log file before that.
    fflush(nil)
    guard shrinks else { return false }
    let smaller = Shrinking(outcome).smallest { print("  smaller: \($0.events) events") }
    print("SMALLEST: \(smaller.options)\n  \(smaller.failure.map { "\($0)" } ?? "")")
    return false
  }

  private mutating func sum() -> Bool {
    for part in parts {
      guard let data = FileManager.default.contents(atPath: part), report.add(json: data) else {
        print("Can't read \(part) as a simulator report.")
        return false
      }
    }
    tell()
    return true
  }

  private func progress(_ runs: UInt64) {
    guard isatty(STDERR_FILENO) == 1 else { return }
    writeToStandardError("\r\(runs) runs, \(report.speed)   ")
  }

  /// Prints the figures, or writes them to the report file.
  private func tell() {
    guard let reportFile else { return print(report.text) }
    do {
      try Data(report.json.utf8).write(to: URL(fileURLWithPath: reportFile))
    } catch {
      print("Can't write the report to \(reportFile): \(error)")
    }
  }
}
