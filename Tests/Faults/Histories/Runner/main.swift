import Foundation
import Histories
import JSONDocument

// `HistoryRunner [--seed 1] [--runs 20] [--steps 60] [--devices 3]` runs histories drawn from consecutive seeds, and
// shortens the first one that fails. `--replay FILE` runs a history that a failed run printed. With `--simulated`, one thread
// runs everything, in an order that the seed decides; `--twice` then checks that a second run does exactly the same.
// `--transcript FILE` prints a transcript with the answers that nodes give now; they should not depend on the seed.

var arguments = Array(CommandLine.arguments.dropFirst())

/// Removes an option with its value from the arguments.
@MainActor func option(_ name: String) -> String? {
  guard let index = arguments.firstIndex(of: "--\(name)"), index + 1 < arguments.count else { return nil }
  defer { arguments.removeSubrange(index...(index + 1)) }
  return arguments[index + 1]
}

/// Removes a flag from the arguments, and returns whether it was there.
@MainActor func flag(_ name: String) -> Bool {
  guard let index = arguments.firstIndex(of: "--\(name)") else { return false }
  arguments.remove(at: index)
  return true
}

@MainActor func number(_ name: String, _ fallback: Int) -> Int {
  guard let text = option(name) else { return fallback }
  guard let number = Int(text), number > 0 else { fail("--\(name) must be a whole number above 0") }
  return number
}

func fail(_ text: String) -> Never {
  FileHandle.standardError.write(Data((text + "\n").utf8))
  exit(2)
}

/// Starts this program again, with dictionaries whose order is the same in every process.
func restartWithStableHashes() {
  let name = "SWIFT_DETERMINISTIC_HASHING"
  guard getenv(name) == nil else { return }
  setenv(name, "1", 1)
  var arguments = CommandLine.arguments.map { strdup($0) } + [nil]
  execv("/proc/self/exe", &arguments)
  execv(CommandLine.arguments[0], &arguments)
  fail("can't start the program again")
}

func json(_ steps: [HistoryStep]) -> String { JSON.array(steps.map(\.json)).text() }

let seed = number("seed", 1)
let runs = number("runs", 20)
let steps = number("steps", 60)
let devices = number("devices", 3)
let replay = option("replay")
let isTwice = flag("twice")
let transcript = option("transcript")
let isSimulated = flag("simulated") || isTwice
guard arguments.isEmpty, (2...4).contains(devices) else {
  fail(
    "usage: HistoryRunner [--seed N] [--runs N] [--steps N] [--devices 2…4] [--replay FILE] [--simulated] [--twice] "
      + "[--transcript FILE]"
  )
}
if let transcript {
  // Some sentences have times of the machine's zone.
  setenv("TZ", "UTC", 1)
  restartWithStableHashes()
  guard let text = try? String(contentsOf: URL(filePath: transcript), encoding: .utf8) else {
    fail("can't read \(transcript)")
  }
  print(try await Transcript.renewed(text, seed: UInt64(seed)), terminator: "")
  exit(0)
}
if isSimulated {
  restartWithStableHashes()
  FileCallObserver.isAvailable = fileCallsAreReported
}

/// Runs a history; twice, if it is to be the same both times.
@MainActor func run(_ history: [HistoryStep], _ seed: Int) async throws -> Outcome {
  let simulation = isSimulated ? UInt64(seed) : nil
  let outcome = try await HistoryRun.run(history, devices: devices, seed: simulation)
  guard isTwice else { return outcome }
  let again = try await HistoryRun.run(history, devices: devices, seed: simulation)
  guard outcome.trace == again.trace, outcome.journal == again.journal else {
    print("seed \(seed): two runs differ: \(outcome.trace ?? ""); \(again.trace ?? "")")
    exit(1)
  }
  return outcome
}

func show(_ outcome: Outcome) {
  for (index, line) in outcome.journal.enumerated() { print("  \(index). \(line)") }
}

/// Prints a failed history, then one that is as short as possible, and ends the program.
@MainActor func report(
  _ history: [HistoryStep], _ seed: Int, _ failed: Outcome, _ failure: HistoryFailure
) async throws -> Never {
  print("seed \(seed)\(isSimulated ? ", simulated" : "")")
  show(failed)
  print("\(failure)\nhistory: \(json(history))\nshortening…")
  fflush(nil)
  var shrinker = HistoryShrinker(
    failure, devices: devices, seed: isSimulated ? UInt64(seed) : nil, runs: 300)
  let short = try await shrinker.shrink(history)
  let outcome = try await run(short, seed)
  show(outcome)
  print("\(outcome.failure ?? failure)\nhistory: \(json(short))")
  exit(1)
}

if let replay {
  guard let parsed = try? JSON.parse(Array(Data(contentsOf: URL(filePath: replay)))), let items = parsed.array
  else {
    fail("\(replay) is not a history")
  }
  let history = items.compactMap { HistoryStep($0) }
  guard history.count == items.count else { fail("\(replay) has steps that are none") }
  let outcome = try await run(history, seed)
  show(outcome)
  print(outcome.failure.map { "\($0)" } ?? "equal to the model")
  exit(outcome.failure == nil ? 0 : 1)
}

let start = ContinuousClock.now
/// How often the steps did what, by the verb in their line of the journal.
var deeds: [String: Int] = [:]
for number in seed..<seed + runs {
  let history = HistoryStep.history(steps, devices: devices, seed: UInt64(number), isSimulated: isSimulated)
  let outcome = try await run(history, number)
  for line in outcome.journal {
    deeds[line.split(separator: " ").dropFirst().first.map(String.init) ?? "", default: 0] += 1
  }
  if let failure = outcome.failure { try await report(history, number, outcome, failure) }
}
let seconds = (ContinuousClock.now - start).components.seconds
print("\(runs) histories of \(steps) steps on \(devices) devices: equal to the model, \(seconds) s")
let counts = deeds.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { "\($0.key) \($0.value)" }
print(counts.joined(separator: ", "))
