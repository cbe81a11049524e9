// Sources/store.md, "Files"

package import FileFormat
import Synchronization
package import Wire

// A device's files.
//
// Each file is kept once, whatever names it, as a file of its own:
//
//     ab/ab12…            all bytes, verified and durable
//     ab/ab12….part       a file that is still arriving; leaves that are missing are holes
//     ab/ab12….leaves     the leaf list, and the set of leaves that were written to `.part`
//     import-…            a file that is being imported, whose id is not known yet
//
// `.leaves` exists for every partial file of more than one leaf, and stays next to a complete file of many leaves, so
// that the list can be sent without reading the file. Nothing in it is trusted: the list is verified against the id
// whenever it is read, and after a restart each leaf is verified against the list. A complete file that turns out to be
// damaged becomes a partial one again (`beginRepair`).
//
// A file gets its final name only after its bytes are durable, so a crash leaves either the whole file or a part of it
// under another name. `sweep` removes what no record names.
//
// Files are imported and read on any thread, so that a large one delays nothing else. Between the moment at which an
// imported file gets its name and the commit of the record that names it, nothing refers to it, so the operation that
// imports it *holds* it: a held file is neither removed nor swept. Files are received on one thread only, except that
// `finish`, which waits for the disk, runs on any; the files are held meanwhile.

