import Testing

@testable import Home

/// Folders that an export writes.
struct FolderOutputTests {
  private struct Failure: Error {}

  @Test func `a folder that can't be written completely leaves nothing behind`() throws {
    let folder = try Folder()
    #expect(throws: Failure.self) {
      try Folders.create(folder.file("export"), with: ["first", "files/second"]) { index, write in
        try write([1, 2, 3])
        if index == 1 { throw Failure() }
      }
    }
    #expect(folder.names == [])
  }
}
