public import Foundation
import Records
import Replication
import Storage
import Wire

extension Node {
  /// Adds a file to an item of a trip.
  ///
  /// - Parameters:
  ///   - data: at most 16 MiB.
  ///   - name: as the person knows it, with its ending.
  ///   - parent: the item that it belongs to.
  /// - Throws: ``WaymarkError``: `not_found` if the item is not there, `bad_value` if the file is too large.
  @discardableResult
  public func attach(_ data: Data, named name: String, to parent: Attachment.Parent) throws -> Attachment {
    try checkOpen()
    guard try store.record(parent.key)?.isVisible == true else {
      throw WaymarkError.failed(
        "not_found", "What “\(shortened(name))” is to be attached to is not there.", next: "waymark trip list"
      )
    }
    let file = try AttachmentInput(name: name, bytes: Array(data))
    let key = RecordKey(kind: KindNumbers.attachment, id: newRecordID())
    let cut = Contents.cut(file.bytes)
    let fields =
      [(field: Registry.attachment.number("parent"), value: parent.value)]
      + file.fields(now: wholeSecond(wall()), isNew: true)
      + [(field: AttachmentInput.dataField, value: cut.value)]
    try RecordEditing(store: store, kind: Registry.attachment, held: nil, now: wall(), ownZone: "UTC")
      .check(fields, isNew: true)
    let drafts = try contents.missing(cut.records) + EntryDraft.putting(key, fields, on: nil)
    try write("attachment.add", drafts)
    return try record(Attachment.self, UUID(key.id)) ?? Attachment(id: UUID(key.id))
  }

  /// The bytes of an attachment.
  ///
  /// - Throws: ``WaymarkError``: `no_content` if not all of them have arrived on this device yet.
  public func data(of attachment: Attachment) throws -> Data {
    try checkOpen()
    guard let row = try store.visible(Registry.attachment, RecordID(attachment.id)),
      let value = row[AttachmentInput.dataField]
    else { throw WaymarkError.notFound("attachment", attachment.fileName, next: "waymark attachment list") }
    return Data(try contents.bytes(of: value))
  }

  /// The picture of the profile; nil if it has none.
  ///
  /// - Throws: ``WaymarkError``: `no_content` if not all of it has arrived on this device yet.
  public func avatar() throws -> Data? {
    try checkOpen()
    guard let value = try heldProfile()[ProfileWrite.avatar], !value.isEmpty else { return nil }
    return Data(try contents.bytes(of: value))
  }

  /// Gives the profile a picture of at most 16 MiB; nil takes it away.
  public func setAvatar(_ data: Data?) throws {
    try checkOpen()
    guard (data?.count ?? 0) <= Limits.attachmentBytesMax else {
      throw WaymarkError.badValue("avatar", "…", allowed: "it has at most 16 MiB")
    }
    let held = try heldProfile()
    let cut = data.map { Contents.cut(Array($0)) }
    let value = cut?.value ?? .null
    guard !isSame(value, held[ProfileWrite.avatar]) else { return }
    let profile = ProfileWrite(
      held: held, heldAt: try store.profileTime(held), changed: [(ProfileWrite.avatar, value)], now: wall())
    try write(
      "profile.set", try contents.missing(cut?.records ?? []) + [profile.draft],
      leastClock: profile.leastClock)
  }
}
