// Protocol/store.md, "A damaged change set"

import Membership
import Replication
import Storage
import Wire

/// Stored change sets that the disk has altered: what `status` says of them.
extension Node {
  /// Nil if there are none that are known.
  func damageNotice() -> NoticeSnapshot? {
    let damaged = store.damagedSets
    guard !damaged.isEmpty else { return nil }
    let hasPeers = !otherMembers.isEmpty
    let sets = plural(damaged.count, "stored change set")
    return NoticeSnapshot(
      .damagedSet,
      text: "the disk has damaged \(sets) (\(names(of: damaged)))"
        + (hasPeers ? "; peers that have \(damaged.count == 1 ? "it" : "them") are asked again" : ""),
      next: hasPeers
        ? "waymark run, until a device that has \(damaged.count == 1 ? "it" : "them") connects; if none does, "
          + home.restoreAdvice(now: wall())
        : home.restoreAdvice(now: wall()),
      details: [
        .init(
          "changeSets",
          .array(
            damaged.prefix(Self.damagedListedMax).map { set in
              [
                "device": .string(set.log.device.description), "name": .string(name(of: set.log.device)),
                "lane": .string("\(set.log.lane)"), "sequence": .integer(Int64(clamping: set.sequence)),
                "id": .string(set.id.description),
              ]
            })),
        .init("damaged", .integer(damaged.count)),
      ])
  }

  /// The members that may have what is damaged here.
  var otherMembers: [DeviceKey] { circle.evaluation.members.keys.filter { $0 != identity.device } }

  /// Looks again at sets that were found damaged, and has peers asked for those that are.
  func repair(_ numbers: [Int64]) throws {
    for number in numbers { _ = try store.check(after: number - 1, setsMax: 1, bytesMax: .max) }
    turn { $0.repair(now: time) }
  }

  /// `records 3 of phone, settings 1 of laptop`, and how many more.
  func names(of sets: [DamagedSet]) -> String {
    let named = sets.prefix(Self.damagedNamedMax).map {
      "\($0.log.lane) \($0.sequence) of \(name(of: $0.log.device))"
    }
    let more = sets.count - named.count
    return named.joined(separator: ", ") + (more > 0 ? " and \(more) more" : "")
  }

  private static let damagedNamedMax = 3
  private static let damagedListedMax = 100
}
