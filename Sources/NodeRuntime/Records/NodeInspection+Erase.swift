// Protocol/merge.md, "Erase"

import Platform
import Home
package import LogStorage
package import Membership
import Model
import Reasons
import Records
import Replication
import Storage
package import Wire

/// Which members hold erased values, and which have not received the newest erase, as far as this device knows.
extension NodeInspection {
  private var otherMembers: [Member] {
    circle.evaluation.members.values.filter { $0.device != device }
      .sorted { ($0.name, $0.device) < ($1.name, $1.device) }
  }

  /// Returns the other members that are known to hold at least one of some sets, sorted by name.
  package func holders(of places: [SetPosition]) throws -> [Member] {
    // A device that holds a set of a branch holds the sets before it, so the first set of each branch decides.
    var first: [Int64: SetPosition] = [:]
    for place in places where place.sequence < first[place.branch]?.sequence ?? .max {
      first[place.branch] = place
    }
    let places = first.values.sorted { $0.branch < $1.branch }
    return try otherMembers.filter { member in try places.contains { try holds($0, member.device) } }
  }

  /// Returns whether a member is known to hold a set.
  package func holds(_ place: SetPosition, _ member: DeviceKey) throws -> Bool {
    try replica[place.log.lane].heads.tips(of: place.log).contains { tip in
      try store.leads(tip, to: place) && held(tip, by: member) >= UInt64(bitPattern: place.sequence)
    }
  }

  /// The notice about members that have not received this device's newest erase; nil if there are none.
  func eraseNotice() throws -> NodeStatus.Notice? {
    guard connections.member != nil else { return nil }
    let lanes: [Lane] = replica.ownGate(now: now).isOpen ? [.records, .settings] : [.settings]
    for lane in lanes {
      let since = Clock(milliseconds: now - Self.eraseNoticeMilliseconds)
      guard let newest = try store.newestErase(by: device, lane, since: since) else { continue }
      let others = try otherMembers.filter { member in
        try !lacksAll(member.device, lane) && !holds(newest, member.device)
      }
      if !others.isEmpty { return try eraseNotice(newest, others) }
    }
    return nil
  }

  /// Whether a member has told what it holds, and holds nothing of a lane, so that it has nothing to erase.
  private func lacksAll(_ member: DeviceKey, _ lane: Lane) -> Bool {
    guard let holding = replica.holdings[member] else { return false }
    return Lane.allCases.contains { holding[$0].toldAt != nil } && holding[lane].heads.isEmpty
  }

  private func eraseNotice(_ newest: SetPosition, _ others: [Member]) throws -> NodeStatus.Notice {
    var count = 0
    let operation = try store.operation(try store.operationKey(of: newest))
    try store.forEachEntry(of: operation?.sets ?? [newest]) { entry, _, _ in
      if entry.type == .erase, entry.key.kind != KindNumbers.address { count += 1 }
    }
    let names = others.map { connections.name(of: $0.device) }
    let time = newest.origin.stamp.clock.milliseconds
    let records = count == 1 ? "1 record that was" : "\(count) records that were"
    let one = others.count == 1 ? names[0] : nil
    let next: Step = "\(waymark: "run", on: one ?? "each of them"), within reach of this device"
    let lost: Step = one.map { Self.stepIfLost($0) } ?? ""
    return NodeStatus.Notice(
      .eraseUnheard,
      text: "\(names.joined(separator: ", ")) \(others.count == 1 ? "has" : "have") not erased yet "
        + "\(records) erased here on \(CivilTime.sentenceText(time))",
      next: next + lost,
      .eraseUnheard(
        records: count, time: Date(milliseconds: time),
        notErased: zip(others, names).map { DeviceReference(device: $0.device, name: $1) }))
  }

  /// The notice about values that were erased before this store was restored from a backup; nil if there are none.
  func awaitedEraseNotice() throws -> NodeStatus.Notice? {
    let records = try store.metaLines(MetaKey.erasedBefore).compactMap { line -> RecordKey? in
      let words = line.split(separator: " ")
      guard words.count == 2, let kind = UInt64(words[0]).flatMap({ KindNumber($0) }),
        let id = RecordID(hex: words[1])
      else { return nil }
      return RecordKey(kind: kind, id: id)
    }
    let waiting = records.isEmpty ? 0 : try store.unerased(records).count
    guard waiting > 0 else { return nil }
    return NodeStatus.Notice(
      .eraseAwaited,
      text:
        "the restored backup has values of \(plural(waiting, "record")) that \(waiting == 1 ? "was" : "were") "
        + "erased before the restore; they are erased again once another device sends the erase",
      next: "\(waymark: "run") until this device is in sync")
  }

  private static func stepIfLost(_ name: String) -> Step {
    "; if it is lost: \(waymark: "revoke \(shellWord(name))")"
  }

  /// Thirty days.
  static let eraseNoticeMilliseconds: Moment = 30 * 86_400_000
}
