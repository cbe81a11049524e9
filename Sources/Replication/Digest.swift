// Protocol/merge.md, "Digest"

package import Wire

/// One hash of the whole folded state of a lane. It is the sum of the hashes of all records, so that it can be updated
/// record by record.
package struct Digest: Hashable, Sendable {
  package var sum: Bytes32

  package static let empty = Digest(sum: .zero)

  package init(sum: Bytes32) { self.sum = sum }

  package mutating func add(_ record: Bytes32) { sum = sum &+ record }
  package mutating func remove(_ record: Bytes32) { sum = sum &- record }
}

/// Builds the bytes to hash for one record: its key and, in the order of fields, the stamp of each cell.
package struct RecordDigestInput: Sendable {
  package private(set) var bytes: [UInt8] = []
  private var cellCount = 0
  /// The last stamp and its bytes. They are cached because the next cell, and even the next record, most often comes
  /// from the same set.
  private var written: (stamp: Stamp, bytes: [UInt8])?

  package init() { bytes.reserveCapacity(1_024) }

  /// Starts over with another record, and reuses the buffer.
  package mutating func begin(_ record: RecordKey) {
    bytes.removeAll(keepingCapacity: true)
    cellCount = 0
    bytes.append(contentsOf: Self.prefix)
    appendField(record.kind.rawValue)
    record.id.raw.append(to: &bytes)
  }

  /// Adds a cell. Cells must be added in ascending order of fields. Cells from seeds, whose stamp is zero, are skipped.
  package mutating func add(field: FieldNumber, stamp: Stamp) {
    guard stamp.clock != .zero else { return }
    cellCount += 1
    appendField(field)
    let known = written?.stamp == stamp ? written?.bytes : nil
    let stampBytes = known ?? Self.bytes(of: stamp)
    if known == nil { written = (stamp, stampBytes) }
    bytes.append(contentsOf: stampBytes)
  }

  private static func bytes(of stamp: Stamp) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(8 + 2 * Bytes32.count)
    appendBigEndian(stamp.clock.raw, to: &bytes)
    stamp.device.raw.append(to: &bytes)
    stamp.set.raw.append(to: &bytes)
    return bytes
  }

  /// The hash that the record adds to the digest; zero if all its cells come from seeds.
  package var hash: Bytes32 { cellCount == 0 ? .zero : blake2b256(prefixed: bytes) }

  private mutating func appendField(_ number: UInt32) {
    unsafe withUnsafeBytes(of: number.bigEndian) { unsafe bytes.append(contentsOf: $0) }
  }

  private static let prefix = HashPrefix("waymark/record-digest/v1\0").bytes
}
