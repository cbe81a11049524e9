import Engine
import JSONDocument
import Records
import Replication
import Storage
import Wire

/// `verify --deep [--repair]`: this device's store against its own signed log.
extension Node {
  func verifyDeep(
    _ request: CommandRequest, _ events: @escaping @Sendable (JSON) -> Void
  ) async throws -> JSON {
    guard request.text("peer") == nil else {
      throw WaymarkError.usage(
        "--deep and --repair are about this device alone.",
        next: "\(waymark: "verify --deep"), or \(waymark: "verify PEER")")
    }
    guard !isVerifying else {
      throw WaymarkError.failed(
        .busy, "The store is being verified already.", next: "wait until that is done, then try again")
    }
    _ = try home.storage.directory(for: "A second fold of the log")
    isVerifying = true
    defer { isVerifying = false }
    let check = DeepCheck(home)
    var outcome = DeepOutcome(found: try await check.run(events), home: home, wall: wall())
    try checkOpen()
    for number in outcome.found.damagedSets {
      _ = try store.check(after: number - 1, setsMax: 1, bytesMax: .max)
    }
    turn { $0.repair(now: time) }
    outcome.hasPeers = !otherMembers.isEmpty
    guard request.flag("repair"), outcome.isRepairable else { return outcome.document(request) }
    outcome.backup = try await backUp(before: "repair")
    try checkOpen()
    // Folds the log again into new tables, in one transaction.
    try withRoom { try turn { try $0.rebuild(now: time) } }
    outcome.after = try await check.run(events)
    return outcome.document(request)
  }
}

/// The deep verification of a home, away from the node: it takes a while.
struct DeepCheck: Sendable {
  private let home: Home
  /// The log is folded again in here.
  private var scratch: Home { Home(path: home.scratch) }

  init(_ home: Home) { self.home = home }

  /// - Throws: `WaymarkError`
  func run(_ events: @escaping @Sendable (JSON) -> Void) async throws -> DeepReport {
    do {
      return try await offNode {
        try scratch.discard()
        try scratch.prepare()
        defer { try? scratch.discard() }
        return try DeepVerification.run(storeAt: home.store, scratch: scratch.store) {
          done, total in
          events([
            "type": "progress", "stage": "verifying", "done": .integer(done), "total": .integer(total),
          ])
        }
      }
    } catch  where isNoRoom(error) {
      throw WaymarkError.failed(
        .diskFull,
        "The disk of \(home.path) has no room for folding the log a second time; nothing was changed.",
        next: "make room on it (df -h \(shellWord(home.path))), then try again")
    } catch {
      throw WaymarkError.reading(home, error)
    }
  }

  /// Verifies a store that can't be opened, and makes its tables anew if that is wanted and helps.
  func runClosed(
    _ request: CommandRequest, _ events: @escaping @Sendable (JSON) -> Void
  ) async throws -> DeepOutcome {
    let lock = try HomeLock(home)
    defer { lock.release() }
    var outcome = DeepOutcome(found: try await run(events), home: home, wall: systemWall())
    outcome.isClosed = true
    guard request.flag("repair"), outcome.isRepairable || outcome.isRestorable else { return outcome }
    let present = try PresentStore(home)
    let folder = try home.automaticBackup(before: "repair", at: systemWall(), suffix: "")
    if try !present.keepReadable(home, in: folder, now: systemWall()) { try home.copyStoreFile(to: folder) }
    outcome.backup = folder
    // What is signed is whole, and a restore of the backup that was just written builds the rest of it.
    guard outcome.isRepairable, !outcome.isRestorable else { return outcome }
    do {
      try Store(path: home.store, refolds: true, isLocked: true).rest()
    } catch  where !isNoRoom(error) {
      throw WaymarkError.failed(
        .store, "The store in \(home.path) can't be repaired: \(error).",
        next: home.restoreAdvice(now: systemWall()))
    }
    outcome.after = try await run(events)
    return outcome
  }
}

/// What a deep verification came to, before and after a repair.
struct DeepOutcome: Sendable {
  let found: DeepReport
  var after: DeepReport?
  var backup: String?
  /// Whether there is another device that may have what is damaged here.
  var hasPeers = false
  /// Whether the store was verified without being opened, which it may not be able to be.
  var isClosed = false
  private let home: Home
  private let wall: Moment

  init(found: DeepReport, home: Home, wall: Moment) {
    self.found = found
    self.home = home
    self.wall = wall
  }

  /// Whether all that is signed is there and can be read: a backup of it is complete.
  var isLogWhole: Bool { found.counts[.log] == nil && found.counts[.file] == nil }

  /// Whether folding the log again can mend something, and would lose nothing.
  var isRepairable: Bool {
    found.counts[.log] == nil && (found.counts[.records] != nil || found.counts[.file] != nil)
  }

  /// Whether a restore of a backup of what is signed is what helps.
  var isRestorable: Bool { found.counts[.log] == nil && found.counts[.index] != nil }

  func document(_ request: CommandRequest) -> JSON {
    let now = after ?? found
    return Waymark.document(
      request.command,
      [
        .init("deep", true), .init("ok", .bool(now.isClean)), .init("text", .string(text)),
        .init("next", .text(next(now)?.description)), .init("statements", .integer(found.statements)),
        .init("changeSets", .integer(found.changeSets)), .init("rows", .integer(found.rows)),
        .init("found", .integer(found.counts.values.reduce(0, +))),
        .init("findings", .array(found.findings.map(\.json))),
        .init("mended", after.map { .bool($0.isClean) } ?? .null), .init("backup", .text(backup)),
      ])
  }

  private var text: String {
    let count = found.counts.values.reduce(0, +)
    if found.isClean {
      return "\(found.changeSets) change sets and \(found.statements) statements verified, "
        + "\(found.rows) rows equal to the log"
    }
    guard let after else {
      return count == 1 ? "1 difference from the signed log" : "\(count) differences from the signed log"
    }
    if after.isClean { return "mended: the tables were made anew from the log (\(count) found before)" }
    return "not all is mended: \(after.counts.values.reduce(0, +)) of \(count) remain"
  }

  /// What helps, by the worst that was found.
  private func next(_ report: DeepReport) -> Step? {
    if let count = report.counts[.log] {
      let restoring = home.restoreAdvice(now: wall)
      // Other devices send again what is damaged; what is missing or forged they can't.
      return hasPeers && count == report.damagedSets.count
        ? "\(waymark: "run"), until a device that has the damaged change sets connects; if none does, \(restoring)"
        : restoring
    }
    let isRepaired = after != nil
    if isClosed, isRestorable {
      return backup == nil ? .waymark("verify --deep --repair") : home.restoreAdvice(now: wall)
    }
    if report.counts[.index] != nil || isRepaired && !report.isClean {
      return
        "\(waymark: "backup FILE"), then \(waymark: "restore FILE"): that builds everything from what is signed"
    }
    return report.isClean ? nil : .waymark("verify --deep --repair")
  }
}

extension DeepFinding {
  fileprivate var json: JSON {
    [
      "place": .string(place.rawValue), "kind": .text(record.map { RecordKind($0.kind).rawValue }),
      "id": .text(record?.id.uuid), "name": .text(title), "fields": .array(fields.map(JSON.string)),
      "text": .string(text),
    ]
  }
}
