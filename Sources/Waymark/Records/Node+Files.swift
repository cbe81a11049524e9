public import Foundation
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
      let (id, change) = try contents.attaching(data, named: name, to: parent, now: wall())
      try write(change)
      return try store.record(Attachment.self, id) ?? Attachment(id: id)
    }
  }

  /// The bytes of an attachment.
  ///
  /// - Throws: ``WaymarkError``: `no_content` if not all of them have arrived on this device yet.
  public func data(of attachment: Attachment) throws -> Data {
    try sayingWhy { try contents.data(of: attachment) }
  }

  /// The picture of the profile; nil if it has none.
  ///
  /// - Throws: ``WaymarkError``: `no_content` if not all of it has arrived on this device yet.
  public func avatar() throws -> Data? {
    try sayingWhy { try contents.avatar() }
  }

  /// Gives the profile a picture of at most 16 MiB; nil takes it away.
  public func setAvatar(_ data: Data?) throws {
    guard (data?.count ?? 0) <= Limits.attachmentBytesMax else {
      throw WaymarkError.badValue("avatar", "…", allowed: "it has at most 16 MiB")
    }
    try sayingWhy { try write(contents.settingAvatar(data, now: wall())) }
  }
}
