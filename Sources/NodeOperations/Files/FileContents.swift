// Protocol/files.md, "What a device keeps"

import Engine
import Enrolment
package import FileFormat
package import Home
package import Model
package import NodeRuntime
import Reasons
import Records
import Storage
package import Wire

/// Reads the contents of files, and fetches those that are not on this device or are damaged here.
package struct FileContents {
  private let core: NodeCore

  package init(_ core: NodeCore) { self.core = core }

  /// Returns whether a whole file is on this device.
  package func isHere(_ file: FileReference) throws -> Bool { try fileState(of: file).isHere }

  /// Returns where a file is.
  package func fileState(of file: FileReference) throws -> FileState {
    let names = core.connections.names
    return FileState(try core.replicator.location(of: file), size: file.size) { names.name(of: $0) }
  }

  /// Returns where the content of an attachment is: nowhere if it was erased.
  ///
  /// - Throws: `WaymarkError` with the code `not_found` if the attachment does not exist.
  package func fileState(of attachment: Attachment) throws -> FileState {
    do {
      return try StoredContents(store: core.store).file(of: attachment).map { try fileState(of: $0) } ?? .here
    } catch let error as WaymarkError where error.code == .noContent {
      return .nowhere
    }
  }

  /// Reads content whose file may not be here, or may be damaged here, and fetches the file then.
  ///
  /// - Parameters:
  ///   - file: finds the file; nil if the content is stored in a record.
  ///   - name: the name under which a person knows the file.
  ///   - read: reads the content.
  package func fetching<Content>(
    _ file: (StoredContents) throws -> FileReference?, named name: String,
    _ read: (StoredContents) throws -> Content
  ) async throws -> Content {
    try await core.withWaymarkErrors {
      let contents = StoredContents(store: core.store)
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

  /// Fetches the content of an attachment, if it is in a file that is not here.
  package func fetchContent(
    of attachment: Attachment, tell: @escaping @Sendable (FileState) -> Void
  ) async throws {
    try await core.withWaymarkErrors {
      guard let file = try StoredContents(store: core.store).file(of: attachment) else { return }
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
    try core.checkOpen()
    if try !fileState(of: file).isHere {
      let fetching = FileFetching(file: file, name: name)
      try await fetching.run(on: core, tell: tell)
    }
    // A full disk is no reason not to read a file.
    try? core.store.noteUsed(file, now: core.wall())
  }

  /// Begins to fetch the files with these ids again, as far as records name them.
  func fetchDamaged(_ ids: [Bytes32]) throws {
    guard !ids.isEmpty else { return }
    let damaged = Set(ids)
    for file in try core.store.namedFiles() where damaged.contains(file.id.raw) { noteDamage(file) }
  }

  /// Fetches a file again whose stored bytes are damaged.
  ///
  /// - Parameter name: the name under which a person knows the file.
  /// - Throws: ``WaymarkError``, which says that the file is damaged and why it can't be fetched.
  private func fetchAgain(_ file: FileReference, named name: String) async throws {
    noteDamage(file)
    do {
      try await fetch(file, named: name)
    } catch let error as WaymarkError {
      throw WaymarkError(
        exitCode: error.exitCode, code: error.reason,
        message: "The copy of “\(shortened(name))” on this device is damaged. \(error.message)",
        next: error.next)
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
  package func noteDamage(_ file: FileReference) {
    guard core.replicator.isOpen else { return }
    core.loop.turn { $0.repair(file, now: core.loop.time) }
  }

  /// Opens the bytes that a value holds or names.
  private func reader(of content: Value) throws -> ContentReader {
    try StoredContents(store: core.store).reader(of: content)
  }

  /// Opens the content of an attachment, and fetches it first if it is not here.
  package func reader(of attachment: Attachment) async throws -> ContentReader {
    try await core.withWaymarkErrors {
      try await fetchContent(of: attachment) { _ in }
      return try reader(of: StoredContents(store: core.store).content(of: attachment))
    }
  }
}
