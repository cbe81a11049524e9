// Protocol/store.md, "A damaged change set"

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
}

/// The quiet check of the whole store: each hour the running node verifies a part of its change sets, so that all are
/// verified about once a day. It reads a few milliseconds at a time, and only while nothing is being written.
extension Node {
  var storeCheck: StoreCheck { StoreCheck(bytes: try? store.meta(MetaKey.storeCheck)) }

  /// Schedules the next part: an hour after the last one, wherever that was interrupted by a restart.
  func scheduleStoreCheck() {
    let due = storeCheck.checkedAt.map { $0 + Self.partMilliseconds - wall() } ?? 0
    let wait = min(max(due, Self.firstMilliseconds), Self.partMilliseconds)
    timers.schedule(.storeCheck, after: wait) { [weak self] in
      self?.assumeIsolated { $0.checkPart() }
    }
  }

  private func checkPart() {
    // What no connected peer had an hour ago, one may have now.
    turn { $0.repair(now: time) }
    let share = Int(clamping: store.newestNumber) / Self.partsOfPass + 1
    checkOn(storeCheck, rest: max(share, Self.setsOfPartMin))
  }

  private func checkOn(_ check: StoreCheck, rest: Int) {
    timers.forget(.storeCheck)
    guard network != nil, broken == nil else { return }
    guard !isRestDue else { return continueCheck(check, rest, after: Self.busyMilliseconds) }
    do {
      var check = check
      let stretch = try store.check(
        after: check.last, setsMax: min(rest, Self.setsOfStretch), bytesMax: Self.bytesOfStretch)
      if stretch.damaged > 0 { turn { $0.repair(now: time) } }
      let now = wall()
      check.checkedAt = now
      if let last = stretch.last {
        check.last = last
        if rest > stretch.count {
          return continueCheck(check, rest - stretch.count, after: Self.pauseMilliseconds)
        }
      } else {
        (check.last, check.completedAt) = (0, now)
      }
      // On a full disk the part is checked again after the next start.
      try? store.setMeta(MetaKey.storeCheck, check.bytes)
      scheduleStoreCheck()
    } catch {
      storeFailed(error)
    }
  }

  private func continueCheck(_ check: StoreCheck, _ rest: Int, after milliseconds: Int64) {
    timers.schedule(.storeCheck, after: milliseconds) { [weak self] in
      self?.assumeIsolated { $0.checkOn(check, rest: rest) }
    }
  }

  /// What `status` and `doctor` say of it.
  var storeCheckJSON: JSON {
    let check = storeCheck
    return [
      "checked": .integer(min(check.last, store.newestNumber)), "total": .integer(store.newestNumber),
      "completed": timeJSON(check.completedAt), "damaged": .integer(store.damagedSets.count),
    ]
  }

  private static let firstMilliseconds: Int64 = 60_000
  private static let partMilliseconds: Int64 = 3_600_000
  private static let partsOfPass = 24
  private static let setsOfPartMin = 64
  /// About three milliseconds of signatures.
  private static let setsOfStretch = 32
  private static let bytesOfStretch = 256 << 10
  private static let pauseMilliseconds: Int64 = 50
  private static let busyMilliseconds: Int64 = 1_000
}
