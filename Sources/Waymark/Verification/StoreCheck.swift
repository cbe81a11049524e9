// Protocol/store.md, "A damaged change set"

import Engine
import Foundation
import Replication
import Storage
import Wire

/// How far the background check of the store has come, kept across starts.
struct StoreCheck: Hashable, Sendable {
  /// The number of the newest change set that was checked in this pass.
  var last: Int64 = 0
  /// When a part was checked last, and when a pass last reached the end of the log.
  var checkedAt: Moment?
  var completedAt: Moment?

  init() {}

  /// Reads what was kept; what can't be read begins again.
  init(bytes: [UInt8]?) {
    let words = String(decoding: bytes ?? [], as: UTF8.self).split(separator: " ")
    guard words.count == 3, let last = Int64(words[0]) else { return }
    (self.last, checkedAt, completedAt) = (last, Moment(words[1]), Moment(words[2]))
  }

  var bytes: [UInt8] {
    Array("\(last) \(checkedAt.map(String.init) ?? "-") \(completedAt.map(String.init) ?? "-")".utf8)
  }

  /// How long until the next part: an hour after the last one, wherever that was interrupted by a restart.
  func wait(now: Moment) -> Int64 {
    let due = checkedAt.map { $0 + Self.partMilliseconds - now } ?? 0
    return min(max(due, Self.firstMilliseconds), Self.partMilliseconds)
  }

  /// How many change sets a part has.
  static func part(of newest: Int64) -> Int { max(Int(clamping: newest) / partsOfPass + 1, setsOfPartMin) }

  /// Checks a few milliseconds' worth of sets.
  ///
  /// - Parameter rest: how many of this part are left.
  /// - Returns: how many are left then, 0 at the end of a part or of the log, and how many were damaged.
  mutating func advance(_ store: Store, rest: Int, now: Moment) throws -> (rest: Int, damaged: Int) {
    let stretch = try store.check(
      after: last, setsMax: min(rest, Self.setsOfStretch), bytesMax: Self.bytesOfStretch)
    checkedAt = now
    guard let newest = stretch.last else {
      (last, completedAt) = (0, now)
      return (0, stretch.damaged)
    }
    last = newest
    return (max(0, rest - stretch.count), stretch.damaged)
  }

  /// What `status` and `doctor` say of it.
  func status(_ store: Store) -> NodeStatus.StoreCheck {
    NodeStatus.StoreCheck(
      checked: Int(clamping: min(last, store.newestNumber)), total: Int(clamping: store.newestNumber),
      completed: completedAt.map(Date.init(milliseconds:)), damaged: store.damagedSets.count)
  }

  private static let firstMilliseconds: Int64 = 60_000
  private static let partMilliseconds: Int64 = 3_600_000
  private static let partsOfPass = 24
  private static let setsOfPartMin = 64
  /// About three milliseconds of signatures.
  private static let setsOfStretch = 32
  private static let bytesOfStretch = 256 << 10
  static let pauseMilliseconds: Int64 = 50
  static let busyMilliseconds: Int64 = 1_000
}

/// The background check of the whole store: each hour the running node verifies a part of its change sets, so that all
/// are verified about once a day. It reads a few milliseconds at a time, and only while nothing is being written.
extension Node {
  var storeCheck: StoreCheck { StoreCheck(bytes: try? store.meta(MetaKey.storeCheck)) }

  /// Schedules the next part.
  func scheduleStoreCheck() {
    timers.schedule(.storeCheck, after: storeCheck.wait(now: wall())) { [weak self] in
      self?.assumeIsolated { node in
        // What no connected peer had an hour ago, one may have now.
        node.turn { $0.repair(now: node.time) }
        node.continueCheck(node.storeCheck, rest: StoreCheck.part(of: node.store.newestNumber))
      }
    }
  }

  private func continueCheck(_ check: StoreCheck, rest: Int) {
    timers.forget(.storeCheck)
    guard network != nil, broken == nil else { return }
    var (check, left, pause) = (check, rest, StoreCheck.busyMilliseconds)
    if !checkpointing.isDue {
      do {
        let advanced = try check.advance(store, rest: rest, now: wall())
        if advanced.damaged > 0 { turn { $0.repair(now: time) } }
        (left, pause) = (advanced.rest, StoreCheck.pauseMilliseconds)
      } catch {
        return replicator.storeFailed(error)
      }
    }
    guard left > 0 else {
      // On a full disk the part is checked again after the next start.
      try? store.setMeta(MetaKey.storeCheck, check.bytes)
      return scheduleStoreCheck()
    }
    timers.schedule(.storeCheck, after: pause) { [weak self, check, left] in
      self?.assumeIsolated { $0.continueCheck(check, rest: left) }
    }
  }
}
