import Foundation
import JSONDocument
import Processes
import Synchronization
import Wire

/// A way to build the command; the two feature builds have scratch paths of their own.
enum Build: String, Sendable, CaseIterable {
  /// The one next to the tests.
  case plain
  /// The one without traits that `make test` makes, for tests that are built with traits.
  case defaultTraits = ".build-test"
  case allFeatures = ".build-allfeatures"
  case mock = ".build-mock"

  private static let package = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  /// The command; for the plain build the one built alongside the tests.
  var program: URL {
    guard self == .plain else {
      let configuration = self == .defaultTraits ? "release" : "debug"
      return Self.package.appending(path: "\(rawValue)/\(configuration)/waymark")
    }
    let tests = URL(filePath: Bundle.main.executablePath ?? CommandLine.arguments[0])
    let neighbour = tests.deletingLastPathComponent().appending(path: "waymark")
    let isThere = FileManager.default.isExecutableFile(atPath: neighbour.path)
    return isThere ? neighbour : Self.package.appending(path: ".build/debug/waymark")
  }

  var isThere: Bool { FileManager.default.isExecutableFile(atPath: program.path) }
}

/// The scratch folder of a test and every process it starts; `end` removes both.
final class Stage: Sendable {
  let folder: URL
  private let children = Mutex<[Child]>([])
  private let counter = Mutex(0)

  init() throws {
    // Short, because the path of a control socket is limited.
    folder = URL(filePath: "/tmp").appending(path: "wm-\(UUID().uuidString.prefix(13))")
    try FileManager.default.createDirectory(
      at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    Stages.add(self)
  }

  /// No environment variable of the user who runs the tests reaches a process, and above all not their data
  /// directory.
  private var environment: [String: String] {
    let own = ProcessInfo.processInfo.environment
    // A program built with a sanitizer reports where the tests do.
    let sanitizers = own.filter { ["ASAN_OPTIONS", "TSAN_OPTIONS"].contains($0.key) }
    return [
      "HOME": folder.appending(path: "nobody").path, "PATH": "/usr/bin:/bin", "SWIFT_BACKTRACE": "enable=no",
      "TZ": "UTC", "LANG": "C.UTF-8", "WAYMARK_LOG": "debug",
      "LD_LIBRARY_PATH": own["LD_LIBRARY_PATH"] ?? "",
    ].merging(sanitizers) { $1 }
  }

  func start(
    _ build: Build, _ arguments: [String], clockAhead: Int = 0, input: String? = nil, output: URL,
    errors: URL,
    environment extra: [String: String] = [:], under wrapper: [String] = []
  ) throws -> Child {
    let inputFile = try input.map { try write(Array($0.utf8), "input-\(number())") }
    var environment = environment.merging(extra) { $1 }
    if clockAhead != 0 { environment["WAYMARK_CLOCK_AHEAD"] = "\(clockAhead)" }
    let words = wrapper + [build.program.path] + arguments
    let child = try Child(
      URL(filePath: words[0]), Array(words.dropFirst()), environment: environment,
      input: inputFile.map { URL(filePath: $0) },
      output: output, errors: errors)
    children.withLock { $0.append(child) }
    return child
  }

  /// Starts another program, which ends with this stage.
  func hold(_ program: String, _ arguments: [String], _ output: URL) throws -> Child {
    let child = try Child(
      URL(filePath: program), arguments, environment: ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin"], input: nil,
      output: output, errors: output)
    children.withLock { $0.append(child) }
    return child
  }

  func number() -> Int {
    counter.withLock {
      $0 += 1
      return $0
    }
  }

  /// A path in the folder.
  func path(_ name: String) -> String { folder.appending(path: name).path }

  /// A new file in the folder.
  func write(_ bytes: [UInt8], _ name: String) throws -> String {
    try Data(bytes).write(to: folder.appending(path: name))
    return path(name)
  }

  /// Ends the running processes and removes the folder.
  func end() {
    kill()
    try? FileManager.default.removeItem(at: folder)
  }

  fileprivate func kill() {
    for child in children.withLock({ $0 }) { child.signal(SIGKILL) }
  }

  deinit { end() }
}

/// All stages, so that tests which are ended from outside leave no process behind.
private enum Stages {
  private struct Entry {
    weak var stage: Stage?
  }

  private static let all = Mutex<[Entry]>([])

  static func add(_ stage: Stage) {
    _ = endsChildren
    all.withLock { $0.append(Entry(stage: stage)) }
  }

  private static let endsChildren: Void = {
    for number in [SIGINT, SIGTERM, SIGHUP] {
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler { @Sendable in
        for entry in all.withLock({ $0 }) { entry.stage?.end() }
        exit(128 + number)
      }
      source.resume()
      // Dispatch keeps an active source only as long as there is a reference to it.
      _ = Unmanaged.passRetained(source as AnyObject)
    }
  }()
}

/// Polls until the condition holds; otherwise fails with a description of it.
func eventually(
  _ what: @autoclosure () throws -> String, seconds: Int = 20, _ holds: () async throws -> Bool
) async throws {
  let seconds = seconds * Child.leeway
  let deadline = ContinuousClock.now + .seconds(seconds)
  while !(try await holds()) {
    guard ContinuousClock.now < deadline else {
      throw Failure("timed out after \(seconds) seconds waiting until \(try what())")
    }
    try await Task.sleep(for: .milliseconds(50))
  }
}
