import Engine
import FileFormat
import FileStore
public import Platform
import Home
import Model
import NodeOperations
import Records
import Replication
import Storage
import Wire

extension Node {
  // MARK: Adding

  /// Attaches a file to an item of a trip.
  ///
  /// - Parameters:
  ///   - data: the content, at most 1 GiB. For content that is in a file, see ``attach(contentsOf:named:to:progress:)``.
  ///   - name: the file name with its extension.
  ///   - parent: the item to attach it to.
  /// - Throws: ``WaymarkError`` with the code `not_found` if the item does not exist, or `too_large` if the file is.
  @discardableResult
  public func attach(
    _ data: Data, named name: String, to parent: Attachment.Parent
  ) async throws -> Attachment {
    try await FileChanges(core).attach(.bytes(Array(data), name: name), to: parent) { _ in }
  }

  /// Attaches the content of a file to an item of a trip. The content is copied piece by piece, and while it is, the
  /// node does other work.
  ///
  /// If the task is cancelled or the node closed before the copy is complete, nothing is attached and nothing is left.
  ///
  /// - Parameters:
  ///   - file: a regular file of at most 1 GiB.
  ///   - name: the file name with its extension; nil for that of `file`.
  ///   - parent: the item to attach it to.
  ///   - progress: receives the number of bytes copied so far, for files of more than 16 MiB; called on any thread.
  /// - Throws: ``WaymarkError`` with the code `not_found` if the item does not exist, `file` if the file can't be read,
  ///   `too_large` if it is, or `disk_full` if there is no room for it; or `CancellationError`.
  @discardableResult
  public func attach(
    contentsOf file: URL, named name: String? = nil, to parent: Attachment.Parent,
    progress: @escaping @Sendable (WorkProgress) -> Void = { _ in }
  ) async throws -> Attachment {
    try await FileChanges(core).attach(
      .path(file.path(percentEncoded: false)), named: name, to: parent, progress)
  }

  /// Sets the profile's picture, of at most 16 MiB; nil removes it.
  public func setAvatar(_ data: Data?) async throws {
    guard (data?.count ?? 0) <= Limits.attachmentBytesMax else {
      throw WaymarkError.badValue("avatar", "…", allowed: "use at most 16 MiB")
    }
    let sources = data.map { [FileSource.bytes(Array($0), name: "the picture")] } ?? []
    try await FileChanges(core).write(adding: sources) { _ in
    } prepare: { files in
      ((), try StoredContents(store: core.store).settingAvatar(files.first, now: core.wall()))
    }
  }

  // MARK: Reading

  /// Returns the content of an attachment piece by piece. Each piece is read when it is asked for, on another thread
  /// than the node's, and is verified.
  ///
  /// ```swift
  /// for try await piece in node.bytes(of: ticket) { hash.update(data: piece) }
  /// ```
  ///
  /// The file is opened when the iteration begins. From then on, it is read to its end, even if it is deleted meanwhile.
  /// If it is not on this device, it is fetched from a connected one first. The sequence throws ``WaymarkError`` with the
  /// code `no_content` if the content can't be fetched, see ``fetch(_:)``, or is damaged.
  public nonisolated func bytes(of attachment: Attachment) -> AttachmentBytes {
    AttachmentBytes(node: self, attachment: attachment)
  }

  /// Copies the content of an attachment to a file, piece by piece. The file appears once all bytes have been verified,
  /// and replaces an existing one.
  ///
  /// - Parameters:
  ///   - attachment: the attachment whose content is copied.
  ///   - file: the file to write, with access for this user only.
  ///   - progress: receives the number of bytes copied so far, for files of more than 16 MiB; called on any thread.
  /// - Throws: ``WaymarkError`` with the code `no_content` if the content is not on this device and can't be fetched, see
  ///   ``fetch(_:)``, or is damaged, or `file` if the file can't be written; or `CancellationError`.
  public func copy(
    _ attachment: Attachment, to file: URL,
    progress: @escaping @Sendable (WorkProgress) -> Void = { _ in }
  ) async throws {
    try await core.withWaymarkErrors {
      let output = try OutputFile(file.path(percentEncoded: false), in: home, overwrites: true)
      try await FileContents(core).fetchContent(of: attachment) { _ in }
      let content = try StoredContents(store: core.store).content(of: attachment)
      try await FileContents(core).copy(content, named: attachment.fileName, to: output, progress)
    }
  }

  /// Opens the content of an attachment, for ``AttachmentBytes``.
  fileprivate func reader(of attachment: Attachment) async throws -> ContentReader {
    try await FileContents(core).reader(of: attachment)
  }

  fileprivate func noteDamage(_ file: FileReference) { FileContents(core).noteDamage(file) }

  /// Returns the profile's picture; nil if it has none. If it is not on this device, it is fetched from a connected one
  /// first.
  ///
  /// - Throws: ``WaymarkError`` with the code `no_content` if the content can't be fetched; see ``fetch(_:)``.
  public func avatar() async throws -> Data? {
    try await FileContents(core).fetching({ try $0.avatarFile() }, named: "the picture", { try $0.avatar() })
  }
}

/// The content of an attachment, in pieces of at most 64 KiB; see ``Node/bytes(of:)``.
public struct AttachmentBytes: AsyncSequence, Sendable {
  let node: Node
  let attachment: Attachment

  public func makeAsyncIterator() -> Iterator { Iterator(node: node, attachment: attachment) }

  /// Reads the content piece by piece.
  public struct Iterator: AsyncIteratorProtocol {
    let node: Node
    let attachment: Attachment
    private var reader: ContentReader?

    init(node: Node, attachment: Attachment) {
      self.node = node
      self.attachment = attachment
    }

    /// Returns the next piece; nil at the end.
    public mutating func next() async throws -> Data? {
      let opened = if let reader { reader } else { try await node.reader(of: attachment) }
      do {
        let (bytes, rest) = try await offNode {
          var rest = opened
          return (try rest.next(), rest)
        }
        reader = rest
        return bytes.map { Data($0) }
      } catch let error as WaymarkError where error.code == .noContent {
        if let file = opened.file { await node.noteDamage(file) }
        throw error
      }
    }
  }
}
