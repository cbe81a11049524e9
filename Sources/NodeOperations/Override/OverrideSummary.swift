public import Model
public import Records
public import Wire

/// The records that an override applies to.
public enum OverrideScope: Hashable, Sendable {
  /// All records.
  case everything
  /// The records of one kind.
  case kind(RecordKind)
  /// A trip and everything that belongs to it.
  case trip(Trip.ID)
}

/// The preview or the result of an override.
public struct OverrideSummary: Hashable, Sendable, Codable {
  /// Whether this is a preview.
  public let isPreview: Bool
  /// The peer whose state is taken; nil if this device's state is taken.
  public let from: DeviceReference?
  /// The kind that the override is limited to; nil for all kinds.
  public let only: RecordKind?
  /// The trip that the override is limited to; nil for all records.
  public let trip: Trip.ID?
  /// Whether the override also turns on sync of records.
  public let turnsSyncOn: Bool
  /// The changes by kind.
  public let kinds: [KindChanges]
  /// The changes of all kinds together.
  public let total: Total
  /// The number of records that only another device has, so that this device can't tell whether they belong to the
  /// trip.
  public let unknown: Int
  /// The peers whose state changes; empty if this device's state changes.
  public let peers: [DeviceReference]
  /// The devices that could not be asked, usually because they were not connected. Changes that only they hold are not
  /// reverted.
  public let notAsked: [DeviceReference]
  /// The operation that was written, which can be undone; nil in a preview, or if nothing differed.
  public let operation: OperationID?
  /// The path of the backup taken beforehand; nil if none was taken.
  public let backup: String?
  /// The records that other devices changed concurrently; those changes merged as usual.
  public let elsewhere: [Elsewhere]

  /// The numbers of changed records of one kind.
  public struct KindChanges: Hashable, Sendable, Codable {
    /// The kind of the records.
    public let kind: RecordKind
    /// The plural name of the kind.
    public let plural: String
    /// The number of records added.
    public let added: Int
    /// The number of records changed.
    public let changed: Int
    /// The number of records deleted.
    public let deleted: Int
    /// The number of records restored from the trash.
    public let restored: Int
  }

  /// The numbers of changed records of all kinds together.
  public struct Total: Hashable, Sendable, Codable {
    /// The number of records added.
    public let added: Int
    /// The number of records changed.
    public let changed: Int
    /// The number of records deleted.
    public let deleted: Int
    /// The number of records restored from the trash.
    public let restored: Int
  }

  /// The number of records of one kind that other devices changed concurrently.
  public struct Elsewhere: Hashable, Sendable, Codable {
    /// The kind of the records.
    public let kind: RecordKind
    /// The plural name of the kind.
    public let plural: String
    /// The number of records.
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
