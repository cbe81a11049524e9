import Engine
import FileFormat
import FileStore
public import Foundation
import Model
import Records
import Replication
import Storage
import Wire

// Attachments and pictures. Their bytes are read, hashed and written on other threads than the node's, so that a large
// file delays nothing else. What needs the node's queue is short: the change that names files that are durable already,
// and opening a file.

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
    try await attach(.bytes(Array(data), name: name), to: parent) { _ in }
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
    try await attach(.path(file.path(percentEncoded: false)), named: name, to: parent, progress)
  }

  private func attach(
    _ source: FileSource, named name: String? = nil, to parent: Attachment.Parent,
    _ progress: @escaping @Sendable (WorkProgress) -> Void
  ) async throws -> Attachment {
    let id = try await write(adding: [source], progress) { files in
      let file = files[0].named(name ?? source.name)
      return try StoredContents(store: store).attaching(file, to: parent, now: wall())
    }
    return try withWaymarkErrors { try store.record(Attachment.self, id) ?? Attachment(id: id) }
  }

  /// Sets the profile's picture, of at most 16 MiB; nil removes it.
  public func setAvatar(_ data: Data?) async throws {
    guard (data?.count ?? 0) <= Limits.attachmentBytesMax else {
      throw WaymarkError.badValue("avatar", "…", allowed: "use at most 16 MiB")
    }
    let sources = data.map { [FileSource.bytes(Array($0), name: "the picture")] } ?? []
    try await write(adding: sources) { _ in
    } prepare: { files in
      ((), try StoredContents(store: store).settingAvatar(files.first, now: wall()))
    }
  }

  /// Writes a change that names files of the user: adds the files to the store first, off the node's queue, then writes
  /// the change.
  ///
  /// - Parameters:
  ///   - paths: the paths of the files.
  ///   - prepare: returns the answer and the change. It is called twice: without files, to check the rest before they
  ///     are read, and with the added files by path.
  /// - Throws: `WaymarkError`, or `CancellationError`. Nothing is written then, and the added files are removed.
  package func write<Answer>(
    adding paths: [String], _ progress: @escaping @Sendable (WorkProgress) -> Void,
    prepare: ([String: AddedFile]) throws -> (Answer, PreparedChange)
  ) async throws -> Answer {
    try await write(adding: paths.map { .path($0) }, progress) { files in
      let named = files.count == paths.count ? zip(paths, files).map { ($0, $1) } : []
      return try prepare(Dictionary(named) { first, _ in first })
    }
  }

  private func write<Answer>(
    adding sources: [FileSource], _ progress: @escaping @Sendable (WorkProgress) -> Void,
    prepare: ([AddedFile]) throws -> (Answer, PreparedChange)
  ) async throws -> Answer {
    try await withWaymarkErrors {
      guard !sources.isEmpty else { return try commit(prepare([])) }
      _ = try prepare(sources.map { .unread($0.name) })
      try checkAdmitted()
      try maintenance.checkDisk()
      let addition = FileAddition(store.files)
      additions.append(addition)
      defer { endAddition(addition) }
      let files = try await addition.add(sources, progress)
      try checkOpen()
      try replicator.noteAdded(files.compactMap(\.reference), now: loop.time)
      // There is no suspension from here on, because the store must not change between the check and the write.
      return try commit(prepare(files))
    }
  }

  private func commit<Answer>(_ prepared: (answer: Answer, change: PreparedChange)) throws -> Answer {
    try write(prepared.change)
    return prepared.answer
  }

  /// Ends an addition, and removes the files that the operation has not named after all.
  func endAddition(_ addition: FileAddition) {
    additions.removeAll { $0 === addition }
    replicator.endAddition(addition)
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
    try await withWaymarkErrors {
      let output = try OutputFile(file.path(percentEncoded: false), in: home, overwrites: true)
      try await fetchContent(of: attachment) { _ in }
      let content = try StoredContents(store: store).content(of: attachment)
      try await copy(content, named: attachment.fileName, to: output, progress)
    }
  }

  /// Copies the bytes that a value holds or names to a file of the user. If they are damaged, they are fetched again.
  ///
  /// - Parameter name: the name under which a person knows the bytes.
  package func copy(
    _ content: Value, named name: String, to output: OutputFile,
    _ progress: @escaping @Sendable (WorkProgress) -> Void
  ) async throws {
    let reader = try reader(of: content)
    do {
      try await offNode { try reader.write(to: output, progress) }
    } catch let error as WaymarkError where error.code == .noContent {
      guard let file = reader.file else { throw error }
      try await fetchAgain(file, named: name)
      let reader = try self.reader(of: content)
      try await offNode { try reader.write(to: output, progress) }
    }
  }

  /// Begins to fetch a file again, of which a reader has found that it is damaged.
  func noteDamage(_ file: FileReference) {
    guard replicator.isOpen else { return }
    loop.turn { $0.repair(file, now: loop.time) }
  }

  func reader(of content: Value) throws -> ContentReader {
    try StoredContents(store: store).reader(of: content)
  }

  func reader(of attachment: Attachment) async throws -> ContentReader {
    try await withWaymarkErrors {
      try await fetchContent(of: attachment) { _ in }
      return try reader(of: StoredContents(store: store).content(of: attachment))
    }
  }

  /// Returns the profile's picture; nil if it has none. If it is not on this device, it is fetched from a connected one
  /// first.
  ///
  /// - Throws: ``WaymarkError`` with the code `no_content` if the content can't be fetched; see ``fetch(_:)``.
  public func avatar() async throws -> Data? {
    try await fetching({ try $0.avatarFile() }, named: "the picture", { try $0.avatar() })
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