/// The files of one device, on a disk that it alone uses.
package final class FileStore: Sendable {
  private let disk: any FileDisk
  private let state = Mutex(State())

  private struct State {
    var partials: [FileReference: PartialFile] = [:]
    /// The names of the files that are being imported.
    var imports: Set<String> = []
    /// How many operations hold each file.
    var holds: [FileID: Int] = [:]
  }

  /// The number of imports that this process has begun, in all stores.
  private static let importCount = Atomic(0)

  package init(_ disk: any FileDisk) { self.disk = disk }

  // MARK: Reading

  /// Whether all bytes of a file are here.
  package func has(_ file: FileReference) throws(FileStoreError) -> Bool {
    try disk.size(of: Self.name(file.id)) == file.size
  }

  /// Reads some bytes of a file, without verifying them.
  ///
  /// - Parameter prefix: what the result begins with, so that a message need not be copied together.
  /// - Throws: `.missing` if the file is not here; `.damaged` if it has another size.
  package func read(
    _ file: FileReference, _ range: Range<Int>, after prefix: [UInt8] = []
  ) throws(FileStoreError) -> [UInt8] {
    precondition(range.lowerBound >= 0 && range.upperBound <= file.size, "\(range) of \(file.size) bytes")
    return try read(Self.name(file.id), range, after: prefix)
  }

  /// Opens a file in order to read all of it, on any thread. It can be read to its end even if it is removed meanwhile.
  ///
  /// - Throws: `.missing` if the file is not here; `.damaged` if it has another size.
  package func open(_ file: FileReference) throws(FileStoreError) -> FileReader {
    let opened = try disk.open(Self.name(file.id))
    guard opened.size == file.size else { throw .damaged }
    return FileReader(file, opened, self)
  }

  /// Returns the leaf list of a file that is here: the stored one, or else the one that results from reading the file.
  ///
  /// - Throws: `.damaged` if the file does not match its id.
  package func list(of file: FileReference) throws(FileStoreError) -> LeafList {
    if file.leafCount >= Self.storedListLeavesMin, let list = try storedList(of: file) { return list }
    let list = try hashed(file)
    guard list.reference == file else { throw .damaged }
    return list
  }

  /// Reads a whole file and returns whether it matches its id.
  package func verify(_ file: FileReference) throws(FileStoreError) -> Bool {
    guard try has(file) else { throw .missing }
    return try hashed(file).reference == file
  }

  private func hashed(_ file: FileReference) throws(FileStoreError) -> LeafList {
    var hasher = FileHasher()
    var start = 0
    while start < file.size {
      let end = min(start + Self.chunkBytes, file.size)
      hasher.update(try read(file, start..<end))
      start = end
    }
    guard let list = hasher.finish() else { throw .tooLarge }
    return list
  }

  /// Returns the list that is stored next to a file of many leaves; nil if there is none that matches the file's id.
  func storedList(of file: FileReference) throws(FileStoreError) -> LeafList? {
    let count = file.leafCount * Bytes32.count
    guard let size = try disk.size(of: Self.leavesName(file.id)), size >= count else { return nil }
    return LeafList(file, bytes: try read(Self.leavesName(file.id), 0..<count)[...])
  }

  private func read(
    _ name: String, _ range: Range<Int>, after prefix: [UInt8] = []
  ) throws(FileStoreError) -> [UInt8] {
    let bytes = try disk.read(name, range, after: prefix)
    guard bytes.count == prefix.count + range.count else { throw .damaged }
    return bytes
  }

  // MARK: Importing

  /// Begins to import a file that the caller reads piece by piece. The caller must end with `finish` or `cancel`.
  package func beginImport() throws(FileStoreError) -> FileImport {
    // An earlier process may still be ending an import, so the name contains the number of the process.
    let number = Self.importCount.add(1, ordering: .relaxed).newValue
    let name = "\(Self.importPrefix)\(processNumber())-\(number)"
    try disk.makeFolder("")
    state.withLock { _ = $0.imports.insert(name) }
    do throws(FileStoreError) {
      try disk.create(name)
    } catch {
      forget(name)
      throw error
    }
    return FileImport(name: name)
  }

  package func append(
    _ bytes: ArraySlice<UInt8>, to writing: inout FileImport
  ) throws(FileStoreError) {
    guard writing.hasher.size + bytes.count <= Limits.fileBytesMax else { throw .tooLarge }
    try disk.write(bytes, to: writing.name, at: writing.hasher.size)
    writing.hasher.update(bytes)
  }

  /// Ends an import. When this returns, the file is durable, and a record may name it.
  package func finish(_ writing: inout FileImport) throws(FileStoreError) -> FileReference {
    let sealed = try seal(writing)
    try place([sealed])
    return sealed.list.reference
  }

  /// Makes the bytes of an import durable. They have no name yet; `place` gives them one.
  func seal(_ writing: FileImport) throws(FileStoreError) -> SealedImport {
    guard let list = writing.hasher.finish() else { throw .tooLarge }
    try disk.sync(writing.name)
    return SealedImport(name: writing.name, list: list)
  }

  /// Gives files their names. When this returns, the names are durable, with one sync for all files of a folder.
  func place(_ imports: [SealedImport]) throws(FileStoreError) {
    var folders: Set<String> = []
    for sealed in imports {
      let file = sealed.list.reference
      // The existing copy may have been damaged since it was written, and this one was verified just now.
      if try has(file), try verify(file) {
        try disk.remove(sealed.name)
      } else {
        try disk.makeFolder(Self.folder(file.id))
        if file.leafCount >= Self.storedListLeavesMin { try store(sealed.list) }
        try disk.move(sealed.name, to: Self.name(file.id))
        folders.insert(Self.folder(file.id))
      }
      forget(sealed.name)
    }
    for folder in folders.sorted() { try disk.syncNames(in: folder) }
  }

  /// Removes what an import has written so far.
  package func cancel(_ writing: FileImport) { cancel(writing.name) }

  func cancel(_ name: String) {
    try? disk.remove(name)
    forget(name)
  }

  private func forget(_ name: String) { state.withLock { _ = $0.imports.remove(name) } }

  /// Keeps files from being removed until `release`.
  func hold(_ files: [FileReference]) {
    state.withLock { state in for file in files { state.holds[file.id, default: 0] += 1 } }
  }

  /// Whether an operation holds a file.
  package func isHeld(_ file: FileReference) -> Bool { state.withLock { $0.holds[file.id] != nil } }

  func release(_ files: [FileReference]) {
    state.withLock { state in
      for file in files {
        let count = state.holds[file.id] ?? 0
        state.holds[file.id] = count > 1 ? count - 1 : nil
      }
    }
  }

  private func store(_ list: LeafList) throws(FileStoreError) {
    let name = Self.leavesName(list.reference.id)
    try disk.create(name)
    try disk.write(list.bytes[...], to: name, at: 0)
  }

  // MARK: Taking over

  /// Takes over a complete file from another folder: by a hard link if both are on one disk, otherwise by copying it.
  /// A link is durable after `makeDurable`.
  package func take(_ file: FileReference, from other: FileStore) throws(FileStoreError) {
    guard try !has(file) else { return }
    if let disk = disk as? SystemDisk, let source = other.disk as? SystemDisk {
      try disk.makeFolder(Self.folder(file.id))
      if disk.link(Self.name(file.id), from: source) { return }
    }
    var writing = try beginImport()
    do throws(FileStoreError) {
      for start in stride(from: 0, to: file.size, by: Self.chunkBytes) {
        try append(try other.read(file, start..<min(start + Self.chunkBytes, file.size))[...], to: &writing)
      }
      guard try finish(&writing) == file else { throw .damaged }
    } catch {
      cancel(writing)
      throw error
    }
  }

  /// Makes the names of files durable.
  package func makeDurable(_ files: [FileReference]) throws(FileStoreError) {
    for folder in Set(files.map { Self.folder($0.id) }).sorted() { try disk.syncNames(in: folder) }
  }

  // MARK: Receiving

  /// Returns the state of a file that has arrived in part; nil if nothing of it is stored. Each stored leaf is verified
  /// once after a start.
  package func partial(_ file: FileReference) throws(FileStoreError) -> PartialFile? {
    if let partial = state.withLock({ $0.partials[file] }) { return partial }
    guard file.leafCount > 1, try disk.size(of: Self.partName(file.id)) != nil,
      let list = try storedList(of: file), let written = try writtenLeaves(file)
    else { return nil }
    var partial = PartialFile(list: list, leaves: LeafSet(leafCount: file.leafCount))
    for index in 0..<file.leafCount where written.contains(index) {
      let bytes = try? read(Self.partName(file.id), file.range(ofLeaf: index))
      if let bytes, list.verifies(bytes[...], at: index) { partial.leaves.insert(index) }
    }
    state.withLock { $0.partials[file] = partial }
    return partial
  }

  /// Returns how many bytes of a file have arrived in part. What was written before the last start is counted without
  /// being verified.
  package func partBytes(of file: FileReference) -> Int {
    guard file.leafCount > 1 else { return 0 }
    let leaves = state.withLock { $0.partials[file]?.leaves } ?? (try? storedLeaves(of: file))
    return min((leaves?.count ?? 0) * Limits.leafBytes, file.size)
  }

  private func storedLeaves(of file: FileReference) throws(FileStoreError) -> LeafSet? {
    guard try disk.size(of: Self.partName(file.id)) != nil else { return nil }
    return try writtenLeaves(file)
  }

  private func writtenLeaves(_ file: FileReference) throws(FileStoreError) -> LeafSet? {
    let start = file.leafCount * Bytes32.count
    let end = start + (file.leafCount + 7) / 8
    guard let size = try disk.size(of: Self.leavesName(file.id)), size >= end else { return nil }
    return LeafSet(leafCount: file.leafCount, bytes: try read(Self.leavesName(file.id), start..<end)[...])
  }

  /// Turns a complete file whose bytes are damaged into one that has arrived in part, so that the altered leaves are
  /// fetched again. Without a stored list it is not known which leaves are intact. Then all are fetched, and the bytes
  /// stay until the first of them arrives.
  ///
  /// - Returns: false if the file is not complete here, or an operation holds it.
  package func beginRepair(_ file: FileReference) throws(FileStoreError) -> Bool {
    guard try has(file), !isHeld(file) else { return false }
    suspend(file)
    if file.leafCount > 1, (try? storedList(of: file)) != nil {
      // Each of these leaves is verified before it counts.
      var leaves = LeafSet(leafCount: file.leafCount)
      for index in 0..<file.leafCount { leaves.insert(index) }
      try disk.write(leaves.bytes[...], to: Self.leavesName(file.id), at: file.leafCount * Bytes32.count)
    } else {
      try disk.remove(Self.leavesName(file.id))
    }
    try disk.move(Self.name(file.id), to: Self.partName(file.id))
    return true
  }

  /// Begins to receive a file of which nothing is stored.
  ///
  /// - Throws: `.full` if the file does not fit on the disk.
  package func begin(_ list: LeafList) throws(FileStoreError) {
    let file = list.reference
    try checkRoom(file.size)
    try disk.makeFolder(Self.folder(file.id))
    let partial = PartialFile(list: list, leaves: LeafSet(leafCount: file.leafCount))
    try store(list)
    try disk.write(
      partial.leaves.bytes[...], to: Self.leavesName(file.id), at: file.leafCount * Bytes32.count)
    try disk.create(Self.partName(file.id))
    state.withLock { $0.partials[file] = partial }
  }

  /// Writes a verified leaf of a file that was begun or resumed.
  package func write(
    _ bytes: ArraySlice<UInt8>, leaf index: Int, of file: FileReference
  ) throws(FileStoreError) {
    guard state.withLock({ $0.partials[file] != nil }) else { throw .missing }
    try disk.write(bytes, to: Self.partName(file.id), at: file.range(ofLeaf: index).lowerBound)
    let byte = state.withLock { state in
      state.partials[file]?.leaves.insert(index)
      return state.partials[file]?.leaves.bytes[index / 8] ?? 0
    }
    // Only a hint for the next start, so it need not be durable.
    try disk.write([byte], to: Self.leavesName(file.id), at: file.leafCount * Bytes32.count + index / 8)
  }

  /// Writes the only leaf of a file, or nothing for a file without bytes.
  package func write(whole file: FileReference, _ bytes: ArraySlice<UInt8>) throws(FileStoreError) {
    precondition(file.leafCount <= 1 && bytes.count == file.size, "\(bytes.count) of \(file.size) bytes")
    try checkRoom(file.size)
    try disk.makeFolder(Self.folder(file.id))
    try disk.create(Self.partName(file.id))
    try disk.write(bytes, to: Self.partName(file.id), at: 0)
  }

  /// Begins to finish received files. All of their leaves must have been written. Until `endFinish`, they are not removed,
  /// and must not be received again.
  package func beginFinish(_ files: [FileReference]) {
    for file in files {
      let isWhole = file.leafCount <= 1 || state.withLock { $0.partials[file]?.leaves.isComplete == true }
      precondition(isWhole, "a file of which leaves are missing")
      suspend(file)
    }
    hold(files)
  }

  /// Makes received files durable and gives them their final names; on any thread.
  package func finish(_ files: [FileReference]) throws(FileStoreError) {
    for file in files { try disk.sync(Self.partName(file.id)) }
    for file in files {
      try disk.move(Self.partName(file.id), to: Self.name(file.id))
      if file.leafCount < Self.storedListLeavesMin { try disk.remove(Self.leavesName(file.id)) }
    }
    for folder in Set(files.map { Self.folder($0.id) }).sorted() { try disk.syncNames(in: folder) }
  }

  /// Ends what `beginFinish` has begun. If `finish` has failed, nothing of the files is left: after a failed sync it is
  /// unknown what is durable, and the system may let the next sync succeed without making the rest durable. So everything
  /// is fetched again.
  package func endFinish(_ files: [FileReference], hasFailed: Bool) {
    release(files)
    guard hasFailed else { return }
    for file in files { _ = try? remove(file) }
  }

  /// Whether all leaves of a file were written, so that it can be finished.
  package func isWritten(_ file: FileReference) -> Bool {
    file.leafCount <= 1
      ? (try? disk.size(of: Self.partName(file.id))) == file.size
      : state.withLock { $0.partials[file]?.leaves.isComplete == true }
  }

  /// Frees the memory for a partial file. What is stored of it stays.
  package func suspend(_ file: FileReference) { state.withLock { $0.partials[file] = nil } }

  // MARK: Freeing

  /// Removes a file and all parts of it, unless an operation that is adding it holds it.
  ///
  /// - Returns: how many bytes were freed.
  @discardableResult
  package func remove(_ file: FileReference) throws(FileStoreError) -> Int { try remove(file.id) ?? 0 }

  /// Returns nil if the file is held.
  private func remove(_ id: FileID) throws(FileStoreError) -> Int? {
    // Locked, so that an operation that holds the file from now on sees that it is gone.
    try state.withLock { state throws(FileStoreError) in
      guard state.holds[id] == nil else { return nil }
      state.partials = state.partials.filter { $0.key.id != id }
      var freed = 0
      for name in [Self.name(id), Self.partName(id), Self.leavesName(id)] {
        freed += try disk.size(of: name) ?? 0
        try disk.remove(name)
      }
      return freed
    }
  }

  /// Removes what unfinished imports of earlier processes left, and all files that nothing names. Imports that are
  /// under way, and files that are held, stay.
  ///
  /// - Returns: how many files were removed, and how many bytes that has freed.
  package func sweep(
    isNamed: (FileID) throws -> Bool
  ) throws -> (files: Int, bytes: Int) {
    var swept = (files: 0, bytes: 0)
    for name in try disk.names(in: "") where name.hasPrefix(Self.importPrefix) {
      guard !state.withLock({ $0.imports.contains(name) }) else { continue }
      swept.bytes += try disk.size(of: name) ?? 0
      try disk.remove(name)
    }
    for id in try stored().sorted() where try !isNamed(id) {
      guard let bytes = try remove(id) else { continue }
      swept.files += 1
      swept.bytes += bytes
    }
    return swept
  }

  /// Returns all files that are complete here.
  package func complete() throws(FileStoreError) -> [FileReference] {
    var files: [FileReference] = []
    for id in try stored() {
      if let file = try complete(id) { files.append(file) }
    }
    return files
  }

  /// Returns the file with an id if it is complete here.
  package func complete(_ id: FileID) throws(FileStoreError) -> FileReference? {
    try disk.size(of: Self.name(id)).flatMap { FileReference(size: $0, id: id) }
  }

  /// Returns the ids of all files of which something is stored.
  package func stored() throws(FileStoreError) -> Set<FileID> {
    var ids: Set<FileID> = []
    for folder in try disk.names(in: "") where folder.utf8.count == 2 {
      for name in try disk.names(in: folder) {
        if let id = FileID(hex: name.prefix { $0 != "." }), Self.folder(id) == folder { ids.insert(id) }
      }
    }
    return ids
  }

  // MARK: Room

  /// Checks that a file of this size can be written without filling the disk.
  package func checkRoom(_ size: Int) throws(FileStoreError) {
    guard try disk.room() - Self.reservedBytes >= size else { throw .full }
  }

  /// Room that files leave free for the store.
  private static let reservedBytes = 16 * 1024 * 1024
  static let chunkBytes = 256 * 1024
  /// From this number of leaves on (1 MiB), the list is kept next to the file. It then takes 1/256 of the file's room or
  /// less, even where the disk allots whole blocks. The list of a smaller file costs reading the file.
  static let storedListLeavesMin = 16

  // MARK: Names

  private static let importPrefix = "import-"
  private static func folder(_ id: FileID) -> String { String(id.description.prefix(2)) }
  private static func name(_ id: FileID) -> String { "\(folder(id))/\(id)" }
  private static func partName(_ id: FileID) -> String { "\(name(id)).part" }
  private static func leavesName(_ id: FileID) -> String { "\(name(id)).leaves" }
}

/// A file that is being imported.
package struct FileImport: Sendable {
  let name: String
  fileprivate var hasher = FileHasher()

  fileprivate init(name: String) { self.name = name }

  /// The number of bytes so far.
  package var size: Int { hasher.size }
}

/// An imported file whose bytes are durable, but which has no name yet.
struct SealedImport: Sendable {
  let name: String
  let list: LeafList
}
