public import Foundation
public import Model
public import Records
import Replication
import Storage
public import Wire

/// The result of undoing an operation, or its preview.
public struct UndoSummary: Hashable, Sendable, Codable {
  /// The undo operation, which can be undone in turn; nil in a preview.
  public let undo: OperationID?
  /// Whether this is a preview, so that nothing was written.
  public let isPreview: Bool
  /// The operation to undo.
  public let operation: History.Operation
  /// The records that are written, by kind.
  public let changes: [RecordCounts]
  /// The records that are left alone.
  public let left: [LeftAlone]

  private enum CodingKeys: String, CodingKey {
    case undo
    case isPreview = "preview"
    case operation
    case changes
    case left
  }

  /// A record that undoing leaves as it is, because others have changed or use it.
  public struct LeftAlone: Hashable, Sendable, Codable, Identifiable {
    /// The kind of the record.
    public let kind: RecordKind
    public let id: UUID
    /// The name of the record.
    public let name: String?
    /// Why it is left alone.
    public let reason: Reason
    /// The fields that were changed since.
    public let fields: [String]
    /// The records that belong to it or refer to it.
    public let users: [RecordReference]
    /// The device that changed it since.
    public let by: DeviceKey?
    /// The local name of that device.
    public let byName: String?
    /// The time of that change.
    public let time: Date?

    /// Why a record is left alone.
    public enum Reason: String, Hashable, Sendable, Codable {
      /// It was changed since.
      case changedSince = "changed_since"
      /// Other records belong to it or refer to it.
      case inUse = "in_use"
    }
  }
}
