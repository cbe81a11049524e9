import Foundation
import JSONDocument
import Processes
import Wire

/// One device: a home, the command in it, and its node as a process, asked through its control socket.
final class BenchNode {
  let name: String
  let home: URL
  private let stage: Stage
  private var child: Child?
  private var control: ControlLine?
  private var askedAt = 0.0
  private(set) var address = ""

  init(_ name: String, _ stage: Stage) {
    self.name = name
    self.stage = stage
    home = stage.folder.appending(path: "home-\(name)")
  }

  // MARK: Commands

  /// Runs a command until it exits.
  @discardableResult
  func command(_ words: String...) throws -> String { try command(words) }

  @discardableResult
  func command(_ words: [String], seconds: Int = 600) throws -> String {
    let output = stage.folder.appending(path: "output-\(name)")
    let errors = stage.folder.appending(path: "errors-\(name)")
    for file in [output, errors] { try? FileManager.default.removeItem(at: file) }
    let child = try Child(
      URL(filePath: stage.options.waymark), ["--home", home.path] + words,
      environment: ProcessInfo.processInfo.environment, input: nil, output: output, errors: errors)
    let deadline = now() + Double(seconds)
    while child.code == nil {
      guard now() < deadline else {
        child.signal(SIGKILL)
        throw Failure("`\(words.joined(separator: " "))` took more than \(seconds) seconds")
      }
      usleep(2_000)
    }
    guard child.code == 0 else {
      let said = (try? String(contentsOf: errors, encoding: .utf8)) ?? ""
      throw Failure("`waymark \(words.joined(separator: " "))` ended with \(child.code ?? -1): \(said)")
    }
    return (try? String(contentsOf: output, encoding: .utf8)) ?? ""
  }

  func document(_ word: String) throws -> JSON { try JSON.parse(Array(command(word, "--json").utf8)) }

  // MARK: The process

  /// Starts the node and waits until it serves; returns how many seconds that took.
  @discardableResult
  func start(_ words: String...) throws -> Double {
    let output = stage.folder.appending(path: "node-\(name)")
    try? FileManager.default.removeItem(at: output)
    let begun = now()
    let child = try Child(
      URL(filePath: stage.options.waymark),
      ["--home", home.path, "run", "--listen", "127.0.0.1:0", "--no-discovery"] + words,
      environment: ProcessInfo.processInfo.environment, input: nil, output: output,
      errors: stage.folder.appending(path: "log-\(name)"))
    self.child = child
    while true {
      if let said = try? String(contentsOf: output, encoding: .utf8), said.hasSuffix("\n"),
        let word = said.split(separator: "\n").first(where: { $0.hasPrefix("ready ") })
      {
        address = String(word.dropFirst("ready ".count))
        break
      }
      guard child.code == nil, now() < begun + 120 else { throw Failure("the node \(name) does not start") }
      usleep(500)
    }
    control = try line()
    askedAt = now()
    return now() - begun
  }

  func stop() throws {
    guard let child else { return }
    control = nil
    child.signal(SIGTERM)
    let deadline = now() + 60
    while child.code == nil {
      guard now() < deadline else { throw Failure("the node \(name) does not end") }
      usleep(2_000)
    }
    self.child = nil
  }

  func kill() {
    control = nil
    child?.signal(SIGKILL)
    while let child, child.code == nil { usleep(1_000) }
    child = nil
  }

  /// Sends the running node a command; returns its answer.
  @discardableResult
  func ask(_ command: String, _ arguments: JSON = .object([])) throws -> JSON {
    guard child != nil else { throw Failure("the node \(name) is not running") }
    // A node closes connections that stay silent for long.
    if control == nil || now() > askedAt + 2 { control = try line() }
    defer { askedAt = now() }
    return try control?.ask(command, arguments) ?? .null
  }

  /// A second connection to the node, for another thread.
  func line() throws -> ControlLine { try ControlLine(home.appending(path: "control.sock").path) }

  func wait(seconds: Int = 600) throws {
    try ask("wait", ["lane": "records", "timeoutMilliseconds": .integer(Int64(seconds) * 1_000)])
  }

  // MARK: Resources

  /// The peak memory of the process, in mebibytes.
  var peakMebibytes: Double {
    guard let child, let text = try? String(contentsOfFile: "/proc/\(child.id)/status", encoding: .utf8),
      let line = text.split(separator: "\n").first(where: { $0.hasPrefix("VmHWM:") }),
      let number = line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap({ Double($0) })
    else { return .nan }
    return number / 1_024
  }

  /// Processor seconds that the process has used.
  var processorSeconds: Double {
    guard let child, let text = try? String(contentsOfFile: "/proc/\(child.id)/stat", encoding: .utf8)
    else { return .nan }
    let fields = text.split(separator: ")").last?.split(separator: " ") ?? []
    guard fields.count > 13, let user = Double(fields[11]), let system = Double(fields[12]) else {
      return .nan
    }
    return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
  }

  /// Bytes on the wire since the node started.
  func wire() throws -> (sent: Double, received: Double) {
    let text = try ask("metrics")["text"]?.string ?? ""
    func value(_ name: String) -> Double {
      let line = text.split(separator: "\n").first { $0.hasPrefix("waymark_network_\(name)_bytes_total ") }
      return line.flatMap { $0.split(separator: " ").last }.flatMap { Double($0) } ?? .nan
    }
    return (value("sent"), value("received"))
  }

  var store: String { home.appending(path: "store.db").path }

  /// Bytes of the store and its log on the disk.
  var diskBytes: Double {
    ["", "-wal"].reduce(0) { sum, end in
      let size = try? FileManager.default.attributesOfItem(atPath: store + end)[.size] as? NSNumber
      return sum + (size?.doubleValue ?? 0)
    }
  }
}
