import Foundation
import Testing
import WaymarkCare

@testable import Home
@testable import Waymark

/// Files that are read as a whole or in pieces, and what is read in place of a file.
struct WholeFileTests {
  private let folder: Folder

  init() throws { folder = try Folder() }

  private func message(_ body: () throws -> Void) -> String {
    do {
      try body()
      return ""
    } catch {
      return (error as? WaymarkError)?.message.description ?? "\(error)"
    }
  }

  @Test func `a file is read up to its limit, and one byte more is refused with the limit`() throws {
    let content = (0..<2_048).map { UInt8(truncatingIfNeeded: $0) }
    let file = try folder.write(content, "file")
    #expect(try Files.read(file, bytesMax: 2_048) == content)
    #expect(code { _ = try Files.read(file, bytesMax: 2_047) } == .tooLarge)
    #expect(
      message { _ = try Files.read(file, bytesMax: 1_024, what: "image") }
        .contains("is too large for an image: the limit is 1 KiB"))
    #expect(
      message { throw Files.tooLarge(file, "backup", 3 * 1_024 * 1_024) }
        .contains("is too large for a backup: the limit is 3 MiB"))
    let empty = try folder.write([], "empty")
    #expect(try Files.read(empty, bytesMax: 0) == [])
  }

  @Test func `a folder, a pipe and a missing file are told apart, and a pipe is not waited for`() {
    let (pipe, missing) = (folder.file("pipe"), folder.file("missing"))
    mkfifo(pipe, 0o600)
    let path = folder.path
    for (file, words) in [(path, "directory"), (pipe, "a pipe or a device"), (missing, "no such file")] {
      #expect(code { _ = try Files.read(file, bytesMax: 10) } == .file)
      let found = message { _ = try Files.read(file, bytesMax: 10) }
      #expect(found.contains("Can't read \(file)") && found.contains(words), "\(found)")
    }
  }

  @Test func `a long file is the same in pieces, and has none after its end`() throws {
    let content = (0..<200_001).map { UInt8(truncatingIfNeeded: $0 / 7) }
    let reader = try ReadableFile(try folder.write(content, "file"))
    var found: [UInt8] = []
    var isAtEnd = false
    // More pieces than any size of them needs.
    for _ in 0..<1_000 where !isAtEnd {
      let piece = try reader.read()
      isAtEnd = piece.isEmpty
      found += piece
    }
    #expect(isAtEnd && found == content)
    #expect(try reader.read() == [])
    #expect(code { _ = try ReadableFile(folder.file("missing")) } == .file)
  }

  @Test func `what only this process can read is read for a node, and ordinary files and folders are not`()
    throws
  {
    let file = try folder.write([1], "file")
    let (pipe, link) = (folder.file("pipe"), folder.file("link"))
    mkfifo(pipe, 0o600)
    symlink(pipe, link)
    for path in ["-", "/dev/stdin", "/dev/fd/63", "/proc/self/fd/0", "/dev/null", pipe, link] {
      #expect(PipedFile.isNeeded(for: path), "\(path)")
    }
    for path in [file, folder.path, folder.file("missing"), "-file", "/dev", "/proc/selfish"] {
      #expect(!PipedFile.isNeeded(for: path), "\(path)")
    }
  }

  @Test
  func `what was read for a node is in a private folder under the name of its source, until it is removed`()
    throws
  {
    let piped = try PipedFile("/dev/null")
    #expect(try bytes(piped.path) == [] && piped.path.hasSuffix("/null"))
    let place = parentFolder(of: piped.path)
    #expect(mode(piped.path) == 0o600 && mode(place) == 0o700)
    let other = try PipedFile("/dev/null")
    #expect(other.path != piped.path)
    piped.remove()
    #expect(!Files.exists(place) && Files.exists(other.path))
    other.remove()
    #expect(!Files.exists(other.path))
    #expect(code { _ = try PipedFile(folder.file("missing")) } == .file)
  }

  @Test func `a file of text for other programs is replaced as a whole, and others may read it`() throws {
    let file = try folder.write(Array("a much longer text".utf8), "text")
    try TextFile.replace(file, "short\n")
    #expect(try bytes(file) == Array("short\n".utf8) && mode(file) == 0o644)
    #expect(folder.names == ["text"])
  }

  @Test(
    arguments: [
      ("a/b", "a", "b"), ("/a/b", "/a", "b"), ("/a", "/", "a"), ("a", ".", "a"), ("/a/b/", "/a/b", "b"),
    ])
  func `a path has a folder and a name`(path: String, folder: String, name: String) {
    #expect(parentFolder(of: path) == folder)
    #expect(Files.name(of: path) == name)
  }

  @Test func `a passphrase that is known is tried first, and then those of the other source from its first`()
    throws
  {
    let known = try words("correct horse battery")
    let source = PassphraseSource.first(known, then: giving("second words", "third words"))
    #expect(try source.passphrase("file", 0) == known)
    #expect(try source.passphrase("file", 1) == words("second words"))
    #expect(try source.passphrase("file", 2) == words("third words"))
    #expect(try source.passphrase("file", 3) == nil)
    let plain = PassphraseSource.first(nil, then: giving("second words"))
    #expect(try plain.passphrase("file", 0) == words("second words"))
  }
}
