package import FileFormat
import FileStore
package import Platform
package import Home
import Reasons
import Records
package import Replication
package import Storage
package import Wire

/// A file that was added to a store in order to be named by a record. Its bytes are durable.
package struct AddedFile: Sendable {
  /// The value of the field that holds the bytes or names the file.
  package let value: Value
  package let byteCount: Int
  package let name: String

  /// The file in the store; nil if the field holds the bytes.
  package var reference: FileReference? { FileReference(value) }

  package func named(_ name: String) -> AddedFile {
    AddedFile(value: value, byteCount: byteCount, name: name)
  }

  /// Stands for a file that has not been added yet, to check the other fields of a change before the file is read.
  package static func unread(_ name: String) -> AddedFile {
    AddedFile(value: .bytes([]), byteCount: 0, name: name)
  }
}

/// The fields of an attachment that are determined by its file.
enum AttachmentInput {
  static let dataField = Kind.attachment.number("fileData")

  /// Expands an assignment such as `lodging=Casa` to `parentType=lodging parentId=Casa`.
  static func expandingParent(_ pairs: [(name: String, value: String)]) -> [(name: String, value: String)] {
    pairs.flatMap { pair -> [(name: String, value: String)] in
      guard let kind = Kind.owners.first(where: { $0.name == pair.name }) else { return [pair] }
      return [("parentType", kind.name), ("parentId", pair.value)]
    }
  }

  fileprivate static let mimeTypes = [
    "pdf": "application/pdf", "jpg": "image/jpeg", "jpeg": "image/jpeg", "png": "image/png",
    "heic": "image/heic", "gif": "image/gif", "webp": "image/webp", "txt": "text/plain",
    "csv": "text/csv", "html": "text/html", "json": "application/json",
    "pkpass": "application/vnd.apple.pkpass",
    "ics": "text/calendar", "doc": "application/msword", "zip": "application/zip",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
  ]
}

extension AddedFile {
  /// Returns the attachment's fields that are determined by the file: its name, size and type, and for a new
  /// attachment the time of creation.
  func fields(now: Moment, isNew: Bool) -> [(field: FieldNumber, value: Value)] {
    let kind = Kind.attachment
    let type = name.contains(".") ? name.split(separator: ".").last.map { $0.lowercased() } ?? "" : ""
    var fields: [(FieldNumber, Value)] = [
      (kind.number("fileName"), .text(name)), (kind.number("originalFileName"), .text(name)),
      (kind.number("fileSize"), .integer(Int64(byteCount))), (kind.number("fileExtension"), .text(type)),
      (kind.number("mimeType"), .text(AttachmentInput.mimeTypes[type] ?? "application/octet-stream")),
    ]
    if isNew { fields.append((kind.number("createdDate"), .integer(now))) }
    return fields.map { (field: $0.0, value: $0.1) }
  }
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
    else { throw Self.notHere }
    return bytes
  }

  /// Returns a reader of the bytes of a `blob` field, for use on any thread.
  ///
  /// - Throws: `WaymarkError` if the bytes are not on this device.
  package func reader(of value: Value) throws -> ContentReader {
    guard let blob = Blob(value), let reader = try withFileErrors("the file", { try store.reader(of: blob) })
    else { throw Self.notHere }
    return ContentReader(reader)
  }

  private static var notHere: WaymarkError {
    .failed(
      .noContent, "The file has not arrived on this device yet.", next: "\(waymark: "wait"), then try again")
  }
}

/// Reads the bytes of an attachment or a picture piece by piece, with errors that a user can act on.
package struct ContentReader: Sendable {
  private var reader: BlobReader

  init(_ reader: BlobReader) { self.reader = reader }

  package var byteCount: Int { reader.byteCount }

  /// The file that is read; nil if the field holds the bytes.
  package var file: FileReference? { reader.file }

  /// Returns the next bytes, at most 64 KiB and never none; nil at the end.
  ///
  /// - Throws: `WaymarkError` with the code `no_content` if the stored bytes are damaged.
  package mutating func next() throws -> [UInt8]? { try withFileErrors("the file") { try reader.next() } }

  /// Writes all bytes to a file of the user. Nothing appears there unless all bytes were verified.
  ///
  /// - Parameter progress: called for files of more than 16 MiB.
  package func write(to output: OutputFile, _ progress: (WorkProgress) -> Void) throws {
    var (reader, done) = (self, ByteProgress("writing", total: byteCount))
    try output.write { write in
      while let bytes = try reader.next() {
        try Task.checkCancellation()
        try write(bytes)
        if let step = done.add(bytes.count) { progress(step) }
      }
    }
  }
}

/// Counts bytes, and decides when it is worth to tell how many there were.
struct ByteProgress {
  private let stage: String
  private let total: Int
  private var done = 0
  private var told = 0

  init(_ stage: String, total: Int) {
    self.stage = stage
    self.total = total
  }

