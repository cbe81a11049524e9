import Home
public import Model
public import Reasons
public import Wire

/// The result of comparing this device's data with that of peers.
public struct PeerVerification: Hashable, Sendable, Codable {
  /// The worst verdict of all peers.
  public let verdict: Verdict
  /// The results for each peer.
  public let peers: [Peer]

  /// The result of a comparison.
  public enum Verdict: String, Hashable, Sendable, Codable {
    /// Both sides hold the same certificates and, in the lanes that were compared, the same change sets and the same
    /// data.
    case equal
    /// One side lacks change sets or certificates that the other has, or has not applied change sets yet.
    case notInSync = "not_in_sync"
    /// The peer did not answer, or nothing can be compared.
    case unknown
    /// The same change sets produced different data.
    case differs
  }

  /// The result for one peer.
  public struct Peer: Hashable, Sendable, Codable {
    /// The public key that identifies the device.
    public let device: DeviceKey
    /// The name of the device.
    public let name: String
    /// The verdict for the certificates and both lanes.
    public let verdict: Verdict
    /// Whether both sides hold the same certificates.
    public let certificatesEqual: Bool
    /// The results for both lanes.
    public let lanes: Lanes
    /// What to do next, usually a `waymark` command; nil if nothing is needed.
    public let next: Step?
  }

  /// The results by lane.
  public struct Lanes: Hashable, Sendable, Codable {
    /// The settings lane.
    public let settings: Lane
    /// The records lane.
    public let records: Lane
  }

  /// The result for one lane.
  public enum Lane: Hashable, Sendable {
    /// Both sides hold the same change sets and the same data.
    case equal
    /// Change sets are missing or not applied yet. The values are the numbers of change sets that this device lacks and
    /// that the peer lacks.
    case notInSync(behind: Int, ahead: Int)
    /// The same change sets produced different data.
    case differs(Difference)
    /// The lane is closed, or the peer did not answer. The values are the reason, a human-readable sentence, and what
    /// to do next.
    case notCompared(reason: Reason, text: LocalizableText, next: Step?)
  }

  /// The differences between two stores that folded the same change sets.
  public struct Difference: Hashable, Sendable, Codable {
    /// The first records that differ.
    public let records: [RecordReference]
    /// Whether more records differ.
    public let hasMore: Bool
    /// The digest buckets in which this device's digest is not the sum of its records' hashes. Each bucket is named by
    /// the first byte of its record ids, in hexadecimal.
    public let digestWrongHere: [String]
    /// The digest buckets in which the peer's digest is not the sum of its records' hashes.
    public let digestWrongThere: [String]

    private enum CodingKeys: String, CodingKey {
      case records
      case hasMore = "more"
      case digestWrongHere
      case digestWrongThere
    }
  }
}

extension PeerVerification.Lane: Codable {
  private enum CodingKeys: CodingKey {
    case verdict
    case behind
    case ahead
    case reason
    case text
    case next
  }

  private enum Verdict: String, Codable {
    case equal
    case notInSync = "not_in_sync"
    case differs
    case notCompared = "not_compared"
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    switch try container.decode(Verdict.self, forKey: .verdict) {
    case .equal: self = .equal
    case .notInSync:
      self = .notInSync(
        behind: try container.decode(Int.self, forKey: .behind),
        ahead: try container.decode(Int.self, forKey: .ahead))
    case .differs: self = .differs(try PeerVerification.Difference(from: decoder))
    case .notCompared:
      self = .notCompared(
        reason: try container.decode(Reason.self, forKey: .reason),
        text: try container.decode(LocalizableText.self, forKey: .text),
        next: try container.decodeIfPresent(Step.self, forKey: .next))
    }
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    switch self {
    case .equal: try container.encode(Verdict.equal, forKey: .verdict)
    case .notInSync(let behind, let ahead):
      try container.encode(Verdict.notInSync, forKey: .verdict)
      try container.encode(behind, forKey: .behind)
      try container.encode(ahead, forKey: .ahead)
    case .differs(let difference):
      try container.encode(Verdict.differs, forKey: .verdict)
      try difference.encode(to: encoder)
    case .notCompared(let reason, let text, let next):
      try container.encode(Verdict.notCompared, forKey: .verdict)
      try container.encode(reason, forKey: .reason)
      try container.encode(text, forKey: .text)
      try container.encodeIfPresent(next, forKey: .next)
    }
  }
}
