public import Foundation
import JSONDocument
import Storage
public import Wire

/// A file with all that a device holds of the circle, without keys.
public struct Backup: Hashable, Sendable, Codable {
  /// The path of the file.
  public let file: String
  /// The size of the file.
  public let bytes: Int
  /// How many change sets are in it.
  public let changeSets: Int
  /// Visible records.
  public let records: Int
  /// When it was made.
  public let created: Date
  /// How many change sets the disk has damaged: they can't be restored from it.
  public let damaged: Int
  /// What is damaged, as a sentence for people.
  public let text: String?
}

extension Node {
  /// Writes all that this device holds of the circle to one file, while the node goes on.
  ///
  /// - Parameters:
  ///   - file: where the backup goes.
  ///   - overwrites: whether a file that is there is replaced, and damaged change sets are left out.
  ///   - progress: called on some thread.
  /// - Throws: `WaymarkError` with the code `file`, `disk_full`, or `needs_yes` if the file is there, or the
  ///   disk has damaged change sets.
  @discardableResult
  public func backUp(
    to file: URL, overwrites: Bool = false, progress: @escaping @Sendable (WorkProgress) -> Void = { _ in }
  ) async throws -> Backup {
    try await backUp(to: file.path(percentEncoded: false), overwrites: overwrites) { done, _ in
      progress(done)
    }
  }

  /// - Parameter progress: also hears the file; called on some thread.
  package func backUp(
    to path: String, overwrites: Bool, _ progress: @escaping @Sendable (WorkProgress, _ file: String) -> Void
  ) async throws -> Backup {
    try await sayingWhy {
      let path = try BackupTarget.check(path, home, overwrites: overwrites)
      let records = try store.visibleCounts().values.reduce(0, +)
      let created = wall()
      let summary = try await backUp(to: path, overwrites: overwrites, allowsDamage: overwrites) {
        done, total in
        progress(WorkProgress(stage: "writing", done: Int(clamping: done), total: Int(clamping: total)), path)
      }
      let damaged = summary.damaged
      return Backup(
        file: path, bytes: Int(clamping: summary.bytes), changeSets: Int(clamping: summary.changeSets),
        records: records, created: Date(milliseconds: created), damaged: damaged.count,
        text: damaged.isEmpty
          ? nil
          : "\(plural(damaged.count, "change set")) that the disk has damaged (\(deviceNames.list(damaged))) "
            + "can't be restored from it, the rest can: waymark restore --partial")
    }
  }
}

/// Where a person wants a backup.
private enum BackupTarget {
  /// Refuses in words what can't become a backup, before any work is done; gives where it goes.
  static func check(_ path: String, _ home: Home, overwrites: Bool) throws -> String {
    try OutputFile.checkName(path)
    let parent = parentFolder(of: path)
    guard Files.isDirectory(parent) else {
      throw WaymarkError.failed(
        "file", "There is no folder \(parent) for the backup.",
        next: "mkdir -p \(shellWord(parent)), or name another place")
    }
    let target = try OutputFile(path, in: home, except: home.backups, overwrites: overwrites)
    guard !Files.exists(path) || Files.isRegular(path) else {
      throw WaymarkError.failed(
        "file", "\(path) is a device; a backup is a file.",
        next: "waymark backup \(shellWord("laptop.waymark"))")
    }
    return target.path
  }
}

/// What a restore did or would do.
public struct RestoreSummary: Hashable, Sendable, Decodable {
  /// Whether nothing was changed.
  public let isPreview: Bool
  /// The path of the backup.
  public let file: String
  /// When the backup was made.
  public let created: Date
  /// The device that made it.
  public let from: String
  /// The circle of the store afterwards.
  public let circle: CircleID
  /// Whether the circle was founded for it.
  public let isNewCircle: Bool
  /// What this device is afterwards; nil in a preview that would make new keys.
  public let device: DeviceKey?
  /// What this device is called.
  public let name: String
  /// Whether this device gets new keys.
  public let hasNewKeys: Bool
  /// Whether the circle has these keys; otherwise the device joins with a ticket, or the root key, and until then
  /// can only look.
  public let isAdmitted: Bool
  /// How many change sets are in the restored store.
  public let changeSets: Int
  /// Change sets of the backup that are damaged and missing in the restored store.
  public let missing: Int
  /// How many records are visible in it.
  public let records: Int
  /// Change sets of the present store that are not in the backup; nil if that can't be known.
  public let setAside: Int?
  /// Where the present store went, or would go.
  public let keptAt: String?
  /// What is set aside, as a sentence for people.
  public let text: String?

  private enum CodingKeys: String, CodingKey {
    case isPreview = "preview"
    case file
    case created
    case from
    case circle
    case isNewCircle = "newCircle"
    case device
    case name
    case hasNewKeys = "newKeys"
    case isAdmitted = "admitted"
    case changeSets
    case missing
    case records
    case setAside
    case keptAt
    case text
  }
}

extension Restoring {
  /// - Parameters:
  ///   - home: what is brought back; it may be empty, or hold another store.
  ///   - backup: a file that ``Node/backUp(to:overwrites:progress:)`` wrote.
  ///   - name: what this device is called if it gets new keys.
  ///   - rootKey: the circle's root key, to take new keys in at once.
  ///   - foundsCircle: founds a new circle, and writes the visible records again there.
  ///   - isPartial: restores what is intact of a backup with damaged change sets.
  public init(
    home: Home, backup: URL, name: String, rootKey: URL? = nil, foundsCircle: Bool = false,
    isPartial: Bool = false
  ) {
    var order = Order(file: backup.path(percentEncoded: false), name: name)
    order.rootKey = rootKey?.path(percentEncoded: false)
    order.foundsCircle = foundsCircle
    order.isPartial = isPartial
    self.init(home: home, order: order)
  }

  /// What it would do; everything is verified as in earnest, and nothing changed.
  ///
  /// - Parameter progress: called on some thread.
  /// - Throws: `WaymarkError` with the code `not_a_backup`, `damaged_backup`, `newer_backup` or `store_held`.
  public func preview(
    progress: @escaping @Sendable (WorkProgress) -> Void = { _ in }
  ) async throws -> RestoreSummary {
    try await perform(isConfirmed: false, isPreview: true, events: WorkProgress.events(progress)).decoded()
  }

  /// Brings the home back. No node may have it open.
  ///
  /// - Parameters:
  ///   - isConfirmed: whether the person agrees to set aside what only the present store holds.
  ///   - progress: called on some thread.
  /// - Throws: `WaymarkError` as ``preview(progress:)``, and with the code `needs_yes` where that is so.
  @discardableResult
  public func restore(
    isConfirmed: Bool = false, progress: @escaping @Sendable (WorkProgress) -> Void = { _ in }
  ) async throws -> RestoreSummary {
    try await perform(isConfirmed: isConfirmed, events: WorkProgress.events(progress)).decoded()
  }
}

extension WorkProgress {
  init?(_ json: JSON) {
    guard json["type"]?.string == "progress", let stage = json["stage"]?.string else { return nil }
    func count(_ key: String) -> Int { json[key]?.integer.map { Int(clamping: $0) } ?? 0 }
    self.init(stage: stage, done: count("done"), total: count("total"))
  }

  /// Hears of events what is progress.
  static func events(_ progress: @escaping @Sendable (WorkProgress) -> Void) -> @Sendable (JSON) -> Void {
    { event in if let event = WorkProgress(event) { progress(event) } }
  }
}
