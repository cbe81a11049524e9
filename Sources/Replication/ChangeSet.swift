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

/// The signed part of a change set. The body is separate, and the header contains only its hash, so that the chain of
/// sets can be verified without the bodies.
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
  package var bodyBytes: Int
  package var bodyHash: Bytes32

  package init(
    circle: CircleID, log: LogKey, sequence: UInt64, previous: ChangeSetID?, clock: Clock,
    dependencies: [Dependency], operation: OperationID, bodyBytes: Int, bodyHash: Bytes32
  ) {
    self.circle = circle
    self.log = log
    self.sequence = sequence
    self.previous = previous
    self.clock = clock
    self.dependencies = dependencies
    self.operation = operation
    self.bodyBytes = bodyBytes
    self.bodyHash = bodyHash
  }
}

/// A change set as it is sent and stored: three byte strings that have not been verified.
package struct RawChangeSet: Hashable, Sendable {
  package let header: [UInt8]
  package let signature: [UInt8]
  package let body: [UInt8]

  package init(header: [UInt8], signature: [UInt8], body: [UInt8]) {
    self.header = header
    self.signature = signature
    self.body = body
  }

  package var byteCount: Int { header.count + signature.count + body.count }

  /// Whether these are still the bytes that were verified under this id. Only intact sets may be sent.
  ///
  /// - Parameter seal: the `seal` of the set when it was verified, if known. Comparing seals is a hundred times faster
  ///   than verifying the signature again.
  package func isIntact(as id: ChangeSetID, sealed seal: Int? = nil) -> Bool {
    guard let header = try? ChangeSetHeader(decoding: self.header), holds(header, id) else { return false }
    return seal == self.seal || isSigned(header)
  }

  /// The header and its id if the header's signature is valid; otherwise nil. The body may be damaged.
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

  fileprivate func holds(_ header: ChangeSetHeader, _ id: ChangeSetID) -> Bool {
    ChangeSetID(header: self.header) == id && hasBody(header)
  }

  fileprivate func hasBody(_ header: ChangeSetHeader) -> Bool {
    header.bodyBytes == body.count && blake2b256(ChangeSetPrefix.body, body) == header.bodyHash
  }
}

extension ChangeSetID {
  /// Computes the id of a set from the bytes of its header, without checking these bytes.
  package init(header: [UInt8]) { self.init(blake2b256(ChangeSetPrefix.id, header)) }
}

/// A change set whose encoding, body hash and signature are valid.
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
    guard raw.byteCount <= Limits.setBytesMax else { throw .tooLarge(bytes: raw.byteCount) }
    header = try ChangeSetHeader(decoding: raw.header)
    guard raw.hasBody(header) else { throw .bodyMismatch }
    guard isSigned(header) else { throw .badSignature }
    self.raw = raw
    body = try ChangeSetBody(decoding: raw.body, lane: header.log.lane)
    id = ChangeSetID(header: raw.header)
  }

  /// Decodes a set from our own store. The set was verified before it was stored.
  ///
  /// The set is hashed again, so that bytes altered on disk are never folded, but its signature is not checked. The
  /// command `verify --deep`, which checks signatures too, does not use this initializer.
  package init(stored raw: RawChangeSet, id: ChangeSetID) throws(ChangeSetError) {
    self.raw = raw
    self.id = id
    header = try ChangeSetHeader(decoding: raw.header)
    guard raw.holds(header, id) else { throw .bodyMismatch }
    body = try ChangeSetBody(decoding: raw.body, lane: header.log.lane)
  }
}

/// The reason why a change set is invalid, regardless of who sent it.
package enum ChangeSetError: Error, Hashable, Sendable {
  case malformed(WireError)
  /// The set is well-formed CBOR, but breaks a rule of `change-set.md`. The text names the rule.
  case invalid(String)
  case tooLarge(bytes: Int)
  case bodyMismatch
  case badSignature
}

/// The prefixes of hashes and signatures, one for each kind. None of them is a prefix of another.
package enum ChangeSetPrefix {
  package static let id = HashPrefix("waymark/change-set-id/v1\0")
  package static let signature = HashPrefix("waymark/change-set-signature/v1\0")
  package static let body = HashPrefix("waymark/body/v1\0")
}
