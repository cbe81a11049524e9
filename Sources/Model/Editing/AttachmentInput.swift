package import FileFormat
import FileStore
package import Foundation
import Home
import Records
package import Replication
package import Storage
package import Wire

/// A file to be saved as an attachment. Its bytes are durable before the record that names it is written.
struct AttachmentInput {
  /// The value of the field that holds the bytes or names the file.
  let value: Value
  private let byteCount: Int
  private let name: String

  static let dataField = Registry.attachment.number("fileData")

  /// Stores the file at a path.
  init(path: String, in store: Store, now: Moment) throws {
    name = Files.name(of: path)
    (value, byteCount) = try withFileErrors(path) { try store.keepFile(at: path, now: now) }
  }

  /// Stores a file that is in memory.
  init(name: String, bytes: [UInt8], in store: Store, now: Moment) throws {
    guard bytes.count <= Limits.fileBytesMax else {
      throw WaymarkError.badValue("file", name, allowed: "it must be at most 1 GiB")
    }
    self.name = name
    byteCount = bytes.count
    value = try withFileErrors(name) { try store.keep(bytes, now: now) }
  }

  /// Returns the attachment's fields that are determined by the file: its name, size and type, and for a new
  /// attachment the time of creation.
  func fields(now: Moment, isNew: Bool) -> [(field: FieldNumber, value: Value)] {
    let kind = Registry.attachment
    let type = name.contains(".") ? name.split(separator: ".").last.map { $0.lowercased() } ?? "" : ""
    var fields: [(FieldNumber, Value)] = [
      (kind.number("fileName"), .text(name)), (kind.number("originalFileName"), .text(name)),
      (kind.number("fileSize"), .integer(Int64(byteCount))), (kind.number("fileExtension"), .text(type)),
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

/// Reads and writes the bytes of attachments and pictures.
package struct StoredContents {
  let store: Store

  package init(store: Store) { self.store = store }

  /// Returns the bytes of a `blob` field.
  ///
  /// - Throws: `WaymarkError` if the bytes are not on this device.
  package func bytes(of value: Value) throws -> [UInt8] {
    guard let blob = Blob(value), let bytes = try withFileErrors("the file", { try store.bytes(of: blob) })
    else {
      throw WaymarkError.failed(
        .noContent, "The file has not arrived on this device yet.", next: "\(waymark: "wait"), then try again"
      )
    }
    return bytes
  }
}

/// Runs `body` and turns the errors of a file store into errors that a user can act on.
func withFileErrors<Result>(_ name: String, _ body: () throws -> Result) throws -> Result {
  do {
    return try body()
  } catch let error as FileStoreError {
    switch error {
    case .full:
      throw WaymarkError.failed(
        .diskFull, "There is not enough room on the disk for \(shortened(name)).",
        next: Files.look(name, ENOSPC))
    case .missing:
      throw WaymarkError.failed(
        .file, "Can't read \(shortened(name)): no such file.", next: Files.look(name, ENOENT))
    case .tooLarge:
      throw WaymarkError.failed(
        .tooLarge, "\(shortened(name)) is too large: a file can have at most 1 GiB.",
        next: Files.look(name, EFBIG))
    case .notAFile: throw Files.notAFile(name)
    case .damaged:
      throw WaymarkError.failed(
        .noContent, "The stored bytes of \(shortened(name)) are damaged.", next: .waymark("doctor"))
    case .failed(let code):
      throw WaymarkError.failed(
        .file, "Can't access \(shortened(name)): \(String(cString: strerror(code)).lowercased()).",
        next: Files.look(name, code))
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
    let file = try AttachmentInput(name: name, bytes: Array(data), in: store, now: now)
    let fields =
      [(field: Registry.attachment.number("parent"), value: parent.value)]
      + file.fields(now: wholeSecond(now), isNew: true)
      + [(field: AttachmentInput.dataField, value: file.value)]
    try RecordEditing(store: store, kind: Registry.attachment, held: nil, now: now, ownZone: "UTC")
      .check(fields, isNew: true)
    let key = RecordKey(kind: KindNumbers.attachment, id: id)
    return (
      UUID(id),
      PreparedChange(
        verb: "attachment.add", entries: EntryDraft.putting(key, fields, on: nil))
    )
  }

  /// Returns the file that holds the content of an attachment; nil if the content is stored in the record itself, or if
  /// there is none.
  ///
  /// - Throws: `WaymarkError` if the attachment does not exist.
  package func file(of attachment: Attachment) throws -> FileReference? {
    guard let row = try store.visible(Registry.attachment, RecordID(attachment.id)) else {
      throw WaymarkError.notFound("attachment", attachment.fileName, next: .waymark("attachment list"))
    }
    guard case .file(let file)? = Blob(row[AttachmentInput.dataField]) else { return nil }
    return file
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
    let value =
      try data.map { data in try withFileErrors("the picture") { try store.keep(Array(data), now: now) } }
      ?? .null
    let held = try store.heldProfile()
    guard !isSame(value, held[ProfileWrite.avatar]) else {
      return PreparedChange(verb: "profile.set", entries: [])
    }
    let profile = ProfileWrite(
      held: held, heldAt: try store.timeOfChange(of: held.key) ?? 0, changed: [(ProfileWrite.avatar, value)],
      now: now)
    return PreparedChange(
      verb: "profile.set", entries: [profile.draft],
      leastClock: profile.leastClock)
  }
}
