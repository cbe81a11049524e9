import Foundation
import Model
import Testing
import WaymarkCare
import WaymarkFiles
import WaymarkTesting

@testable import Control
@testable import Waymark

/// Reading a home that can't be written to.
struct ReadingCopyTests {
  @Test func `a home is read through a copy without its keys, and stays as it is`() async throws {
    let folder = try Folder()
    let test = try TestHome()
    _ = try Node.initialize(home: test.home, name: "alice")
    let node = try Node.open(test.home)
    let trip = try await node.save(Trip(name: "Rome"))
    let lodging = try await node.save(Lodging(name: "Casa", tripID: trip.id))
    let content = Data(repeating: 7, count: 100_000)
    let file = try folder.write([UInt8](content), "film.mov")
    try await node.attach(contentsOf: URL(filePath: file), to: .lodging(lodging.id))
    await node.close()
    let before = try names(test.home.path)
    let copy = try ReadingCopy(of: test.home, holdsFiles: true)
    #expect(try await copy.node.records(Trip.all).map(\.name) == ["Rome"])
    let attachment = try #require(try await copy.node.records(Model.Attachment.all).first)
    #expect(try await copy.node.data(of: attachment) == content)
    let backup = folder.file("copy.waymark")
    try await copy.node.backUp(to: URL(filePath: backup))
    #expect(try BackupSize.of(backup) > 100_000)
    await copy.close()
    #expect(try names(test.home.path) == before)
  }

  @Test func `what a node that has not closed wrote last is read too`() async throws {
    let test = try TestHome()
    let node = try await Node.open(test.home, name: "alice")
    // It is only in the write-ahead log, as after a loss of power.
    _ = try await node.save(Trip(name: "Rome"))
    let copy = try ReadingCopy(of: test.home, holdsFiles: false)
    #expect(try await copy.node.records(Trip.all).map(\.name) == ["Rome"])
    await copy.close()
    await node.close()
  }

  @Test func `the picture and the metrics are written to files elsewhere, and need no writing in the home`()
    async throws
  {
    let (folder, test) = (try Folder(), try TestHome())
    let node = try await Node.open(test.home, name: "alice")
    let picture = Data(repeating: 7, count: 100_000)
    try await node.setAvatar(picture)
    await node.close()
    let show = ShowProfile(output: folder.file("face.png"))
    var metrics = ShowMetrics()
    metrics.write = folder.file("waymark.prom")
    #expect(show.needsNoWriting && metrics.needsNoWriting)
    _ = try await show.perform(onCopyOf: test.home) { _ in }
    #expect(try Data(contentsOf: URL(filePath: folder.file("face.png"))) == picture)
    let answer = try await metrics.perform(onCopyOf: test.home) { _ in }
    #expect(answer.text.contains("waymark_"))
  }

  private func names(_ path: String) throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: path).sorted()
  }
}

private enum BackupSize {
  static func of(_ path: String) throws -> Int {
    (try FileManager.default.attributesOfItem(atPath: path)[.size] as? NSNumber)?.intValue ?? 0
  }
}
