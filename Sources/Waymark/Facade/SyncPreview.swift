public import Wire

/// What would become of the records here and on the other devices if sync were turned on; nothing is written.
public struct SyncPreview: Hashable, Sendable, Decodable {
  /// Records in which the devices differ or agree, by kind.
  public let kinds: [KindComparison]
  /// All kinds together.
  public let total: Comparison
  /// The first of the records that are on both sides and differ; they merge field by field.
  public let differing: [RecordReference]
  /// Which profile would win; nil if there is none.
  public let profile: Profile?
  /// The devices that were asked.
  public let peers: [DeviceReference]
  /// The devices that could not be asked, and why.
  public let notAsked: [NotAsked]

  /// Whether anything would come or go.
  public var changesAnything: Bool { total.onlyHere + total.onlyThere + total.differing > 0 }

  /// How many records are where.
  public struct Comparison: Hashable, Sendable, Decodable {
    public let onlyHere: Int
    public let onlyThere: Int
    public let same: Int
    public let differing: Int
  }

  /// The records of one kind.
  public struct KindComparison: Hashable, Sendable, Decodable {
    public let kind: RecordKind
    public let onlyHere: Int
    public let onlyThere: Int
    public let same: Int
    public let differing: Int
  }

  /// The profile is one value: one of the two wins whole.
  public struct Profile: Hashable, Sendable, Decodable {
    public let state: State
    public let winnerDevice: DeviceKey
    public let winnerName: String
    /// Why it wins, for people; nil if there is nothing to decide.
    public let text: String?

    public enum State: String, Hashable, Sendable, Decodable {
      case same
      case onlyHere = "only_here"
      case onlyThere = "only_there"
      case differs
    }
  }

  /// A device that could not be asked.
  public struct NotAsked: Hashable, Sendable, Decodable {
    public let device: DeviceKey
    public let name: String
    /// A sentence for people.
    public let text: String
  }
}

extension Node {
  /// What turning sync on would do, before anything is written; asks the connected devices.
  ///
  /// - Throws: `WaymarkError` with the code `not_running` unless the node serves, or that of
  ///   ``turnSyncOn(isConfirmed:)`` without premium.
  public func syncPreview() async throws -> SyncPreview {
    if network == nil { throw WaymarkError.notServing }
    return try await typed("sync.on", ["preview": true])
  }
}
