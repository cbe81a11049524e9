// Sources/store.md, "Tables": what each device is known to hold, kept in `meta` under `node.holds.` and its key.

package import LogStorage
import RecordTables
import Records
package import Replication
import SQLite
package import Wire

extension Store {
  /// Returns what each device is known to hold, as stored. Unreadable lines count as unknown.
  package func holdings() throws -> [DeviceKey: Replica.Holding] {
    let sql = "SELECT key, value FROM meta WHERE key BETWEEN ?1 AND ?2"
    return try connection.with(sql) { row in
      try row.bind(1, .text(Self.holdingsPrefix))
      try row.bind(2, .text(Self.holdingsPrefix + "~"))
      var holdings: [DeviceKey: Replica.Holding] = [:]
      while try row.step() {
        guard let device = DeviceKey(hex: row.text(0).dropFirst(Self.holdingsPrefix.count)) else { continue }
        let lines = String(decoding: row.bytes(1), as: UTF8.self).split(separator: "\n")
        holdings[device] = Replica.Holding(lines: lines)
      }
      return holdings
    }
  }

  /// Stores what a device is known to hold of the logs in this store. Nil deletes this knowledge.
  package func keep(_ holding: Replica.Holding?, of device: DeviceKey) throws {
    let key = String(Self.holdingsPrefix.dropFirst("node.".count)) + device.description
    let logs = Set(Lane.allCases.flatMap { heads($0) }.map(\.log))
    let lines = holding?.lines { logs.contains($0) }
    try setMeta(key, lines.map { Array($0.joined(separator: "\n").utf8) })
  }

  private static let holdingsPrefix = "node.holds."
}

extension Replica.Holding {
  fileprivate init(lines: [Substring]) {
    self.init()
    var heads: [Lane: [LogHead]] = [:]
    for line in lines {
      let words = line.split(separator: " ")
      switch words.first {
      case "synced" where words.count == 2: syncedAt = Moment(words[1])
      case "lane" where words.count == 4:
        guard let lane = UInt8(words[1]).flatMap(Lane.init) else { continue }
        self[lane].levelAt = Moment(words[2])
        self[lane].toldAt = Moment(words[3])
      case "head":
        guard let head = LogHead(words: words) else { continue }
        heads[head.log.lane, default: []].append(head)
      default: continue
      }
    }
    for (lane, heads) in heads { self[lane].heads = Heads(heads) }
  }

  fileprivate func lines(_ isKept: (LogKey) -> Bool) -> [String] {
    var lines = syncedAt.map { ["synced \($0)"] } ?? []
    for lane in Lane.allCases {
      func text(_ moment: Moment?) -> String { moment.map(String.init) ?? "-" }
      lines.append("lane \(lane.rawValue) \(text(self[lane].levelAt)) \(text(self[lane].toldAt))")
      for head in self[lane].heads.sorted where isKept(head.log) {
        lines.append(
          "head \(lane.rawValue) \(head.log.device) \(head.log.incarnation) \(head.sequence) \(head.id)")
      }
    }
    return lines
  }
}

extension LogHead {
  fileprivate init?(words: [Substring]) {
    guard words.count == 6, let lane = UInt8(words[1]).flatMap(Lane.init),
      let device = DeviceKey(hex: words[2]), let incarnation = Incarnation(hex: words[3]),
      let sequence = UInt64(words[4]), sequence > 0, let id = ChangeSetID(hex: words[5])
    else { return nil }
    self.init(
      log: LogKey(device: device, incarnation: incarnation, lane: lane), sequence: sequence, id: id,
      foldedSequence: 0)
  }
}

extension Store {
  /// Returns whether the set that a head names is stored here.
  package func holds(_ head: LogHead) throws -> Bool {
    try logs.branch(of: head.id, head.log, head.sequence) != nil
  }

  /// Returns the clock and operation of the newest set among some heads; nil if none of them is stored.
  ///
  /// A forked log may have very many heads, so only the newest set is read.
  package func newestOrigin(of heads: [LogHead]) throws -> (clock: Clock, operation: OperationKey)? {
    var newest: (clock: Clock, head: LogHead)?
    for head in heads {
      guard let clock = try logs.stored(head.id, head.log, head.sequence)?.clock else { continue }
      if newest.map({ clock > $0.clock }) ?? true { newest = (clock, head) }
    }
    guard let (clock, head) = newest, let branch = try logs.branch(of: head.id, head.log, head.sequence)
    else { return nil }
    let sql = "SELECT operation FROM change_sets WHERE branch = ?1 AND sequence = ?2"
    return try connection.with(sql) { row in
      try row.bind(1, branch.number)
      try row.bind(2, Int64(bitPattern: head.sequence))
      guard try row.step(), let id = OperationID(bytes: row.bytes(0)) else { return nil }
      return (clock, OperationKey(id: id, device: head.log.device))
    }
  }
}
