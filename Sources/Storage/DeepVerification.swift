// Protocol/store.md, "Verifying"

import Membership
import Replication
package import SQLite
package import Wire

/// Compares a store with what its signed log says: verifies every signature, folds the log into a second store,
/// and compares the two row by row.
///
/// Works on one state of the store, whatever is committed meanwhile, over a connection that only reads.
package struct DeepVerification {
  private let source: Connection
  private let scratch: Store
  private var report = DeepReport()
  private let progress: (_ done: Int64, _ total: Int64) -> Void
  private var circle: Circle?
  private let device: DeviceKey?

  /// - Parameters:
  ///   - path: the store; its owner may have it open.
  ///   - device: whose store it is; what is out of the circle keeps its own logs.
  ///   - scratch: a file that is not there yet, and that the caller removes.
  package static func run(
    storeAt path: String, of device: DeviceKey? = nil, scratch: String,
    progress: @escaping (_ done: Int64, _ total: Int64) -> Void = { _, _ in }
  ) throws -> DeepReport {
    let source = try Connection(.existingFileReadOnly(path))
    try source.setUpReadOnly()
    var verification = DeepVerification(
      source: source, device: device, scratch: try Store.scratch(path: scratch), progress: progress)
    return try source.snapshot { try verification.run() }
  }

  /// The same for a store in a file system in memory.
  package static func run(on volume: Volume, path: String, of device: DeviceKey? = nil) throws -> DeepReport {
    let source = try Connection(on: volume, path, isReadOnly: true)
    try source.setUpReadOnly()
    var verification = DeepVerification(
      source: source, device: device, scratch: try Store.inMemory(), progress: { _, _ in })
    return try source.snapshot { try verification.run() }
  }

  private init(
    source: Connection, device: DeviceKey?, scratch: Store, progress: @escaping (Int64, Int64) -> Void
  ) {
    self.source = source
    self.device = device
    self.scratch = scratch
    self.progress = progress
  }

  private mutating func run() throws -> DeepReport {
    do {
      try checkFile()
      try checkStatements()
      try checkLog()
      // Tables can be compared with the log only if that is whole.
      if report.counts[.log] == nil {
        try TableComparison(source, scratch.connection, setCount: report.changeSets).run(&report)
      }
    } catch let error as SQLiteError where error.isDamage {
      report.note(.file, error.message)
    } catch let error as SQLiteError where error.isMissing {
      // Only the tables of what is signed are read by name.
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
          report.note(.log, "\(name): its signature does not hold")
          continue
        }
        if statement.id.bytes != row.bytes(0) {
          report.note(.log, "\(name): another statement stands in its place")
        }
        statements.append(statement)
      }
    }
    do {
      let circle = try Circle(statements: statements)
      let (evaluation, device) = (circle.evaluation, device)
      _ = try scratch.admit(
        by: { log in device.map { evaluation.admission(of: log, at: $0) } ?? evaluation.admission(of: log) },
        horizon: .zero)
      self.circle = circle
    } catch {
      report.note(.log, "the statements are not those of one circle")
    }
  }

  // MARK: Log

  private struct Row {
    let number: Int64
    let isFolded: Bool
    let set: VerifiedChangeSet
  }

  private mutating func checkLog() throws {
    let total = try source.with("SELECT count(*) FROM change_sets") { try $0.step() ? $0.integer(0) : 0 }
    var run: [Row] = []
    try source.with("SELECT number, folded, header, signature, body FROM change_sets ORDER BY number") {
      row in
      while try row.step() {
        let number = row.integer(0)
        report.changeSets += 1
        if number != report.changeSets {
          if report.counts[.log] == nil { report.note(.log, "change set \(report.changeSets) is missing") }
          continue
        }
        let raw = RawChangeSet(header: row.bytes(2), signature: row.bytes(3), body: row.bytes(4))
        guard let set = verified(raw, number) else { continue }
        let isFolded = row.integer(1) != 0
        if run.count == Self.runMax || run.last.map({ $0.isFolded != isFolded }) ?? false {
          try fold(&run)
          progress(report.changeSets, total)
        }
        run.append(Row(number: number, isFolded: isFolded, set: set))
      }
    }
    try fold(&run)
    progress(total, total)
  }

  private mutating func verified(_ raw: RawChangeSet, _ number: Int64) -> VerifiedChangeSet? {
    guard let set = try? VerifiedChangeSet(verifying: raw) else {
      report.note(.log, "change set \(number): its signature does not hold")
      report.damagedSets.append(number)
      return nil
    }
    guard let circle else { return nil }
    guard set.header.circle == circle.id else {
      report.note(.log, "change set \(number) is of another circle")
      return nil
    }
    guard circle.evaluation.admission(of: set.header.log) != .unknownDevice else {
      report.note(.log, "change set \(number) is by a device that no certificate names")
      return nil
    }
    return set
  }

  /// Folds consecutive sets that are all folded in the store, or all parked.
  private mutating func fold(_ run: inout [Row]) throws {
    defer { run.removeAll(keepingCapacity: true) }
    guard let first = run.first, report.counts[.log] == nil else { return }
    let newest = run.map(\.set.header.clock).max() ?? .zero
    let horizon = first.isFolded ? newest : .zero
    let placements = try scratch.commit(run.map(\.set), horizon: horizon).placements
    for (row, placement) in zip(run, placements) {
      if case .place = placement { continue }
      report.note(.log, "change set \(row.number) builds on one that is not there")
    }
  }

  private static let runMax = 1_000
}
