import Foundation
import JSONDocument
import Testing
import WaymarkCare
import WaymarkFiles
import WaymarkTesting

@testable import Waymark

/// The picture of the profile, as typed on the command line.
struct ProfilePictureTests {
  private func set(_ alice: TestNode, _ pairs: String...) async throws -> JSON? {
    try await alice.run("profile.set", fields(pairs))["changed"]
  }

  /// One that the profile itself holds, and one that is a file.
  @Test(arguments: [10, 40_000])
  func `a picture is set once, stays with other changes, and is removed`(size: Int) async throws {
    let (alice, folder) = (try await TestNode.founder("alice"), try Folder())
    let (bytes, others) = (
      (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) }, [UInt8](repeating: 1, count: size)
    )
    let path = try folder.write(bytes, "me.png")
    #expect(try await set(alice, "avatar=\(path)") == true)
    #expect(try await alice.node.avatar() == Data(bytes))
    #expect(try await set(alice, "avatar=\(path)") == false)
    #expect(try await alice.run("history")["operations"]?.array?.count == 1)
    #expect(try await set(alice, "name=Alice") == true)
    #expect(try await alice.node.avatar() == Data(bytes))
    let other = try folder.write(others, "other.png")
    #expect(try await set(alice, "avatar=\(other)", "name=Anna") == true)
    #expect(try await alice.node.avatar() == Data(others))
    #expect(try await set(alice, "avatar=") == true)
    #expect(try await set(alice, "avatar=") == false, "there is none to remove")
    #expect(try await alice.node.avatar() == nil)
    #expect(try await alice.run("profile.show")["name"] == "Anna")
    await alice.close()
  }

  @Test func `a picture of more than 16 MiB is refused, and the profile stays as it is`() async throws {
    let (alice, folder) = (try await TestNode.founder("alice"), try Folder())
    let path = try folder.write([], "huge.png")
    let file = try FileHandle(forWritingTo: URL(filePath: path))
    try file.truncate(atOffset: 16 * 1_048_576 + 1)
    try file.close()
    let refused = try await failure(alice, "profile.set", fields("avatar=\(path)", "name=Alice"))
    #expect(refused?.code == .tooLarge)
    #expect(try await alice.node.avatar() == nil)
    #expect(try await alice.run("profile.show")["name"] == .null)
    await alice.close()
  }
}
