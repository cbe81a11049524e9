import Foundation
import JSONDocument
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Waymark

struct ImportFolderTests {
  @Test func `a folder is imported from the only one in it that has the files, and not from one of two`()
    async throws
  {
    let folder = try Folder()
    for name in ["archive", "archive/pictures"] {
      try FileManager.default.createDirectory(atPath: folder.file(name), withIntermediateDirectories: true)
    }
    let alice = try await TestNode.founder("alice")
    try await alice.run("habit.add", fields("name=Run"))
    try await alice.run("habit.tick", ["id": "Run", "date": "2026-05-01"])
    let archive: JSON = ["files": [.string(folder.file("archive"))]]
    for (number, name) in ["archive/loop", "archive/copy"].enumerated() {
      try await alice.run("export", ["format": "loop-csv", "output": .string(folder.file(name))])
      let bob = try await TestNode.founder("bob")
      if number == 0 {
        #expect(try await bob.run("import", archive)["added"] == 2)
        #expect(try await bob.run("entry.list")["entries"]?[0]?["day"] == "2026-05-01")
      } else {
        // Which of the two is meant is not known.
        #expect(try await failure(bob, "import", archive)?.exitCode == ExitCode.failed)
        try await bob.checkEmpty()
      }
    }
  }
}
