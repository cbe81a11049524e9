import Foundation
import JSONDocument
import Processes
import Testing

/// What anyone who can reach the port can do. `make attack` measures how fast the node remains.
@Suite(.serialized) struct AttackTests {
  @Test func `fifty unauthenticated connections neither stop nor fill a node, and leave nothing behind`()
    async throws
  {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await TestCircle.make(["alice", "bob"], on: stage, isPremium: false)
    let (alice, bob) = (circle["alice"], circle["bob"])
    try await bob.start()
    try await bob.waitForSync(with: alice)
    let node = Footprint(try #require(alice.nodeID))
    let (memory, descriptors) = (try node.memoryMegabytes, try node.descriptors)

    let strangers = try Strangers(at: alice.address, circle: try await alice.status().circle)
    for number in 1...3 { try await carry("red \(number)", from: alice, to: bob) }
    for number in 1...3 { try await carry("blue \(number)", from: bob, to: alice) }
    // A member that connects is served among them.
    try await bob.stop()
    try await alice.text("settings", "set", "colour", "green")
    try await bob.start()
    try await eventually("Bob has reconnected", seconds: 60) {
      try await bob.text("settings", "get", "colour") == "green"
    }
    #expect(try node.memoryMegabytes - memory < 64 * Double(Child.patience))
    #expect(strangers.count >= 50)
    try await strangers.end()
    try await eventually("the strangers' descriptors are closed") {
      try node.descriptors <= descriptors + 1
    }
    #expect(try node.memoryMegabytes - memory < 64 * Double(Child.patience))
    try await eventually("the node is idle after they have gone") { try await node.idleSeconds(1) < 0.5 }
    #expect(try await alice.stop() == 0)
  }

  private func carry(_ value: String, from writer: Device, to reader: Device) async throws {
    try await writer.text("settings", "set", "colour", value)
    try await eventually("\(reader.name) has “\(value)”", seconds: 60) {
      try await reader.text("settings", "get", "colour") == value
    }
  }
}

/// The memory of a process, as the system reports it.
struct Footprint {
  private let folder: String

  init(_ process: Int32) { folder = "/proc/\(process)" }

  var memoryMegabytes: Double {
    get throws {
      let status = try String(contentsOfFile: folder + "/status", encoding: .utf8)
      let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
      guard
        let kilobytes = line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap({ Double($0) })
      else { throw Failure("no memory in \(folder)/status") }
      return kilobytes / 1_024
    }
  }

  var descriptors: Int {
    get throws { try FileManager.default.contentsOfDirectory(atPath: folder + "/fd").count }
  }

  /// Seconds of processor time so far.
  private var seconds: Double {
    get throws {
      let stat = try String(contentsOfFile: folder + "/stat", encoding: .utf8)
      let fields = stat.split(separator: ")").last?.split(separator: " ") ?? []
      guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else {
        throw Failure("no times in \(folder)/stat")
      }
      return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }
  }

  /// How often each of its threads has gone to sleep so far, which is how often it was woken.
  private var sleeps: [String: Int] {
    get throws {
      let threads = try FileManager.default.contentsOfDirectory(atPath: folder + "/task")
      return threads.reduce(into: [:]) { sleeps, thread in
        let status = try? String(contentsOfFile: "\(folder)/task/\(thread)/status", encoding: .utf8)
        let line = status?.split(separator: "\n").first { $0.hasPrefix("voluntary_ctxt_switches:") }
        sleeps[thread] = line?.split(whereSeparator: \.isWhitespace).last.flatMap { Int($0) }
      }
    }
  }

  /// The least number of wake-ups during an idle period: threads that end in between are not counted.
  func wakes(_ seconds: Int) async throws -> Int {
    var wakes = 0
    var before = try sleeps
    for _ in 0..<seconds {
      try await Task.sleep(for: .seconds(1))
      let now = try sleeps
      for (thread, count) in now { wakes += count - (before[thread] ?? 0) }
      before = now
    }
    return wakes
  }

  /// Processor time used during an idle period.
  func idleSeconds(_ interval: Int) async throws -> Double {
    let before = try seconds
    try await Task.sleep(for: .seconds(interval))
    return try seconds - before
  }
}
