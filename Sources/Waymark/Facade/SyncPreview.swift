import JSONDocument
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
    /// Records that only this device has.
    public let onlyHere: Int
    /// Records that only other devices have.
    public let onlyThere: Int
    /// Records that are the same on both sides.
    public let same: Int
    /// Records that are on both sides and differ.
    public let differing: Int
  }

  /// The records of one kind.
  public struct KindComparison: Hashable, Sendable, Decodable {
    /// The kind of the records.
    public let kind: RecordKind
    /// Records that only this device has.
    public let onlyHere: Int
    /// Records that only other devices have.
    public let onlyThere: Int
    /// Records that are the same on both sides.
    public let same: Int
    /// Records that are on both sides and differ.
    public let differing: Int
  }

  /// The profile is one value: one of the two wins whole.
  public struct Profile: Hashable, Sendable, Decodable {
    /// Where there is a profile.
    public let state: State
    /// The device whose profile everyone will have.
    public let winnerDevice: DeviceKey
    /// What that device is called here.
    public let winnerName: String
    /// Why it wins, for people; nil if there is nothing to decide.
    public let text: String?

    /// Where there is a profile.
    public enum State: String, Hashable, Sendable, Decodable {
      /// The same on both sides.
      case same
      /// Only on this device.
      case onlyHere = "only_here"
      /// Only on another device.
      case onlyThere = "only_there"
      /// On both sides, and not the same.
      case differs
    }
  }

  /// A device that could not be asked.
  public struct NotAsked: Hashable, Sendable, Decodable {
    /// The key that names it.
    public let device: DeviceKey
    /// What it is called here.
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
