import Foundation
import Sodium
import Testing
import WaymarkCare
import Wire

@testable import Home
@testable import Waymark

/// Key files on a disk: they are private, and never lost.
struct KeyFileTests {
  @Test func `a key is written for its owner alone, and never overwritten`() throws {
    let folder = try Folder()
    let path = folder.file("device.key")
    try KeyFile.create(try secret(.device), .device, at: path)
    let first = try bytes(path)
    #expect(mode(path) == 0o600)
    #expect(code { try KeyFile.create(try secret(.device, 99), .device, at: path) } == .alreadyThere)
    #expect(try bytes(path) == first)
    #expect(folder.names == ["device.key"])
  }

  @Test func `a key is never written through a link`() throws {
    let folder = try Folder()
    let elsewhere = try folder.write(Array("theirs".utf8), "elsewhere")
    symlink(elsewhere, folder.file("device.key"))
    #expect(
      code { try KeyFile.create(try secret(.device), .device, at: folder.file("device.key")) }
        == .alreadyThere)
    symlink(folder.file("nothing"), folder.file("root.key"))
    #expect(
      code { try KeyFile.create(try secret(.root), .root, at: folder.file("root.key")) } == .alreadyThere)
    #expect(try bytes(elsewhere) == Array("theirs".utf8))
    #expect(folder.names == ["device.key", "elsewhere", "root.key"])
  }

  /// Files at the path of a key that are not key files.
  enum Wrong: String, CaseIterable, Sendable {
    case missing, folder, pipe, link, empty, endless, groupReadable, worldReadable, worldWritable, ofRoot
  }

  @Test(arguments: Wrong.allCases)
  func `an invalid key file is refused at once and left alone`(_ wrong: Wrong) throws {
    let folder = try Folder()
    let path = folder.file("device.key")
    var expected = Reason.keyDamaged
    if ![.missing, .folder, .pipe].contains(wrong) {
      try KeyFile.create(try secret(.device), .device, at: path)
    }
    switch wrong {
    case .missing: expected = .keyMissing
    case .folder: mkdir(path, 0o700)
    case .pipe: mkfifo(path, 0o600)
    case .link:
      rename(path, folder.file("real"))
      symlink(folder.file("real"), path)
      expected = .keyExposed
    case .empty: truncate(path, 0)
    case .endless: truncate(path, 1 << 30)
    case .groupReadable, .worldReadable, .worldWritable:
      chmod(path, [.groupReadable: 0o640, .worldReadable: 0o604, .worldWritable: 0o602][wrong] ?? 0)
      expected = .keyExposed
    case .ofRoot:
      guard geteuid() == 0 else { return skip("only root can give a file away") }
      chown(path, 65_534, 65_534)
      expected = .keyExposed
    }
    let before = folder.names
    #expect(code { _ = try KeyFile.secrets(.device, at: path, .none) } == expected)
    #expect(folder.names == before)
  }

  private func skip(_ why: String) { print("skipped: \(why)") }

  @Test func `the first passphrase that fits opens`() throws {
    let folder = try Folder()
    let path = folder.file("root.key")
    try KeyFile.create(try secret(.root), .root, at: path)
    try KeyFile.rewrite(try secret(.root), .root, at: path, sealedWith: words("words of Alice"), cost: cheap)
    let secrets = try KeyFile.secrets(.root, at: path, giving("words of Bob", "words of Alice"))
    let isSame = secrets.equals(try secret(.root))
    #expect(isSame)
    #expect(code { _ = try KeyFile.secrets(.root, at: path, giving("words of Bob")) } == .wrongPassphrase)
    #expect(code { _ = try KeyFile.secrets(.root, at: path, .none) } == .passphraseNeeded)
  }

  @Test func `sealing a file leaves no unsealed copy behind`() throws {
    let folder = try Folder()
    let path = folder.file("root.key")
    try KeyFile.create(try secret(.root), .root, at: path)
    let old = open(path, O_RDONLY)
    defer { close(old) }
    let plain = try bytes(path)
    try KeyFile.rewrite(try secret(.root), .root, at: path, sealedWith: words("words of Alice"), cost: cheap)
    var left = [UInt8](repeating: 1, count: plain.count)
    #expect(pread(old, &left, left.count, 0) == plain.count)
    #expect(left == [UInt8](repeating: 0, count: plain.count), "the old file still holds the key")
    #expect(mode(path) == 0o600)
    #expect(folder.names == ["root.key"])
    #expect(try KeyFile.kind(at: path) == KeyFile.Kind(purpose: .root, protection: .sealed))
  }

  @Test func `a hard link to the old file keeps its content`() throws {
    let folder = try Folder()
    let path = folder.file("root.key")
    try KeyFile.create(try secret(.root), .root, at: path)
    let plain = try bytes(path)
    link(path, folder.file("copy"))
    try KeyFile.rewrite(try secret(.root), .root, at: path, sealedWith: words("words of Alice"), cost: cheap)
    #expect(try bytes(folder.file("copy")) == plain)
  }

  @Test func `a file that can't be replaced stays unchanged`() throws {
    let folder = try Folder()
    let path = folder.file("root.key")
    try KeyFile.create(try secret(.root), .root, at: path)
    let plain = try bytes(path)
    #expect(
      code { try KeyFile.rewrite(try secret(.root), .root, at: path + "/below", sealedWith: nil) }
        == .unwritable)
    #expect(try bytes(path) == plain)
    #expect(folder.names == ["root.key"])
  }

  @Test func `a key file of the first version can be read`() throws {
    let fixture = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .appending(path: "../../Fixtures/format-1/device.key")
    let folder = try Folder()
    let path = try folder.write([UInt8](Data(contentsOf: fixture)), "device.key")
    let count = try KeyFile.secrets(.device, at: path, .none).count
    #expect(count == 64)
  }
}
