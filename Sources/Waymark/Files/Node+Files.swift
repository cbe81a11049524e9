// Protocol/files.md, "What a device keeps"

import Engine
package import FileFormat
public import Foundation
import Records
import Storage
import Wire

extension Node {
  // MARK: Keep policy

  /// Which files this device keeps.
  public var fileKeepPolicy: FileKeepPolicy { replicator.keepPolicy }

  /// Changes which files this device keeps. Files that it no longer keeps are dropped as soon as another device says
  /// that it keeps them, and otherwise stay.
  ///
  /// - Throws: ``WaymarkError`` if the store can't be written.
  public func setFileKeepPolicy(_ policy: FileKeepPolicy) throws {
    try withWaymarkErrors { try loop.turn { try $0.setKeepPolicy(policy, now: loop.time) } }
  }

  // MARK: States

  /// Returns where the content of an attachment is.
  ///
  /// - Throws: ``WaymarkError`` with the code `not_found` if the attachment does not exist.
  public func fileState(of attachment: Attachment) throws -> FileState {
    try withWaymarkErrors {
      try StoredContents(store: store).file(of: attachment).map { try fileState(of: $0) } ?? .here
    }
  }

  /// Returns the numbers and sizes of the files on this device, and the largest files that records name.
  ///
  /// - Parameter limit: the maximum number of files to list.
  public func files(limit: Int = 20) throws -> FileOverview { try read(.files(limit: limit)) }

  /// Returns whether a whole file is on this device.
  package func isHere(_ file: FileReference) throws -> Bool { try fileState(of: file).isHere }

  func fileState(of file: FileReference) throws -> FileState {
    let names = connections.names
    return FileState(try replicator.location(of: file), size: file.size) { names.name(of: $0) }
  }

  // MARK: Fetching

  /// Fetches the content of an attachment from other devices, and delivers its state as it arrives. The sequence ends
  /// after ``FileState/here``. To stop waiting, cancel the task that iterates.
  ///
  /// ```swift
  /// for try await state in node.fetch(attachment) { show(state) }
  /// ```
  ///
  /// Iterating throws ``WaymarkError``, with the code `no_content` if no connected device has the file, if nothing of it
  /// arrives for half a minute, or if this node is not serving.
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

  /// Returns the content of an attachment, for short files. For long ones, see ``bytes(of:)`` and ``copy(_:to:progress:)``.
  /// If it is not on this device, it is fetched from a connected one first.
  ///
  /// - Throws: ``WaymarkError`` with the code `no_content` if the content can't be fetched; see ``fetch(_:)``.
  public func data(of attachment: Attachment) async throws -> Data {
    try await fetching(
      { try $0.file(of: attachment) }, named: attachment.fileName, { try $0.data(of: attachment) })
  }

  /// Reads content whose file may not be here, or may be damaged here, and fetches the file then.
  ///
  /// - Parameters:
  ///   - file: finds the file; nil if the content is stored in a record.
  ///   - name: the name under which a person knows the file.
  ///   - read: reads the content.
  func fetching<Content>(
    _ file: (StoredContents) throws -> FileReference?, named name: String,
    _ read: (StoredContents) throws -> Content
  ) async throws -> Content {
    try await withWaymarkErrors {
      let contents = StoredContents(store: store)
      guard let file = try file(contents) else { return try read(contents) }
      try await fetch(file, named: name)
      do {
        return try read(contents)
      } catch let error as WaymarkError where error.code == .noContent {
        try await fetchAgain(file, named: name)
        return try read(contents)
      }
    }
  }

  func fetchContent(
    of attachment: Attachment, tell: @escaping @Sendable (FileState) -> Void
  ) async throws {
    try await withWaymarkErrors {
      guard let file = try StoredContents(store: store).file(of: attachment) else { return }
      try await fetch(file, named: attachment.fileName, tell: tell)
    }
  }

  /// Fetches a file that is not here, and notes that it is used.
  ///
  /// - Parameters:
  ///   - name: the name under which a person knows the file.
  ///   - tell: called with each state on the way.
  /// - Throws: ``WaymarkError``, or `CancellationError`.
  package func fetch(
    _ file: FileReference, named name: String, tell: @escaping @Sendable (FileState) -> Void = { _ in }
  ) async throws {
    if try !fileState(of: file).isHere {
      let fetching = FileFetching(file: file, name: name)
      try await fetching.run(on: self, tell: tell)
    }
    // A full disk is no reason not to read a file.
    try? store.noteUsed(file, now: wall())
  }
}

extension Node {
  /// Begins to fetch the files with these ids again, as far as records name them.
  func fetchDamaged(_ ids: [Bytes32]) throws {
    guard !ids.isEmpty else { return }
    let damaged = Set(ids)
    for file in try store.namedFiles() where damaged.contains(file.id.raw) { noteDamage(file) }
  }

  /// Fetches a file again whose stored bytes are damaged.
  ///
  /// - Parameter name: the name under which a person knows the file.
  /// - Throws: ``WaymarkError``, which says that the file is damaged and why it can't be fetched.
  func fetchAgain(_ file: FileReference, named name: String) async throws {
    noteDamage(file)
    do {
      try await fetch(file, named: name)
    } catch let error as WaymarkError {
      throw WaymarkError(
        exitCode: error.exitCode, code: error.code,
        message: "The copy of “\(shortened(name))” on this device is damaged. \(error.message)",
        next: error.next)
    }
  }
}

extension LiveQuery<FileState> {
  /// Where the content of an attachment is: nowhere if the attachment does not exist. A watch also delivers the progress
  /// while the content is fetched.
  public static func fileState(of attachment: Attachment) -> LiveQuery {
    LiveQuery(.fileState, [.node, .kind(Attachment.kind.number)]) { node, _ in
      do {
        return try node.fileState(of: attachment)
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
    LiveQuery(.files, Topic.all) { node, _ in try FileOverview(of: node, limit: limit) }
  }
}
