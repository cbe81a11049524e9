public import Foundation
import Records
import Replication
import Storage
public import Wire

/// What undoing an operation would do or has done.
public struct UndoSummary: Hashable, Sendable, Codable {
  /// The operation that undoes it, which can be undone in turn; nil in a preview.
  public let undo: OperationID?
  /// Whether nothing was written.
  public let isPreview: Bool
  /// The operation that is undone.
  public let operation: History.Operation
  /// What it writes, by kind.
  public let changes: [RecordCounts]
  /// What it leaves alone.
  public let left: [LeftAlone]

  private enum CodingKeys: String, CodingKey {
    case undo
    case isPreview = "preview"
    case operation
    case changes
    case left
  }

  /// A record of the operation that undoing leaves as it is, because that would take something from somebody.
  public struct LeftAlone: Hashable, Sendable, Codable, Identifiable {
    /// The kind of the record.
    public let kind: RecordKind
    public let id: UUID
    /// What it is called.
    public let name: String?
    /// Why it is left alone.
    public let reason: Reason
    /// The fields that were changed since.
    public let fields: [String]
    /// The records that use it, or belong to it.
    public let users: [RecordReference]
    /// Who changed it since.
    public let by: DeviceKey?
    /// What that device is called here.
    public let byName: String?
    /// When it was changed.
    public let time: Date?

    /// Why a record is left alone.
    public enum Reason: String, Hashable, Sendable, Codable {
      /// Somebody has changed it since.
      case changedSince = "changed_since"
      /// Others have come to use it, or gave it what belongs to it.
      case inUse = "in_use"
    }
  }
}

/// A large deletion by another device that nobody has undone or acknowledged.
public struct MassDelete: Hashable, Sendable, Identifiable {
  /// Undoes it with ``Node/undo(_:isForced:)``.
  public let operation: OperationID
  /// Who deleted.
  public let device: DeviceKey
  /// What that device is called here.
  public let deviceName: String
  /// When, by the clock of who deleted.
  public let time: Date
  /// The kinds that lost much, the largest first.
  public let losses: [Loss]

  public var id: OperationID { operation }

  /// What was deleted of one kind.
  public struct Loss: Hashable, Sendable, Codable {
    /// The kind of the records.
    public let kind: RecordKind
    /// How many were deleted.
    public let deleted: Int
    /// How many there were.
    public let before: Int

    private enum CodingKeys: String, CodingKey {
      case kind
      case deleted = "count"
      case before = "of"
    }
  }
}

extension Node {
  /// What undoing an operation would do, and what it would leave alone; writes nothing.
  public func undoPreview(of operation: OperationID) async throws -> UndoSummary {
    try await undo(.operation(operation.description), isPreview: true)
  }

  /// Takes back what an operation wrote, of this device or another, as far as it still shows.
  ///
  /// What was changed since, or others have come to use, is left alone and listed. To undo an undo brings the
  /// operation back.
  ///
  /// - Parameters:
  ///   - operation: of this device or another.
  ///   - isForced: takes back also what would be left alone.
  /// - Throws: `WaymarkError` with the code `not_found`, `nothing_to_undo`, or `needs_yes` where all of it would be
  ///   left alone.
  @discardableResult
  public func undo(_ operation: OperationID, isForced: Bool = false) async throws -> UndoSummary {
    try await undo(.operation(operation.description), isForced: isForced)
  }

  /// What ``undoNewest(isForced:)`` would do; writes nothing.
  public func undoNewestPreview() async throws -> UndoSummary { try await undo(.newest, isPreview: true) }

  /// Takes back the newest operation of this device that counts and is no undo itself: again and again, it goes back
  /// step by step.
  @discardableResult
  public func undoNewest(isForced: Bool = false) async throws -> UndoSummary {
    try await undo(.newest, isForced: isForced)
  }

  package func undo(
    _ target: UndoTarget, isForced: Bool = false, isPreview: Bool = false
  ) async throws -> UndoSummary {
    try await sayingWhy {
      try await inSlices { pace in
        let undoer = Undoer(history: historyReader, isForced: isForced) { self.wall() }
        let (operation, plan) = try await undoer.plan(target, pace)
        if plan.change.drafts.isEmpty, !isPreview { throw try undoer.nothingToUndo(operation, plan) }
        var undo: OperationID?
        if !isPreview {
          undo = try write(
            Operation.undoVerb, target: operation.key.id, plan.change.drafts,
            leastClock: plan.change.leastClock)
        }
        return try undoer.summary(operation, plan, undo: undo, isPreview: isPreview)
      }
    }
  }

  // MARK: Large deletions

  /// Operations of other devices that deleted more than a quarter of a kind, until they are undone or acknowledged.
  public func massDeletes() throws -> [MassDelete] { try read(.massDeletes) }

  /// The deletions were meant: says no more of them.
  public func acknowledgeMassDeletes() throws { try sayingWhy { try acknowledgeDeletions() } }
}

extension MassDelete {
  init(_ tally: MassDeletes.Tally, deviceName: String) {
    self.init(
      operation: tally.operation, device: tally.device, deviceName: deviceName,
      time: Date(milliseconds: tally.time),
      losses: tally.large.map { kind, count in
        Loss(kind: RecordKind(kind), deleted: count.deleted, before: count.before)
      })
  }
}
