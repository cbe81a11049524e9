// Protocol/files.md, "Leaves and ids"

import Wire

/// Computes the leaf list of a file from its bytes, piece by piece. It holds at most one leaf of the file in memory.
package struct FileHasher: Sendable {
  /// The number of bytes so far.
  package private(set) var size = 0
  private var hashes: [Bytes32] = []
  /// The beginning of a leaf of which more bytes are to come; always shorter than a leaf.
  private var pending: [UInt8] = []

  package init() {}

  package mutating func update(_ bytes: ArraySlice<UInt8>) {
    size += bytes.count
    var rest = bytes
    if !pending.isEmpty {
      let part = rest.prefix(Limits.leafBytes - pending.count)
      pending += part
      rest = rest.dropFirst(part.count)
      guard pending.count == Limits.leafBytes else { return }
      add(pending[...])
      pending.removeAll(keepingCapacity: true)
    }
    while rest.count >= Limits.leafBytes {
      add(rest.prefix(Limits.leafBytes))
      rest = rest.dropFirst(Limits.leafBytes)
    }
    pending += rest
  }

  package mutating func update(_ bytes: [UInt8]) { update(bytes[...]) }

  /// Returns the leaf list of the bytes; nil if there are more of them than a file may have.
  package consuming func finish() -> LeafList? {
    if !pending.isEmpty { add(pending[...]) }
    return LeafList(size: size, hashed: hashes)
  }

  /// Computes the leaf list of a file in memory.
  package static func list(of bytes: [UInt8]) -> LeafList? {
    var hasher = FileHasher()
    hasher.update(bytes)
    return hasher.finish()
  }

  private mutating func add(_ leaf: ArraySlice<UInt8>) {
    hashes.append(LeafHash.hash(leaf, at: hashes.count))
  }
}
