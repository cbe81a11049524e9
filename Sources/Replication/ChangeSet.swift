// Protocol/change-set.md

import Sodium
package import Wire

/// A reference to the newest set that the author had folded from another log.
package struct Dependency: Hashable, Comparable, Sendable {
  package let device: DeviceKey
  package let incarnation: Incarnation
  package let sequence: UInt64
  package let id: ChangeSetID

  package init(device: DeviceKey, incarnation: Incarnation, sequence: UInt64, id: ChangeSetID) {
    self.device = device
    self.incarnation = incarnation
    self.sequence = sequence
    self.id = id
  }

  package static func < (left: Dependency, right: Dependency) -> Bool {
    if left.device != right.device { return left.device < right.device }
    if left.incarnation != right.incarnation { return left.incarnation < right.incarnation }
    if left.sequence != right.sequence { return left.sequence < right.sequence }
    return left.id < right.id
  }
}

/// The signed part of a change set. The header contains hashes of the plan and of the commitments to the values, so that
/// the chain of sets can be verified without either.
package struct ChangeSetHeader: Hashable, Sendable {
  package var circle: CircleID
  package var log: LogKey
  /// The position of the set in its log. Sequences are consecutive and start at 1.
  package var sequence: UInt64
  /// The id of the preceding set in the log; nil at sequence 1, and only there.
  package var previous: ChangeSetID?
  package var clock: Clock
  /// The dependencies in ascending order. There is at most one per branch, at most `Limits.dependenciesMax` in total,
  /// and none in the set's own log.
  package var dependencies: [Dependency]
  package var operation: OperationID
  /// The declared bytes of all preceding sets of the log.
  package var logBytes: UInt64
  package var content: ContentSummary

  package init(
    circle: CircleID, log: LogKey, sequence: UInt64, previous: ChangeSetID?, clock: Clock,
    dependencies: [Dependency], operation: OperationID, logBytes: UInt64, content: ContentSummary
  ) {
    self.circle = circle
    self.log = log
    self.sequence = sequence
    self.previous = previous
    self.clock = clock
    self.dependencies = dependencies
    self.operation = operation
    self.logBytes = logBytes
    self.content = content
  }

  /// Returns the declared size of the set: its size with all values.
  ///
  /// - Parameter headerBytes: the length of the encoded header.
  package func declaredBytes(headerBytes: Int) -> Int {
    headerBytes + Signature.byteCount + content.planBytes + content.valuesBytes
  }
}

/// What a header states about the plan and the values of its set.
package struct ContentSummary: Hashable, Sendable {
  package var planBytes: Int
  package var planHash: Bytes32
  /// The length of the complete values; 0 if the plan has no slots.
  package var valuesBytes: Int
  /// The hash of all commitments; nil if the plan has no slots.
  package var commitmentsHash: Bytes32?

  package init(planBytes: Int, planHash: Bytes32, valuesBytes: Int, commitmentsHash: Bytes32?) {
    self.planBytes = planBytes
    self.planHash = planHash
    self.valuesBytes = valuesBytes
    self.commitmentsHash = commitmentsHash
  }

  /// Stands in for the summary of a set of which only the position is known.
  package static let unknown = ContentSummary(
    planBytes: 0, planHash: .zero, valuesBytes: 0, commitmentsHash: nil)
}

/// A change set as it is sent and stored: four byte strings that have not been verified.
package struct RawChangeSet: Hashable, Sendable {
  package let header: [UInt8]
  package let signature: [UInt8]
  package let plan: [UInt8]
  package let values: [UInt8]

  package init(header: [UInt8], signature: [UInt8], plan: [UInt8], values: [UInt8]) {
    self.header = header
    self.signature = signature
    self.plan = plan
    self.values = values
  }

  package var byteCount: Int { header.count + signature.count + plan.count + values.count }

  /// Whether these are still the bytes that were verified under this id. Only intact sets may be sent.
  ///
  /// - Parameter seal: the `seal` of the set when it was verified, if known. Comparing seals is a hundred times faster
  ///   than verifying the signature again.
  package func isIntact(as id: ChangeSetID, sealed seal: Int? = nil) -> Bool {
    guard let header = try? ChangeSetHeader(decoding: self.header), isUnaltered(header, id) else {
      return false
    }
    return seal == self.seal || isSigned(header)
  }

  /// The header and its id if the header's signature is valid; otherwise nil. Plan and values may be damaged.
  package var signedHeader: (id: ChangeSetID, header: ChangeSetHeader)? {
    guard let header = try? ChangeSetHeader(decoding: self.header), isSigned(header) else { return nil }
    return (ChangeSetID(header: self.header), header)
  }

  /// A hash of the signature, which is valid only within this process.
  package var seal: Int { signature.hashValue }

  fileprivate func isSigned(_ header: ChangeSetHeader) -> Bool {
    Signature.verify(
      signature, prefix: ChangeSetPrefix.signature.bytes, message: self.header,
      publicKey: header.log.device.bytes)
  }

  private func isUnaltered(_ header: ChangeSetHeader, _ id: ChangeSetID) -> Bool {
    ChangeSetID(header: self.header) == id && hasPlan(header)
      && (try? Slots(reading: values, header.content)) != nil
  }

  fileprivate func hasPlan(_ header: ChangeSetHeader) -> Bool {
    header.content.planBytes == plan.count
      && blake2b256(ChangeSetPrefix.plan, plan) == header.content.planHash
  }

  fileprivate func body(_ header: ChangeSetHeader) throws(ChangeSetError) -> ChangeSetBody {
    try ChangeSetBody(plan: plan, values: values, lane: header.log.lane) { count throws(ChangeSetError) in
      let slots = try Slots(reading: values, header.content)
      guard slots.count == count else { throw .valuesMismatch }
      return slots
    }
  }
}

