import Foundation
import LogStorage
import Storage
import Testing
import WaymarkCare
import WaymarkFiles
import WaymarkTesting

@testable import Home
@testable import Waymark

/// Output paths that a user gives.
struct OutputFileTests {
  private func refusal(_ path: String, _ home: Home? = nil, yes: Bool = true) -> String? {
    do {
      try OutputFile(path, in: home, overwrites: yes).write([1, 2, 3])
      return nil
    } catch {
      return (error as? WaymarkError)?.code.rawValue ?? "\(error)"
    }
  }

  @Test func `a key is never overwritten, whatever home it belongs to and wherever a link leads`() throws {
    let folder = try Folder()
    for purpose in KeyPurpose.allCases {
      let key = folder.file("\(purpose)")
      try KeyFile.create(try secret(purpose), purpose, at: key)
      let before = try bytes(key)
      symlink(key, key + ".link")
      #expect(refusal(key) == "is_key")
      #expect(refusal(key + ".link") == "file")
      #expect(try bytes(key) == before)
    }
  }

  @Test func `a key that is sealed with a passphrase is not overwritten either`() throws {
    let folder = try Folder()
    let key = folder.file("root.key")
    try KeyFile.create(try secret(.root), .root, at: key, sealedWith: try words("correct horse battery"))
    let before = try bytes(key)
    #expect(refusal(key) == "is_key")
    #expect(try bytes(key) == before)
  }

  @Test func `a store in use is never overwritten`() throws {
    let folder = try Folder()
    do { try Store(path: folder.file("store.db")).rest() }
    let before = try bytes(folder.file("store.db"))
    #expect(refusal(folder.file("store.db")) == "is_store")
    #expect(try bytes(folder.file("store.db")) == before)
  }

