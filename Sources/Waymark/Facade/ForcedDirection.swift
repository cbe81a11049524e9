public import Foundation
import JSONDocument
public import Wire

/// Which records a forced direction is about.
public enum DirectionScope: Hashable, Sendable {
  /// All records.
  case everything
  /// The records of one kind.
  case kind(RecordKind)
  /// A trip and all that belongs to it.
  case trip(UUID)

  fileprivate var arguments: JSON {
    switch self {
    case .everything: [:]
    case .kind(let kind): ["only": .string(kind.rawValue)]
    case .trip(let id): ["trip": .id(id)]
    }
  }
}

/// What a forced direction would change or has changed.
public struct DirectionSummary: Hashable, Sendable, Decodable {
  /// Whether nothing was written.
  public let isPreview: Bool
  /// The peer whose state is wanted; nil for this device's own.
  public let from: DeviceReference?
  /// Whether sync of records is turned on with it.
  public let turnsSyncOn: Bool
  /// What changes of each kind.
  public let kinds: [RecordCounts]
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

  /// All kinds together.
  public struct Total: Hashable, Sendable, Decodable {
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
  public struct Elsewhere: Hashable, Sendable, Decodable {
    /// The kind of the records.
    public let kind: RecordKind
    /// How many of them.
    public let records: Int
  }

  private enum CodingKeys: String, CodingKey {
    case isPreview = "preview"
    case from
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
    try await direct("mirror", peer, scope, ["preview": true]) { _ in }
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
    try await direct("mirror", peer, scope, ["yes": true], progress)
  }

  /// What ``assertState(_:progress:)`` would change on the other devices; writes nothing.
  public func assertPreview(_ scope: DirectionScope = .everything) async throws -> DirectionSummary {
    try await direct("assert", nil, scope, ["preview": true]) { _ in }
  }

  /// Makes the circle's records equal to what this device holds now; see ``mirror(_:_:progress:)``.
  @discardableResult
  public func assertState(
    _ scope: DirectionScope = .everything, progress: @escaping @Sendable (WorkProgress) -> Void = { _ in }
  ) async throws -> DirectionSummary {
    try await direct("assert", nil, scope, ["yes": true], progress)
  }

  private func direct(
    _ command: String, _ peer: DeviceKey?, _ scope: DirectionScope, _ how: JSON,
    _ progress: @escaping @Sendable (WorkProgress) -> Void
  ) async throws -> DirectionSummary {
    var arguments = scope.arguments
    for member in how.members ?? [] { arguments[member.key] = member.value }
    if let peer { arguments["from"] = .string(peer.description) }
    return try await typed(command, arguments, events: WorkProgress.events(progress))
  }
}

/// What this device wrote while its clock ran ahead, and what became of it.
public struct RestampSummary: Hashable, Sendable, Decodable {
  /// How many change sets are dated ahead, or were.
  public let changeSets: Int
  /// The date of the newest; nil if there is none.
  public let newest: Date?
  /// What this device's clock says.
  public let now: Date
  /// The backup that was taken before; nil if nothing was done.
  public let backup: String?
}

extension Node {
  /// What is dated ahead of this device's clock; writes nothing.
  ///
  /// - Throws: `WaymarkError` with the code `clock_disputed` if it is this clock that is wrong.
  public func restampPreview() async throws -> RestampSummary {
    try await typed("restamp", ["preview": true])
  }

  /// Dates anew what this device wrote while its clock ran ahead, after a backup.
  @discardableResult
  public func restamp() async throws -> RestampSummary { try await typed("restamp", ["yes": true]) }
}
