// Sources/store.md, "Durability"

import Sodium
import Wire

// The virtual disk: what a crash leaves
//
// For each file the disk keeps the content that programs see, the content that is durable for certain, and the changes
// since the last sync, of which any part may be durable. In this example each write appends one letter:
//
//                         write A    sync     write B   write C ← now
//   content               A          A        AB        ABC
//   durable               -          A        A         A
//   changes since         A          -        B         B, C
//
// A kill now (`Volume.cut()`, then a new volume on the same disk) loses nothing: the next process reads ABC. A power
// loss leaves `durable` plus what a `Survival` says (Disk+PowerLoss.swift):
//
//   nothing               A
//   everything            ABC
//   some                  A, AB, A·C or ABC: each change survives or not, by chance; at · the file holds zeros
//   some, in pieces       as above for each 512 or 4,096 bytes of a write: torn writes, with old bytes, zeros or
//                         garbage in the gaps
//   beginning             A plus pieces of B, AB plus pieces of C, or ABC: all changes before a random one, which is
//                         torn
//   reordered             changes apply in random order, so if two writes overlap, the older one may win
//
// Names are separate from contents. The creation or deletion of a name becomes durable when its directory is synced.
// SQLite syncs the directory with the first sync of a new journal or write-ahead log, and after deleting one. Until
// then, a power loss may lose a new file even if its content was synced, or bring back a deleted one.
//
// A sync that fails with an I/O error drops the pending changes: `content` still has them, but they never become
// durable, and the next sync succeeds without them. Linux does the same, which is why the store rewrites its log after
// such an error. `liesAboutSyncs` makes every sync succeed without effect.
//
// It would not be enough to simulate only the loss of the last writes: a store that wrongly relies on the order of
// unsynced writes, or that fails to sync a directory, would then pass every test.

/// An in-memory disk that tracks which data is durable, and fails on request.
package final class Disk {
  /// The faults that apply to all operations from now on.
  package var faults = DiskFaults()
  package internal(set) var counters = DiskCounters()
  /// Called before each change, so that a test can take a crash image at that moment.
  package var observer: ((DiskOperation) -> Void)?
  /// The files that programs see, by name.
  var files: [String: DiskFile] = [:]
  /// The names changed since their directories were last synced, each with the files that it has referred to. The
  /// first file is the durable one; nil stands for a state in which the name did not exist.
  var unsyncedNames: [String: [DiskFile?]] = [:]
  var random: SplitMix

  /// - Parameter seed: determines which operations fail when faults are random.
  package init(seed: UInt64 = 0) { random = SplitMix(seed: seed) }

  /// Returns a separate copy of the disk, including changes that are not durable yet.
  package func copy() -> Disk {
    let other = Disk(seed: random.next())
    var copies: [ObjectIdentifier: DiskFile] = [:]
    func copy(_ file: DiskFile) -> DiskFile {
      if let copy = copies[ObjectIdentifier(file)] { return copy }
      let copy = file.copy(on: other)
      copies[ObjectIdentifier(file)] = copy
      return copy
    }
    other.files = files.mapValues(copy)
    other.unsyncedNames = unsyncedNames.mapValues { $0.map { $0.map(copy) } }
    return other
  }

  // MARK: SQLite operations

  /// Opens a named file or, without a name, a private temporary file.
  func open(_ name: String?, creates: Bool) throws(FileFault) -> DiskFile {
    guard let name else { return DiskFile(on: self) }
    if let file = files[name] { return file }
    guard creates else { throw .missing }
    try begin(.create)
    let file = DiskFile(on: self)
    link(name, file)
    return file
  }

  package func delete(_ name: String) throws(FileFault) {
    guard files[name] != nil else { throw .missing }
    try begin(.delete)
    link(name, nil)
  }

  /// The size of a file in bytes; nil if it does not exist.
  package func size(of name: String) -> Int? { files[name]?.size }

  /// Makes all names in a file's directory durable.
  package func syncDirectory(of name: String) throws(FileFault) {
    try begin(.syncDirectory)
    guard !lies() else { return }
    let directory = Self.directory(name)
    unsyncedNames = unsyncedNames.filter { Self.directory($0.key) != directory }
  }

  func link(_ name: String, _ file: DiskFile?) {
    unsyncedNames[name, default: [files[name]]].append(file)
    files[name] = file
  }

  private static func directory(_ name: String) -> Substring {
    name.lastIndex(of: "/").map { name[..<$0] } ?? ""
  }

  // MARK: A node's other files

  package var names: [String] { files.keys.sorted() }

  package func content(of name: String) -> [UInt8]? { files[name]?.content }

  /// Writes a whole file.
  ///
  /// - Parameter synced: whether to replace the old file atomically and durably. Otherwise the old file is overwritten.
  ///   Its content then becomes durable when the file is next synced, and a new name when its directory is.
  package func write(_ name: String, _ bytes: [UInt8], synced: Bool) throws(FileFault) {
    try begin(.write)
    if let capacity = faults.capacity, used - (files[name]?.size ?? 0) + bytes.count > capacity {
      throw outOfRoom()
    }
    guard synced else {
      if files[name] == nil { link(name, DiskFile(on: self)) }
      files[name]?.overwrite(bytes)
      return
    }
    try begin(.sync)
    let file = DiskFile(on: self)
    file.content = bytes
    guard !lies() else {
      file.overwrite(bytes)
      return link(name, file)
    }
    file.durable = bytes
    files[name] = file
    unsyncedNames[name] = nil
  }

  /// A hash of the names and contents of all files as programs see them.
  package var contentHash: [UInt8] {
    var hash = Blake2b256()
    for (name, file) in files.sorted(by: { $0.key < $1.key }) {
      hash.update(Array(name.utf8))
      hash.update(bigEndian: UInt64(file.size))
      hash.update(file.content)
    }
    return Blake2b256.bytes(hash.finish())
  }

  // MARK: Damage

  /// Flips one bit in a file's visible and durable content; returns false if the file has no such byte.
  package func flipBit(in name: String, byte: Int, bit: Int) -> Bool {
    guard let file = files[name], byte >= 0, byte < file.content.count else { return false }
    file.content[byte] ^= 1 << UInt8(bit & 7)
    if byte < file.durable.count { file.durable[byte] ^= 1 << UInt8(bit & 7) }
    counters.bitsFlipped += 1
    return true
  }

  /// Damages a file by truncating it durably.
  package func cutShort(_ name: String, to size: Int) {
    guard let file = files[name], size < file.content.count else { return }
    file.content.removeLast(file.content.count - size)
    file.durable = file.content
    file.forgetChanges()
  }
}
