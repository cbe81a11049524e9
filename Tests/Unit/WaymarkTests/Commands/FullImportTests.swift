import Foundation
import JSONDocument
import Model
import Testing
import WaymarkFiles
import WaymarkTesting

@testable import Waymark

/// Everything out, and in again.
struct FullImportTests {
  private let folder: Folder
  private let alice: TestNode

  init() async throws {
    folder = try Folder()
    alice = try await TestNode.founder("alice")
    let sample = SampleData(seed: 5)
    try await alice.node.change { changes in
      for trip in sample.trips(3) { changes.save(trip) }
      for index in 0..<3 { changes.save(sample.habit(index)) }
    }
    try await alice.run("profile.set", fields("name=Zoë", "homeTimezone=Europe/Rome"))
    try await alice.run("settings.set", ["key": "colorScheme", "value": "dark"])
    let trip = try #require(try await alice.node.records(Trip.all).first)
    let lodging = try await alice.node.save(Lodging(name: "Casa", tripID: trip.id))
    for (size, name) in [
      (0, "empty"), (10, "small"), (40_000, "middle"), (300_000, "large"), (300_000, "again"),
    ] {
      let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 9) }
      try await alice.node.attach(
        contentsOf: URL(filePath: try folder.write(bytes, name)), to: .lodging(lodging.id))
    }
  }

  private func export(_ node: TestNode, _ name: String) async throws -> String {
    let path = folder.file(name)
    try await node.run("export", ["format": "json", "output": .string(path)])
    return path
  }

  private func importing(_ node: TestNode, _ path: String, preview: Bool = false) async throws -> [JSON?] {
    let summary = try await node.run("import", ["files": [.string(path)], "preview": .bool(preview)])
    #expect(summary["skipped"] == 0 && summary["warnings"] == [])
    return [summary["added"], summary["updated"], summary["unchanged"]]
  }

  /// The lines of an export without its time.
  private func lines(_ path: String) throws -> [Substring] {
    try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").filter {
      !$0.contains("exportedAt")
    }
  }

  @Test func `an export that is imported where it comes from changes nothing`() async throws {
    let file = try await export(alice, "all.json")
    let lanes = try await alice.run("status")["lanes"]
    let counts = try await importing(alice, file)
    #expect(counts[0] == 0 && counts[1] == 0)
    #expect(try await alice.run("status")["lanes"] == lanes)
  }

  @Test func `an import into another circle gives equal records, files and settings`() async throws {
    let file = try await export(alice, "all.json")
    let bob = try await TestNode.founder("bob")
    let planned = try await importing(bob, file, preview: true)
    #expect(try await bob.run("trip.list")["trips"] == [])
    #expect(try await importing(bob, file) == planned)
    #expect(try lines(try await export(bob, "bob.json")) == lines(file))
    #expect(try await bob.run("settings.get", ["key": "colorScheme"])["value"] == "dark")
    for attachment in try await bob.node.records(Model.Attachment.all) where attachment.fileSize > 0 {
      let expected = try Data(contentsOf: URL(filePath: folder.file(attachment.fileName)))
      #expect(try await bob.node.data(of: attachment) == expected)
    }
  }

  @Test func `an import restores what was changed and deleted since, to the millisecond`() async throws {
    let trip = try #require(try await alice.node.records(Trip.all).first)
    let time = Date(timeIntervalSince1970: 1_777_820_400.123)
    try await alice.node.update(trip.id) { $0.startDate = time }
    let file = try await export(alice, "all.json")
    try await alice.node.update(trip.id) {
      $0.startDate = time.addingTimeInterval(0.4)
      $0.notes = "new"
    }
    let other = try #require(try await alice.node.records(Trip.all).first { $0.id != trip.id })
    try await alice.run("trip.delete", ["id": .string(other.id.description), "yes": true])
    #expect(try await importing(alice, file)[..<2] == [1, 1])
    #expect(try lines(try await export(alice, "again.json")) == lines(file))
  }

  @Test func `an export is not imported together with files of other applications`() async throws {
    let file = try await export(alice, "all.json")
    let other = folder.file("trips.json")
    try await alice.run("export", ["format": "traveling-snails", "output": .string(other)])
    let failure = try await failure(alice, "import", ["files": [.string(file), .string(other)]])
    #expect(failure?.code == .usage && failure?.message.description.contains("nothing was imported") == true)
  }
}
