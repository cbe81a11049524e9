import Foundation
import JSONDocument
import Wire

/// A device of the demo: its home, the commands that run in it, and its node as a process.
final class Device {
  let name: String
  private let stage: Stage
  private let home: URL
  private var node: Process?
  private(set) var address = ""

  init(_ name: String, on stage: Stage) {
    self.name = name
    self.stage = stage
    home = stage.folder.appending(path: name)
  }

  // MARK: Commands

  /// The exit code, output and error output of a command.
  struct Outcome {
    let code: Int32
    let output: String
    let errors: String
  }

  /// Runs a command, and kills it if it has not ended after `seconds`.
  func run(_ arguments: [String], input: String? = nil, seconds: Int = 60) throws -> Outcome {
    let process = Process()
    process.executableURL = stage.waymark
    process.arguments = ["--home", home.path] + arguments
    let output = Pipe()
    let errors = stage.folder.appending(path: "\(name)-errors")
    try Data().write(to: errors)
    process.standardOutput = output
    process.standardError = try FileHandle(forWritingTo: errors)
    let inputPipe = Pipe()
    process.standardInput = inputPipe
    try process.run()
    let identifier = process.processIdentifier
    stage.started(identifier)
    let killer = DispatchWorkItem { @Sendable in _ = kill(identifier, SIGKILL) }
    DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(seconds), execute: killer)
    if let input { inputPipe.fileHandleForWriting.write(Data(input.utf8)) }
    try inputPipe.fileHandleForWriting.close()
    let data = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    killer.cancel()
    stage.ended(identifier)
    return Outcome(
      code: process.terminationStatus, output: String(decoding: data, as: UTF8.self),
      errors: (try? String(contentsOf: errors, encoding: .utf8)) ?? "")
  }

  /// Runs a command that must succeed, and returns its output without the last line break.
  @discardableResult
  func text(_ arguments: String..., input: String? = nil, seconds: Int = 60) throws -> String {
    let outcome = try run(arguments, input: input, seconds: seconds)
    guard outcome.code == 0 else { throw try failure(arguments, outcome) }
    return outcome.output.trimmingCharacters(in: .newlines)
  }

  /// Runs a command that must succeed, and returns its JSON document; if it prints several lines, the last one.
  @discardableResult
  func json(_ arguments: String..., input: String? = nil, seconds: Int = 60) throws -> JSON {
    let outcome = try run(arguments + ["--json"], input: input, seconds: seconds)
    guard outcome.code == 0 else { throw try failure(arguments, outcome) }
    if let document = try? JSON.parse(Array(outcome.output.utf8)) { return document }
    guard let last = outcome.output.split(separator: "\n").last,
      let document = try? JSON.parse(Array(last.utf8))
    else { throw Failure("`\(typed(arguments))` printed no JSON") }
    return document
  }

  private func typed(_ arguments: [String]) -> String {
    "waymark --home \(name) " + arguments.joined(separator: " ")
  }

  private func failure(_ arguments: [String], _ outcome: Outcome) throws -> Failure {
    try stage.checkNodes()
    let said = outcome.errors.trimmingCharacters(in: .whitespacesAndNewlines)
    return Failure("`\(typed(arguments))` exited with \(outcome.code): \(said.isEmpty ? "no message" : said)")
  }

  // MARK: The node

  /// Starts the node and waits until the node is ready.
  func start() throws {
    let process = Process()
    process.executableURL = stage.waymark
    process.arguments = [
      "--home", home.path, "run", "--listen", address.isEmpty ? "127.0.0.1:0" : address, "--no-discovery",
    ]
    let output = Pipe()
    let log = stage.folder.appending(path: "\(name)-log")
    if !FileManager.default.fileExists(atPath: log.path) {
      try Data().write(to: log)
    }
    let errors = try FileHandle(forWritingTo: log)
    try errors.seekToEnd()
    process.standardOutput = output
    process.standardError = errors
    process.standardInput = FileHandle.nullDevice
    let (stage, name) = (stage, name)
    process.terminationHandler = { @Sendable process in
      let isAsked = process.terminationReason == .exit && process.terminationStatus == 0
      if !isAsked { stage.lost(name) }
    }
    try process.run()
    stage.started(process.processIdentifier)
    node = process
    address = try ready(output, log)
  }

  private func ready(_ output: Pipe, _ log: URL) throws -> String {
    var line = ""
    let descriptor = output.fileHandleForReading.fileDescriptor
    let deadline = ContinuousClock.now + .seconds(15)
    while !line.contains("\n") {
      let left = Int32(max(0, (deadline - .now) / .milliseconds(1)))
      var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      let chunk = poll(&waiting, 1, left) > 0 ? output.fileHandleForReading.availableData : Data()
      guard !chunk.isEmpty else {
        let said = ((try? String(contentsOf: log, encoding: .utf8)) ?? "").suffix(400)
        throw Failure("the node of \(name) did not become ready: \(said)")
      }
      line += String(decoding: chunk, as: UTF8.self)
    }
    let words = line.split(whereSeparator: \.isWhitespace)
    guard words.count >= 2, words[0] == "ready" else { throw Failure("the node of \(name) wrote “\(line)”") }
    return String(words[1])
  }

  /// Stops the node with SIGTERM, and waits for it to end.
  func stop() throws {
    guard let node else { return }
    node.terminate()
    let deadline = ContinuousClock.now + .seconds(10)
    while node.isRunning, ContinuousClock.now < deadline { usleep(10_000) }
    guard !node.isRunning else { throw Failure("the node of \(name) did not end within 10 seconds") }
    try expect(node.terminationStatus == 0, "the node of \(name) exited with \(node.terminationStatus)")
    stage.ended(node.processIdentifier)
    self.node = nil
  }

  // MARK: Status

  func status() throws -> Status { Status(try json("status")) }

  /// Polls the device's status until a condition is true, and returns that status.
  @discardableResult
  func wait(_ what: String, seconds: Int = 30, until holds: (Status) -> Bool) throws -> Status {
    let deadline = ContinuousClock.now + .seconds(seconds)
    while true {
      let status = try status()
      if holds(status) { return status }
      try stage.checkNodes()
      guard ContinuousClock.now < deadline else {
        throw Failure("\(name) timed out after \(seconds) seconds, waiting until \(what)")
      }
      usleep(100_000)
    }
  }
}

/// The parts of `waymark status --json` that the story uses.
struct Status {
  let document: JSON

  init(_ document: JSON) { self.document = document }

  func count(_ key: String) -> Int64 { document["counts"]?[key]?.integer ?? -1 }
  func digest(_ lane: String) -> String { document["lanes"]?[lane]?["digest"]?.string ?? "" }
  var isPremium: Bool { document["premium"]?["active"]?.boolean == true }
  var premiumReason: String? { document["premium"]?["reason"]?.string }
  var isSyncing: Bool { document["sync"]?["active"]?.boolean == true }
  var conflicts: Int64 { document["conflicts"]?.integer ?? -1 }
  var device: String { document["device"]?.string ?? "" }
  var circle: String { document["circle"]?.string ?? "" }

  static let recordKinds = [
    "trips", "lodging", "transportation", "activities", "organizations", "habits", "categories",
    "habitEntries",
  ]

  var records: Int64 { Self.recordKinds.reduce(0) { $0 + count($1) } }
}

extension Status {
  func isInSync(with peer: String) -> Bool {
    document["peers"]?.array?.contains { $0["name"]?.string == peer && $0["state"]?.string == "in_sync" }
      ?? false
  }
}
