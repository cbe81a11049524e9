// Protocol/files.md, "What a device keeps"

import Engine
import FileFormat
public import Platform
import NodeOperations
import NodeRuntime
import Records
import Storage
import Wire

extension Node {
  // MARK: Keep policy

  /// Which files this device keeps.
  public var fileKeepPolicy: FileKeepPolicy { core.replicator.keepPolicy }

  /// Changes which files this device keeps. Files that it no longer keeps are dropped as soon as another device says
  /// that it keeps them, and otherwise stay.
  ///
  /// - Throws: ``WaymarkError`` if the store can't be written.
  public func setFileKeepPolicy(_ policy: FileKeepPolicy) throws {
    try core.withWaymarkErrors { try core.loop.turn { try $0.setKeepPolicy(policy, now: core.loop.time) } }
  }

  // MARK: States

  /// Returns where the content of an attachment is: nowhere if it was erased.
  ///
  /// - Throws: ``WaymarkError`` with the code `not_found` if the attachment does not exist.
  public func fileState(of attachment: Attachment) throws -> FileState {
    try core.withWaymarkErrors {
      try FileContents(core).fileState(of: attachment)
    }
  }

  /// Returns the numbers and sizes of the files on this device, and the largest files that records name.
  ///
  /// - Parameter limit: the maximum number of files to list.
  public func files(limit: Int = 20) throws -> FileOverview { try readOnQueue(.files(limit: limit)) }

  // MARK: Fetching

  /// Fetches the content of an attachment from other devices, and delivers its state as it arrives. The sequence ends
  /// after ``FileState/here``. To stop waiting, cancel the task that iterates.
  ///
  /// ```swift
  /// for try await state in node.fetch(attachment) { show(state) }
  /// ```
  ///
  /// Iterating throws ``WaymarkError``, with the code `no_content` if the content was erased, if no connected device has
  /// the file, if nothing of it arrives for half a minute, or if this node is not serving.
  public nonisolated func fetch(_ attachment: Attachment) -> AsyncThrowingStream<FileState, any Error> {
    AsyncThrowingStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      let task = Task {
        do {
          try await fetchContent(of: attachment) { continuation.yield($0) }
          continuation.yield(.here)
          continuation.finish()
        } catch {
          continuation.finish(throwing: error)
        }
      }
      continuation.onTermination = { _ in task.cancel() }
    }
  }

  /// Fetches the content on the node's queue, for the task of ``fetch(_:)``.
  private func fetchContent(of attachment: Attachment, tell: @escaping @Sendable (FileState) -> Void)
    async throws
  {
    try await FileContents(core).fetchContent(of: attachment, tell: tell)
  }

  /// Returns the content of an attachment, for short files. For long ones, see ``bytes(of:)`` and ``copy(_:to:progress:)``.
  /// If it is not on this device, it is fetched from a connected one first.
  ///
  /// - Throws: ``WaymarkError`` with the code `no_content` if the content was erased or can't be fetched; see
  ///   ``fetch(_:)``.
  public func data(of attachment: Attachment) async throws -> Data {
    try await FileContents(core).fetching(
      { try $0.file(of: attachment) }, named: attachment.fileName, { try $0.data(of: attachment) })
  }

  /// Erases the content of an attachment, and all earlier values of the attachment; its name and other values stay. See
  /// ``Node/erase(_:of:)``.
  @discardableResult
  public func eraseData(of attachment: Attachment) async throws -> EraseSummary {
    try await erase(field: "fileData", of: attachment.key, isPreview: false)
  }
}

extension LiveQuery<FileState> {
  /// Where the content of an attachment is: nowhere if the attachment does not exist. A watch also delivers the progress
  /// while the content arrives, and ``FileState/here`` when all of it has arrived, whether an app asked for it or the
  /// node keeps all files.
  public static func fileState(of attachment: Attachment) -> LiveQuery {
    LiveQuery(.fileState, [.node, .kind(Attachment.kind.number)], attachment) { node, _ in
      do {
        return try FileContents(node).fileState(of: attachment)
      } catch let error as WaymarkError where error.code == .notFound {
        return .nowhere
      }
    }
  }
}

extension LiveQuery<FileOverview> {
  /// The numbers and sizes of the files on this device, and the largest files that records name.
  ///
  /// - Parameter limit: the maximum number of files to list.
  public static func files(limit: Int = 20) -> LiveQuery {
    LiveQuery(.files, Topic.all, limit) { node, _ in try FileOverview(of: node, limit: limit) }
  }
}
