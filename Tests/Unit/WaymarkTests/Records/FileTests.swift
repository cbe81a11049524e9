import Dispatch
import FileStore
import Foundation
import Home
import JSONDocument
import Model
import Records
import Replication
import Storage
import Testing
import WaymarkCare
import WaymarkFiles
import WaymarkTesting
import Wire

@testable import Waymark

extension TestNode {
  /// The paths of what is in the folder of files.
  var files: [String] {
    let root = home.path + "/files"
    let names = (try? FileManager.default.subpathsOfDirectory(atPath: root)) ?? []
    return names.map { "\(root)/\($0)" }.filter { FileManager.default.fileExists(atPath: $0) }
      .filter { (try? FileManager.default.contentsOfDirectory(atPath: $0)) == nil }
  }
}

/// Attachments as streams.
@Suite(.timeLimit(.minutes(2))) struct FileTests {
  private let folder: Folder
  private let alice: TestNode
  private let parent: Model.Attachment.Parent

  init() async throws {
    folder = try Folder()
    alice = try await TestNode.founder("alice")
    let trip = try await alice.node.save(Trip(name: "Rome"))
    parent = .lodging(try await alice.node.save(Lodging(name: "Casa", tripID: trip.id)).id)
  }

  private func file(_ size: Int, _ name: String = "film.mov") throws -> URL {
    URL(
      filePath: try folder.write(
        (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 16) }, name))
  }

  private func pieces(_ attachment: Model.Attachment) async throws -> [Data] {
    var pieces: [Data] = []
    for try await piece in alice.node.bytes(of: attachment) { pieces.append(piece) }
    return pieces
  }

  @Test(arguments: [0, 1, 32_768, 32_769, 300_000])
  func `the content of a file is attached, and read back in pieces`(size: Int) async throws {
    let file = try file(size)
    let attachment = try await alice.node.attach(contentsOf: file, named: "b.mov", to: parent)
    #expect((attachment.fileName, attachment.fileSize) == ("b.mov", size))
    let content = try Data(contentsOf: file)
    #expect(try await alice.node.data(of: attachment) == content)
    let pieces = try await pieces(attachment)
    #expect(
      pieces.reduce(Data(), +) == content && pieces.allSatisfy { (1...65_536).contains($0.count) })
    let copy = URL(filePath: folder.file("copy"))
    try await alice.node.copy(attachment, to: copy)
    #expect(try Data(contentsOf: copy) == content)
  }

  @Test func `a file that is freed while it is read is read to its end, and can't be opened again`()
    async throws
  {
    let file = try file(300_000)
    let attachment = try await alice.node.attach(contentsOf: file, to: parent)
    var iterator = alice.node.bytes(of: attachment).makeAsyncIterator()
    var read = try #require(try await iterator.next())
    try #require(alice.files.count == 1)
    try FileManager.default.removeItem(atPath: alice.files[0])
    while let piece = try await iterator.next() { read += piece }
    #expect(read == (try Data(contentsOf: file)))
    await #expect(throws: WaymarkError.self) { _ = try await pieces(attachment) }
  }

  // MARK: Exports

  @Test
  func `an export contains the bytes of attachments, and leaves out a damaged one with a warning`()
    async throws
  {
    let whole = try file(300_000, "a.mov")
    let attachment = try await alice.node.attach(contentsOf: whole, to: parent)
    let small = try file(1_000, "b.mov")
    _ = try await alice.node.attach(contentsOf: small, to: parent)
    let before = Set(alice.files)
    _ = try await alice.node.attach(contentsOf: try file(100_000, "c.mov"), to: parent)
    let damaged = try #require(alice.files.first { !before.contains($0) })
    try Data(count: 100_000).write(to: URL(filePath: damaged))
    let (a, b) = (try Data(contentsOf: whole), try Data(contentsOf: small))
    for format in [ExportFormat.json, .travelingSnails] {
      let output = URL(filePath: folder.file(format.rawValue))
      let summary = try await alice.node.export(as: format, to: output)
      let text = try Data(contentsOf: output)
      #expect(summary.bytes == text.count)
      #expect(summary.warnings.filter { $0.contains("is incomplete on this device") }.count == 1)
      let rows = try JSON.parse(Array(text))["attachments"]?.array ?? []
      let contents = rows.compactMap { row in
        // The full export has the content of a larger file in an object.
        (row["fileData"]?.string ?? row["fileData"]?["base64"]?.string).flatMap { Data(base64Encoded: $0) }
      }
      #expect(Set(contents) == [a, b], "\(format)")
      #expect(try await alice.node.export(as: format).content == text)
    }
    let tables = try await alice.node.export(as: .csv, to: URL(filePath: folder.file("tables")))
    let path = "files/\(attachment.id).mov"
    #expect(tables.files.contains(path))
    #expect(try Data(contentsOf: URL(filePath: folder.file("tables/\(path)"))) == a)
  }

  // MARK: While a file is copied

  /// A copy of a large file that stands still after its first pieces until the test releases it.
  private func pausedCopy() async throws -> (
    copy: Task<Model.Attachment, any Error>, pause: DispatchSemaphore
  ) {
    let file = try file(20_000_000)
    let pause = DispatchSemaphore(value: 0)
    let (begun, begin) = AsyncStream<Void>.makeStream()
    let copy = Task { [node = alice.node, parent] in
      try await node.attach(contentsOf: file, to: parent) { progress in
        guard progress.done < progress.total else { return }
        begin.yield()
        pause.wait()
      }
    }
    _ = await begun.first { true }
    return (copy, pause)
  }

  private func resume(_ pause: DispatchSemaphore) { for _ in 0..<10 { pause.signal() } }

  @Test func `the node writes and reads while a file is copied, and a sweep spares the copy`()
    async throws
  {
    let (copy, pause) = try await pausedCopy()
    _ = try await alice.node.save(Trip(name: "Oslo"))
    #expect(try await alice.node.records(Trip.all).count == 2)
    #expect(try await alice.node.records(Model.Attachment.all).isEmpty)
    try await alice.sweepFiles()
    resume(pause)
    let attachment = try await copy.value
    #expect(try await pieces(attachment).reduce(0) { $0 + $1.count } == 20_000_000)
  }

  @Test func `a cancelled copy attaches nothing and leaves nothing`() async throws {
    let (copy, pause) = try await pausedCopy()
    copy.cancel()
    resume(pause)
    await #expect(throws: CancellationError.self) { _ = try await copy.value }
    #expect(try await alice.node.records(Model.Attachment.all).isEmpty)
    #expect(alice.files.isEmpty)
  }

  @Test func `closing the node ends a copy at once, and leaves nothing`() async throws {
    let (copy, pause) = try await pausedCopy()
    #expect(alice.files.count == 1)
    await alice.node.close()
    #expect(alice.files.isEmpty)
    resume(pause)
    await #expect(throws: CancellationError.self) { _ = try await copy.value }
    #expect(alice.files.isEmpty)
  }

  @Test func `a copy to an item that is deleted meanwhile leaves nothing`() async throws {
    let (copy, pause) = try await pausedCopy()
    guard case .lodging(let id) = parent else { return }
    try await alice.node.delete(Lodging(id: id))
    resume(pause)
    await #expect(throws: WaymarkError.self) { _ = try await copy.value }
    #expect(alice.files.isEmpty)
  }
}

extension TestNode {
  /// Removes files that nothing names, as a serving node does when it starts.
  fileprivate func sweepFiles() async throws { try await node.sweepFiles() }
}

extension Node {
  fileprivate func sweepFiles() throws { _ = try store.files.sweep { _ in false } }
}
