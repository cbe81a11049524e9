// Protocol/change-set.md

import Sodium
package import Wire

/// A set that another set has seen: the newest folded one of its log.
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

/// What is signed of a change set; the body stands apart, so that it can be dropped while the chain stays
/// verifiable.
package struct ChangeSetHeader: Hashable, Sendable {
  package var circle: CircleID
  package var log: LogKey
  /// Dense from 1.
  package var sequence: UInt64
  /// The id of the set before; nil exactly at sequence 1.
  package var previous: ChangeSetID?
  package var clock: Clock
  /// Ascending, at most one a log branch, at most `Limits.dependenciesMax`, none of the set's own log.
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

/// A change set as it travels and is kept: three byte strings, nothing checked.
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

  /// Whether these are still the bytes that were verified under an id: nobody may be sent anything else.
  ///
  /// - Parameter seal: `seal` of the set when it was verified, if that is known: comparing is a hundred times faster
  ///   than verifying again.
  package func isIntact(as id: ChangeSetID, sealed seal: Int? = nil) -> Bool {
    guard let header = try? ChangeSetHeader(decoding: self.header), holds(header, id) else { return false }
    return seal == self.seal || isSigned(header)
  }

  /// The header and the id that it makes, if the device that it names has signed it: whatever became of the body.
  package var signedHeader: (id: ChangeSetID, header: ChangeSetHeader)? {
    guard let header = try? ChangeSetHeader(decoding: self.header), isSigned(header) else { return nil }
    return (ChangeSetID(header: self.header), header)
  }

  /// A hash of the signature, which holds for this run of the program.
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
  /// The id of the set with these header bytes, whatever they are.
  package init(header: [UInt8]) { self.init(blake2b256(ChangeSetPrefix.id, header)) }
}

/// A change set whose form, hash and signature hold. Whether its author belongs to the circle and whether it
/// has a place in the store is not said by this.
package struct VerifiedChangeSet: Sendable {
  package let raw: RawChangeSet
  package let id: ChangeSetID
  package let header: ChangeSetHeader
  package let body: ChangeSetBody

  package var stamp: Stamp { Stamp(clock: header.clock, device: header.log.device, set: id) }

  /// Checks everything that the bytes alone can show; throws otherwise.
  package init(verifying raw: RawChangeSet) throws(ChangeSetError) {
    try self.init(raw, isSigned: raw.isSigned)
  }

  /// Checks everything but the signature, which was made here, just now.
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

  /// A set read back from one's own store, which was verified before it was stored.
  ///
  /// Hashes it again, so that what a disk has altered is never folded, but does not check the signature;
  /// `verify --deep` does not use this.
  package init(stored raw: RawChangeSet, id: ChangeSetID) throws(ChangeSetError) {
    self.raw = raw
    self.id = id
    header = try ChangeSetHeader(decoding: raw.header)
    guard raw.holds(header, id) else { throw .bodyMismatch }
    body = try ChangeSetBody(decoding: raw.body, lane: header.log.lane)
  }
}

/// Why a change set is refused for good, whoever sends it.
package enum ChangeSetError: Error, Hashable, Sendable {
  case malformed(WireError)
  /// Well-formed CBOR that breaks a rule of the chapter; the rule is named.
  case invalid(String)
  case tooLarge(bytes: Int)
  case bodyMismatch
  case badSignature
}

/// Each signed or hashed thing has its own prefix; none begins another.
package enum ChangeSetPrefix {
  package static let id = HashPrefix("waymark/change-set-id/v1\0")
  package static let signature = HashPrefix("waymark/change-set-signature/v1\0")
  package static let body = HashPrefix("waymark/body/v1\0")
}
