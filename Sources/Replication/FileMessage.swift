// Protocol/files.md, "Messages"

package import FileFormat
package import Wire

/// A message about files. All of them belong to the records lane.
package enum FileMessage: Hashable, Sendable {
  case wantLeaves(LeafRequest)
  /// Hashes of leaves, from leaf `first` on.
  case leafList(FileReference, first: Int, [Bytes32])
  case leafBytes(FileLeaf)
  case filesHere(FilesHere)
  /// The end of all answers about a file.
  case noSuchFile(FileReference)
}

/// A request for leaves, or for their hashes.
package struct LeafRequest: Hashable, Sendable {
  package let file: FileReference
  package let part: FilePart
  package let leaves: Range<Int>

  package init(file: FileReference, part: FilePart, leaves: Range<Int>) {
    precondition(
      !leaves.isEmpty && leaves.upperBound <= file.leafCount, "\(leaves) of \(file.leafCount) leaves")
    self.file = file
    self.part = part
    self.leaves = leaves
  }
}

/// What to send of a file's leaves.
package enum FilePart: Hashable, Sendable {
  case list
  case bytes
}

/// A leaf with its hash. The hash is computed where the leaf is decoded or read, so that the exchange only compares.
package struct FileLeaf: Hashable, Sendable {
  package let file: FileReference
  package let index: Int
  /// Often a part of the message that brought them, so that they need not be copied.
  package let bytes: ArraySlice<UInt8>
  package let hash: Bytes32

  package init(_ file: FileReference, _ index: Int, _ bytes: ArraySlice<UInt8>) {
    precondition(bytes.count == file.range(ofLeaf: index).count, "\(bytes.count) bytes for leaf \(index)")
    self.file = file
    self.index = index
    self.bytes = bytes
    hash = LeafHash.hash(bytes, at: index)
  }
}

/// A question which files the receiver has, or a statement which files the sender has.
package struct FilesHere: Hashable, Sendable {
  package enum Role: Int, Sendable {
    case question = 0
    case answer = 1
    case announcement = 2
  }

  package let role: Role
  /// Whether the sender keeps all files; always false in a question.
  package let keepsAll: Bool
  package let files: [FileReference]

  package static func question(_ files: [FileReference]) -> FilesHere {
    FilesHere(role: .question, keepsAll: false, files: files)
  }

  package init(role: Role, keepsAll: Bool, files: [FileReference]) {
    precondition(role != .question || !keepsAll, "a question that says what its sender keeps")
    self.role = role
    self.keepsAll = keepsAll
    self.files = files
  }
}

// MARK: Encoding

extension FileMessage {
  enum Tag {
    static let wantLeaves = 15
    static let leafList = 16
    static let leafBytes = 17
    static let filesHere = 18
    static let noSuchFile = 19
    static let all = wantLeaves...noSuchFile
  }

  package var encoded: [UInt8] {
    var writer = CBORWriter()
    switch self {
    case .wantLeaves(let request):
      writer.begin(Tag.wantLeaves, 4)
      writer.file(request.file)
      writer.bool(request.part == .bytes)
      writer.unsigned(UInt64(request.leaves.lowerBound))
      writer.unsigned(UInt64(request.leaves.count))
    case .leafList(let file, let first, let hashes):
      writer.begin(Tag.leafList, 3)
      writer.file(file)
      writer.unsigned(UInt64(first))
      writer.list(hashes) { $0.byteString($1) }
    case .leafBytes(let leaf): return Self.beginLeaf(leaf.index, of: leaf.file) + leaf.bytes
    case .filesHere(let here):
      writer.begin(Tag.filesHere, 3)
      writer.unsigned(UInt64(here.role.rawValue))
      writer.bool(here.keepsAll)
      writer.list(here.files) { $0.file($1) }
    case .noSuchFile(let file):
      writer.begin(Tag.noSuchFile, 1)
      writer.file(file)
    }
    return writer.bytes
  }

  /// Returns what precedes the bytes of a leaf in its message.
  package static func beginLeaf(_ index: Int, of file: FileReference) -> [UInt8] {
    var writer = CBORWriter()
    writer.begin(Tag.leafBytes, 3)
    writer.file(file)
    writer.unsigned(UInt64(index))
    writer.beginByteString(file.range(ofLeaf: index).count)
    return writer.bytes
  }

  /// Reads the parts of a message after its tag; the hash of a leaf is computed here.
  ///
  /// - Throws: `WireError` if the message does not have the form that the chapter gives.
  init(tag: Int, parts: Int, _ reader: inout CBORReader) throws(WireError) {
    switch (tag, parts) {
    case (Tag.wantLeaves, 4): self = .wantLeaves(try reader.leafRequest())
    case (Tag.leafList, 3):
      let file = try reader.file()
      let first = try reader.unsigned(max: file.leafCount)
      let start = reader.offset
      let hashes = try reader.list(max: Limits.leafHashesPerMessageMax) { r throws(WireError) in
        try r.bytes32()
      }
      guard !hashes.isEmpty, first + hashes.count <= file.leafCount else { throw .limit(offset: start) }
      self = .leafList(file, first: first, hashes)
    case (Tag.leafBytes, 3):
      let file = try reader.file()
      let start = reader.offset
      let index = try reader.unsigned(max: file.leafCount)
      guard index < file.leafCount else { throw .limit(offset: start) }
      let bytes = reader.buffer[try reader.byteStringRange(max: Limits.leafBytes)]
      guard bytes.count == file.range(ofLeaf: index).count else { throw .unexpected(offset: start) }
      self = .leafBytes(FileLeaf(file, index, bytes))
    case (Tag.filesHere, 3):
      let start = reader.offset
      guard let role = FilesHere.Role(rawValue: try reader.unsigned(max: 2)) else {
        throw .unexpected(offset: start)
      }
      let keepsAll = try reader.bool()
      guard role != .question || !keepsAll else { throw .unexpected(offset: start) }
      let files = try reader.list(max: Limits.filesPerMessageMax) { r throws(WireError) in try r.file() }
      self = .filesHere(FilesHere(role: role, keepsAll: keepsAll, files: files))
    case (Tag.noSuchFile, 1): self = .noSuchFile(try reader.file())
    default: throw .unexpected(offset: 0)
    }
  }
}

extension CBORWriter {
  fileprivate mutating func file(_ file: FileReference) {
    array(2)
    unsigned(UInt64(file.size))
    byteString(file.id.raw)
  }
}

extension CBORReader {
  fileprivate mutating func file() throws(WireError) -> FileReference {
    try array(exactly: 2)
    let start = offset
    let size = try unsigned(max: Limits.fileBytesMax)
    guard let file = FileReference(size: size, id: FileID(try bytes32())) else { throw .limit(offset: start) }
    return file
  }

  fileprivate mutating func leafRequest() throws(WireError) -> LeafRequest {
    let file = try file()
    let part = try bool() ? FilePart.bytes : .list
    let start = offset
    let from = try unsigned(max: file.leafCount)
    let count = try unsigned(max: part == .bytes ? Limits.leavesPerRequestMax : file.leafCount)
    guard count > 0, from + count <= file.leafCount else { throw .limit(offset: start) }
    return LeafRequest(file: file, part: part, leaves: from..<from + count)
  }
}
