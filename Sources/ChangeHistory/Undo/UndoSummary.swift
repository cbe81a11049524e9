public import Foundation
public import Model
public import Records
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
