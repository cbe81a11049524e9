// Sources/store.md, "A damaged change set"

import Membership
package import Replication
import Storage
import Wire

/// The progress of the store's background check, which is kept across starts.
///
/// Every hour the running node verifies a part of its change sets, so that each set is verified about once a day. The
/// check works for a few milliseconds at a time, and only while nothing is being written.
package struct StoreCheck: Hashable, Sendable {
  /// The number of the last change set checked in the current pass.
  package internal(set) var last: Int64 = 0
  /// When the last check ran.
  package internal(set) var checkedAt: Moment?
  /// When a pass last reached the end of the log.
  package internal(set) var completedAt: Moment?
  /// The number of sets left to check in the current part; nil between parts. This value is not stored.
  var rest: Int?

  init() {}

  /// Decodes the stored progress, or starts from the beginning if there is none or it is malformed.
  init(bytes: [UInt8]?) {
    let words = String(decoding: bytes ?? [], as: UTF8.self).split(separator: " ")
    guard words.count == 3, let last = Int64(words[0]) else { return }
    (self.last, checkedAt, completedAt) = (last, Moment(words[1]), Moment(words[2]))
  }

  var bytes: [UInt8] {
    Array("\(last) \(checkedAt.map(String.init) ?? "-") \(completedAt.map(String.init) ?? "-")".utf8)
  }

  /// Returns the milliseconds until the next part, which is due an hour after the last check even if a restart
  /// interrupted that check.
  package func wait(now: Moment) -> Moment {
    let due = checkedAt.map { $0 + Self.partMilliseconds - now } ?? 0
    return min(max(due, Self.firstMilliseconds), Self.partMilliseconds)
  }

  mutating func beginPart(of newest: Int64) {
    rest = max(Int(clamping: newest) / Self.partsOfPass + 1, Self.setsOfPartMin)
  }

  /// Checks sets for a few milliseconds. Afterwards, `rest` is nil if the part is complete.
  ///
  /// - Returns: the number of damaged sets found.
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
  /// Verifying this many signatures takes about three milliseconds.
  private static let setsOfStretch = 32
  private static let bytesOfStretch = 256 << 10
  static let pauseMilliseconds: Moment = 50
  static let busyMilliseconds: Moment = 1_000
}

extension Replicator {
  /// Deletes the sets of revoked devices that a revocation discards, as soon as nothing can bring them back.
  package func deleteDiscarded(now: Now) {
    guard canStore else { return }
    trying {
      let count = try store.deleteDiscarded(circle.evaluation.discards, now: now.wall)
      if count > 0 { shell?.note(.discarded(count)) }
    }
  }

  /// Starts or continues a part of the background check, and asks peers for damaged sets.
  ///
  /// - Parameter isQuiet: whether nothing is being written.
  /// - Returns: milliseconds until the next call; nil if the store can't be read.
  package func continueStoreCheck(isQuiet: Bool, now: Now) -> Moment? {
    if storeCheck.rest == nil {
      // A peer that has connected since the last part may have sets that are damaged here.
      repair(now: now)
      deleteDiscarded(now: now)
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
    // If the progress can't be saved because the disk is full, the next start repeats the part.
    try? store.setMeta(MetaKey.storeCheck, storeCheck.bytes)
    return storeCheck.wait(now: now.wall)
  }
}
