import Foundation
import Storage
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Home
@testable import Waymark

/// What a restore says about the present store, about erased records, and about the next step.
struct RestoreSentenceTests {
  private let folder: Folder
  private let file: String
  private let alice: Home

  init() throws {
    folder = try Folder()
    file = folder.file("alice.waymark")
    alice = Home(path: folder.file("alice"))
  }

  /// Opens the home of Alice, which is founded if it does not exist.
  private func node() throws -> Node {
    if !alice.hasStore { _ = try Node.initialize(home: alice, name: "alice", wall: TestNode.morning) }
    return try Node(home: alice, wall: { TestNode.morning })
  }

  private func restoring(_ home: Home, foundsCircle: Bool = false) -> RestoreOperation {
    var request = RestoreOperation.Request(file: file, name: "carol")
    request.foundsCircle = foundsCircle
    return RestoreOperation(home: home, request: request, wall: { TestNode.morning })
  }

  @Test func `what the backup lacks is counted, and only that needs a yes`() async throws {
    let node = try node()
    _ = try await node.save(Trip(name: "Rome"))
    try await node.backUp(to: URL(filePath: file))
    await node.close()
    let same = try await restoring(alice).preview()
    #expect(same.discardedSets == 0 && same.text == nil)
    for (name, sentence) in [
      ("Oslo", "1 change set of the current store is not in the backup."),
      ("Bern", "2 change sets of the current store are not in the backup."),
    ] {
      let again = try self.node()
      _ = try await again.save(Trip(name: name))
      await again.close()
      let preview = try await restoring(alice).preview()
      #expect(preview.text?.description.hasPrefix(sentence) == true, "\(preview.text ?? "")")
    }
    #expect(try await refusal { _ = try await restoring(alice).restore() } == "needs_yes")
    let restored = try await restoring(alice).restore(isConfirmed: true)
    #expect(restored.discardedSets == 2 && restored.records == 1 && !restored.isPreview)
    // The former store is kept, so that nothing is lost.
    #expect(restored.keptBackup.map(Files.isRegular) == true)
  }

  @Test func `the next step is to run a device that is admitted, and to invite one that is not`() async throws
  {
    let node = try node()
    try await node.backUp(to: URL(filePath: file))
    await node.close()
    let carol = Home(path: folder.file("carol"))
    let own = try await restoring(alice).preview()
    #expect(own.isAdmitted && own.next.description == "waymark run")
    let other = try await restoring(carol).preview()
    #expect(!other.isAdmitted && other.next.description.contains("waymark invite"))
    #expect(other.next.description.contains("waymark join TICKET"))
    let founded = try await restoring(carol, foundsCircle: true).preview()
    #expect(founded.isNewCircle && founded.isAdmitted && founded.next.description == "waymark run")
  }

  @Test func `records that were erased since the backup are named, remembered, and not part of a new circle`()
    async throws
  {
    let node = try node()
    let (rome, oslo) = (try await node.save(Trip(name: "Rome")), try await node.save(Trip(name: "Oslo")))
    try await node.backUp(to: URL(filePath: file))
    _ = try await node.erase(rome)
    try await node.delete(oslo)
    await node.close()
    let founded = try await restoring(alice, foundsCircle: true).preview()
    #expect(founded.erasedAgain.isEmpty)
    let preview = try await restoring(alice).preview()
    let restored = try await restoring(alice).restore(isConfirmed: true)
    for summary in [preview, restored] {
      #expect(summary.erasedAgain.map(\.name) == ["Rome"])
      #expect(summary.erasedAgain.map(\.kind) == [.trip] && summary.erasedAgain.map(\.id) == [rome.id.uuid])
    }
    let lines = try Store(path: alice.store).metaLines(MetaKey.erasedBefore)
    let digits = rome.id.uuid.uuidString.lowercased().replacing("-", with: "")
    #expect(lines.count == 1 && lines.first?.hasSuffix(digits) == true)
  }
}
