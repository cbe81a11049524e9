public import Foundation
import Records
import Replication
import Storage
import Wire

extension Node {
  private var contents: StoredContents { StoredContents(store: store) }

  /// Adds a file to an item of a trip.
  ///
  /// - Parameters:
  ///   - data: at most 16 MiB.
  ///   - name: as the person knows it, with its ending.
  ///   - parent: the item that it belongs to.
  /// - Throws: ``WaymarkError``: `not_found` if the item is not there, `bad_value` if the file is too large.
  @discardableResult
  public func attach(_ data: Data, named name: String, to parent: Attachment.Parent) throws -> Attachment {
    try sayingWhy {
      guard try store.record(parent.key)?.isVisible == true else {
        throw WaymarkError.failed(
          .notFound, "What “\(shortened(name))” is to be attached to is not there.",
          next: .waymark("trip list"))
      }
      let id = RecordID(milliseconds: wall(), random: random16())
      try write(
        "attachment.add", try drafts(of: AttachmentInput(name: name, bytes: Array(data)), id, parent))
      return try record(Attachment.self, UUID(id)) ?? Attachment(id: UUID(id))
    }
  }

  private func drafts(
    of file: AttachmentInput, _ id: RecordID, _ parent: Attachment.Parent
  ) throws -> [EntryDraft] {
    let cut = Contents.cut(file.bytes)
    let fields =
      [(field: Registry.attachment.number("parent"), value: parent.value)]
      + file.fields(now: wholeSecond(wall()), isNew: true)
      + [(field: AttachmentInput.dataField, value: cut.value)]
    try RecordEditing(store: store, kind: Registry.attachment, held: nil, now: wall(), ownZone: "UTC")
      .check(fields, isNew: true)
    let key = RecordKey(kind: KindNumbers.attachment, id: id)
    return try contents.missing(cut.records) + EntryDraft.putting(key, fields, on: nil)
  }

  /// The bytes of an attachment.
  ///
  /// - Throws: ``WaymarkError``: `no_content` if not all of them have arrived on this device yet.
  public func data(of attachment: Attachment) throws -> Data {
    try sayingWhy {
      guard let row = try store.visible(Registry.attachment, RecordID(attachment.id)),
        let value = row[AttachmentInput.dataField]
      else {
        throw WaymarkError.notFound("attachment", attachment.fileName, next: .waymark("attachment list"))
      }
      return Data(try contents.bytes(of: value))
    }
  }

  /// The picture of the profile; nil if it has none.
  ///
  /// - Throws: ``WaymarkError``: `no_content` if not all of it has arrived on this device yet.
  public func avatar() throws -> Data? {
    try sayingWhy {
      guard let value = try store.heldProfile()[ProfileWrite.avatar], !value.isEmpty else { return nil }
      return Data(try contents.bytes(of: value))
    }
  }

  /// Gives the profile a picture of at most 16 MiB; nil takes it away.
  public func setAvatar(_ data: Data?) throws {
    guard (data?.count ?? 0) <= Limits.attachmentBytesMax else {
      throw WaymarkError.badValue("avatar", "…", allowed: "it has at most 16 MiB")
    }
    let cut = data.map { Contents.cut(Array($0)) }
    let value = cut?.value ?? .null
    try sayingWhy {
      let held = try store.heldProfile()
      guard !isSame(value, held[ProfileWrite.avatar]) else { return }
      let profile = ProfileWrite(
        held: held, heldAt: try store.profileTime(held), changed: [(ProfileWrite.avatar, value)],
        now: wall())
      try write(
        "profile.set", try contents.missing(cut?.records ?? []) + [profile.draft],
        leastClock: profile.leastClock)
    }
  }
}
