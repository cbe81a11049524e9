import Foundation
import Histories
import JSONDocument

// `HistoryRunner [--seed 1] [--runs 20] [--steps 60] [--devices 3]` runs histories drawn from consecutive seeds, and
// shortens the first one that fails. `--replay FILE` runs a history that a failed run printed.

var arguments = Array(CommandLine.arguments.dropFirst())

/// Removes an option with its value from the arguments.
@MainActor func option(_ name: String) -> String? {
  guard let index = arguments.firstIndex(of: "--\(name)"), index + 1 < arguments.count else { return nil }
  defer { arguments.removeSubrange(index...(index + 1)) }
  return arguments[index + 1]
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

func json(_ steps: [HistoryStep]) -> String { JSON.array(steps.map(\.json)).text() }

let seed = number("seed", 1)
let runs = number("runs", 20)
let steps = number("steps", 60)
let devices = number("devices", 3)
let replay = option("replay")
guard arguments.isEmpty, (2...4).contains(devices) else {
  fail("usage: HistoryRunner [--seed N] [--runs N] [--steps N] [--devices 2…4] [--replay FILE]")
}

/// Prints a failure with a history that is as short as possible, and ends the program.
@MainActor func report(_ history: [HistoryStep], _ failure: HistoryFailure) async throws -> Never {
  print("\(failure)\nshortening…")
  var shrinker = HistoryShrinker(devices: devices, runs: 300)
  let short = try await shrinker.shrink(history)
  let (last, journal) = try await HistoryRun.run(short, devices: devices)
  for (index, line) in journal.enumerated() { print("  \(index). \(line)") }
  print("\(last ?? failure)\nhistory: \(json(short))")
  exit(1)
}

if let replay {
  guard let parsed = try? JSON.parse(Array(Data(contentsOf: URL(filePath: replay)))), let items = parsed.array
  else {
    fail("\(replay) is not a history")
  }
  let history = items.compactMap { HistoryStep($0) }
  guard history.count == items.count else { fail("\(replay) has steps that are none") }
  let (failure, journal) = try await HistoryRun.run(history, devices: devices)
  for (index, line) in journal.enumerated() { print("  \(index). \(line)") }
  print(failure.map { "\($0)" } ?? "equal to the model")
  exit(failure == nil ? 0 : 1)
}

let start = ContinuousClock.now
/// How often the steps did what, by the verb in their line of the journal.
var deeds: [String: Int] = [:]
for number in 0..<runs {
  let history = HistoryStep.history(steps, devices: devices, seed: UInt64(seed + number))
  let (failure, journal) = try await HistoryRun.run(history, devices: devices)
  for line in journal {
    deeds[line.split(separator: " ").dropFirst().first.map(String.init) ?? "", default: 0] += 1
  }
  if let failure {
    print("seed \(seed + number)")
    try await report(history, failure)
  }
}
let seconds = (ContinuousClock.now - start).components.seconds
print("\(runs) histories of \(steps) steps on \(devices) devices: equal to the model, \(seconds) s")
let counts = deeds.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { "\($0.key) \($0.value)" }
print(counts.joined(separator: ", "))
