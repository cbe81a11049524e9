public import Foundation
public import Wire

/// Which records a forced direction is about.
public enum DirectionScope: Hashable, Sendable {
  /// All records.
  case everything
  /// The records of one kind.
  case kind(RecordKind)
  /// A trip and all that belongs to it.
  case trip(UUID)
}

/// What a forced direction would change or has changed.
public struct DirectionSummary: Hashable, Sendable, Codable {
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

extension Node {
  /// What ``mirror(_:_:progress:)`` would change here and, with the next sync, on all devices; writes nothing.
  public func mirrorPreview(
    of peer: DeviceKey, _ scope: DirectionScope = .everything
  ) async throws -> DirectionSummary {
    try await sayingWhy { try await ForcedDirection(from: peer, scope, isPreview: true).run(on: self) }
  }

  /// Makes this device's records, and so the circle's, equal to what a peer holds now.
  ///
  /// A backup is taken first, and the difference is one operation that can be undone. What is edited meanwhile merges
  /// as usual and is reported.
  ///
  /// - Parameters:
  ///   - peer: a connected device of the circle.
  ///   - scope: which records it is about.
  ///   - progress: called on some thread.
  /// - Throws: `WaymarkError` with the code of what is in the way, as `offline`, `free_tier` or `peer_sync_off`;
  ///   `direction_waiting` where it is carried out later, as soon as all that it needs has come.
  @discardableResult
  public func mirror(
    _ peer: DeviceKey, _ scope: DirectionScope = .everything,
    progress: @escaping @Sendable (WorkProgress) -> Void = { _ in }
  ) async throws -> DirectionSummary {
    try await sayingWhy {
      try await ForcedDirection(from: peer, scope, isPreview: false).run(on: self, progress)
    }
  }

  /// What ``assertState(_:progress:)`` would change on the other devices; writes nothing.
  public func assertPreview(_ scope: DirectionScope = .everything) async throws -> DirectionSummary {
    try await sayingWhy { try await ForcedDirection(from: nil, scope, isPreview: true).run(on: self) }
  }

  /// Makes the circle's records equal to what this device holds now; see ``mirror(_:_:progress:)``.
  @discardableResult
  public func assertState(
    _ scope: DirectionScope = .everything, progress: @escaping @Sendable (WorkProgress) -> Void = { _ in }
  ) async throws -> DirectionSummary {
    try await sayingWhy {
      try await ForcedDirection(from: nil, scope, isPreview: false).run(on: self, progress)
    }
  }
}
