import Sodium
import Vectors
import Wire

@testable import Replication

/// Protocol/vectors/change-sets.json.
struct ChangeSetVectors: Decodable {
  struct NamedDevice: Decodable {
    let name: String
    let seed: String
    let key: String
    let incarnation: String
  }

  struct Sealed: Decodable {
    let header: String
    let signature: String
    let body: String
    let id: String

    func raw() throws -> RawChangeSet {
      RawChangeSet(header: try expand(header), signature: try expand(signature), body: try expand(body))
    }
  }

  struct Refused: Decodable {
    let flag: String
    let name: String
    let stage: String
    let header: String
    let signature: String
    let body: String

    func raw() throws -> RawChangeSet {
      RawChangeSet(header: try expand(header), signature: try expand(signature), body: try expand(body))
    }
  }

  struct Accepted: Decodable {
    let name: String
    let author: String
    let write: Write
    let sets: [Sealed]
  }

  /// The author's state and its drafts.
  struct Write: Decodable {
    let lane: UInt8
    let sequence: String
    let previous: String?
    let seenClock: String
    let unseen: [Seen]
    let operation: String
    let verb: String
    let target: String?
    let wall: Int64
    let leastClock: String
    let entries: [DescribedEntry]
  }

  struct Seen: Decodable {
    let device: String
    let incarnation: String
    let sequence: String
    let id: String

    func dependency() throws -> Dependency {
      guard let device = DeviceKey(hex: device), let incarnation = Incarnation(hex: incarnation),
        let sequence = UInt64(sequence), let id = ChangeSetID(hex: id)
      else { throw BrokenVector("a dependency") }
      return Dependency(device: device, incarnation: incarnation, sequence: sequence, id: id)
    }
  }

  let circle: String
  let devices: [NamedDevice]
  let accepted: [Accepted]
  let atTheLimits: [Sealed]
  let refused: [Refused]

  /// The author of a vector, in its state before the write.
  func author(of vector: Accepted) throws -> Author {
    let write = vector.write
    guard let device = devices.first(where: { $0.name == vector.author }),
      let circle = CircleID(hex: circle), let key = DeviceKey(hex: device.key),
      let incarnation = Incarnation(hex: device.incarnation), let lane = Lane(rawValue: write.lane),
      let sequence = UInt64(write.sequence), let clock = UInt64(write.seenClock)
    else { throw BrokenVector(vector.name) }
    return Author(
      position: AuthorPosition(
        circle: circle, log: LogKey(device: key, incarnation: incarnation, lane: lane),
        sequence: sequence, id: write.previous.flatMap { ChangeSetID(hex: $0) },
        clock: Clock(raw: clock), unseen: try write.unseen.map { try $0.dependency() }),
      key: try SigningKey(seed: try expand(device.seed)))
  }
}

/// One entry in the notation of the vectors.
struct DescribedEntry: Decodable {
  struct Field: Decodable {
    let field: UInt32
    let value: DescribedValue
  }

  let type: String
  let kind: UInt64
  let record: String
  let fields: [Field]?

  func draft() throws -> EntryDraft {
    let types: [String: EntryType] = ["put": .put, "delete": .delete, "restore": .restore]
    guard let type = types[type], let kind = KindNumber(kind), let id = RecordID(hex: record) else {
      throw BrokenVector("an entry")
    }
    return EntryDraft(
      type, RecordKey(kind: kind, id: id),
      try (fields ?? []).map { (field: $0.field, value: try $0.value.value()) })
  }
}
