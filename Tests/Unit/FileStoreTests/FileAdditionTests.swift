import FileFormat
import FileStore
import Foundation
import Testing

/// What adding files leaves on the disk and in memory, above all if it stops halfway.
@Suite final class FileAdditionTests {
  private struct Stop: Error {}

  /// Room that files leave free for the store.
  private static let reserve = 16 * 1024 * 1024

  private let disk = MemoryDisk()
  private let store: FileStore
  private let content = vectorContent(200_000)

  init() { store = FileStore(disk) }

  private func inFolder(_ body: (String) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "waymark-adding-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try body(folder.path)
  }

  // MARK: Copying

  /// A reader that looks at the beginning of a file in order to recognise its format has read that part already.
  @Test(arguments: [0, 1, 65_536, 100_000, 700_000])
  func `a copy begins with the bytes that were read before, and each byte is reported once`(
    beginningBytes: Int
  ) throws {
    let content = vectorContent(700_000)
    try inFolder { folder in
      try Data(content).write(to: URL(filePath: folder + "/source"))
      let foreign = try ForeignFile(path: folder + "/source")
      let size = foreign.size
      #expect(size == content.count)
      var beginning = [UInt8](repeating: 0, count: beginningBytes)
      let count = try foreign.read(into: &beginning)
      #expect(count == beginningBytes)
      let addition = FileAddition(store)
      var reported = 0
      let file = try addition.copy(foreign, after: beginning) { reported += $0 }
      #expect(reported == content.count)
      #expect(file == FileHasher.list(of: content)?.reference)
      #expect(disk.longest <= max(256 * 1024, beginningBytes), "in pieces")
      try addition.place()
      #expect(try store.read(file, 0..<content.count) == content)
      #expect(addition.end() == [file])
    }
  }

