package import Foundation
import Home
package import Records
package import Replication
package import Storage
package import Wire

/// A file to be saved as an attachment.
struct AttachmentInput {
  package let bytes: [UInt8]
  private let name: String

  static let dataField = Registry.attachment.number("fileData")

  init(path: String) throws {
    bytes = try Files.read(path, bytesMax: Limits.attachmentBytesMax, what: "attachment")
    name = Files.name(of: path)
  }

  /// Creates an attachment from a file in memory.
  init(name: String, bytes: [UInt8]) throws {
    guard bytes.count <= Limits.attachmentBytesMax else {
      throw WaymarkError.badValue("file", name, allowed: "it must be at most 16 MiB")
    }
    (self.name, self.bytes) = (name, bytes)
  }

  /// Returns the attachment's fields that are determined by the file: its name, size and type, and for a new
  /// attachment the time of creation.
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

  /// Expands an assignment such as `lodging=Casa` to `parentType=lodging parentId=Casa`.
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

/// Reads and prepares the Content records of a store, which hold the bytes of attachments and pictures.
package struct StoredContents {
  let store: Store

  package init(store: Store) { self.store = store }

  /// Returns the bytes of a `blob` field.
  ///
  /// - Throws: `WaymarkError` if not all of the bytes are in the store.
  package func bytes(of value: Value) throws -> [UInt8] {
    let joined = try Contents.join(value) { id in
      try store.record(RecordKey(kind: KindNumbers.content, id: id)).flatMap { record in
        guard case .bytes(let bytes)? = record[Contents.bytesField] else { return nil }
        return bytes
      }
    }
    guard let joined else {
      throw WaymarkError.failed(
        .noContent, "Not all of the content has arrived on this device yet.",
        next: "\(waymark: "wait"), then try again")
    }
    return joined
  }

  /// Returns the entries that write the given Content records, except those that are already alive in the store. A
  /// record that is given several times is written once.
  package func missing(_ records: [RecordDraft]) throws -> [EntryDraft] {
    var seen: Set<RecordID> = []
    return try records.filter { seen.insert($0.key.id).inserted }.flatMap { draft in
      let held = try store.record(draft.key)
      // The bytes of an erased record are gone.
      let hasBytes = held?[Contents.bytesField] != nil
      if hasBytes, held?.isAlive == true { return [EntryDraft]() }
      return EntryDraft.putting(
        draft.key, hasBytes ? [] : draft.fields.map { ($0.number, $0.value) }, on: held)
    }
  }
}

extension StoredContents {
  /// Prepares the change that attaches a file to an item of a trip.
  package func attaching(
    _ data: Data, named name: String, to parent: Attachment.Parent, now: Moment
  ) throws -> (id: UUID, change: PreparedChange) {
    guard try store.record(parent.key)?.isVisible == true else {
      throw WaymarkError.failed(
        .notFound, "The item that “\(shortened(name))” belongs to does not exist.",
        next: .waymark("trip list"))
    }
    let id = RecordID(milliseconds: now, random: random16())
    let file = try AttachmentInput(name: name, bytes: Array(data))
    let cut = Contents.cut(file.bytes)
    let fields =
      [(field: Registry.attachment.number("parent"), value: parent.value)]
      + file.fields(now: wholeSecond(now), isNew: true)
      + [(field: AttachmentInput.dataField, value: cut.value)]
    try RecordEditing(store: store, kind: Registry.attachment, held: nil, now: now, ownZone: "UTC")
      .check(fields, isNew: true)
    let key = RecordKey(kind: KindNumbers.attachment, id: id)
    return (
      UUID(id),
      PreparedChange(
        verb: "attachment.add",
        entries: try missing(cut.records) + EntryDraft.putting(key, fields, on: nil))
    )
  }

  /// Returns the bytes of an attachment.
  package func data(of attachment: Attachment) throws -> Data {
    guard let row = try store.visible(Registry.attachment, RecordID(attachment.id)),
      let value = row[AttachmentInput.dataField]
    else { throw WaymarkError.notFound("attachment", attachment.fileName, next: .waymark("attachment list")) }
    return Data(try bytes(of: value))
  }

  /// Returns the profile picture; nil if there is none.
  package func avatar() throws -> Data? {
    guard let value = try store.heldProfile()[ProfileWrite.avatar], !value.isEmpty else { return nil }
    return Data(try bytes(of: value))
  }

  /// Prepares the change that sets the profile picture, or removes it if the data is nil. The change is empty if the
  /// profile already has this picture.
  package func settingAvatar(_ data: Data?, now: Moment) throws -> PreparedChange {
    let cut = data.map { Contents.cut(Array($0)) }
    let value = cut?.value ?? .null
    let held = try store.heldProfile()
    guard !isSame(value, held[ProfileWrite.avatar]) else {
      return PreparedChange(verb: "profile.set", entries: [])
    }
    let profile = ProfileWrite(
      held: held, heldAt: try store.timeOfChange(of: held.key) ?? 0, changed: [(ProfileWrite.avatar, value)],
      now: now)
    return PreparedChange(
      verb: "profile.set", entries: try missing(cut?.records ?? []) + [profile.draft],
      leastClock: profile.leastClock)
  }
}
