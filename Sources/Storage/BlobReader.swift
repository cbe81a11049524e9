// Protocol/files.md, "References"

package import FileFormat
package import FileStore

/// Reads the content of a field from its beginning to its end, on any thread and with at most 64 KiB in memory. A file
/// is verified leaf by leaf, and is read to its end even if it is removed meanwhile.
package struct BlobReader: Sendable {
  package let byteCount: Int
  private var source: Source

  private enum Source: Sendable {
    case bytes([UInt8])
    case file(FileReader)
  }

  /// The file that is read; nil if the field holds the bytes.
  package var file: FileReference? {
    if case .file(let reader) = source { reader.file } else { nil }
  }

  init(bytes: [UInt8]) {
    byteCount = bytes.count
    source = .bytes(bytes)
  }

  init(file: FileReader) {
    byteCount = file.file.size
    source = .file(file)
  }

  /// Returns the next bytes, never none; nil at the end.
  ///
  /// - Throws: `.damaged` if the stored bytes do not match the file's id.
  package mutating func next() throws(FileStoreError) -> [UInt8]? {
    switch source {
    case .bytes(let bytes):
      source = .bytes([])
      return bytes.isEmpty ? nil : bytes
    case .file(var reader):
      defer { source = .file(reader) }
      return try reader.next()
    }
  }
}
