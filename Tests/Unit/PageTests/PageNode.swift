import Foundation
import Waymark
import WaymarkCare
import WaymarkFiles
import WaymarkTesting

func day(_ text: String) -> Day { Day(text) ?? Day(.distantPast, in: .gmt) }

/// A node at noon of a day, in UTC.
func node(on text: String = "2026-05-10") async throws -> Node {
  let clock = VirtualClock()
  let node = try Node.inMemory(name: "alice", clock: clock)
  try await clock.advance(to: day(text).noon(in: .gmt))
  var profile = try await node.profile()
  profile.displayZone = .custom("Etc/UTC")
  _ = try await node.save(profile)
  return node
}
