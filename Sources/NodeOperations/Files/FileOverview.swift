import Engine
import FileFormat
public import Platform
import Home
public import Model
public import NodeRuntime
import Records
import Storage
import Wire

/// The files of one device: their totals, and the largest files that records name.
public struct FileOverview: Hashable, Sendable {
  /// The numbers and sizes of all files.
  public let totals: FileTotals
  /// The largest files, the largest first.
  public let items: [Item]

  /// A file that records name.
  public struct Item: Hashable, Sendable {
    /// The id of the file, in hexadecimal.
    public let file: String
    /// The size of the file.
    public let bytes: Int
    /// Where the file is.
    public let state: FileState
    /// When the file was last added, received or read on this device; nil if it is not here.
    public let used: Date?
    /// The records that refer to the file, the visible ones first. It is empty if only an earlier or a concurrent
    /// version of a record does.
    public let records: [RecordReference]
  }

  package init(of node: NodeCore, limit: Int) throws {
    totals = try FileTotals(of: node.replicator)
    items = try node.store.largestNamedFiles(limit: limit).map { file in
      Item(
        file: file.id.description, bytes: file.size, state: try FileContents(node).fileState(of: file),
        used: try node.store.usedAt(file).map(Date.init(milliseconds:)),
        records: try node.store.records(naming: file).map { try node.store.reference($0) })
    }
  }
}

extension FileOverview.Item: Codable {
  private enum CodingKeys: CodingKey {
    case file
    case bytes
    case used
    case records
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    file = try container.decode(String.self, forKey: .file)
    bytes = try container.decode(Int.self, forKey: .bytes)
    state = try FileState(from: decoder)
    used = try container.decodeIfPresent(Date.self, forKey: .used)
    records = try container.decode([RecordReference].self, forKey: .records)
  }

  /// The members of the state stand next to the others.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(file, forKey: .file)
    try container.encode(bytes, forKey: .bytes)
    try state.encode(to: encoder)
    try container.encodeIfPresent(used, forKey: .used)
    try container.encode(records, forKey: .records)
  }
}

extension FileOverview: Codable {
  private enum CodingKeys: CodingKey { case items }

  public init(from decoder: any Decoder) throws {
    totals = try FileTotals(from: decoder)
    items = try decoder.container(keyedBy: CodingKeys.self).decode([Item].self, forKey: .items)
  }

  public func encode(to encoder: any Encoder) throws {
    try totals.encode(to: encoder)
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(items, forKey: .items)
  }
}
