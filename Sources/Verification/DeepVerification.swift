// Sources/store.md, "Verifying"

import LogStorage
import Membership
import RecordTables
import Replication
package import SQLite
import Storage
import Wire

/// Compares a store with its signed log: verifies every signature, replays the log into a second store, and compares
/// the two row by row.
///
/// The replay keeps the number of each set, so that rows which refer to sets can be compared directly. The numbers
/// themselves depend on when sets and cuts arrived, and any numbering that the rules allow is correct: see
/// `LogReplay`.
///
/// The verification reads one snapshot of the store over a read-only connection.
package struct DeepVerification {
  private let source: Connection
  private var replay: LogReplay
  private var report = DeepReport()
  private let progress: (_ done: Int64, _ total: Int64) -> Void
  private var circle: Circle?

  /// - Parameters:
  ///   - path: the path of the store, which another process may have open.
  ///   - scratch: the path of a file that does not exist yet and that the caller removes.
  /// - Throws: `StoreError.formerFormat` if the store holds change sets of format 1.
  package static func run(
    storeAt path: String, scratch: String,
    progress: @escaping (_ done: Int64, _ total: Int64) -> Void = { _, _ in }
  ) throws -> DeepReport {
    let source = try Connection(.existingFileReadOnly(path))
    try source.setUpReadOnly()
    var verification = DeepVerification(
      source, scratch: try Store.scratch(path: scratch, adding: Store.apps(in: source)), progress: progress)
    return try source.snapshot { try verification.run() }
  }

  /// Runs the verification for a store on a virtual file system instead of the machine's. The second store is in
  /// memory.
  package static func run(on files: any VirtualFileSystem, path: String) throws -> DeepReport {
    let source = try Connection(on: files, path, isReadOnly: true)
    try source.setUpReadOnly()
    var verification = DeepVerification(
      source, scratch: try Store.inMemory(adding: Store.apps(in: source)),
      progress: { _, _ in })
    return try source.snapshot { try verification.run() }
  }

  private init(_ source: Connection, scratch: Store, progress: @escaping (Int64, Int64) -> Void) {
    self.source = source
    self.progress = progress
    replay = LogReplay(into: scratch)
  }

  private mutating func run() throws -> DeepReport {
    do {
      try checkFile()
      _ = try Store.schemaVersion(source)
      report.schema = replay.store.schema
      try checkStatements()
      try checkLog()
      // The tables can be compared only if the log is complete.
      if report.counts[.log] == nil {
        try TableComparison(source, replay.store, setCount: report.changeSets).run(&report)
      }
    } catch let error as SQLiteError where error.isDamage {
      report.note(.file, error.message)
    } catch let error as SQLiteError where error.isMissing {
      // Only the tables with signed data are named in queries, so it is one of them that is missing.
      report.note(.log, error.message)
    }
    return report
  }

  // MARK: The file

  private mutating func checkFile() throws {
    try source.with("PRAGMA integrity_check(\(DeepReport.listedMax))") { row in
      while try row.step() {
        let text = row.text(0)
        if text != "ok" { report.note(.file, text) }
      }
    }
  }

  // MARK: Statements

  private mutating func checkStatements() throws {
    var statements: [Membership.Statement] = []
    try source.with("SELECT id, bytes FROM statements ORDER BY id") { row in
      while try row.step() {
        report.statements += 1
        let name = "statement \(hexadecimal(row.bytes(0).prefix(4)))"
        guard let statement = try? Membership.Statement(row.bytes(1)) else {
          report.note(.log, "\(name) has an invalid signature")
          continue
        }
        if statement.id.bytes != row.bytes(0) {
          report.note(.log, "\(name) is stored under the id of another statement")
        }
        statements.append(statement)
      }
    }
    do { circle = try Circle(statements: statements) } catch {
      report.note(.log, "the statements do not belong to one circle")
    }
  }

  // MARK: Log

  private mutating func checkLog() throws {
    let total = try source.with("SELECT count(*) FROM change_sets") { try $0.step() ? $0.integer(0) : 0 }
    // The replay uses the cuts that the store has applied, not those of its statements. Some statements may have
    // arrived a moment ago, and their cuts are applied only at the next step or the next start.
    let cuts = AppliedCuts(stored: try MetaTable.bytes(AppliedCuts.key, source))
    try replay.begin(HeldErases.sets(source)) { cuts[$0] }
    var batch: [LogReplay.Row] = []
    let sql = "SELECT number, folded, \(RawChangeSet.columns) FROM change_sets ORDER BY number"
    try source.with(sql) { row in
      while try row.step() {
        let number = row.integer(0)
        report.changeSets += 1
        if number != report.changeSets {
          if report.counts[.log] == nil { report.note(.log, "change set \(report.changeSets) is missing") }
          continue
        }
        guard let set = verified(RawChangeSet(row, at: 2), number) else { continue }
        let isFolded = row.integer(1) == FoldState.folded.rawValue
        if isFolded { report.erasedValues += set.body.slots.missingCount }
        batch.append(LogReplay.Row(number: number, isFolded: isFolded, set: set))
        if batch.count == Self.batchMax {
          try replayRows(&batch)
          progress(report.changeSets, total)
        }
      }
    }
    try replayRows(&batch)
    if report.counts[.log] == nil { try replay.finish(&report) }
    // What no erase explains after the whole log was folded is missing.
    report.missingValues = try replay.store.missingSlotCount
    report.erasedValues -= min(report.missingValues, report.erasedValues)
    progress(total, total)
  }

  private mutating func replayRows(_ batch: inout [LogReplay.Row]) throws {
    // After the first defect in the log, nothing more can be compared.
    if report.counts[.log] == nil { try replay.append(batch, &report) }
    batch.removeAll(keepingCapacity: true)
  }

  private mutating func verified(_ raw: RawChangeSet, _ number: Int64) -> VerifiedChangeSet? {
    let set: VerifiedChangeSet
    do throws(ChangeSetError) {
      set = try VerifiedChangeSet(verifying: raw)
    } catch {
      // The signature has been verified before the values are compared with their commitments.
      let areValuesDamaged = error == .valuesMismatch
      report.note(
        .log, "change set \(number) has \(areValuesDamaged ? "damaged values" : "an invalid signature")")
      if areValuesDamaged { report.damagedValues.append(number) }
      report.damagedSets.append(number)
      return nil
    }
    guard let circle else { return nil }
    guard set.header.circle == circle.id else {
      report.note(.log, "change set \(number) belongs to another circle")
      return nil
    }
    guard circle.evaluation.admission(of: set.header.log) != .unknownDevice else {
      report.note(.log, "change set \(number) was written by a device without a certificate")
      return nil
    }
    return set
  }

  private static let batchMax = 1_000
}
