import Foundation
import JSONDocument
import Simulation

/// What the person asked for, and the runs that follow.
struct Command {
  private var first: UInt64 = 1
  private var count: UInt64?
  private var minutes: Double?
  private var events: Int?
  private var line: String?
  private var isTold = false
  private var repeats = false
  private var shrinks = true
  private var goesOn = false
  /// Reports of other processes, to be added up.
  private var parts: [String] = []
  private var reportFile: String?

  private var report = Report()

  static let usage = """
    simulator: devices of one circle under a virtual clock, with all that can go wrong.

      simulator --seed N                 one run, and its options
      simulator --seeds FIRST COUNT      many, one after the other, until one fails
      simulator --minutes M [--seed N]   as many as there is time for
      simulator --run 'seed=… …'         exactly these options, as a failure prints them

      --events N    how long the faults last (1500)
      --tell        every event of the run
      --twice       runs each seed twice and compares
      --all         goes on after a failure
      --no-shrink   does not look for a smaller run that fails too
      --report F    writes the figures to a file, as JSON, instead of printing them
      --sum F…      adds up such files, and prints the figures

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

  /// True if nothing was found.
  mutating func run() -> Bool {
    if !parts.isEmpty { return sum() }
    if let line, let options = Options(line: line) { return runOne(options) }
    if count == 1, minutes == nil { return runOne(options(first)) }
    let deadline = minutes.map { Date(timeIntervalSinceNow: $0 * 60) }
    var seed = first
    var isWell = true
    while isWell || goesOn {
      if let count, seed - first >= count { break }
      if let deadline, Date() >= deadline { break }
      if !pass(options(seed)) { isWell = false }
      progress(seed)
      seed += 1
    }
    tell()
    return isWell
  }

  private func options(_ seed: UInt64) -> Options {
    events.map { Options(seed: seed, events: $0) } ?? Options(seed: seed)
  }

  private mutating func runOne(_ options: Options) -> Bool {
    print(options)
    let isTold = isTold
    let isWell = pass(options) { if isTold { print($0) } }
    tell()
    return isWell
  }

  /// Runs one world; false if it broke a promise.
  private mutating func pass(_ options: Options, tell: ((String) -> Void)? = nil) -> Bool {
    let outcome = report.add { Run.outcome(of: options, log: isTold ? tell : nil) }
    if repeats {
      let again = Run.outcome(of: options)
      guard again.trace == outcome.trace, again.events == outcome.events else {
        print("NOT DETERMINED: \(options)\n  \(outcome.events) events, then \(again.events)")
        return false
      }
    }
    guard let failure = outcome.failure else { return true }
    print("FAILED: \(options)\n  \(failure)")
    // It may be a long time until the next line, and whoever reads along a file wants to know now.
    fflush(nil)
    guard shrinks else { return false }
    let smaller = Shrinking(outcome).smallest { print("  smaller: \($0.events) events") }
    print("SMALLEST: \(smaller.options)\n  \(smaller.failure.map { "\($0)" } ?? "")")
    return false
  }

  private mutating func sum() -> Bool {
    for part in parts {
      guard let data = FileManager.default.contents(atPath: part), report.add(json: data) else {
        print("\(part) is no report.")
        return false
      }
    }
    tell()
    return true
  }

  private func progress(_ seed: UInt64) {
    guard isatty(STDERR_FILENO) == 1 else { return }
    FileHandle.standardError.write(Data("\r\(seed - first + 1) runs, \(report.speed)   ".utf8))
  }

  /// Prints the figures, or writes them to a file.
  private func tell() {
    guard let reportFile else { return print(report.text) }
    do {
      try Data(report.json.utf8).write(to: URL(fileURLWithPath: reportFile))
    } catch {
      print("The report can't be written to \(reportFile): \(error.localizedDescription)")
    }
  }
}
