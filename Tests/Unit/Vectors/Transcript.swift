// Protocol/transcript.md

import Wire

/// The content of `Protocol/vectors/transcript.json`: a pairing and a session, byte for byte.
package struct Transcript: Decodable, Sendable {
  package let circle: String
  package let rootSeed: String
  package let devices: [Device]
  package let files: [File]
  package let pairing: Connection
  package let session: Connection

  package static func load() throws -> Transcript { try vectors("transcript.json", as: Transcript.self) }

  package struct Device: Decodable, Sendable {
    package let name: String
    package let seed: String
    package let device: String
    package let transportSecret: String
    package let transport: String
    package let incarnation: String
  }

  package struct File: Decodable, Sendable {
    package let name: String
    package let size: Int
    package let factor: Int
    package let id: String
    package let leaves: [String]

    package var bytes: [UInt8] { (0..<size).map { UInt8(truncatingIfNeeded: factor * $0 + $0 / 251) } }
  }

  package struct Ticket: Decodable, Sendable {
    package let secret: String
    package let addresses: [String]
    package let expiry: Int64
    package let line: String
    package let preambleKey: String
    package let presharedKey: String
  }

  package struct ChangeSet: Decodable, Sendable {
    package let id: String
    package let header: String
    package let signature: String
    package let plan: String
    package let values: String
    package let missing: [Int]
  }

  package struct Lane: Decodable, Hashable, Sendable {
    package let heads: String
    package let foldedHeads: String
    package let digest: String

    package init(heads: String, foldedHeads: String, digest: String) {
      self.heads = heads
      self.foldedHeads = foldedHeads
      self.digest = digest
    }
  }

  /// What one side holds at some moment.
  package struct Holding: Decodable, Hashable, Sendable {
    package let members: [String]
    package let certificates: String
    package let settings: Lane
    package let records: Lane
    package let state: String?
    package let files: [String]
    package let missingValues: Int

    package init(
      members: [String], certificates: String, settings: Lane, records: Lane, state: String?, files: [String],
      missingValues: Int
    ) {
      self.members = members
      self.certificates = certificates
      self.settings = settings
      self.records = records
      self.state = state
      self.files = files
      self.missingValues = missingValues
    }
  }

  package struct Store: Decodable, Sendable {
    package let statements: [String]
    package let sets: [ChangeSet]
    package let files: [String]
    package let holds: Holding
  }

  package struct Connection: Decodable, Sendable {
    package let wallClock: Int64
    package let steadyClocks: [String: Int64]
    /// How long each message travels.
    package let travelMilliseconds: Int64
    package let preambleKey: String
    package let preambleNonce: String
    package let handshakeHash: String
    package let ephemerals: [String: String]
    package let ticket: Ticket?
    package let before: [String: Store]
    package let steps: [Step]
  }

  /// A message, a part of the handshake, or something that one side does by itself.
  package struct Step: Decodable, Sendable {
    package let number: Int?
    /// When it is sent or done, in milliseconds from the first step.
    package let at: Int64
    package let from: String?
    package let to: String?
    /// The device that does something by itself.
    package let device: String?
    package let name: String
    package let message: String?
    package let messageBytes: Int?
    package let messageHash: String?
    package let wire: String?
    package let wireBytes: Int?
    package let wireHash: String?
    /// The leaf in a message that is not written out.
    package let leaf: Leaf?
    package let after: [String: Holding]?
    package let write: Write?
    package let question: Question?
  }

  package struct Leaf: Decodable, Sendable {
    package let file: String
    package let index: Int
  }

  package struct Write: Decodable, Sendable {
    package let verb: String
    package let operation: String
    package let seed: String
    package let lane: Int
    package let entries: [Entry]
    package let set: ChangeSet
  }

  package struct Entry: Decodable, Sendable {
    package let type: UInt8
    package let kind: UInt64
    package let record: String
    package let fields: [Field]
  }

  package struct Field: Decodable, Sendable {
    package let number: UInt16
    package let value: DescribedValue
  }

  package struct Question: Decodable, Sendable {
    package let lane: UInt8
    package let form: Int
    package let bucket: UInt8?
  }

  package func device(_ name: String) throws -> Device {
    guard let device = devices.first(where: { $0.name == name }) else { throw BrokenVector(name) }
    return device
  }

  package func file(_ name: String) throws -> File {
    guard let file = files.first(where: { $0.name == name }) else { throw BrokenVector(name) }
    return file
  }

  /// The message of a step, before it is sealed; nil if the step has none.
  package func message(of step: Step) throws -> [UInt8]? {
    if let message = step.message { return try expand(message) }
    guard let leaf = step.leaf else { return nil }
    let file = try file(leaf.file)
    let bytes = file.bytes
    let start = leaf.index * 65_536
    var writer = CBORWriter()
    writer.array(4)
    writer.unsigned(17)
    writer.array(2)
    writer.unsigned(UInt64(file.size))
    writer.byteString(try expand(file.id))
    writer.unsigned(UInt64(leaf.index))
    writer.byteString(bytes[start..<min(start + 65_536, file.size)])
    return writer.bytes
  }
}