  /// Returns the progress every 4 MiB and at the end, if there are more than 16 MiB in all; otherwise nil.
  mutating func add(_ bytes: Int) -> WorkProgress? {
    done += bytes
    guard total > Self.shortBytesMax, done - told >= Self.stepBytes || done >= total else { return nil }
    told = done
    return WorkProgress(stage: stage, done: done, total: total)
  }

  private static let shortBytesMax = 16 * 1024 * 1024
  private static let stepBytes = 4 * 1024 * 1024
}

/// Runs `body` and turns the errors of a file store into errors that a user can act on.
package func withFileErrors<Result>(_ name: String, _ body: () throws -> Result) throws -> Result {
  do {
    return try body()
  } catch let error as FileStoreError {
    switch error {
    case .full:
      throw WaymarkError.failed(
        .diskFull, "There is not enough room on the disk for \(name).", next: Files.look(name, ENOSPC))
    case .missing:
      throw WaymarkError.failed(
        .file, "Can't read \(name): no such file.", next: Files.look(name, ENOENT))
    case .tooLarge:
      throw WaymarkError.failed(
        .tooLarge, "\(name) is too large: a file can have at most 1 GiB.", next: Files.look(name, EFBIG))
    case .notAFile: throw Files.notAFile(name)
    case .damaged:
      throw WaymarkError.failed(
        .noContent, "The stored bytes of \(name) are damaged.", next: .waymark("doctor"))
    case .failed(let code):
      throw WaymarkError.failed(
        .file, "Can't access \(name): \(String(cString: strerror(code)).lowercased()).",
        next: Files.look(name, code))
    }
  }
}

extension StoredContents {
  /// Prepares the change that attaches a file to an item of a trip.
  package func attaching(
    _ file: AddedFile, to parent: Attachment.Parent, now: Moment
  ) throws -> (id: Attachment.ID, change: PreparedChange) {
    guard try store.record(parent.key)?.isVisible == true else {
      throw WaymarkError.missing(
        "The item that “\(shortened(file.name))” belongs to does not exist.",
        next: .waymark("trip list"))
    }
    let id = RecordID(milliseconds: now, random: random16())
    let fields =
      [(field: Kind.attachment.number("parent"), value: parent.value)]
      + file.fields(now: wholeSecond(now), isNew: true)
      + [(field: AttachmentInput.dataField, value: file.value)]
    try RecordEditing(store: store, kind: Kind.attachment, held: nil, now: now, ownZone: "UTC")
      .check(fields, isNew: true)
    let key = RecordKey(kind: KindNumbers.attachment, id: id)
    return (
      Attachment.ID(id),
      PreparedChange(
        verb: "attachment.add", entries: EntryDraft.putting(key, fields, on: nil))
    )
  }

  /// Returns the file that holds the content of an attachment; nil if the content is stored in the record itself.
  ///
  /// - Throws: the same as ``content(of:)``.
  package func file(of attachment: Attachment) throws -> FileReference? {
    guard case .file(let file)? = Blob(try content(of: attachment)) else { return nil }
    return file
  }

  /// Returns the bytes of an attachment.
  package func data(of attachment: Attachment) throws -> Data {
    Data(try bytes(of: content(of: attachment)))
  }

  /// Returns the value that holds the bytes of an attachment or names its file.
  ///
  /// - Throws: `WaymarkError` with the code `not_found` if the attachment is not visible, or `no_content` if its content
  ///   was erased.
  package func content(of attachment: Attachment) throws -> Value {
    guard let row = try store.visible(Kind.attachment, RecordID(attachment.id)) else {
      throw WaymarkError.notFound("attachment", attachment.fileName, next: .waymark("attachment list"))
    }
    guard let value = row[AttachmentInput.dataField], Blob(value) != nil else {
      throw WaymarkError.attachmentWithoutContent
    }
    return value
  }

  /// Returns the file that holds the profile picture; nil if the picture is stored in the record itself, or if there is
  /// none.
  package func avatarFile() throws -> FileReference? {
    guard case .file(let file)? = Blob(try store.heldProfile()[ProfileWrite.avatar]) else { return nil }
    return file
  }

  /// Returns the profile picture; nil if there is none.
  package func avatar() throws -> Data? {
    guard let value = try store.heldProfile()[ProfileWrite.avatar], !value.isEmpty else { return nil }
    return Data(try bytes(of: value))
  }

  /// Prepares the change that sets the profile picture, or removes it if there is none. The change is empty if the
  /// profile already has this picture.
  package func settingAvatar(_ picture: AddedFile?, now: Moment) throws -> PreparedChange {
    let value = picture?.value ?? .null
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

extension WaymarkError {
  /// The error for an attachment whose content was erased, or that an import gave none.
  static var attachmentWithoutContent: WaymarkError {
    .failed(.noContent, "This attachment has no content.", next: .waymark("attachment edit ID file=PATH"))
  }
}