  @Test func `files of a home are left alone, and unrelated files there are not protected`() throws {
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
    #expect(throws: Never.self) {
      try OutputFile(home.backups + "/a", in: home, except: home.backups, overwrites: false)
    }
  }

  @Test func `nothing that a node has put into its home is written to`() async throws {
    let circle = try await TestCircle(names: ["alice"], storage: .directories)
    let alice = circle["alice"]
    let trip = try await alice.save(Trip(name: "Rome"))
    let hotel = try await alice.save(Lodging(name: "Casa", tripID: trip.id))
    try await alice.attach(Data(repeating: 7, count: 100_000), named: "map.pdf", to: .lodging(hotel.id))
    let home = alice.home
    let names = try FileManager.default.contentsOfDirectory(atPath: home.path)
    #expect(names.contains("files") && names.contains("store.db"))
    for name in names {
      let path = home.path + "/" + name
      #expect(refusal(Files.isDirectory(path) ? path + "/new" : path, home) == "in_home", "\(name)")
    }
    await circle.close()
  }

  @Test func `an existing file is replaced only with a yes, and becomes private`() throws {
    let folder = try Folder()
    let file = try folder.write([9], "file")
    chmod(file, 0o644)
    #expect(refusal(file, yes: false) == "needs_yes")
    #expect(try bytes(file) == [9])
    #expect(refusal(file) == nil)
    #expect(try bytes(file) == [1, 2, 3])
    #expect(refusal(folder.file("new"), yes: false) == nil)
    for name in ["file", "new"] {
      var status = stat()
      #expect(stat(folder.file(name), &status) == 0 && status.st_mode & 0o777 == 0o600)
    }
  }

  @Test func `a directory, a link and a pipe are refused, and a device is written to`() throws {
    let folder = try Folder()
    let real = try folder.write([9], "real")
    mkdir(folder.file("directory"), 0o700)
    for name in ["directory", "directory/", "directory//", "new/", "directory/."] {
      #expect(refusal(folder.path + "/" + name) == "file", "\(name)")
    }
    symlink("real", folder.file("link"))
    symlink("later", folder.file("dangling"))
    for yes in [true, false] {
      #expect(refusal(folder.file("link"), yes: yes) == "file")
      #expect(refusal(folder.file("dangling"), yes: yes) == "file")
    }
    #expect(try bytes(real) == [9])
    #expect(folder.names == ["dangling", "directory", "link", "real"])
    symlink("/dev/null", folder.file("null"))
    #expect(refusal(folder.file("null"), yes: false) == nil)
    #expect(refusal("/dev/null", yes: false) == nil)
    var status = stat()
    #expect(stat("/dev/null", &status) == 0 && status.st_mode & S_IFMT == S_IFCHR)
    mkfifo(folder.file("pipe"), 0o600)
    #expect(refusal(folder.file("pipe")) == "file")
  }

  // MARK: Folders

  private let files: [(path: String, bytes: [UInt8])] = [("a.csv", [1]), ("b/c.csv", [2]), ("b/d.csv", [3])]

  private func modes(_ path: String) throws -> [String: Int] {
    var modes: [String: Int] = [:]
    for name in try FileManager.default.subpathsOfDirectory(atPath: path) {
      let attributes = try FileManager.default.attributesOfItem(atPath: "\(path)/\(name)")
      modes[name] = (attributes[.posixPermissions] as? NSNumber)?.intValue
    }
    return modes
  }

  @Test func `a folder is created, or filled if it is empty, and is private to its owner`() throws {
    let folder = try Folder()
    mkdir(folder.file("empty"), 0o755)
    var before = stat()
    #expect(stat(folder.file("empty"), &before) == 0)
    for name in ["new/", "empty"] {
      try Folders.create(folder.path + "/" + name, with: files)
      #expect(
        try modes(folder.path + "/" + name) == [
          "a.csv": 0o600, "b": 0o700, "b/c.csv": 0o600, "b/d.csv": 0o600,
        ])
    }
    #expect(folder.names == ["empty", "new"])
    var after = stat()
    #expect(stat(folder.file("empty"), &after) == 0)
    #expect(after.st_ino == before.st_ino, "the user's folder is not replaced")
    #expect(throws: WaymarkError.self) { try Folders.create(folder.file("new"), with: files) }
  }

  @Test func `a folder export that fails leaves nothing, and no link is followed`() throws {
    let folder = try Folder()
    mkdir(folder.file("elsewhere"), 0o700)
    mkdir(folder.file("empty"), 0o700)
    symlink("elsewhere", folder.file("link"))
    symlink("nowhere", folder.file("dangling"))
    let names = folder.names
    for name in ["link", "dangling", "missing/new"] {
      #expect(throws: WaymarkError.self, "\(name)") { try Folders.create(folder.file(name), with: files) }
    }
    for name in ["new", "empty"] {
      #expect(throws: WaymarkError.self, "\(name)") {
        try Folders.create(folder.file(name), with: files + [("a.csv", [4])])
      }
    }
    #expect(folder.names == names)
    #expect(try modes(folder.path).keys.sorted() == names)
  }

  @Test func `a folder of another user is not written to`() throws {
    let folder = try Folder()
    mkdir(folder.file("theirs"), 0o777)
    // Only root can give a folder to another user.
    guard chown(folder.file("theirs"), 65_534, 65_534) == 0 else { return }
    #expect(throws: WaymarkError.self) { try Folders.create(folder.file("theirs"), with: files) }
    #expect(try modes(folder.file("theirs")).isEmpty)
  }

  // MARK: Natural names

  @Test func `a directory takes the file under its natural name, which leads nowhere else`() throws {
    let folder = try Folder()
    mkdir(folder.file("out"), 0o700)
    for named in ["out", "out/", "out///"] {
      #expect(
        try OutputFile.path(folder.file(named), naturally: "waymark.json") == folder.file("out/waymark.json"))
    }
    #expect(try OutputFile.path(folder.file("new"), naturally: "waymark.json") == folder.file("new"))
    #expect(throws: WaymarkError.self) { try OutputFile.path(folder.file("missing/"), naturally: "a") }
    let unsafe = [
      ("../../keys/device.key", "_._.._keys_device.key"), (".bashrc", "_bashrc"), ("", "file"),
      ("-rf", "_rf"), ("a\u{0}b\n\u{202e}c", "a_b__c"), ("/", "_"), ("..", "_."),
    ]
    for (name, safe) in unsafe { #expect(Files.safeName(name) == safe) }
    #expect(Files.safeName(String(repeating: "é", count: 300)).utf8.count == 200)
  }

  @Test func `a file of metrics replaces one of its own, and other files only with a yes`() throws {
    let folder = try Folder()
    let home = Home(path: folder.file("home"))
    func write(_ file: String, yes: Bool = false) -> String? {
      do {
        try TextFile.write(
          Array("# HELP waymark_up x".utf8), to: file, besides: home, replacingOwn: "# HELP waymark_",
          overwrites: yes)
        return nil
      } catch {
        return (error as? WaymarkError)?.code.rawValue
      }
    }
    let file = folder.file("waymark.prom")
    #expect(write(file) == nil && write(file) == nil)
    let other = try folder.write(Array("PRECIOUS".utf8), "other")
    #expect(write(other) == "needs_yes")
    #expect(try bytes(other) == Array("PRECIOUS".utf8))
    #expect(write(other, yes: true) == nil)
    #expect(write(try folder.write([], "empty")) == nil)
  }

  @Test func `a pipe that nothing writes to is reported, and one with a slow writer is read`() async throws {
    let folder = try Folder()
    let pipe = folder.file("pipe")
    mkfifo(pipe, 0o600)
    #expect(throws: WaymarkError.self) { try Files.readPipe(pipe, bytesMax: 100, what: "file") }
    Thread.detachNewThread {
      let writer = open(pipe, O_WRONLY)
      usleep(300_000)
      _ = Foundation.write(writer, "slow", 4)
      close(writer)
    }
    #expect(try Files.readPipe(pipe, bytesMax: 100, what: "file") == Array("slow".utf8))
  }

  @Test func `a lock failure is explained in words`() throws {
    let home = Home(path: try Folder().path)
    let failure = WaymarkError.opening(home, StoreError.lockFailed(errno: EROFS))
    #expect(
      failure.message.description.contains("read-only file system")
        && !failure.message.description.contains("errno"))
    #expect(failure.next?.description.contains("findmnt") == true)
  }
}

extension Folders {
  /// Writes files that are in memory.
  fileprivate static func create(_ named: String, with files: [(path: String, bytes: [UInt8])]) throws {
    try create(named, with: files.map(\.path)) { index, write in try write(files[index].bytes) }
  }
}
