public import Wire

/// Whether peers that hold the same change sets hold the same data.
public struct PeerVerification: Hashable, Sendable, Codable {
  /// The worst of the peers.
  public let verdict: Verdict
  /// The peers that were compared with.
  public let peers: [Peer]

  /// What a comparison came to.
  public enum Verdict: String, Hashable, Sendable, Codable {
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
  public struct Peer: Hashable, Sendable, Codable {
    /// The key that names it.
    public let device: DeviceKey
    /// What it is called.
    public let name: String
    /// The worst of both lanes.
    public let verdict: Verdict
    /// Whether both have the same certificates of the circle.
    public let certificatesEqual: Bool
    /// Both streams of changes.
    public let lanes: Lanes
    /// The command of `waymark` that helps.
    public let next: Step?
  }

  /// Both streams of changes.
  public struct Lanes: Hashable, Sendable, Codable {
    /// The stream of settings.
    public let settings: Lane
    /// The stream of records.
    public let records: Lane
  }

  /// One stream of changes.
  public enum Lane: Hashable, Sendable {
    /// The same change sets, and the same data.
    case equal
    /// Change sets are on their way, or wait for their time: so many this device lacks, and so many the peer.
    case notInSync(behind: Int, ahead: Int)
    /// The same change sets gave different data.
    case differs(Difference)
    /// The lane is closed, or the peer did not answer: why, a sentence for people, and what helps.
    case notCompared(reason: Reason, text: String, next: Step?)
  }

  /// Where two stores that folded the same change sets differ.
  public struct Difference: Hashable, Sendable, Codable {
    /// The first of the records that are stored differently.
    public let records: [RecordReference]
    /// Whether there are more.
    public let hasMore: Bool
    /// First bytes, in hexadecimal, of record ids of which the digest here is not the sum of its records.
    public let digestWrongHere: [String]
    /// The same of the digest of the peer.
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
        text: try container.decode(String.self, forKey: .text),
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
