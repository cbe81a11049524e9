import Foundation
import JSONDocument
import Processes
import Synchronization
import Testing
import Waymark

/// One of the builds of the program. `make test` creates those with a trait in scratch paths of their own.
enum Build: String, CaseIterable, CustomTestStringConvertible {
  case standard = "default"
  case allFeatures = "AllFeatures"
  case mockPurchases = "MockPurchases"

  var testDescription: String { rawValue }

  var program: URL {
    let root = URL(filePath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    return switch self {
    case .standard:
      URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().appending(path: "waymark")
    case .allFeatures: root.appending(path: ".build-allfeatures/debug/waymark")
    case .mockPurchases: root.appending(path: ".build-mock/debug/waymark")
    }
  }

  var isThere: Bool { FileManager.default.isExecutableFile(atPath: program.path) }
}

/// Homes in a scratch folder and the processes that use them; all are removed when the body has ended.
final class Workshop: Sendable {
  let folder: URL
  private let running = Mutex<[Int32]>([])

  private init() throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "waymark-test-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  static func with(_ body: (Workshop) async throws -> Void) async throws {
    let workshop = try Workshop()
    do {
      try await body(workshop)
    } catch {
      workshop.clear()
      throw error
    }
    workshop.clear()
  }

  private func clear() {
    for process in running.withLock({ $0 }) { kill(process, SIGKILL) }
    try? FileManager.default.removeItem(at: folder)
  }

  func device(_ name: String, _ build: Build = .standard) -> TestDevice {
    TestDevice(workshop: self, name: name, build: build)
  }

  func path(_ name: String) -> String { folder.appending(path: name).path }

  fileprivate func started(_ process: Int32) { running.withLock { $0.append(process) } }
  fileprivate func ended(_ process: Int32) { running.withLock { $0.removeAll { $0 == process } } }
}

/// One home, and the program that uses it.
struct TestDevice {
  let workshop: Workshop
  let name: String
  let build: Build

  var home: String { workshop.path(name) }

  struct Outcome {
    let code: Int32
    let output: String
    let errors: String

    var json: JSON { (try? JSON.parse(Array(output.utf8))) ?? .null }
  }

  /// Runs a command until it exits, without blocking the thread pool of the tests.
  @discardableResult
  func run(_ arguments: String..., input: String = "") async throws -> Outcome {
    try await run(arguments: arguments, input: input)
  }

  @discardableResult
  func run(arguments: [String], input: String = "") async throws -> Outcome {
    let marker = UUID().uuidString
    let (output, errors) = (workshop.path(marker + "-output"), workshop.path(marker + "-errors"))
    let given = workshop.path(marker + "-input")
    try input.write(toFile: given, atomically: false, encoding: .utf8)
    let child = try launch(["--home", home] + arguments, given, output, errors)
    let code = try await child.wait(
      seconds: 60, for: "`waymark \(arguments.joined(separator: " "))` on \(name)")
    workshop.ended(child.id)
    return Outcome(
      code: code, output: try String(contentsOfFile: output, encoding: .utf8),
      errors: try String(contentsOfFile: errors, encoding: .utf8))
  }

  private func launch(
    _ arguments: [String], _ input: String, _ output: String, _ errors: String
  ) throws -> Child {
    let environment = ProcessInfo.processInfo.environment
      .merging(["SWIFT_BACKTRACE": "enable=no", "NO_COLOR": "1"]) { $1 }
    let child = try Child(
      build.program, arguments, environment: environment, input: URL(filePath: input),
      output: URL(filePath: output), errors: URL(filePath: errors))
    workshop.started(child.id)
    return child
  }

  // MARK: A running node

  struct RunningNode {
    let child: Child
    let address: String
    let log: String

    /// Ends it with a signal as a user would, and returns its exit code.
    func stop(_ signal: Int32 = SIGTERM) async throws -> Int32 {
      child.signal(signal)
      return try await child.wait(seconds: 20, for: "the node after signal \(signal)")
    }
  }

  func start() async throws -> RunningNode {
    let marker = UUID().uuidString
    let (output, log) = (workshop.path(marker + "-ready"), workshop.path(marker + "-log"))
    let arguments = ["--home", home, "run", "--listen", "127.0.0.1:0", "--no-discovery"]
    let child = try launch(arguments, "/dev/null", output, log)
    func words() -> [Substring] {
      ((try? String(contentsOfFile: output, encoding: .utf8)) ?? "").split(whereSeparator: \.isWhitespace)
    }
    try await until("\(name) is ready") { words().count >= 2 || child.code != nil }
    let address = try #require(words().dropFirst().first, "\(name) did not become ready")
    return RunningNode(child: child, address: String(address), log: log)
  }

  func status() async throws -> JSON { try await run("status", "--json").json }
}

/// Polls until the condition holds.
func until(
  _ what: String, seconds: Int = 20, sourceLocation: SourceLocation = #_sourceLocation,
  _ holds: () async throws -> Bool
) async throws {
  let deadline = ContinuousClock.now + .seconds(seconds)
  while try await !holds() {
    try #require(
      ContinuousClock.now < deadline, "timed out after \(seconds) seconds waiting until \(what)",
      sourceLocation: sourceLocation)
    try await Task.sleep(for: .milliseconds(50))
  }
}
