// Sources/store.md, "Files"

package import FileFormat
import Wire

/// Reads a file from its beginning to its end, leaf by leaf, on any thread. Each leaf is verified, and at most one is in
/// memory.
package struct FileReader: Sendable {
  package let file: FileReference
  private let opened: any OpenFile
  private let store: FileStore
  private var list: LeafList?
  private var index = 0

  init(_ file: FileReference, _ opened: any OpenFile, _ store: FileStore) {
    self.file = file
    self.opened = opened
    self.store = store
  }

  /// Returns the next leaf; nil at the end.
  ///
  /// - Throws: `.damaged` if the stored bytes do not match the file's id.
  package mutating func next() throws(FileStoreError) -> [UInt8]? {
    guard index < file.leafCount else { return nil }
    let list = try verifiedList()
    let bytes = try opened.read(file.range(ofLeaf: index))
    guard list.verifies(bytes[...], at: index) else { throw .damaged }
    index += 1
    return bytes
  }

  private mutating func verifiedList() throws(FileStoreError) -> LeafList {
    if let list { return list }
    var list: LeafList?
    if file.leafCount >= FileStore.storedListLeavesMin { list = try store.storedList(of: file) }
    if list == nil { list = try hashed() }
    guard let list, list.reference == file else { throw .damaged }
    self.list = list
    return list
  }

  private func hashed() throws(FileStoreError) -> LeafList? {
    var hasher = FileHasher()
    for index in 0..<file.leafCount { hasher.update(try opened.read(file.range(ofLeaf: index))) }
    return hasher.finish()
  }
}
