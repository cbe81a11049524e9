public import Foundation
public import Wire

/// Which records a forced direction is about.
public enum OverrideScope: Hashable, Sendable {
  /// All records.
  case everything
  /// The records of one kind.
  case kind(RecordKind)
  /// A trip and all that belongs to it.
  case trip(UUID)
}

/// What a forced direction would change or has changed.
public struct OverrideSummary: Hashable, Sendable, Codable {
  /// Whether nothing was written.
  public let isPreview: Bool
  /// The peer whose state is wanted; nil for this device's own.
  public let from: DeviceReference?
  /// The only kind that it is about; nil for all.
  public let only: RecordKind?
  /// The trip that it is about; nil for all records.
  public let trip: UUID?
  /// Whether sync of records is turned on with it.
  public let turnsSyncOn: Bool
  /// What changes of each kind.
  public let kinds: [KindChanges]
  /// What changes, of all kinds together.
  public let total: Total
  /// Records that only another device has: whether they belong to the trip is not known here.
  public let unknown: Int
  /// The peers whose state changes, where it is this device's that is wanted.
  public let peers: [DeviceReference]
  /// The devices that are not there: what only they hold is not taken back.
  public let notAsked: [DeviceReference]
  /// The operation that it became, which can be undone; nil in a preview, or if nothing differed.
  public let operation: OperationID?
  /// The backup that was taken before.
  public let backup: String?
  /// What others have changed meanwhile; it merged as usual.
  public let elsewhere: [Elsewhere]

  /// The records of one kind.
  public struct KindChanges: Hashable, Sendable, Codable {
    /// The kind of the records.
    public let kind: RecordKind
    /// What several of the kind are called.
    public let plural: String
    /// Records that come.
    public let added: Int
    /// Records that become others.
    public let changed: Int
    /// Records that go.
    public let deleted: Int
    /// Records that come back out of the trash.
    public let restored: Int
  }

  /// All kinds together.
  public struct Total: Hashable, Sendable, Codable {
    /// Records that come.
    public let added: Int
    /// Records that become others.
    public let changed: Int
    /// Records that go.
    public let deleted: Int
    /// Records that come back out of the trash.
    public let restored: Int
  }

  /// Records of one kind that others have changed.
  public struct Elsewhere: Hashable, Sendable, Codable {
    /// The kind of the records.
    public let kind: RecordKind
    /// What several of the kind are called.
    public let plural: String
    /// How many of them.
    public let records: Int
  }

  private enum CodingKeys: String, CodingKey {
    case isPreview = "preview"
    case from
    case only
    case trip
    case turnsSyncOn
    case kinds
    case total
    case unknown
    case peers
    case notAsked
    case operation
    case backup
    case elsewhere
  }
}
