import Foundation
import JSONDocument
import Processes
import Synchronization
import Wire

/// The exit code and output of a command.
struct Outcome: Sendable {
  let code: Int32
  let output: String
  let errors: String

  /// The output as a document; of a stream the last line.
  var json: JSON {
    if let document = try? JSON.parse(Array(output.utf8)) { return document }
    return output.split(separator: "\n").last.flatMap { try? JSON.parse(Array($0.utf8)) } ?? .null
  }
}

/// One device: its home, commands that run on it, and its node as a process.
final class Device: Sendable {
  let name: String
  let stage: Stage
  /// The build of the command that is used on this home from now on.
  let build: Build
  private let node = Mutex<(child: Child, address: String)?>(nil)
  private let ahead = Mutex(0)

  init(_ name: String, on stage: Stage, build: Build = .plain) {
    self.name = name
    self.stage = stage
    self.build = build
  }

  var home: String { stage.path(name) }

  /// How many seconds the clock of processes that start from now on is ahead.
  var clockAhead: Int {
    get { ahead.withLock { $0 } }
    set { ahead.withLock { $0 = newValue } }
  }

  // MARK: Commands

  /// Runs a command until it exits, with any exit code.
  ///
  /// - Parameter wrapper: a program, with its arguments, that starts the command.
  func run(
    _ arguments: [String], input: String? = nil, seconds: Int = 30, environment: [String: String] = [:],
    under wrapper: [String] = []
  ) async throws -> Outcome {
    let (child, output, errors) = try begin(arguments, input: input, environment: environment, under: wrapper)
    let code = try await child.wait(
      seconds: seconds, for: "`waymark \(arguments.joined(separator: " "))` on \(name)")
    return Outcome(code: code, output: try text(output), errors: try text(errors))
  }

  /// Starts a command and returns its process, with the files that receive its output.
  func begin(
    _ arguments: [String], input: String? = nil, environment: [String: String] = [:],
    under wrapper: [String] = []
  ) throws -> (child: Child, output: URL, errors: URL) {
    let number = stage.number()
    let output = stage.folder.appending(path: "\(name)-\(number).out")
    let errors = stage.folder.appending(path: "\(name)-\(number).err")
    let child = try stage.start(
      build, ["--home", home] + arguments, clockAhead: clockAhead, input: input, output: output,
      errors: errors, environment: environment, under: wrapper)
    return (child, output, errors)
  }

  private func text(_ file: URL) throws -> String {
    String(decoding: try Data(contentsOf: file), as: UTF8.self)
  }

  /// Runs a command that must succeed; returns its text without the last line break.
  @discardableResult
  func text(_ arguments: String..., input: String? = nil, seconds: Int = 30) async throws -> String {
    try await succeed(arguments, input, seconds).output.trimmingCharacters(in: .newlines)
  }

  /// Runs a command that must succeed; returns its document.
  @discardableResult
  func json(_ arguments: String..., input: String? = nil, seconds: Int = 30) async throws -> JSON {
    try await succeed(arguments + ["--json"], input, seconds).json
  }

  private func succeed(_ arguments: [String], _ input: String?, _ seconds: Int) async throws -> Outcome {
    let outcome = try await run(arguments, input: input, seconds: seconds)
    guard outcome.code == 0 else {
      let typed = arguments.joined(separator: " ")
      throw Failure("`waymark \(typed)` on \(name) ended with \(outcome.code): \(outcome.errors)")
    }
    return outcome
  }

  func status() async throws -> Status { Status(try await json("status")) }

  /// Polls until the condition holds.
  @discardableResult
  func wait(
    until what: String, seconds: Int = 20, _ holds: (Status) -> Bool
  ) async throws -> Status {
    var last = try await status()
    try await eventually("\(name): \(what)", seconds: seconds) {
      last = try await status()
      return holds(last)
    }
    return last
  }

  // MARK: The node

  var address: String { node.withLock { $0?.address ?? "" } }
  var nodeID: Int32? { node.withLock { $0?.child.id } }

  /// Everything that nodes of this device have logged.
  var log: String { (try? String(contentsOfFile: stage.path("\(name)-log"), encoding: .utf8)) ?? "" }

