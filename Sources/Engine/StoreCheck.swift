// Protocol/store.md, "A damaged change set"

package import Replication
import Storage
import Wire

/// How far the background check of the store has come, kept across starts.
///
/// Each hour the running node verifies a part of its change sets, so that all are verified about once a day. It reads a
/// few milliseconds at a time, and only while nothing is being written.
package struct StoreCheck: Hashable, Sendable {
  /// The number of the newest change set that was checked in this pass.
  package internal(set) var last: Int64 = 0
  /// When a part was checked last.
  package internal(set) var checkedAt: Moment?
  /// When a pass last reached the end of the log.
  package internal(set) var completedAt: Moment?
  /// How many sets of the present part are left; nil between parts. It is not kept.
  var rest: Int?

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
  package func wait(now: Moment) -> Moment {
    let due = checkedAt.map { $0 + Self.partMilliseconds - now } ?? 0
    return min(max(due, Self.firstMilliseconds), Self.partMilliseconds)
  }

  mutating func beginPart(of newest: Int64) {
    rest = max(Int(clamping: newest) / Self.partsOfPass + 1, Self.setsOfPartMin)
  }

  /// Checks a few milliseconds' worth of sets; the part is over when `rest` is nil.
  ///
  /// - Returns: how many were damaged.
  mutating func advance(_ store: Store, now: Moment) throws -> Int {
    let left = rest ?? 0
    let stretch = try store.check(
      after: last, setsMax: min(left, Self.setsOfStretch), bytesMax: Self.bytesOfStretch)
    checkedAt = now
    if let newest = stretch.last {
      last = newest
      rest = left > stretch.count ? left - stretch.count : nil
    } else {
      (last, completedAt, rest) = (0, now, nil)
    }
    return stretch.damaged
  }

  private static let firstMilliseconds: Moment = 60_000
  private static let partMilliseconds: Moment = 3_600_000
  private static let partsOfPass = 24
  private static let setsOfPartMin = 64
  /// About three milliseconds of signatures.
  private static let setsOfStretch = 32
  private static let bytesOfStretch = 256 << 10
  static let pauseMilliseconds: Moment = 50
  static let busyMilliseconds: Moment = 1_000
}

extension Replicator {
  /// Begins a part of the background check, or goes on with it, and has peers asked for what is damaged.
  ///
  /// - Parameter isQuiet: whether nothing is being written.
  /// - Returns: when to go on, in milliseconds; nil if the store can't be read.
  package func continueStoreCheck(isQuiet: Bool, now: Now) -> Moment? {
    if storeCheck.rest == nil {
      // What no connected peer had an hour ago, one may have now.
      repair(now: now)
      storeCheck.beginPart(of: store.newestNumber)
    }
    guard isQuiet else { return StoreCheck.busyMilliseconds }
    do {
      if try storeCheck.advance(store, now: now.wall) > 0 { repair(now: now) }
    } catch {
      storeFailed(error)
      return nil
    }
    guard storeCheck.rest == nil else { return StoreCheck.pauseMilliseconds }
    // On a full disk the part is checked again after the next start.
    try? store.setMeta(MetaKey.storeCheck, storeCheck.bytes)
    return storeCheck.wait(now: now.wall)
  }
}
