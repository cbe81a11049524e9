// Protocol/files.md, "References", "Leaves and ids", "Messages": an independent copy, used by the judge only.

/// The size and the id of a file.
struct PlainFile: Hashable, Comparable, CustomStringConvertible {
  let id: Name32
  let size: Int

  static let leafBytes = 65_536

  init(id: Name32, size: Int) { (self.id, self.size) = (id, size) }

  /// Reads a reference in a message or a field: its size and its id.
  init?(_ item: PlainItem, in bytes: [UInt8]) {
    guard let parts = item.array, parts.count == 2, let size = parts[0].unsigned, size <= 1_073_741_824,
      let id = parts[1].name32(in: bytes)
    else { return nil }
    self.init(id: id, size: Int(size))
  }

  /// Reads the encoded value of a field; nil if it is no reference.
  init?(content: [UInt8]) {
    guard let item = try? PlainItem.read(content) else { return nil }
    self.init(item, in: content)
  }

  /// The file that consists of these bytes.
  init(of content: [UInt8]) {
    var list = plainBigEndian(UInt64(content.count))
    for (index, start) in stride(from: 0, to: content.count, by: Self.leafBytes).enumerated() {
      let leaf = content[start..<min(start + Self.leafBytes, content.count)]
      list += PlainSealing.hash("waymark/leaf/v1", plainBigEndian(UInt64(index)) + leaf).bytes
    }
    self.init(id: PlainSealing.hash("waymark/file/v1", list), size: content.count)
  }

  var description: String { "file \(id) of \(size) bytes" }

  static func < (left: PlainFile, right: PlainFile) -> Bool {
    left.id != right.id ? left.id < right.id : left.size < right.size
  }
}

/// A message about files, as far as the judge checks it.
enum PlainFileMessage {
  case want
  case list(PlainFile)
  case leaf(PlainFile, index: Int, bytes: Range<Int>)
  /// `what` is 0 for a question, 1 for an answer, and 2 for an announcement.
  case here(what: Int, keepsAll: Bool, [PlainFile])
  case noSuchFile(PlainFile)

  init?(_ tag: UInt64, _ parts: [PlainItem], _ bytes: [UInt8]) {
    if tag == 18 {
      guard let what = parts[0].unsigned, what <= 2, let keepsAll = parts[1].bool, let items = parts[2].array
      else { return nil }
      let files = items.compactMap { PlainFile($0, in: bytes) }
      guard files.count == items.count, files.count <= 1_024, what > 0 || !keepsAll else { return nil }
      self = .here(what: Int(what), keepsAll: keepsAll, files)
      return
    }
    guard let file = PlainFile(parts[0], in: bytes) else { return nil }
    switch tag {
    case 15: self = .want
    case 16: self = .list(file)
    case 17:
      guard let index = parts[1].unsigned, parts[2].bytes(in: bytes) != nil else { return nil }
      self = .leaf(file, index: Int(clamping: index), bytes: parts[2].content)
    default: self = .noSuchFile(file)
    }
  }
}