  /// Starts the node and waits until it serves; a second start uses the same port as the first.
  func start(environment: [String: String] = [:]) async throws {
    let output = stage.folder.appending(path: "\(name)-ready-\(stage.number())")
    let place = address.isEmpty ? "127.0.0.1:\(try FreePort.pick())" : address
    let child = try stage.start(
      build, ["--home", home, "run", "--no-discovery", "--listen", place],
      clockAhead: clockAhead, output: output, errors: stage.folder.appending(path: "\(name)-log"),
      environment: environment)
    var line = ""
    try await eventually("the node of \(name) is ready; it said \(log.suffix(300))") {
      line = try text(output)
      if let code = child.code { throw Failure("the node of \(name) ended with \(code): \(log.suffix(300))") }
      return line.hasSuffix("\n")
    }
    let words = line.split(whereSeparator: \.isWhitespace)
    guard words.count == 2, words[0] == "ready" else { throw Failure("the node of \(name) said “\(line)”") }
    let address = String(words[1])
    node.withLock { $0 = (child, address) }
  }

  /// Ends the node with a signal; returns its exit code, negative if the signal ended it.
  @discardableResult
  func stop(_ signal: Int32 = SIGTERM) async throws -> Int32 {
    guard let child = node.withLock({ $0?.child }) else { throw Failure("no node of \(name) runs") }
    child.signal(signal)
    return try await child.wait(seconds: 10, for: "the node of \(name) after signal \(signal)")
  }

  // MARK: Circles

  /// Joins the circle of another device, whose node is running.
  func join(_ inviter: Device) async throws {
    let ticket = try await inviter.text("invite")
    try await text("join", "-", "--name", name, "--yes", input: ticket, seconds: 60)
  }

  /// Waits until both hold the same in every lane that is open between them.
  func waitForSync(with peer: Device, lane: String = "all", seconds: Int = 30) async throws {
    let timeout = "\(seconds * Child.leeway)s"
    try await text("wait", "--lane", lane, "--peer", peer.name, "--timeout", timeout, seconds: seconds + 10)
  }
}

/// The parts of `waymark status --json` that tests use.
struct Status: Sendable {
  let document: JSON

  init(_ document: JSON) { self.document = document }

  var device: String { document["device"]?.string ?? "" }
  var circle: String { document["circle"]?.string ?? "" }
  var isPremium: Bool { document["premium"]?["active"]?.boolean == true }
  var source: String? { document["premium"]?["source"]?.string }
  var premiumReason: String? { document["premium"]?["reason"]?.string }
  var preference: Bool? { document["sync"]?["preference"]?.boolean }
  var isSyncing: Bool { document["sync"]?["active"]?.boolean == true }
  var syncReason: String? { document["sync"]?["reason"]?.string }
  var counts: JSON? { document["counts"] }
  var incarnation: String { document["incarnation"]?.string ?? "" }
  func notices(_ reason: String) -> [JSON] {
    document["notices"]?.array?.filter { $0["reason"]?.string == reason } ?? []
  }
  func parked(_ lane: String) -> Int64 { document["lanes"]?[lane]?["parked"]?.integer ?? -1 }
  func count(_ kind: String) -> Int64 { document["counts"]?[kind]?.integer ?? -1 }
  func digest(_ lane: String) -> String { document["lanes"]?[lane]?["digest"]?.string ?? "" }
  func changeSets(_ lane: String) -> Int64 { document["lanes"]?[lane]?["changeSets"]?.integer ?? -1 }

  /// The whole content of a lane as far as a status shows it; unchanged as long as nothing is written.
  func content(_ lane: String) -> String { "\(digest(lane)) \(changeSets(lane))" }
  var everything: String { content("records") + " " + content("settings") + " " + (counts?.text() ?? "") }

  func peer(_ name: String) -> JSON? {
    document["peers"]?.array?.first { $0["name"]?.string == name }
  }
}

extension JSON {
  /// The notices of a status, without the one about a single admin: the founder of nearly every test circle has it.
  var otherNotices: JSON {
    .array((self["notices"]?.array ?? []).filter { $0["reason"] != "single_admin" })
  }
}
