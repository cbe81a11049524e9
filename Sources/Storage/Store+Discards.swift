// Protocol/circle.md, "What folds"

import LogStorage
import Records
package import Replication
import SQLite
package import Wire

// Discarded sets.
//
// A revocation that keeps none of a device's logs takes all of its sets out of the logs (Store+Cuts.swift), into
// quarantine. They are deleted from there, so that the disk gets its space back: at once if nothing can void the
// revocation any more, and otherwise after a week, because a thief who has an admin's device could discard what others
// wrote. The state of the records does not depend on the deletion, since quarantined sets are not part of it.

extension Store {
  /// Deletes the quarantined sets of discarded devices whose time is up, in one transaction.
  ///
  /// - Parameters:
  ///   - discards: the devices of which a revocation keeps nothing, and whether that is final.
  ///   - now: the wall clock. The first call that names a device starts its week.
  /// - Returns: the number of deleted sets.
  package func deleteDiscarded(_ discards: [DeviceKey: Bool], now: Moment) throws -> Int {
    var since = try discardedSince()
    guard !discards.isEmpty || !since.isEmpty else { return 0 }
    let known = since
    since = since.filter { discards[$0.key] != nil }
    for device in discards.keys where since[device] == nil { since[device] = now }
    let due = discards.filter { device, isFinal in
      // A clock that was set back must not make the wait longer.
      isFinal || (since[device].map { now - $0 >= Limits.discardMilliseconds } ?? false)
    }
    let ids = try due.isEmpty ? [] : quarantined(of: Set(due.keys))
    guard since != known || !ids.isEmpty else { return 0 }
    try atomically {
      try keepDiscardedSince(since)
      guard !ids.isEmpty else { return }
      try connection.with("DELETE FROM quarantine WHERE id = ?1") { row in
        for id in ids {
          row.reset()
          try row.bind(1, id.bytes)
          try row.run()
        }
      }
      // The space is given back with the next checkpoint.
      try Self.noteErase(connection)
      lacking = nil
    }
    return ids.count
  }

  private func quarantined(of devices: Set<DeviceKey>) throws -> [ChangeSetID] {
    var ids: [ChangeSetID] = []
    try eachQuarantined { id, header in
      if devices.contains(header.log.device), logs.excludes(new: id, header.log, header.sequence) {
        ids.append(id)
      }
    }
    return ids
  }

  /// Returns when each discard was first applied here.
  private func discardedSince() throws -> [DeviceKey: Moment] {
    var since: [DeviceKey: Moment] = [:]
    let bytes = try MetaTable.bytes(Self.discardsKey, connection)
    for line in String(decoding: bytes ?? [], as: UTF8.self).split(separator: "\n") {
      let words = line.split(separator: " ")
      guard words.count == 2, let device = DeviceKey(hex: words[0]), let moment = Moment(words[1]) else {
        continue
      }
      since[device] = moment
    }
    return since
  }

  private func keepDiscardedSince(_ since: [DeviceKey: Moment]) throws {
    let lines = since.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)\n" }
    try MetaTable.set(Self.discardsKey, Array(lines.joined().utf8), connection)
  }

  private static let discardsKey = "discards"

  /// Returns the number of stored records that a device was the last to change, visible or not.
  package func recordCount(lastChangedBy device: DeviceKey) throws -> Int {
    var count = 0
    for kind in schema.kinds {
      var query = RecordQuery(kind.number)
      query.visibleOnly = false
      for row in try records(query) {
        let newest = try origins(of: row).values.max()
        if newest?.device == device { count += 1 }
      }
    }
    return count
  }
}
