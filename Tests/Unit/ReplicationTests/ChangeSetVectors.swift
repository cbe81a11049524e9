import Sodium
import Vectors
import Wire

@testable import Replication

/// The four byte strings of a set in the notation of the vectors.
protocol DescribedSet: Decodable {
  var header: String { get }
  var signature: String { get }
  var plan: String { get }
  var values: String { get }
}

extension DescribedSet {
  func raw() throws -> RawChangeSet {
    RawChangeSet(
      header: try expand(header), signature: try expand(signature), plan: try expand(plan),
      values: try expand(values))
  }
}

/// Protocol/vectors/change-sets.json.
struct ChangeSetVectors: Decodable {
  struct NamedDevice: Decodable {
    let name: String
    let seed: String
    let key: String
    let incarnation: String
  }

  struct Sealed: DescribedSet {
    let header: String
    let signature: String
    let plan: String
    let values: String
    let id: String
    /// In accepted sets only.
    let declaredBytes: Int?
  }

  struct Refused: DescribedSet {
    let flag: String
    let name: String
    let stage: String
    let header: String
    let signature: String
    let plan: String
    let values: String
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
    let logBytes: String
    let unseen: [Seen]
    let operation: String
    let verb: String
    let target: String?
    let wall: Int64
    let leastClock: String
    let seed: String
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

  /// An accepted set with other values that are valid too.
  struct Copy: Decodable {
    let name: String
    let accepted: Int
    let set: Int
    let values: String
    /// The missing slots.
    let absent: [Int]
  }

  /// A valid set with contents that are not the values that its plan lists.
  struct Unreadable: DescribedSet {
    let name: String
    let header: String
    let signature: String
    let plan: String
    let values: String
    let id: String
    /// The slots whose fields are all absent.
    let absent: [Int]
  }

  /// A set that is valid by itself, after a predecessor that it may contradict.
  struct Following: Decodable {
    let flag: String
    let name: String
    let predecessor: Sealed
    let set: Sealed
  }

  let circle: String
  let devices: [NamedDevice]
  let accepted: [Accepted]
  let copies: [Copy]
  let unreadable: [Unreadable]
  let atTheLimits: [Sealed]
  let refused: [Refused]
  let closure: [Following]

  /// The author of a vector, in its state before the write.
  func author(of vector: Accepted) throws -> Author {
    let write = vector.write
    guard let device = devices.first(where: { $0.name == vector.author }),
      let circle = CircleID(hex: circle), let key = DeviceKey(hex: device.key),
      let incarnation = Incarnation(hex: device.incarnation), let lane = Lane(rawValue: write.lane),
      let sequence = UInt64(write.sequence), let clock = UInt64(write.seenClock),
      let logBytes = UInt64(write.logBytes), let seed = Bytes16(try expand(write.seed))
    else { throw BrokenVector(vector.name) }
    return Author(
      position: AuthorPosition(
        circle: circle, log: LogKey(device: key, incarnation: incarnation, lane: lane), sequence: sequence,
        id: write.previous.flatMap { ChangeSetID(hex: $0) },
        clock: Clock(raw: clock), logBytes: logBytes, unseen: try write.unseen.map { try $0.dependency() }),
      key: try SigningKey(seed: try expand(device.seed)), seed: { seed })
  }
}

/// One entry in the notation of the vectors.
struct DescribedEntry: Decodable {
  struct Field: Decodable {
    let field: UInt32
    let value: DescribedValue
  }

  struct Stated: Decodable {
    let updatedAt: String
    let nonEmptyFields: Int
  }

  let type: String
  let kind: UInt64
  let record: String
  let fields: [Field]?
  /// The rank of a whole record, which the author derives from the fields.
  let stated: Stated?

  func draft() throws -> EntryDraft {
    let types: [String: EntryType] = [
      "put": .put, "delete": .delete, "restore": .restore, "insert": .insert, "erase": .erase,
    ]
    guard let type = types[type], let kind = KindNumber(kind), let id = RecordID(hex: record) else {
      throw BrokenVector("an entry")
    }
    return EntryDraft(
      type, RecordKey(kind: kind, id: id),
      try (fields ?? []).map { (field: $0.field, value: try $0.value.value()) })
  }

  func statedRank() throws -> StatedRank? {
    try stated.map { stated in
      guard let updatedAt = Int64(stated.updatedAt) else { throw BrokenVector(stated.updatedAt) }
      return StatedRank(updatedAt: updatedAt, nonEmptyFields: stated.nonEmptyFields)
    }
  }
}
