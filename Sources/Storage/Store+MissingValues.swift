// Protocol/session.md, "Missing values"

import LogStorage
package import RecordTables
package import Replication
import SQLite
package import Wire

extension Store {
  /// A number that changes whenever the list of missing slots may have changed.
  package var missingVersion: Int { fold.missing.version }

  /// Whether slots are missing that no folded erase explains.
  package var isAnyValueMissing: Bool {
    get throws {
      try connection.with("SELECT 1 FROM missing_values LIMIT 1") { try $0.step() }
    }
  }

  /// The number of slots that are missing although no folded erase explains it.
  package var missingSlotCount: Int {
    get throws {
      try connection.with("SELECT count(*) FROM missing_values") { try $0.step() ? Int($0.integer(0)) : 0 }
    }
  }

  // MARK: Requesting

  /// Returns sets with missing slots, by ascending number.
  ///
  /// - Parameter after: the number after which to begin.
  package func missingValues(after number: Int64, max: Int) throws -> [MissingSlots] {
    let sql = """
      SELECT number, (SELECT header FROM change_sets c WHERE c.number = m.number)
      FROM (SELECT DISTINCT number FROM missing_values WHERE number > ?1 ORDER BY number LIMIT ?2) m
      """
    let rows = try connection.with(sql) { row in
      try row.bind(1, number)
      try row.bind(2, max)
      var rows: [(number: Int64, header: [UInt8])] = []
      while try row.step() { rows.append((row.integer(0), row.bytes(1))) }
      return rows
    }
    return try rows.compactMap { number, bytes in
      // Of a damaged set, the whole set is requested.
      guard let header = try? ChangeSetHeader(decoding: bytes) else { return nil }
      let set = SetSlots(
        log: header.log, sequence: header.sequence, id: ChangeSetID(header: bytes),
        slots: try fold.missing.slots(of: number).sorted())
      return MissingSlots(number: number, set: set, valuesBytes: header.content.valuesBytes)
    }
  }

  // MARK: Serving

  /// Returns the contents of those slots that a peer wants and that are here, of folded sets.
  ///
  /// - Parameters:
  ///   - bytesMax: the largest sum of the sizes of the slots. Sets that do not fit any more are left out.
  ///   - readMax: how many bytes of values are read before no further set is read.
  package func values(_ lane: Lane, _ wanted: [SetSlots], bytesMax: Int, readMax: Int) throws -> [SetValues] {
    var found: [SetValues] = []
    var (bytes, read) = (0, 0)
    for want in wanted where want.log.lane == lane {
      guard read < readMax else { break }
      guard let number = try foldedNumber(of: want), let set = try intactSet(number) else { continue }
      read += set.raw.values.count
      let slots = want.slots.compactMap { set.body.slots.value($0, in: set.raw.values) }
      guard !slots.isEmpty else { continue }
      bytes += slots.reduce(64) { $0 + $1.content.count + 32 }
      guard bytes <= bytesMax else { break }
      found.append(SetValues(id: want.id, slots: slots))
    }
    return found
  }

  /// Returns the number of a set if it is folded here.
  private func foldedNumber(of set: SetSlots) throws -> Int64? {
    guard let branch = try logs.branch(of: set.id, set.log, set.sequence),
      let stretch = logs.path(branch.number, through: set.sequence).first,
      let number = try logs.number(stretch.branch, set.sequence)
    else { return nil }
    return try connection.with("SELECT 1 FROM change_sets WHERE number = ?1 AND folded = ?2") { row in
      try row.bind(1, number)
      try row.bind(2, FoldState.folded.rawValue)
      return try row.step() ? number : nil
    }
  }

  // MARK: Filling

  /// Stores values that were missing, and adds them to the records, in one transaction.
  ///
  /// Only slots that are still missing and that match their commitments are stored. Nothing that was erased returns.
  ///
  /// - Parameter noting: called with the report, to store further values in the same transaction.
  /// - Returns: the report, and whether a value did not match its commitment.
  package func fill(
    _ arrived: [ArrivedValues], noting: (CommitReport) throws -> Void = { _ in }
  ) throws -> (report: CommitReport, hasWrong: Bool) {
    try atomically {
      var report = CommitReport()
      var hasWrong = false
      for values in arrived where try fill(values, &report) { hasWrong = true }
      try finish(&report)
      try noting(report)
      return (report, hasWrong)
    }
  }

  /// - Returns: whether a value did not match its commitment.
  private func fill(_ arrived: ArrivedValues, _ report: inout CommitReport) throws -> Bool {
    guard let number = try foldedNumber(of: arrived.set), let set = try intactSet(number) else {
      return false
    }
    let missing = try fold.missing.slots(of: number)
    let filling = set.body.slots.filled(
      set.raw.values, with: arrived.values.filter { missing.contains($0.slot) }, set.header.content)
    guard let values = filling.values else { return filling.hasWrong }
    try connection.with("UPDATE change_sets SET field_values = ?2 WHERE number = ?1") { row in
      try row.bind(1, number)
      try row.bind(2, values)
      try row.run()
    }
    // Cached sets were decoded without the values.
    setCache = SetCache()
    let raw = RawChangeSet(
      header: set.raw.header, signature: set.raw.signature, plan: set.raw.plan, values: values)
    try fold.fill(
      try VerifiedChangeSet(stored: raw, id: set.id), filling.filled, at: fold.causality.place(number),
      &report)
    return filling.hasWrong
  }

  // MARK: Senders

  /// Records which devices sent sets of which values are missing now. Call it in the transaction that stores the sets.
  package func noteValueSenders(_ senders: [(set: VerifiedChangeSet, device: DeviceKey)]) throws {
    for (set, device) in senders where !set.body.isComplete {
      let slots = SetSlots(log: set.header.log, sequence: set.header.sequence, id: set.id, slots: [])
      guard let number = try foldedNumber(of: slots), try !fold.missing.slots(of: number).isEmpty else {
        continue
      }
      try connection.with("INSERT INTO value_senders(id, device) VALUES (?1, ?2) ON CONFLICT DO NOTHING") {
        row in
        try row.bind(1, set.id.bytes)
        try row.bind(2, device.bytes)
        try row.run()
      }
    }
  }

  /// Forgets who sent sets of which nothing is missing any more.
  package func forgetValueSenders() throws {
    guard try connection.with("SELECT 1 FROM value_senders LIMIT 1", { try $0.step() }) else { return }
    try connection.execute(
      """
      DELETE FROM value_senders WHERE id NOT IN (
        SELECT c.id FROM change_sets c WHERE c.number IN (SELECT number FROM missing_values))
      """)
  }

  /// Returns how many records lack values that nothing erased explains, by the device that sent their sets. The device
  /// is nil for sets of which that is not known. Sorted by device.
  package func missingValueRecords() throws -> [(sender: DeviceKey?, records: Int)] {
    let sql = """
      SELECT s.device, count(DISTINCT m.kind || hex(m.record)) FROM missing_values m
      JOIN change_sets c ON c.number = m.number LEFT JOIN value_senders s ON s.id = c.id
      GROUP BY s.device ORDER BY s.device
      """
    return try connection.with(sql) { row in
      var found: [(sender: DeviceKey?, records: Int)] = []
      while try row.step() { found.append((DeviceKey(bytes: row.bytes(0)), Int(row.integer(1)))) }
      return found
    }
  }
}
