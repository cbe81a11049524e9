import Waymark
import WaymarkCare
import WaymarkTesting

// An override has something to revert only while two devices differ, so the device that writes it turns sync off, meets
// the other one, and then overrides, which turns sync on again.

extension HistoryRun {
  /// Makes the records of a device and another one equal to those of the other one, or the other way round.
  mutating func override(_ device: Int, _ choices: [Int]) async throws -> String? {
    let peers = devices.indices.filter { $0 != device && isSyncing[$0] && hasPremium($0) }
    guard hasPremium(device), let peer = pick(peers, choices[0]) else { return nil }
    let isMirror = choices[1] % 2 == 0
    // Records that are exchanged before sync is off are not overridden.
    connected = []
    await partition([])
    if isSyncing[device] { _ = try await sync(device) }
    await partition([device, peer])
    try await circle.settle()
    model.meet([device, peer], records: [])
    let (overridden, wanted) = isMirror ? (device, peer) : (peer, device)
    let reverted = model.reverted([overridden], wanted: wanted)
    let expected = model.overrideCounts(from: overridden, to: wanted, isHere: isMirror)
    let (node, other) = (node(device), devices[peer])
    let preview = try await circle.during {
      isMirror ? try await node.mirrorPreview(of: other) : try await node.overrideCirclePreview()
    }
    let done = try await circle.during {
      isMirror ? try await node.mirror(other) : try await node.overrideCircle()
    }
    for summary in [preview, done] {
      guard summary.counts == expected else {
        throw Difference(
          "\(summary.isPreview ? "the preview" : "the result") says \(summary.counts) instead of \(expected)")
      }
    }
    guard preview.turnsSyncOn else { throw Difference("the preview does not say that it turns sync on") }
    isSyncing[device] = true
    model.meet([device, peer], records: [device, peer])
    let writes = model.override(reverted, device)
    guard (done.operation != nil) == !writes.isEmpty else {
      throw Difference("the override wrote \(done.operation == nil ? "nothing" : "something")")
    }
    model.passFiles([device, peer])
    if !writes.isEmpty { write(device, writes, as: done.operation) }
    try await exchange([device, peer])
    return isMirror ? "mirrors \(Self.names[peer])" : "asserts its records to \(Self.names[peer])"
  }
}

extension OverrideSummary {
  fileprivate var counts: HistoryModel.OverrideCounts {
    .init(
      added: total.added, changed: total.changed, deleted: total.deleted, restored: total.restored)
  }
}
