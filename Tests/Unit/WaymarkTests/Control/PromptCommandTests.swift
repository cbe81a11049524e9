import JSONDocument
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Control
@testable import Waymark

/// Commands that a running node answers on its client's thread, because they wait for nothing but the store.
struct PromptCommandTests {
  private func command<Asked: PromptCommand>(
    _ type: Asked.Type, _ name: String, _ arguments: JSON
  ) throws -> Asked {
    try ControlRequest(command: name, arguments: arguments).command(as: type)
  }

  @Test func `what is written promptly is in the store, like what any other command writes`() async throws {
    let alice = try await TestNode.founder("alice")
    let added = try await alice.node.promptly(command(AddRecord.self, "trip.add", fields("name=Rome")))
    #expect(added.name == "Rome" && added.ids == nil)
    #expect(try await alice.run("trip.show", ["id": .string(added.id)])["name"] == "Rome")
    let edit = try command(EditRecord.self, "trip.edit", fields("notes=sunny", id: "Rome"))
    let edited = try await alice.node.promptly(edit)
    #expect(edited.changed && edited.id == added.id)
    #expect(try await alice.run("trip.show", ["id": "Rome"])["notes"] == "sunny")
    let repeated = try await alice.node.promptly(edit)
    #expect(!repeated.changed)
    let profile = try command(SetProfile.self, "profile.set", fields("name=Alice"))
    let set = try await alice.node.promptly(profile)
    #expect(set.changed && set.updatedAt != nil)
    #expect(try await alice.run("profile.show")["name"] == "Alice")
    await alice.close()
  }

  @Test func `a client of a running node gets the same answers, also for a file, which takes longer`()
    async throws
  {
    let (alice, folder) = (try await TestNode.founder("alice"), try Folder())
    try await alice.node.serveControl()
    func ask(_ command: String, _ arguments: JSON) async throws -> JSON {
      try await ControlClient.run(command, arguments, home: alice.home)
    }
    #expect(try await ask("trip.add", fields("name=Rome"))["name"] == "Rome")
    _ = try await ask("lodging.add", fields("trip=Rome", "name=Casa"))
    let path = try folder.write([UInt8](repeating: 7, count: 50_000), "ticket.pdf")
    _ = try await ask("attachment.add", fields("file=\(path)", "lodging=Casa"))
    let picture = try folder.write([UInt8](repeating: 8, count: 5_000), "picture.png")
    #expect(try await ask("profile.set", fields("avatar=\(picture)"))["changed"] == true)
    #expect(try await ask("trip.edit", fields("notes=sunny", id: "Rome"))["changed"] == true)
    #expect(try await alice.run("trip.show", ["id": "Rome"])["notes"] == "sunny")
    let listed = try await alice.run("attachment.list")["attachments"]?.array ?? []
    #expect(listed.map { $0["fileSize"] } == [50_000])
    await alice.close()
  }

  private static let rows: [(command: String, arguments: JSON, isPrompt: Bool)] = [
    ("trip.add", fields("name=Rome"), true), ("trip.edit", fields("notes=hot", id: "Rome"), true),
    ("attachment.edit", fields("notes=mine", id: "a"), true),
    ("attachment.edit", fields("file=/x", id: "a"), false),
    ("attachment.add", fields("lodging=Casa", "file=/x"), false),
    ("profile.set", fields("name=Alice"), true), ("profile.set", fields("name=Alice", "avatar=/x"), false),
    ("profile.show", [:], true), ("profile.show", ["output": "/x"], false),
  ]

  @Test func `only a command that reads or writes a file takes longer`() throws {
    for row in Self.rows {
      let found = Commands.named(row.command) as? any PromptCommand.Type
      let type = try #require(found)
      let isPrompt = try judge(ControlRequest(command: row.command, arguments: row.arguments), type)
      #expect(isPrompt == row.isPrompt, "\(row.command) \(row.arguments.text())")
    }
  }

  private func judge(_ request: ControlRequest, _ type: (some PromptCommand).Type) throws -> Bool {
    try request.command(as: type).isPrompt
  }
}

extension Node {
  fileprivate func promptly<Asked: PromptCommand>(_ command: Asked) throws -> Asked.Answer {
    try command.perform(on: self)
  }
}
