public import Foundation
import JSONDocument
public import Wire

/// Changes that were made on several devices at once, none of them knowing of the others: one of them shows, and the
/// others are kept until somebody decides, on any device.
public struct Conflict: Hashable, Sendable, Decodable, Identifiable {
  public let id: String
  /// The kind of the record.
  public let kind: RecordKind
  /// The id of the record.
  public let record: UUID
  /// What the record is called.
  public let name: String?
  /// The field; nil where it is about the whole record.
  public let field: String?
  /// What sort of conflict it is.
  public let reason: Reason
  /// Whether people can see the record now.
  public let isVisible: Bool
  /// The deleted record that hides this one.
  public let hiddenBy: HidingRecord?
  /// What shows.
  public let winner: Side
  /// What was written at the same time and does not show.
  public let losers: [Side]

  /// What sort of conflict it is.
  public enum Reason: String, Hashable, Sendable, Decodable {
    /// One field was given several values.
    case field
    /// The profile, which is one value, was written several times.
    case profile
    /// A record was deleted, and edited at the same time.
    case editLostToDelete = "edit-lost-to-delete"
    /// A record was deleted, and something was added to it or edited in it at the same time.
    case hiddenByParent = "hidden-by-parent"
  }

  /// One of the writes.
  public struct Side: Hashable, Sendable, Decodable {
    /// What it wrote; of a deletion, `deleted`.
    public let value: ShownValue
    /// Who wrote it.
    public let device: DeviceKey
    /// What that device is called here.
    public let deviceName: String
    /// When, by the clock of who wrote it.
    public let time: Date
    /// What an edit wrote, by field, where the conflict is about a deletion; else nil.
    public let fields: [String: ShownValue]?
  }

  /// A record that was deleted.
  public struct HidingRecord: Hashable, Sendable, Decodable {
    /// The kind of the record.
    public let kind: RecordKind
    /// The id of the record.
    public let record: UUID
    /// What it is called.
    public let name: String?
  }

  /// Which side is to show.
  public enum Choice: Hashable, Sendable {
    /// What shows now; where something was deleted, it stays deleted.
    case winner
    /// What does not show; where something was deleted, it comes back. Only where there is one loser.
    case loser
    /// What a device wrote.
    case device(DeviceKey)
  }

  /// What a decision came to.
  public struct Resolution: Hashable, Sendable, Decodable {
    /// The operation that says it, to undo it; nil if there was nothing to decide.
    public let operation: OperationID?
    /// The conflicts that it closed: a decision about a record closes others about the same.
    public let resolved: [Conflict.ID]
    /// How many still wait.
    public let remaining: Int
    /// A sentence for people.
    public let text: String
  }

  private enum CodingKeys: String, CodingKey {
    case id
    case kind
    case record
    case name
    case field
    case reason
    case isVisible = "visible"
    case hiddenBy
    case winner
    case losers
  }
}

extension Node {
  /// The conflicts that wait for a look, the same on every device that holds the same changes.
  public func conflicts() throws -> [Conflict] { try read(.conflicts) }

  /// One conflict with all its losers.
  ///
  /// - Throws: `WaymarkError` with the code `not_found` if it is settled.
  public func conflict(_ id: Conflict.ID) throws -> Conflict {
    try sayingWhy {
      try showConflict(CommandRequest("conflicts.show", ["id": .string(id)])).decoded(as: Conflict.self)
    }
  }

  /// Settles a conflict here and, by an ordinary change, on every device.
  ///
  /// ```swift
  /// for conflict in try await node.conflicts() where conflict.reason == .field {
  ///   try await node.resolve(conflict.id, taking: .winner)
  /// }
  /// ```
  ///
  /// - Throws: `WaymarkError` with the code `not_found` if it is settled or the device wrote no side, and `ambiguous`
  ///   where `.loser` could be several.
  @discardableResult
  public func resolve(_ id: Conflict.ID, taking choice: Conflict.Choice) throws -> Conflict.Resolution {
    let take =
      switch choice {
      case .winner: "winner"
      case .loser: "loser"
      case .device(let device): device.description
      }
    return try resolve(["id": .string(id), "take": .string(take)])
  }

  /// Settles all conflicts by keeping what shows.
  @discardableResult
  public func resolveAllTakingWinners() throws -> Conflict.Resolution {
    try resolve(["all": true, "take": "winner"])
  }

  private func resolve(_ arguments: JSON) throws -> Conflict.Resolution {
    try sayingWhy { try resolveConflicts(CommandRequest("conflicts.resolve", arguments)).decoded() }
  }
}
