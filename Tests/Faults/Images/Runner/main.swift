import CrashImages
import Foundation

/// `Images [NAME]`: every image of every moment of all scenarios, or of those whose name contains a word.
let word = CommandLine.arguments.dropFirst().first ?? ""
let props = try Props()
var total = ImageFigures()
let start = ContinuousClock.now
for (number, scenario) in Scenario.all.enumerated() where scenario.name.contains(word) || word.isEmpty {
  let figures = try ImageRun.run(scenario, props, seed: UInt64(number + 1))
  print(
    "\(scenario.name): \(figures.points) moments, \(figures.images) images (\(figures.repeated) repeated), "
      + "\(figures.secondFaults) second faults, \(figures.failures.count) failures")
  for failure in figures.failures.prefix(5) { print("  \(failure)") }
  total += figures
}
var faults = FaultFigures()
for (number, scenario) in Scenario.all.enumerated() where scenario.name.contains(word) || word.isEmpty {
  let figures = try FaultRun.run(scenario, props, seed: UInt64(number + 1))
  print(
    "\(scenario.name): \(figures.fired) faults, \(figures.borne) borne, \(figures.failures.count) failures")
  for failure in figures.failures.prefix(5) { print("  \(failure)") }
  faults += figures
}
let flips = try FlipRun.run(props, seed: 1, flips: word.isEmpty ? 10_000 : 100)
print(
  "\(flips.flips) turned bits: \(flips.refused) refused at the start, \(flips.older) ended the write-ahead log, "
    + "\(flips.altered) altered change sets, \(flips.found) found, \(flips.failures.count) failures")
for failure in flips.failures.prefix(5) { print("  \(failure)") }
let seconds = (ContinuousClock.now - start).components.seconds
print(
  "images: \(Scenario.all.count) scenarios, \(total.points) moments, \(total.images) images looked at, "
    + "\(total.repeated) repeated, \(total.secondFaults) second faults, \(total.failures.count) failures, \(seconds) s"
)
exit(total.failures.isEmpty && faults.failures.isEmpty && flips.failures.isEmpty ? 0 : 1)
