// Protocol/files.md, "References"

package import Wire

/// Names a file: its size and its id. Both parts count: files with equal ids and different sizes are different files, of
/// which at most one exists.
package struct FileReference: Hashable, Sendable {
  package let id: FileID
  /// The number of bytes, at most `Limits.fileBytesMax`.
  package let size: Int

  /// Returns nil if the size is negative or greater than the limit.
  package init?(size: Int, id: FileID) {
    guard (0...Limits.fileBytesMax).contains(size) else { return nil }
    self.id = id
    self.size = size
  }

  /// Reads the value of a field. Returns nil if the value is not a file reference.
  package init?(_ value: Value) {
    guard case .array(let parts) = value, parts.count == 2, case .integer(let size) = parts[0],
      case .bytes(let bytes) = parts[1], let id = FileID(bytes: bytes), let size = Int(exactly: size)
    else { return nil }
    self.init(size: size, id: id)
  }

  /// The value of a field that refers to the file.
  package var value: Value { .array([.integer(Int64(size)), .bytes(id.bytes)]) }
}

extension FileReference: Comparable {
  /// Orders by id, then by size.
  package static func < (left: FileReference, right: FileReference) -> Bool {
    left.id != right.id ? left.id < right.id : left.size < right.size
  }
}

// MARK: Leaves

extension FileReference {
  package var leafCount: Int { (size + Limits.leafBytes - 1) / Limits.leafBytes }

  /// Returns where a leaf's bytes are in the file.
  package func range(ofLeaf index: Int) -> Range<Int> {
    precondition((0..<leafCount).contains(index), "leaf \(index) of \(leafCount)")
    let start = index * Limits.leafBytes
    return start..<min(start + Limits.leafBytes, size)
  }

  /// Returns how many bytes the given leaves have together.
  package func byteCount(of leaves: Range<Int>) -> Int {
    guard let last = leaves.last else { return 0 }
    return range(ofLeaf: last).upperBound - leaves.lowerBound * Limits.leafBytes
  }
}
