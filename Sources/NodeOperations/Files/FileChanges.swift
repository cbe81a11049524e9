import Engine
import FileFormat
package import FileStore
package import Home
package import Model
package import NodeRuntime
import Storage
import Wire

/// Writes changes that name files of the user.
///
/// The bytes are read, hashed and written on other threads than the node's, so that a large file delays nothing else.
/// What needs the node's queue is short: the change that names files that are durable already.
package struct FileChanges {
  private let core: NodeCore

  package init(_ core: NodeCore) { self.core = core }

  /// Attaches a file to an item of a trip.
  package func attach(
    _ source: FileSource, named name: String? = nil, to parent: Attachment.Parent,
    _ progress: @escaping @Sendable (WorkProgress) -> Void
  ) async throws -> Attachment {
    let id = try await write(adding: [source], progress) { files in
      let file = files[0].named(name ?? source.name)
      return try StoredContents(store: core.store).attaching(file, to: parent, now: core.wall())
    }
    return try core.withWaymarkErrors { try core.store.record(id) ?? Attachment(id: id) }
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

  /// Writes a change that names files: adds the files first, off the node's queue.
  package func write<Answer>(
    adding sources: [FileSource], _ progress: @escaping @Sendable (WorkProgress) -> Void,
    prepare: ([AddedFile]) throws -> (Answer, PreparedChange)
  ) async throws -> Answer {
    try await core.withWaymarkErrors {
      guard !sources.isEmpty else { return try commit(prepare([])) }
      _ = try prepare(sources.map { .unread($0.name) })
      try core.checkAdmitted()
      try core.maintenance.checkDisk()
      let addition = FileAddition(core.store.files)
      core.additions.append(addition)
      defer { endAddition(addition) }
      let files = try await addition.add(sources, progress)
      try core.checkOpen()
      try core.replicator.noteAdded(files.compactMap(\.reference), now: core.loop.time)
      // There is no suspension from here on, because the store must not change between the check and the write.
      return try commit(prepare(files))
    }
  }

  private func commit<Answer>(_ prepared: (answer: Answer, change: PreparedChange)) throws -> Answer {
    try core.write(prepared.change)
    return prepared.answer
  }

  /// Ends an addition, and removes the files that the operation has not named after all.
  package func endAddition(_ addition: FileAddition) {
    core.additions.removeAll { $0 === addition }
    core.loop.turn { $0.endAddition(addition, now: core.loop.time) }
  }
}
