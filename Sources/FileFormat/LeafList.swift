// Protocol/files.md, "Leaves and ids"

import Sodium
package import Wire

/// The hash of one leaf, which depends on its position.
package enum LeafHash {
  package static func hash(_ bytes: ArraySlice<UInt8>, at index: Int) -> Bytes32 {
    var prefix = leafPrefix
    appendBigEndian(UInt64(index), to: &prefix)
    return Bytes32(words: Blake2b256.hash(prefix: prefix, bytes))
  }

  private static let leafPrefix = Array("waymark/leaf/v1\0".utf8)
}

/// The hashes of all leaves of a file. A list exists only if it matches the file's id.
package struct LeafList: Hashable, Sendable {
  package let reference: FileReference
  package let hashes: [Bytes32]

  /// Verifies a list. Returns nil if it does not match the reference.
  package init?(_ reference: FileReference, hashes: [Bytes32]) {
    guard hashes.count == reference.leafCount, Self.id(reference.size, hashes) == reference.id else {
      return nil
    }
    self.reference = reference
    self.hashes = hashes
  }

  /// Reads a list that was stored as the hashes one after another. Returns nil if it does not match the reference.
  package init?(_ reference: FileReference, bytes: ArraySlice<UInt8>) {
    guard bytes.count == reference.leafCount * Bytes32.count else { return nil }
    let starts = stride(from: bytes.startIndex, to: bytes.endIndex, by: Bytes32.count)
    self.init(reference, hashes: starts.compactMap { Bytes32(bytes[$0..<$0 + Bytes32.count]) })
  }

  /// Creates the list of a file that was hashed here. Returns nil if the file is larger than a file may be.
  init?(size: Int, hashed hashes: [Bytes32]) {
    guard let reference = FileReference(size: size, id: Self.id(size, hashes)) else { return nil }
    precondition(hashes.count == reference.leafCount, "\(hashes.count) leaves for \(size) bytes")
    self.reference = reference
    self.hashes = hashes
  }

  /// The hashes one after another.
  package var bytes: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(hashes.count * Bytes32.count)
    for hash in hashes { hash.append(to: &bytes) }
    return bytes
  }

  /// Whether these are the bytes of the leaf at `index`.
  package func verifies(_ bytes: ArraySlice<UInt8>, at index: Int) -> Bool {
    hashes.indices.contains(index) && bytes.count == reference.range(ofLeaf: index).count
      && LeafHash.hash(bytes, at: index) == hashes[index]
  }

  private static func id(_ size: Int, _ hashes: [Bytes32]) -> FileID {
    var hasher = Blake2b256()
    hasher.update(filePrefix)
    hasher.update(bigEndian: UInt64(size))
    var part: [UInt8] = []
    for hash in hashes {
      part.removeAll(keepingCapacity: true)
      hash.append(to: &part)
      hasher.update(part)
    }
    return FileID(Bytes32(words: hasher.finish()))
  }

  private static let filePrefix = Array("waymark/file/v1\0".utf8)
}

extension FileReference {
  /// Whether a file of this name can exist. There is only one file without bytes, so its id is known.
  package var canExist: Bool { size > 0 || LeafList(self, hashes: []) != nil }
}

extension Bytes32 {
  fileprivate init(words: HashWords) { self.init(words.0, words.1, words.2, words.3) }
}
