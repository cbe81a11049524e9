import FileStore

/// A disk in memory that remembers what is durable. Used on one thread at a time.
final class MemoryDisk: FileDisk, @unchecked Sendable {
  private struct File {
    var bytes: [UInt8] = []
    var durable: [UInt8] = []
  }

  private var files: [String: File] = [:]
  /// The names that survive a power loss, and the bytes behind them as of the last sync.
  private var durableNames: Set<String> = []
  private var folders: Set<String> = []
  var bytesMax = Int.max
  /// Whether no file can be made durable.
  var failsSync = false
  /// How often the names of a folder were made durable.
  private(set) var nameSyncs = 0
  /// The number of bytes in the longest write or read so far.
  private(set) var longest = 0

  var all: [String: [UInt8]] { files.mapValues(\.bytes) }

  func damage(_ name: String, at offset: Int) { files[name]?.bytes[offset] ^= 1 }

  /// Loses everything that is not durable.
  func losePower() {
    files = files.filter { durableNames.contains($0.key) }.mapValues {
      File(bytes: $0.durable, durable: $0.durable)
    }
  }

  func names(in folder: String) -> [String] {
    guard folder.isEmpty else {
      return files.keys.filter { $0.hasPrefix(folder + "/") }.map { String($0.dropFirst(folder.count + 1)) }
    }
    return files.keys.filter { !$0.contains("/") } + folders
  }

  func size(of name: String) -> Int? { files[name]?.bytes.count }

  func read(
    _ name: String, _ range: Range<Int>, after prefix: [UInt8]
  ) throws(FileStoreError) -> [UInt8] {
    guard let file = files[name] else { throw .missing }
    longest = max(longest, range.count)
    return prefix + Array(file.bytes[range.clamped(to: 0..<file.bytes.count)])
  }

  func open(_ name: String) throws(FileStoreError) -> any OpenFile {
    guard let file = files[name] else { throw .missing }
    return OpenMemoryFile(bytes: file.bytes)
  }

  func create(_ name: String) throws(FileStoreError) {
    if let slash = name.firstIndex(of: "/"), !folders.contains(String(name[..<slash])) { throw .missing }
    files[name] = File()
    durableNames.remove(name)
  }

  func write(_ bytes: ArraySlice<UInt8>, to name: String, at offset: Int) throws(FileStoreError) {
    let room = room()
    guard var file = files.removeValue(forKey: name) else { throw .missing }
    defer { files[name] = file }
    longest = max(longest, bytes.count)
    let growth = max(offset + bytes.count - file.bytes.count, 0)
    guard room >= growth else { throw .full }
    file.bytes += [UInt8](repeating: 0, count: growth)
    file.bytes.replaceSubrange(offset..<offset + bytes.count, with: bytes)
  }

  func sync(_ name: String) throws(FileStoreError) {
    guard let file = files[name] else { throw .missing }
    if failsSync { throw .failed(5) }
    files[name]?.durable = file.bytes
  }

  func move(_ name: String, to target: String) throws(FileStoreError) {
    guard let file = files.removeValue(forKey: name) else { throw .missing }
    files[target] = file
    durableNames.remove(name)
  }

  func remove(_ name: String) {
    files[name] = nil
    durableNames.remove(name)
  }

  func makeFolder(_ folder: String) { folders.insert(folder) }

  func syncNames(in folder: String) {
    nameSyncs += 1
    durableNames.formUnion(names(in: folder).map { folder.isEmpty ? $0 : "\(folder)/\($0)" })
  }

  func room() -> Int { bytesMax - files.values.reduce(0) { $0 + $1.bytes.count } }
}
