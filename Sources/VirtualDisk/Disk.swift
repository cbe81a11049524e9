// Protocol/store.md, "Durability"

import Sodium
import Wire

/// A disk in memory that knows what of it is durable, and does as badly as it is told to.
///
/// Per file it keeps the content that programs see, the content as of the last sync, and the changes since: any part
/// of these may survive when power fails (Disk+PowerLoss.swift). Which names there are is durable as of the last sync
/// of the directory: SQLite syncs it with the first sync of a new journal or write-ahead log, and after deleting one.
/// Until then a new file may be gone after a power loss, and a deleted one be back.
///
/// What ends only a process loses nothing: `Volume.cut()` for that, then a new volume on the same disk.
package final class Disk {
  /// What goes wrong from now on.
  package var faults = DiskFaults()
  package internal(set) var counters = DiskCounters()
  /// Is told of each change before it is done: for images of each moment.
  package var observer: ((DiskOperation) -> Void)?
  /// What programs see.
  var files: [String: DiskFile] = [:]
  /// What a name has stood for since the directory was synced, the durable state first; nil for nothing.
  var unsyncedNames: [String: [DiskFile?]] = [:]
  var random: SplitMix

  /// - Parameter seed: decides which operations fail, where faults come at random.
  package init(seed: UInt64 = 0) { random = SplitMix(seed: seed) }

  /// The same content on a disk of its own: a clone of a data directory, with what is not durable yet.
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

  // MARK: What SQLite uses

  /// Opens a file; without a name, one that nobody else sees and that ends with its use.
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

  /// Bytes in a file; nil if there is none.
  package func size(of name: String) -> Int? { files[name]?.size }

  /// Makes it durable which names the directory of a file holds.
  package func syncDirectory(of name: String) throws(FileFault) {
    try begin(.syncDirectory)
    guard !lies() else { return }
    let directory = Self.directory(name)
    unsyncedNames = unsyncedNames.filter { Self.directory($0.key) != directory }
  }

  private func link(_ name: String, _ file: DiskFile?) {
    unsyncedNames[name, default: [files[name]]].append(file)
    files[name] = file
  }

  private static func directory(_ name: String) -> Substring {
    name.lastIndex(of: "/").map { name[..<$0] } ?? ""
  }

  // MARK: Files that a node keeps beside its store

  package var names: [String] { files.keys.sorted() }

  package func content(of name: String) -> [UInt8]? { files[name]?.content }

  /// Writes a whole file.
  ///
  /// - Parameter synced: puts it in place of the old one in one step that is durable when this returns; else it is
  ///   written over the old one, and its bytes and its name are as safe as the next syncs make them.
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

  /// A hash of all files as programs see them.
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

  /// Turns one bit round, where programs see it and for good. False if there is no such byte.
  package func flipBit(in name: String, byte: Int, bit: Int) -> Bool {
    guard let file = files[name], byte >= 0, byte < file.content.count else { return false }
    file.content[byte] ^= 1 << UInt8(bit & 7)
    if byte < file.durable.count { file.durable[byte] ^= 1 << UInt8(bit & 7) }
    counters.bitsFlipped += 1
    return true
  }

  /// Cuts off the end of a file.
  package func cutShort(_ name: String, to size: Int) {
    guard let file = files[name], size < file.content.count else { return }
    file.content.removeLast(file.content.count - size)
    file.durable = file.content
    file.forgetChanges()
  }
}
