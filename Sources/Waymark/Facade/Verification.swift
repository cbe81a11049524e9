public import Foundation
import JSONDocument
public import Wire

/// Whether peers that hold the same change sets hold the same data.
public struct PeerVerification: Hashable, Sendable, Decodable {
  /// The worst of the peers.
  public let verdict: Verdict
  /// The peers that were compared with.
  public let peers: [Peer]

  /// What a comparison came to.
  public enum Verdict: String, Hashable, Sendable, Decodable {
    /// The same change sets, and the same data.
    case equal
    /// Change sets are on their way.
    case notInSync = "not_in_sync"
    /// The peer did not answer, or nothing can be compared.
    case unknown
    /// The same change sets gave different data.
    case differs
  }

  /// One peer that was compared with.
  public struct Peer: Hashable, Sendable, Decodable {
    /// The key that names it.
    public let device: DeviceKey
    /// What it is called.
    public let name: String
    /// The worst of both lanes.
    public let verdict: Verdict
    /// Whether both know the same of the circle.
    public let certificatesEqual: Bool
    /// Both streams of changes.
    public let lanes: Lanes
    /// The command of `waymark` that helps.
    public let next: Step?
  }

  /// Both streams of changes.
  public struct Lanes: Hashable, Sendable, Decodable {
    /// The stream of settings.
    public let settings: Lane
    /// The stream of records.
    public let records: Lane
  }

  /// One stream of changes.
  public struct Lane: Hashable, Sendable, Decodable {
    /// `equal`, `not_in_sync`, `differs`, or `not_compared`.
    public let verdict: String
    /// The first of the records that are stored otherwise.
    public let records: [RecordReference]?
    /// Why it was not compared, for people.
    public let text: String?
  }
}

/// Whether this device's store is what its own signed log says.
public struct StoreVerification: Hashable, Sendable, Decodable {
  /// Whether all is well, after a repair if there was one.
  public let isSound: Bool
  /// A sentence for people.
  public let text: String
  /// The command of `waymark` that helps.
  public let next: Step?
  /// How many statements of the circle were verified.
  public let statements: Int
  /// How many change sets were verified.
  public let changeSets: Int
  /// How many rows were compared.
  public let rows: Int
  /// How much was found.
  public let found: Int
  /// The first of what was found.
  public let findings: [Finding]
  /// Whether a repair helped; nil if there was none.
  public let isMended: Bool?
  /// The backup that was taken before a repair.
  public let backup: String?

  /// Something that is not as the log says.
  public struct Finding: Hashable, Sendable, Decodable {
    /// Where: `log`, `records`, `index`, `file`.
    public let place: String
    /// The kind of the record; nil if it is about none.
    public let kind: RecordKind?
    /// The id of the record.
    public let id: UUID?
    /// What the record is called.
    public let name: String?
    /// The fields that differ.
    public let fields: [String]
    /// A sentence for people.
    public let text: String
  }

  private enum CodingKeys: String, CodingKey {
    case isSound = "ok"
    case text
    case next
    case statements
    case changeSets
    case rows
    case found
    case findings
    case isMended = "mended"
    case backup
  }
}

extension Node {
  /// Compares the data here with that of connected peers, down to the record.
  ///
  /// - Parameter peer: nil for all that are connected; there must be one.
  /// - Throws: `WaymarkError` with the code `not_running`, `offline` or another of what is in the way.
  public func verify(with peer: DeviceKey? = nil) async throws -> PeerVerification {
    try await typed("verify", ["peer": .text(peer?.description)])
  }

  /// Verifies every signature, folds the log a second time, and compares every row.
  ///
  /// - Parameters:
  ///   - repairing: makes the tables anew from the log where they differ, after a backup.
  ///   - progress: called on some thread.
  public func verifyStore(
    repairing: Bool = false, progress: @escaping @Sendable (WorkProgress) -> Void = { _ in }
  ) async throws -> StoreVerification {
    try await typed(
      "verify", ["deep": true, "repair": .bool(repairing)], events: WorkProgress.events(progress))
  }
}
