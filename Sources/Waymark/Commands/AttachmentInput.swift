import Records
import Replication
import Storage
import Wire

/// A file that becomes an attachment.
struct AttachmentInput {
  let bytes: [UInt8]
  private let name: String

  static let dataField = Registry.attachment.number("fileData")

  init(path: String) throws {
    bytes = try Files.read(path, bytesMax: Limits.attachmentBytesMax, what: "attachment")
    name = Files.name(of: path)
  }

  /// A file that is in memory.
  init(name: String, bytes: [UInt8]) throws {
    guard bytes.count <= Limits.attachmentBytesMax else {
      throw WaymarkError.badValue("file", name, allowed: "it has at most 16 MiB")
    }
    (self.name, self.bytes) = (name, bytes)
  }

  /// What the file says of itself.
  func fields(now: Moment, isNew: Bool) -> [(field: FieldNumber, value: Value)] {
    let kind = Registry.attachment
    let type = name.contains(".") ? name.split(separator: ".").last.map { $0.lowercased() } ?? "" : ""
    var fields: [(FieldNumber, Value)] = [
      (kind.number("fileName"), .text(name)), (kind.number("originalFileName"), .text(name)),
      (kind.number("fileSize"), .integer(Int64(bytes.count))), (kind.number("fileExtension"), .text(type)),
      (kind.number("mimeType"), .text(Self.mimeTypes[type] ?? "application/octet-stream")),
    ]
    if isNew { fields.append((kind.number("createdDate"), .integer(now))) }
    return fields.map { (field: $0.0, value: $0.1) }
  }

  /// `lodging=Casa` stands for `parentType=lodging parentId=Casa`.
  static func expandingParent(_ pairs: [(name: String, value: String)]) -> [(name: String, value: String)] {
    pairs.flatMap { pair -> [(name: String, value: String)] in
      guard let kind = Registry.owners.first(where: { $0.name == pair.name }) else { return [pair] }
      return [("parentType", kind.name), ("parentId", pair.value)]
    }
  }

  private static let mimeTypes = [
    "pdf": "application/pdf", "jpg": "image/jpeg", "jpeg": "image/jpeg", "png": "image/png",
    "heic": "image/heic", "gif": "image/gif", "webp": "image/webp", "txt": "text/plain",
    "csv": "text/csv", "html": "text/html", "json": "application/json",
    "pkpass": "application/vnd.apple.pkpass",
    "ics": "text/calendar", "doc": "application/msword", "zip": "application/zip",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
  ]
}

/// The Content records of a store.
struct StoredContents {
  let store: Store

  /// The bytes that a `blob` field stands for.
  func bytes(of value: Value) throws -> [UInt8] {
    let joined = try Contents.join(value) { id in
      try store.record(RecordKey(kind: KindNumbers.content, id: id)).flatMap { record in
        guard case .bytes(let bytes)? = record[Contents.bytesField] else { return nil }
        return bytes
      }
    }
    guard let joined else {
      throw WaymarkError.failed(
        .noContent, "Not all of the content has arrived on this device yet.",
        next: "\(waymark: "wait"), then the same again")
    }
    return joined
  }

  /// The entries for the Content records that the store does not have alive; each is written once.
  func missing(_ records: [RecordDraft]) throws -> [EntryDraft] {
    var seen: Set<RecordID> = []
    return try records.filter { seen.insert($0.key.id).inserted }.flatMap { draft in
      let held = try store.record(draft.key)
      if held?.isAlive == true { return [EntryDraft]() }
      return EntryDraft.putting(
        draft.key, held == nil ? draft.fields.map { ($0.number, $0.value) } : [], on: held)
    }
  }
}