  @Test func `a copy that is cancelled between two pieces reports why, and leaves nothing`() throws {
    try inFolder { folder in
      try Data(vectorContent(700_000)).write(to: URL(filePath: folder + "/source"))
      let addition = FileAddition(store)
      var steps = 0
      #expect(throws: Stop.self) {
        _ = try addition.copy(try ForeignFile(path: folder + "/source")) { _ in
          steps += 1
          if steps == 3 { throw Stop() }
        }
      }
      #expect(disk.all.isEmpty)
      // The addition goes on with its other files.
      let other = try addition.write(content)
      #expect(try addition.place() == [other])
      #expect(addition.end() == [other])
    }
  }

  @Test func `a copy stops when its addition ends, whatever the step reports`() throws {
    try inFolder { folder in
      try Data(vectorContent(700_000)).write(to: URL(filePath: folder + "/source"))
      let addition = FileAddition(store)
      #expect(throws: CancellationError.self) {
        _ = try addition.copy(try ForeignFile(path: folder + "/source")) { _ in addition.end() }
      }
      #expect(disk.all.isEmpty)
    }
  }

  // MARK: Writing in pieces

  @Test func `a file that comes in pieces is one file, and a source that fails leaves nothing`() throws {
    let addition = FileAddition(store)
    var rest = content[...]
    let file = try addition.write { () -> [UInt8]? in
      guard !rest.isEmpty else { return nil }
      defer { rest = rest.dropFirst(70_001) }
      return Array(rest.prefix(70_001))
    }
    #expect(file == FileHasher.list(of: content)?.reference)
    let before = disk.all.count
    var pieces = 0
    #expect(throws: Stop.self) {
      _ = try addition.write { () -> [UInt8]? in
        pieces += 1
        if pieces == 3 { throw Stop() }
        return [1, 2, 3]
      }
    }
    #expect(disk.all.count == before)
    try addition.place()
    #expect(try store.verify(file))
    addition.end()
    #expect(disk.all.count == 1)
  }

  @Test func `a file that comes in pieces is given up when its addition ends`() throws {
    let addition = FileAddition(store)
    var pieces = 0
    #expect(throws: CancellationError.self) {
      _ = try addition.write { () -> [UInt8]? in
        pieces += 1
        if pieces == 2 { addition.end() }
        return pieces < 10 ? [1, 2, 3] : nil
      }
    }
    #expect(pieces < 10, "nothing more is read")
    #expect(disk.all.isEmpty)
  }

  // MARK: Room

  /// Each way in which a file gets into a store. A way that does not ask for room would fill the disk, and then the
  /// database could not be written any more.
  enum Way: CaseIterable, Sendable { case copy, bytes, pieces, received, receivedWhole }

  @Test(arguments: Way.allCases) func `no file takes the room that is reserved for the store`(way: Way) throws
  {
    let content = vectorContent(way == .receivedWhole ? 60_000 : 200_000)
    let list = try #require(FileHasher.list(of: content))
    func put() throws {
      let addition = FileAddition(store)
      defer { addition.end() }
      switch way {
      case .copy:
        try inFolder { folder in
          try Data(content).write(to: URL(filePath: folder + "/source"))
          _ = try addition.copy(try ForeignFile(path: folder + "/source"))
        }
      case .bytes: _ = try addition.write(content)
      case .pieces:
        var isRead = false
        _ = try addition.write { () -> [UInt8]? in
          defer { isRead = true }
          return isRead ? nil : content
        }
      case .received: try store.begin(list)
      case .receivedWhole: try store.write(whole: list.reference, content[...])
      }
    }
    disk.bytesMax = Self.reserve + content.count - 1
    #expect(throws: FileStoreError.full) { try put() }
    #expect(disk.all.values.allSatisfy { $0.isEmpty })
    disk.bytesMax = Self.reserve + content.count
    try put()
  }

  @Test func `if files can't get their names, none keeps a temporary one, and all are released`() throws {
    // A file of 16 leaves has a list next to it, for which there is no room left.
    let addition = FileAddition(store)
    let file = try addition.write(vectorContent(16 * 65_536))
    disk.bytesMax = disk.all.values.reduce(0) { $0 + $1.count }
    #expect(throws: FileStoreError.full) { try addition.place() }
    #expect(disk.all.keys.allSatisfy { !$0.hasPrefix("import-") })
    #expect(store.isHeld(file))
    #expect(addition.end() == [file])
    #expect(!store.isHeld(file))
    #expect(try !store.has(file))
    disk.bytesMax = .max
    #expect(try store.sweep { _ in false }.bytes == 0, "nothing has taken room")
  }

  @Test func `what is placed in several steps is held to the end, and reported as a whole`() throws {
    let addition = FileAddition(store)
    let first = try addition.write(content)
    #expect(try addition.place() == [first])
    let second = try addition.write(content + [1])
    #expect(!store.isHeld(second), "it has no name that something could remove")
    #expect(try addition.place() == [first, second])
    #expect(store.isHeld(first) && store.isHeld(second))
    #expect(Set(addition.end()) == [first, second])
    #expect(!store.isHeld(first) && !store.isHeld(second))
    #expect(addition.end() == [])
    #expect(try store.verify(first) && store.verify(second))
  }

  @Test func `a sweep takes what earlier processes were importing, and nothing that is under way`() throws {
    var former = try store.beginImport()
    try store.append([1, 2, 3], to: &former)
    let next = FileStore(disk)
    var running = try next.beginImport()
    try next.append([4, 5, 6, 7], to: &running)
    let unnamed = try #require(FileHasher.list(of: vectorContent(10))).reference
    try next.write(whole: unnamed, vectorContent(10)[...])
    try next.finish([unnamed])
    #expect(try next.sweep { _ in false } == (1, 13))
    let file = try next.finish(&running)
    #expect(try next.read(file, 0..<4) == [4, 5, 6, 7])
    // Once it has ended, its name counts as unfinished no more.
    #expect(try next.sweep { $0 == file.id } == (0, 0))
    #expect(disk.all.count == 1)
  }
}
