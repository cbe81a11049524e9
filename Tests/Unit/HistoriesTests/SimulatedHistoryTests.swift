import Foundation
import Processes
import Testing

/// Random histories in a simulation, where one seed decides the order of all work, and machines stop in the middle of it.
/// `make histories SIMULATED=1` runs more of them.
struct SimulatedHistoryTests {
  @Test func `two runs of a seed are equal to the model and to each other`() async throws {
    let text = try await historyRunner("--twice", "--runs", "4", "--seed", "1", "--steps", "30")
    #expect(text.contains("equal to the model"))
  }

  @Test func `histories in which machines stop are equal to the model`() async throws {
    let text = try await historyRunner("--simulated", "--runs", "6", "--seed", "64", "--steps", "40")
    // Only on Linux are the calls seen that change files, so that they can fail as on a full disk.
    let isLinux = FileManager.default.fileExists(atPath: "/proc/self/cmdline")
    let deeds = ["loses", "keeps", "finishes", "interrupts"] + (isLinux ? ["refuses"] : [])
    for deed in deeds {
      #expect(text.contains("\(deed) "), "no device \(deed) anything: \(text)")
    }
  }

  /// Carol withholds sets that Bob has from a backup of hers. She asked for them again and again, and no time passed.
  @Test func `a history in which a peer has withheld sets from a backup comes to its end`() async throws {
    _ = try await historyRunner("--runs", "1", "--seed", "8", "--steps", "60")
  }

  /// Neither was connected when the other one got new keys, so the two do not know each other when they meet.
  @Test func `a device with new keys meets one that has not heard of them`() async throws {
    _ = try await historyRunner("--simulated", "--runs", "1", "--seed", "5033", "--steps", "60")
  }
}

/// Runs the program `HistoryRunner`, which is next to the one that runs the tests, and returns what it prints.
func historyRunner(_ arguments: String...) async throws -> String {
  let tests = CommandLine.arguments.first { $0.hasSuffix(".xctest") } ?? CommandLine.arguments[0]
  let program = URL(filePath: tests).deletingLastPathComponent().appending(path: "HistoryRunner")
  let output = FileManager.default.temporaryDirectory.appending(path: "waymark-\(UUID().uuidString)")
  defer { try? FileManager.default.removeItem(at: output) }
  var environment = ProcessInfo.processInfo.environment
  environment["SWIFT_BACKTRACE"] = "enable=no"
  let child = try Child(
    program, arguments, environment: environment, input: nil, output: output, errors: output)
  let code = try await child.wait(seconds: 120, for: "HistoryRunner \(arguments.joined(separator: " "))")
  let text = try String(contentsOf: output, encoding: .utf8)
  #expect(code == 0, "\(text)")
  return text
}
