// Sources/store.md, "Files"

import Synchronization

/// Files in memory, for stores that are not on a disk: in tests, previews and verifications.
package final class MemoryDisk: FileDisk {
  private let files = Mutex<[String: [UInt8]]>([:])

  package init() {}

  package func names(in folder: String) -> [String] {
    let names = files.withLock { Array($0.keys) }
    guard folder.isEmpty else {
      return names.filter { $0.hasPrefix("\(folder)/") }.map { String($0.dropFirst(folder.count + 1)) }
    }
    return Set(names.map { String($0.prefix { $0 != "/" }) }).sorted()
  }

  package func size(of name: String) -> Int? { files.withLock { $0[name]?.count } }

  package func read(
    _ name: String, _ range: Range<Int>, after prefix: [UInt8]
  ) throws(FileStoreError) -> [UInt8] {
    prefix + (try open(name).read(range))
  }

  package func open(_ name: String) throws(FileStoreError) -> any OpenFile {
    guard let bytes = files.withLock({ $0[name] }) else { throw .missing }
    return OpenMemoryFile(bytes: bytes)
  }

  package func create(_ name: String) { files.withLock { $0[name] = [] } }

  package func write(_ bytes: ArraySlice<UInt8>, to name: String, at offset: Int) throws(FileStoreError) {
    try files.withLock { files throws(FileStoreError) in
      guard var content = files.removeValue(forKey: name) else { throw .missing }
      let end = offset + bytes.count
      if content.count < end { content += [UInt8](repeating: 0, count: end - content.count) }
      content.replaceSubrange(offset..<end, with: bytes)
      files[name] = content
    }
  }

  package func sync(_ name: String) throws(FileStoreError) { if size(of: name) == nil { throw .missing } }

  package func move(_ name: String, to target: String) throws(FileStoreError) {
    try files.withLock { files throws(FileStoreError) in
      guard let bytes = files.removeValue(forKey: name) else { throw .missing }
      files[target] = bytes
    }
  }

  package func remove(_ name: String) { files.withLock { $0[name] = nil } }

  package func makeFolder(_ folder: String) {}

  package func syncNames(in folder: String) {}

  package func room() -> Int { .max }
}

/// A file in memory that is open for reading.
package struct OpenMemoryFile: OpenFile {
  private let bytes: [UInt8]

  package init(bytes: [UInt8]) { self.bytes = bytes }

  package var size: Int { bytes.count }

  package func read(_ range: Range<Int>) -> [UInt8] { Array(bytes[range.clamped(to: 0..<bytes.count)]) }
}
