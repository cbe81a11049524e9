import Foundation
import Storage
import Testing
import WaymarkTesting

@testable import Waymark

/// What a person names for something to be written to.
struct OutputFileTests {
  private func refusal(_ path: String, _ home: Home? = nil) -> String? {
    do {
      try OutputFile(path, in: home).write([1, 2, 3])
      return nil
    } catch {
      return (error as? WaymarkError)?.code ?? "\(error)"
    }
  }

  @Test func `a key is never written over, whoever's it is and wherever a link leads`() throws {
    let folder = try Folder()
    for purpose in KeyPurpose.allCases {
      let key = folder.file("\(purpose)")
      try KeyFile.create(try secret(purpose), purpose, at: key)
      let before = try bytes(key)
      symlink(key, key + ".link")
      #expect(refusal(key) == "is_key")
      #expect(refusal(key + ".link") == "is_key")
      #expect(try bytes(key) == before)
    }
  }

  @Test func `a store in use is never written over`() throws {
    let folder = try Folder()
    do { try Store(path: folder.file("store.db")).rest() }
    let before = try bytes(folder.file("store.db"))
    #expect(refusal(folder.file("store.db")) == "is_store")
    #expect(try bytes(folder.file("store.db")) == before)
  }

  @Test func `what a home keeps is left alone, and other files there are not its own`() throws {
    let folder = try Folder()
    let home = Home(path: folder.file("home"))
    try home.prepare()
    mkdir(home.backups, 0o700)
    symlink(folder.path, folder.file("way"))
    for name in ["store.db", "store.db-wal", "keys/root.key", "config.json", "incarnation", "backups/a"] {
      #expect(refusal(home.path + "/" + name, home) == "in_home", "\(name)")
      #expect(refusal(folder.file("way/home/" + name), home) == "in_home", "\(name)")
    }
    #expect(folder.names == ["home", "way"])
    #expect(refusal(home.path + "/export.json", home) == nil)
    #expect(throws: WaymarkError.self) { try OutputFile.checkFolder(home.path + "/joining", in: home) }
    #expect(throws: Never.self) { try OutputFile(home.backups + "/a", in: home, except: home.backups) }
  }

  @Test func `a link is followed, a device is written to, and a pipe is refused`() throws {
    let folder = try Folder()
    let real = try folder.write([9], "real")
    symlink("real", folder.file("link"))
    #expect(refusal(folder.file("link")) == nil)
    #expect(try bytes(real) == [1, 2, 3])
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: folder.file("link")) == "real")
    symlink("later", folder.file("dangling"))
    #expect(refusal(folder.file("dangling")) == nil)
    #expect(try bytes(folder.file("later")) == [1, 2, 3])
    #expect(refusal("/dev/null") == nil)
    var status = stat()
    #expect(stat("/dev/null", &status) == 0 && status.st_mode & S_IFMT == S_IFCHR)
    mkfifo(folder.file("pipe"), 0o600)
    #expect(refusal(folder.file("pipe")) == "file")
  }

  @Test func `a lock that can't be taken is said in words`() throws {
    let home = Home(path: try Folder().path)
    let failure = WaymarkError.opening(home, StoreError.lockFailed(errno: EROFS))
    #expect(failure.message.contains("read-only file system") && !failure.message.contains("errno"))
    #expect(failure.next?.contains("findmnt") == true)
  }
}
