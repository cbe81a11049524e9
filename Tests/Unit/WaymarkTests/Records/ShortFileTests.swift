import FileFormat
import Foundation
import JSONDocument
import Model
import Records
import Replication
import Testing
import WaymarkCare
import WaymarkFiles
import WaymarkTesting
import Wire

@testable import Waymark

/// Short content that another client stored as a file. This client stores such content in the field itself.
struct ShortFileTests {
  private let bytes = (0..<1_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }

  private func attach(_ alice: TestNode) async throws -> Model.Attachment {
    let trip = try await alice.node.save(Trip(name: "Rome"))
    let casa = try await alice.node.save(Lodging(name: "Casa", tripID: trip.id))
    return try await alice.node.attach(Data(bytes), named: "a.mov", to: .lodging(casa.id))
  }

  /// The full export of a node, in which the content has the form of a file.
  private func export(_ alice: TestNode) async throws -> String {
    let content = try await alice.node.export(as: .json).content
    let text = try #require(String(data: content, encoding: .utf8))
    let base64 = "\"\(Data(bytes).base64EncodedString())\""
    try #require(text.contains(base64))
    let file = try #require(FileHasher.list(of: bytes)).reference
    return text.replacing(
      base64, with: "{\"bytes\": \(file.size), \"file\": \"\(file.id.description)\", \"base64\": \(base64)}")
  }

  private func importing(_ text: String, _ node: TestNode) async throws -> [Int64?] {
    let path = node.home.path + "/export.json"
    try text.write(toFile: path, atomically: true, encoding: .utf8)
    let answer = try await node.run("import", ["files": [.string(path)]])
    return ["added", "updated"].map { answer[$0]?.integer }
  }

  @Test func `its content is imported into another circle`() async throws {
    let (alice, bob) = (try await TestNode.founder("alice"), try await TestNode.founder("bob"))
    let id = try await attach(alice).id
    let text = try await export(alice)
    #expect(try await importing(text, bob) == [3, 0])
    let attachment = try #require(try await bob.node.record(id))
    #expect(try await bob.node.data(of: attachment) == Data(bytes))
    #expect(try await importing(text, bob) == [0, 0])
    await alice.close()
    await bob.close()
  }

  @Test func `it stays a file where it is one, until its content changes`() async throws {
    let alice = try await TestNode.founder("alice")
    let attachment = try await attach(alice)
    let text = try await export(alice)
    let key = RecordKey(
      kind: Kind.attachment.number, id: try #require(RecordID(uuid: "\(attachment.id)")))
    let data = try #require(Kind.attachment.field(named: "fileData")).number
    let file = try #require(FileHasher.list(of: bytes)).reference
    _ = try await alice.node.writeTogether([EntryDraft(.put, key, [(data, file.value)])])
    #expect(try await importing(text, alice) == [0, 0])
    let other = try #require(FileHasher.list(of: [1] + bytes.dropFirst())).reference
    _ = try await alice.node.writeTogether([EntryDraft(.put, key, [(data, other.value)])])
    #expect(try await importing(text, alice) == [0, 1])
    #expect(try await alice.node.data(of: attachment) == Data(bytes))
    await alice.close()
  }
}
