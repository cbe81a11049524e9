// Protocol/files.md, "What a device keeps"

package import FileFormat
package import Records
package import Replication
package import Wire

/// What names a file.
package enum FileNaming: Hashable, Sendable {
  /// A visible record, or a sibling of one of its fields.
  case shown
  /// Only deleted records, of which the last was deleted at this time.
  case trash(deletedAt: Moment)
  /// Nothing: no record has named the file, or the records were erased.
  case nothing
}

/// How long the files of deleted records are kept.
package enum TrashRetention: Hashable, Sendable {
  case days(Int)
  /// The files of deleted records are never freed.
  case forever

  package static let standard = TrashRetention.days(30)

  /// The key of the setting, which applies to all devices.
  package static let settingKey = "trashDays"

  /// Reads the value of the setting: a whole number of days, or the text `never`. Returns nil for any other value.
  package init?(_ value: Value) {
    switch value {
    case .integer(let days) where (1...Int64(Limits.trashDaysMax)).contains(days): self = .days(Int(days))
    case .text("never"): self = .forever
    default: return nil
    }
  }
}

/// A complete file, as far as it matters for the decision whether to keep it.
package struct KeptFile: Hashable, Sendable {
  package let file: FileReference
  /// When the file was last added, received or read, by the wall clock.
  package let usedAt: Moment
  /// Whether another member has said that it has the file and keeps all files, after this device last stopped keeping
  /// all files.
  package let hasKeeper: Bool

  package init(file: FileReference, usedAt: Moment, hasKeeper: Bool) {
    self.file = file
    self.usedAt = usedAt
    self.hasKeeper = hasKeeper
  }
}

/// How many bytes of each device's files are fetched without being asked for.
package struct FileQuotas {
  private let authors: [FileReference: [DeviceKey]]
  private let quotas: [DeviceKey: UInt64]
  /// The size of the files of each device that are here or on their way.
  private var used: [DeviceKey: UInt64]
  /// The devices of which files exceed the quota.
  package private(set) var exceeded: Set<DeviceKey> = []

  /// - Parameters:
  ///   - files: the files that are named, by the device whose write names them.
  ///   - isUsed: whether a file is here or on its way.
  ///   - quota: how many bytes the files of a device may have; nil if there is no limit.
  package init(
    _ files: [DeviceKey: Set<FileReference>], isUsed: (FileReference) -> Bool, quota: (DeviceKey) -> UInt64?
  ) {
    var authors: [FileReference: [DeviceKey]] = [:]
    for (device, named) in files { for file in named { authors[file, default: []].append(device) } }
    self.authors = authors
    quotas = files.keys.reduce(into: [:]) { $0[$1] = quota($1) }
    used = files.mapValues { named in named.reduce(0) { $0 + (isUsed($1) ? UInt64($1.size) : 0) } }
  }

  /// Returns whether a file may be fetched: at least one device that names it has room for it. If so, it counts from now
  /// on.
  package mutating func admits(_ file: FileReference) -> Bool {
    let size = UInt64(file.size)
    let devices = authors[file] ?? []
    let isAdmitted = devices.contains { device in
      guard let quota = quotas[device] else { return true }
      return size <= quota && used[device, default: 0] <= quota - size
    }
    if isAdmitted {
      for device in devices { used[device, default: 0] += size }
    } else {
      exceeded.formUnion(devices)
    }
    return isAdmitted
  }
}

/// Which files to fetch, to drop and to free.
package enum FileDecision {
  /// Whether a file is to be deleted here because its records are gone. Every device decides this for itself.
  package static func isFreed(_ naming: FileNaming, _ retention: TrashRetention, now: Moment) -> Bool {
    switch (naming, retention) {
    case (.shown, _), (.trash, .forever): false
    case (.nothing, _): true
    // A deletion dated in the future counts from then on.
    case (.trash(let deletedAt), .days(let days)): now >= deletedAt + Moment(days) * millisecondsPerDay
    }
  }

  /// When the next file of the trash is to be freed; nil if never.
  package static func nextFreed(_ deletedAt: Moment?, _ retention: TrashRetention) -> Moment? {
    guard let deletedAt, case .days(let days) = retention else { return nil }
    return deletedAt + Moment(days) * millisecondsPerDay
  }

  /// Whether to fetch a file that a record names and that is not here.
  ///
  /// - Parameters:
  ///   - isAskedFor: whether a person waits for the file.
  ///   - keptBytes: the size of all files that are here or on their way.
  package static func isFetched(
    _ file: FileReference, _ naming: FileNaming, _ policy: FileKeepPolicy, isAskedFor: Bool, keptBytes: Int
  ) -> Bool {
    if isAskedFor { return naming != .nothing }
    // What is in the trash is fetched only on request, because most of it will be freed.
    guard naming == .shown else { return false }
    return switch policy {
    case .all: true
    case .onDemand: false
    case .upTo(let bytes): keptBytes <= bytes - file.size
    }
  }

  /// Returns the files to drop, although records name them, in the order in which to drop them. Only files that another
  /// device keeps are dropped.
  package static func dropped(_ files: [KeptFile], _ policy: FileKeepPolicy, now: Moment) -> [FileReference] {
    let droppable = files.filter(\.hasKeeper).sorted { ($0.usedAt, $0.file) < ($1.usedAt, $1.file) }
    switch policy {
    case .all: return []
    case .onDemand:
      return droppable.filter { now >= $0.usedAt + Limits.fileIdleMilliseconds }.map(\.file)
    case .upTo(let bytes):
      var excess = files.reduce(0) { $0 + $1.file.size } - bytes
      var dropped: [FileReference] = []
      for file in droppable where excess > 0 && file.file.size > 0 {
        dropped.append(file.file)
        excess -= file.file.size
      }
      return dropped
    }
  }

  private static let millisecondsPerDay: Moment = 86_400_000
}
