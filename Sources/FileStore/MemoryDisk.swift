// Protocol/store.md, "Files"

/// Files in memory, for stores that are not on a disk: in tests, previews and verifications.
package final class MemoryDisk: FileDisk {
  private var files: [String: [UInt8]] = [:]

  package init() {}

  package func names(in folder: String) -> [String] {
    guard folder.isEmpty else {
      return files.keys.filter { $0.hasPrefix("\(folder)/") }.map { String($0.dropFirst(folder.count + 1)) }
    }
    return Set(files.keys.map { String($0.prefix { $0 != "/" }) }).sorted()
  }

  package func size(of name: String) -> Int? { files[name]?.count }

  package func read(_ name: String, _ range: Range<Int>) throws(FileStoreError) -> [UInt8] {
    guard let bytes = files[name] else { throw .missing }
    return Array(bytes[range.clamped(to: 0..<bytes.count)])
  }

  package func create(_ name: String) { files[name] = [] }

  package func write(_ bytes: ArraySlice<UInt8>, to name: String, at offset: Int) throws(FileStoreError) {
    guard var content = files.removeValue(forKey: name) else { throw .missing }
    let end = offset + bytes.count
    if content.count < end { content += [UInt8](repeating: 0, count: end - content.count) }
    content.replaceSubrange(offset..<end, with: bytes)
    files[name] = content
  }

  package func sync(_ name: String) throws(FileStoreError) { if files[name] == nil { throw .missing } }

  package func move(_ name: String, to target: String) throws(FileStoreError) {
    guard let bytes = files.removeValue(forKey: name) else { throw .missing }
    files[target] = bytes
  }

  package func remove(_ name: String) { files[name] = nil }

  package func makeFolder(_ folder: String) {}

  package func syncNames(in folder: String) {}

  package func room() -> Int { .max }
}