extension ChangeSetID {
  /// Computes the id of a set from the bytes of its header, without checking these bytes.
  package init(header: [UInt8]) { self.init(blake2b256(ChangeSetPrefix.id, header)) }
}

/// A change set whose encoding, hashes and signature are valid. Some of its values may be absent.
///
/// `Circle` decides whether the author is a member, and `Placement` whether the set can be stored.
package struct VerifiedChangeSet: Sendable {
  package let raw: RawChangeSet
  package let id: ChangeSetID
  package let header: ChangeSetHeader
  package let body: ChangeSetBody

  package var stamp: Stamp { Stamp(clock: header.clock, device: header.log.device, set: id) }

  /// Verifies everything that can be checked from the bytes alone.
  package init(verifying raw: RawChangeSet) throws(ChangeSetError) {
    try self.init(raw, isSigned: raw.isSigned)
  }

  /// Checks everything except the signature, which this process has just made.
  init(sealed raw: RawChangeSet) throws(ChangeSetError) { try self.init(raw, isSigned: { _ in true }) }

  private init(_ raw: RawChangeSet, isSigned: (ChangeSetHeader) -> Bool) throws(ChangeSetError) {
    let head = raw.header.count + raw.signature.count + raw.plan.count
    guard head <= Limits.setBytesMax, raw.values.count <= Self.valuesBytesMax else {
      throw .tooLarge(bytes: raw.byteCount)
    }
    header = try ChangeSetHeader(decoding: raw.header)
    guard raw.hasPlan(header) else { throw .planMismatch }
    guard isSigned(header) else { throw .badSignature }
    self.raw = raw
    body = try raw.body(header)
    id = ChangeSetID(header: raw.header)
  }

  /// The largest possible length of values, with the salt or the commitment of each slot.
  static let valuesBytesMax = Limits.setBytesMax + Limits.setEntriesMax * Limits.slotBytesMore

  /// Decodes a set from our own store. The set was verified before it was stored.
  ///
  /// The set is hashed again, so that bytes altered on disk are never folded, but its signature is not checked. The
  /// command `verify --deep`, which checks signatures too, does not use this initializer.
  package init(stored raw: RawChangeSet, id: ChangeSetID) throws(ChangeSetError) {
    self.raw = raw
    self.id = id
    header = try ChangeSetHeader(decoding: raw.header)
    guard ChangeSetID(header: raw.header) == id, raw.hasPlan(header) else { throw .planMismatch }
    body = try raw.body(header)
  }

  /// Returns the values of the set without some of its slots.
  package func values(without slots: Set<Int>) -> [UInt8] { body.slots.values(raw.values, without: slots) }

  /// The declared bytes of the log through this set.
  package var logBytes: UInt64 {
    header.logBytes + UInt64(header.declaredBytes(headerBytes: raw.header.count))
  }
}

/// The reason why a change set is invalid, regardless of who sent it.
package enum ChangeSetError: Error, Hashable, Sendable {
  case malformed(WireError)
  /// The set is well-formed CBOR, but breaks a rule of `change-set.md`. The text names the rule.
  case invalid(String)
  case tooLarge(bytes: Int)
  /// The plan is not the one that the header names.
  case planMismatch
  case badSignature
  /// The values are not those that the header commits to. The set itself may be valid.
  case valuesMismatch
  /// The set would exceed its author's quota in the lane, so the author does not sign it.
  case beyondQuota(Lane)
}

/// The prefixes of hashes and signatures, one for each purpose. None of them is a prefix of another.
package enum ChangeSetPrefix {
  package static let id = HashPrefix("waymark/change-set-id/v1\0")
  package static let signature = HashPrefix("waymark/change-set-signature/v1\0")
  package static let plan = HashPrefix("waymark/plan/v1\0")
  package static let values = HashPrefix("waymark/values/v1\0")
  package static let commitment = HashPrefix("waymark/commitment/v1\0")
  package static let salts = HashPrefix("waymark/salts/v1\0")
}
