import Model
import Reasons
import Records
import Replication
import Testing
import WaymarkCare
import WaymarkTesting
import Wire

@testable import NodeRuntime
@testable import Waymark

/// More settings than a device may set, as several devices can make them together.
struct CrowdedSettingsTests {
  @Test func `a status tells when there are more settings than the limit, and only then`() async throws {
    let node = try Node.inMemory(name: "alice", clock: VirtualClock())
    func isTold() async throws -> Bool {
      try await node.status().notices.contains { $0.reason == .settingsBeyondLimits }
    }
    let present = try await node.settings().count
    try await node.addSettings(present..<Limits.settingsKeysMax)
    #expect(try await node.settings().count == Limits.settingsKeysMax)
    #expect(try await !isTold())
    try await node.addSettings(Limits.settingsKeysMax..<Limits.settingsKeysMax + 1)
    #expect(try await isTold())
    await node.close()
  }
}

extension Node {
  /// Writes settings with these numbers without the check of a device that sets one.
  fileprivate func addSettings(_ numbers: Range<Int>) throws {
    let kind = Kind.setting
    let drafts = numbers.map { number in
      let key = "custom \(number)"
      let fields: [(field: FieldNumber, value: Wire.Value)] = [
        (kind.number("key"), .text(key)), (kind.number("value"), .text("x")),
      ]
      return EntryDraft(.insert, StoredSettings.recordKey(key), fields)
    }
    try core.write("settings.set", drafts)
  }
}
