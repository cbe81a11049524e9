import Reasons
import Testing
import WaymarkTesting
import Wire

@testable import NodeRuntime
@testable import Replication
@testable import Waymark

/// Whose clock is thought to be wrong.
struct ClockAgreementTests {
  /// By how many milliseconds the peers' clocks are ahead, and what follows: the time according to the peers is as far
  /// ahead of this machine's.
  private static let verdicts: [([Int64], String)] = [
    ([], "unknown"), ([0], "confirmed"), ([600_000], "confirmed"), ([-600_000], "confirmed"),
    ([600_001], "disputed by 600001"), ([-600_001], "disputed by -600001"),
    ([0, 700_000], "disputed by 700000"), ([-700_000, 0], "disputed by -700000"),
    ([700_000, 0, 1], "confirmed"),
    ([-900_000, 0, -800_000], "disputed by -800000"), ([900_000, 800_000, 700_000], "disputed by 800000"),
    ([0, 0, 900_000, 900_000, 900_000], "disputed by 900000"),
  ]

  @Test func `a clock is right if most of the connected devices agree to within ten minutes`() async throws {
    let node = try Node.inMemory(name: "alice", clock: VirtualClock())
    for (skews, verdict) in Self.verdicts { #expect(await node.verdict(of: skews) == verdict, "\(skews)") }
    await node.close()
  }

  @Test func `a clock that is behind is told from one that is ahead`() async throws {
    let node = try Node.inMemory(name: "alice", clock: VirtualClock())
    for (skew, words) in [(900_000, "15 minutes behind the"), (-900_000, "15 minutes ahead of the")] {
      let notice = try #require(try await node.notice(of: [Int64(skew)]))
      #expect(notice.reason == .clockSkew && notice.details == .clockSkew(milliseconds: Int64(skew)))
      #expect(notice.text.description.contains(words), "\(notice.text)")
    }
    for skews in [[], [0], [900_000, 0, 0]] as [[Int64]] {
      #expect(try await node.notice(of: skews) == nil, "\(skews)")
    }
    await node.close()
  }
}

extension Node {
  fileprivate func verdict(of skews: [Int64]) -> String {
    let agreement = agreement(skews)
    switch agreement.verdict {
    case .confirmed: return "confirmed"
    case .unknown: return "unknown"
    case .disputed(let theirs): return "disputed by \(theirs - agreement.now)"
    }
  }

  fileprivate func notice(of skews: [Int64]) throws -> NodeStatus.Notice? {
    try agreement(skews).skewNotice()
  }

  private func agreement(_ skews: [Int64]) -> ClockAgreement {
    let now = Now(wall: core.wall(), steady: 0)
    var sessions: [Replication.Session] = []
    for (index, skew) in skews.enumerated() {
      let key = Bytes32(0, 0, 0, UInt64(index + 1))
      var session = Replication.Session(
        link: LinkID(UInt64(index)), remote: TransportKey(key), role: .responder, now: now)
      session.peer = Replication.Peer(device: DeviceKey(key), clockSkew: skew)
      sessions.append(session)
    }
    return ClockAgreement(
      store: core.store, sessions: sessions, device: core.identity.device, names: core.connections.names,
      now: now.wall)
  }
}
