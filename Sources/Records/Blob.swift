// Protocol/files.md, "References"

package import FileFormat
package import Wire

/// The content of a field of type `blob`.
package enum Blob {
  case inline([UInt8])
  case file(FileReference)

  /// Returns nil if the field is empty, or if its value is of another type.
  package init?(_ value: Value?) {
    switch value {
    case .bytes(let bytes)?: self = .inline(bytes)
    case let value?:
      guard let file = FileReference(value) else { return nil }
      self = .file(file)
    case nil: return nil
    }
  }

  package var byteCount: Int {
    switch self {
    case .inline(let bytes): bytes.count
    case .file(let file): file.size
    }
  }

  /// Whether bytes of this length are stored in the field itself.
  package static func isInline(byteCount: Int) -> Bool { byteCount <= Limits.inlineBytesMax }

  /// Returns the value that holds these bytes or refers to a file with them.
  package static func value(of bytes: [UInt8]) -> Value {
    guard !isInline(byteCount: bytes.count), let list = FileHasher.list(of: bytes) else {
      return .bytes(bytes)
    }
    return list.reference.value
  }
}
