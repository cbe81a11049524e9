public import Platform
import Home
public import Model
package import Reasons
public import Records
import Replication
import Storage
public import Wire

/// The result or the preview of undoing an operation.
public struct UndoSummary: Hashable, Sendable, Codable {
  /// The undo operation, which can itself be undone; nil in a preview.
  public let undo: OperationID?
  /// Whether this is only a preview, so that nothing was written.
  public let isPreview: Bool
  /// The operation to undo.
  package let operation: History.Operation
  /// The id of the operation to undo.
  public var operationID: OperationID { operation.id }
  /// The numbers of records that the undo adds, changes, deletes and restores, by kind.
  public let changes: [RecordCounts]
  /// The records that the undo leaves alone.
  public let left: [LeftAlone]
  /// The conflicts that the operation resolved. They stay resolved, because a conflict whose sides were all seen by a
  /// later change is resolved for good.
  public let resolvedConflicts: [ResolvedConflict]

  private enum CodingKeys: String, CodingKey {
    case undo
    case isPreview = "preview"
    case operation
    case changes
    case left
    case resolvedConflicts
  }

  /// A record that the undo leaves as it is, at least in part: the record was changed since, its former values were
  /// erased, or other records use it. A record is listed once for each of these reasons.
  public struct LeftAlone: Hashable, Sendable, Codable, Identifiable {
    /// The kind of the record.
    public let kind: RecordKind
    public let id: UUID
    /// The name of the record; nil if it has none.
    public let name: String?
    /// Why the record is left alone.
    public let reason: Reason
    /// The names of the fields that were changed since, or whose former values were erased; empty if other records use
    /// the record, or if the operation erased it.
    public let fields: [String]
    /// The records that belong or refer to the record; empty for other reasons.
    public let users: [RecordReference]
    /// The device that changed or erased the record since; nil if other records use the record.
    public let by: DeviceKey?
    /// The name of that device, as shown on this device.
    public let byName: String?
    /// The time of that change or erase, by that device's clock; nil if other records use the record.
    public let time: Date?

    /// Returns the id of the record as that of a record of a kind; nil if the record is of another kind.
    public func id<Owner: Record>(as type: Owner.Type) -> Owner.ID? { Identifier(id, kind) }

    /// Why a record is left alone.
    public enum Reason: String, Hashable, Sendable, Codable {
      /// The record was changed since.
      case changedSince = "changed_since"
      /// The former values of the record were erased.
      case erased
      /// Other records belong or refer to the record.
      case inUse = "in_use"
    }
  }

  /// A conflict that the operation resolved, and that stays resolved after the undo.
  public struct ResolvedConflict: Hashable, Sendable, Codable {
    /// The kind of the record.
    public let kind: RecordKind
    /// The id of the record, which can have several conflicts.
    public let id: UUID
    /// The name of the record; nil if it has none.
    public let name: String?
    /// The field; `life` if the conflict was about a deletion, and nil if it was about the whole record.
    public let field: String?
    /// The value that is displayed after the undo. For a deletion this is the text `deleted` or `alive`.
    public let current: ShownValue
    /// The other values of the conflict, newest first.
    public let others: [Side]

    /// A value that is not displayed.
    public struct Side: Hashable, Sendable, Codable {
      /// The value.
      public let value: ShownValue
      /// The device that wrote the value; nil if the conflict was about a deletion.
      public let device: DeviceKey?
      /// The name of that device, as shown on this device.
      public let deviceName: String?
      /// The command that writes this value again; nil if the value can't be typed.
      package let next: Step?
    }
  }
}
