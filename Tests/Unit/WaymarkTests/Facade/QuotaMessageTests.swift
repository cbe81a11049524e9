import Model
import NodeOperations
import Reasons
import Testing
import WaymarkCare
import WaymarkTesting
import Wire

@testable import NodeRuntime
@testable import Waymark

/// What a person is told when the quota of this device is used up.
struct QuotaMessageTests {
  @Test func `the message says how much this device has written in the lane, not another one`()
    async throws
  {
    let circle = try await TestCircle("alice", "bob")
    let (long, short) = (String(repeating: "a", count: 9_000), String(repeating: "b", count: 3_000))
    _ = try await circle["alice"].save(Trip(name: "Rome", notes: long))
    _ = try await circle["bob"].save(Trip(name: "Oslo", notes: short))
    let custom = Setting("custom", default: "")
    try await circle["alice"].set(custom, to: String(repeating: "c", count: 1_500))
    try await circle.settle()
    try await circle["bob"].set(custom, to: String(repeating: "d", count: 20_000))
    try await circle.settle()
    var sizes: Set<String> = []
    for name in ["alice", "bob"] {
      let own = try #require(try await circle[name].members().first { $0.isOwn })
      #expect(own.usage.count == 2)
      for usage in own.usage {
        let lane = usage.lane == "settings" ? Lane.settings : Lane.records
        let message = await circle[name].quotaMessage(lane)
        let size = sizeText(usage.bytes)
        #expect(message.contains(": \(size) are written"), "\(name), \(usage.lane): \(message)")
        sizes.insert(size)
      }
    }
    #expect(sizes.count > 2, "the sizes tell the devices and lanes apart: \(sizes)")
    await circle.close()
  }
}

extension Node {
  fileprivate func quotaMessage(_ lane: Lane) -> String { core.quotaUsed(lane).message.description }
}
