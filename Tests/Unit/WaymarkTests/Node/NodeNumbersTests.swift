import Model
import Reasons
import Replication
import Synchronization
import Testing
import WaymarkCare
import WaymarkTesting
import Wire

@testable import NodeRuntime
@testable import Waymark

/// The numbers that a node reports, and what it writes to its log.
struct NodeNumbersTests {
  /// The value of the first metric whose line begins like this.
  private func value(_ start: String, in metrics: String) -> Double? {
    let line = metrics.split(separator: "\n").first { $0.hasPrefix(start) }
    return line?.split(separator: " ").last.flatMap { Double($0) }
  }

  @Test func `what a closed connection has carried stays counted`() async throws {
    let circle = try await TestCircle("alice", "bob", premium: .nobody)
    let alice = circle["alice"]
    let before = try await alice.metrics()
    #expect(value("waymark_peer_connected{peer=\"bob\"", in: before) == 1)
    #expect(value("waymark_peer_in_sync{peer=\"bob\"", in: before) == 1)
    await circle.disconnect("alice", "bob")
    try await eventually("Alice misses Bob") {
      try await circle.clock.quiet()
      return await alice.withCore { $0.replica.identifiedSessions(with: nil).isEmpty }
    }
    let after = try await alice.metrics()
    #expect(value("waymark_peer_connected{peer=\"bob\"", in: after) == 0)
    #expect(value("waymark_peer_in_sync{peer=\"bob\"", in: after) == 0)
    for direction in ["sent", "received"] {
      let name = "waymark_network_\(direction)_bytes_total "
      let (first, last) = (value(name, in: before) ?? 0, value(name, in: after) ?? 0)
      #expect(first > 0 && last >= first, "\(direction): \(first), then \(last)")
    }
    await circle.close()
  }

  @Test func `each lane has numbers of its own`() async throws {
    let node = try Node.inMemory(name: "alice", clock: VirtualClock())
    let before = try await node.metrics()
    for number in 1...3 { _ = try await node.save(Trip(name: "Trip \(number)")) }
    try await node.choose("colorScheme", "dark")
    let after = try await node.metrics()
    for (lane, more) in [("records", 3.0), ("settings", 1.0)] {
      let name = "waymark_change_sets{lane=\"\(lane)\"}"
      let (first, last) = (value(name, in: before) ?? -1, value(name, in: after) ?? -1)
      #expect(last - first == more, "\(lane)")
    }
    #expect(value("waymark_lane_open{lane=\"settings\"}", in: after) == 1)
    #expect(value("waymark_lane_open{lane=\"records\"}", in: after) == 0)
    #expect(value("waymark_premium_active ", in: after) == 0 && value("waymark_running ", in: after) == 0)
    await node.close()
  }

  @Test func `a reason that two notices have is one sample, because others could not be told apart`()
    async throws
  {
    let circle = try await TestCircle("alice", "bob", premium: .nobody)
    let alice = circle["alice"]
    let bob = try await circle["bob"].status().device
    await alice.noteMismatches(with: bob)
    let notices = try await alice.status().notices.filter { $0.reason == .digestMismatch }
    #expect(notices.count == 2)
    let lines = try await alice.metrics().split(separator: "\n")
    #expect(lines.count { $0.contains("reason=\"digest_mismatch\"") } == 1)
    await circle.close()
  }

  @Test(
    arguments: [
      (1 << 29, "1GiB"), (3 << 29, "3GiB"), (1 << 20, "2MiB"), (3 << 28, "1610612736"),
      (1 << 50, "1024TiB"), (3 << 49, "1024TiB"), (400, "800"),
    ] as [(UInt64, String)])
  func `a notice suggests twice the quota, as it is typed, up to the limit`(quota: UInt64, size: String) {
    #expect(NodeStatus.Notice.suggestedSize(quota) == size)
  }

  @Test func `messages below the level are left out, and all copies of a log have the same level`() {
    let lines = Mutex<[String]>([])
    let log = NodeLog(least: .warning) { level, area, text in
      lines.withLock { $0.append("\(level) \(area): \(text)") }
    }
    func said() -> [String] {
      log.debug("sync", "1")
      log.info("sync", "2")
      log.warning("sync", "3")
      log.error("sync", "4")
      return lines.withLock { lines in
        defer { lines = [] }
        return lines
      }
    }
    #expect(said() == ["warning sync: 3", "error sync: 4"])
    let copy = log
    copy.level = .debug
    #expect(log.level == .debug)
    #expect(said() == ["debug sync: 1", "info sync: 2", "warning sync: 3", "error sync: 4"])
    copy.level = .error
    log.say("the level has changed")
    #expect(said() == ["info log: the level has changed", "error sync: 4"])
  }
}

extension Node {
  fileprivate func choose(_ key: String, _ value: String) throws {
    _ = try core.setSetting(key, to: .text(value))
  }

  /// Notes that both lanes differ on a device.
  fileprivate func noteMismatches(with device: DeviceKey) {
    for lane in Lane.allCases { core.shell.note(ReplicaEvent.digestMismatch(device, lane)) }
  }
}
