// Sources/store.md, "Files"

import FileStore
import VirtualDisk

/// The folder of a device's files on its simulated disk, as one process sees it. After the end of the process, every
/// operation fails.
///
/// Unchecked, because all of a world runs on one thread.
final class DeviceFolder: FileDisk, @unchecked Sendable {
  private let disk: Disk
  private let volume: Volume
  /// The names on the disk of files that are being imported. The given names differ from run to run, and their order
  /// would decide what a power loss leaves.
  private var imports: [String: String] = [:]

  init(_ disk: Disk, _ volume: Volume) {
    self.disk = disk
    self.volume = volume
  }

  static let path = "files/"
  private static let importPrefix = "import-"

  func names(in folder: String) throws(FileStoreError) -> [String] {
    try checkRuns()
    let given = Dictionary(uniqueKeysWithValues: imports.map { ($0.value, $0.key) })
    let prefix = Self.path + (folder.isEmpty ? "" : folder + "/")
    let rest = disk.names.filter { $0.hasPrefix(prefix) }.map { $0.dropFirst(prefix.count) }
    return Set(rest.map { String($0.prefix { $0 != "/" }) }).sorted().map { given[$0] ?? $0 }
  }

  func size(of name: String) throws(FileStoreError) -> Int? {
    try checkRuns()
    return disk.size(of: path(name))
  }

  func read(
    _ name: String, _ range: Range<Int>, after prefix: [UInt8]
  ) throws(FileStoreError) -> [UInt8] {
    let path = path(name)
    return prefix + (try run { () throws(FileFault) in try disk.read(path, range) })
  }

  func open(_ name: String) throws(FileStoreError) -> any OpenFile {
    try checkRuns()
    guard let bytes = disk.content(of: path(name)) else { throw .missing }
    return OpenMemoryFile(bytes: bytes)
  }

  func create(_ name: String) throws(FileStoreError) {
    if name.hasPrefix(Self.importPrefix), imports[name] == nil {
      imports[name] = Self.importPrefix + String(disk.counters.changes)
    }
    let path = path(name)
    try run { () throws(FileFault) in try disk.create(path) }
  }

  func write(_ bytes: ArraySlice<UInt8>, to name: String, at offset: Int) throws(FileStoreError) {
    let path = path(name)
    try run { () throws(FileFault) in try disk.write(bytes, to: path, at: offset) }
  }

  func sync(_ name: String) throws(FileStoreError) {
    let path = path(name)
    try run { () throws(FileFault) in try disk.sync(path) }
  }

  func move(_ name: String, to target: String) throws(FileStoreError) {
    let (from, to) = (path(name), path(target))
    try run { () throws(FileFault) in try disk.rename(from, to: to) }
    imports[name] = nil
  }

  func remove(_ name: String) throws(FileStoreError) {
    let path = path(name)
    try checkRuns()
    guard disk.size(of: path) != nil else { return }
    try run { () throws(FileFault) in try disk.delete(path) }
    imports[name] = nil
  }

  /// A folder exists as soon as it has a file.
  func makeFolder(_ folder: String) throws(FileStoreError) { try checkRuns() }

  func syncNames(in folder: String) throws(FileStoreError) {
    let path = Self.path + (folder.isEmpty ? "" : folder + "/")
    try run { () throws(FileFault) in try disk.syncDirectory(of: path) }
  }

  func room() throws(FileStoreError) -> Int {
    try checkRuns()
    return disk.room ?? .max
  }

  private func path(_ name: String) -> String { Self.path + (imports[name] ?? name) }

  private func checkRuns() throws(FileStoreError) {
    if volume.isCut || disk.hasStopped { throw .failed(Self.inputOutputError) }
  }

  private func run<Result>(_ body: () throws(FileFault) -> Result) throws(FileStoreError) -> Result {
    try checkRuns()
    do throws(FileFault) {
      return try body()
    } catch {
      switch error {
      case .missing: throw .missing
      case .noRoom: throw .full
      case .inputOutput, .stopped: throw .failed(Self.inputOutputError)
      }
    }
  }

  /// EIO
  private static let inputOutputError: Int32 = 5
}
