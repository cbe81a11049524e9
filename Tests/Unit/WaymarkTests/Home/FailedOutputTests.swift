import Foundation
import Testing

@testable import Home
@testable import Waymark

/// Files and folders whose writing fails halfway, or whose names are taken in the meantime.
struct FailedOutputTests {
  private struct Failure: Error {}

  @Test func `content that can't be written to its end leaves the earlier file, and can be written again`()
    throws
  {
    let folder = try Folder()
    let earlier = try folder.write([9], "earlier")
    for overwrites in [true, false] {
      let output = try OutputFile(
        overwrites ? earlier : folder.file("new"), in: nil, overwrites: overwrites)
      #expect(throws: Failure.self) {
        try output.write { write in
          try write([1, 2, 3])
          throw Failure()
        }
      }
      #expect(try bytes(earlier) == [9])
      #expect(folder.names == ["earlier"])
    }
    for name in ["earlier", "new"] {
      try OutputFile(folder.file(name), in: nil, overwrites: name == "earlier").write { write in
        try write([1, 2])
        try write([3])
      }
      #expect(try bytes(folder.file(name)) == [1, 2, 3])
      #expect(mode(folder.file(name)) == 0o600)
    }
    #expect(folder.names == ["earlier", "new"])
  }

  @Test func `a file that another program creates in the meantime is replaced only after a yes`() throws {
    let folder = try Folder()
    let output = try OutputFile(folder.file("out"), in: nil, overwrites: false)
    let agreed = try OutputFile(folder.file("out"), in: nil, overwrites: true)
    _ = try folder.write([9], "out")
    #expect(code { try output.write([1]) } == .needsYes)
    #expect(
      code {
        try output.write { write in try write([1]) }
      } == .needsYes)
    #expect(try bytes(folder.file("out")) == [9])
    #expect(folder.names == ["out"])
    try agreed.write([2])
    #expect(try bytes(folder.file("out")) == [2])
  }

  @Test func `an error of the disk is reported as such, and not as a file that exists`() throws {
    let folder = try Folder()
    mkdir(folder.file("gone"), 0o700)
    let output = try OutputFile(folder.file("gone/out"), in: nil, overwrites: false)
    rmdir(folder.file("gone"))
    #expect(code { try output.write([1]) } == .file)
    #expect(
      code {
        try output.write { write in try write([1]) }
      } == .file)
    #expect(folder.names == [])
  }

  @Test func `an empty folder in which something appears meanwhile gets none of the files`() throws {
    let folder = try Folder()
    let target = folder.file("export")
    let theirs = target + "/b.csv"
    mkdir(target, 0o700)
    let refused = code {
      try Folders.create(target, with: ["a.csv", "b.csv", "c.csv"]) { index, write in
        try write([UInt8(index)])
        // A folder can't be replaced by a file.
        if index == 2 { mkdir(theirs, 0o700) }
      }
    }
    #expect(refused == .file)
    #expect(try FileManager.default.contentsOfDirectory(atPath: target) == ["b.csv"])
    #expect(Files.isDirectory(theirs))
    rmdir(theirs)
    try Folders.create(target, with: ["a.csv", "b.csv"]) { index, write in try write([UInt8(index)]) }
    #expect(try FileManager.default.contentsOfDirectory(atPath: target).sorted() == ["a.csv", "b.csv"])
    #expect(try bytes(theirs) == [1])
  }

  @Test func `a new folder whose name is taken meanwhile does not replace what has it now`() throws {
    let folder = try Folder()
    let target = folder.file("export")
    let refused = code {
      try Folders.create(target, with: ["a.csv", "files/b"]) { index, write in
        try write([UInt8(index)])
        guard index == 1 else { return }
        try Files.makeFolder(target)
        try Files.create(target + "/theirs", [9], mode: 0o600)
      }
    }
    #expect(refused == .file)
    #expect(folder.names == ["export"])
    #expect(try FileManager.default.contentsOfDirectory(atPath: target) == ["theirs"])
    #expect(try bytes(target + "/theirs") == [9])
  }
}
