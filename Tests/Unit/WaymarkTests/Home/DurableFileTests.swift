import Foundation
import Testing
import WaymarkCare

@testable import Home
@testable import NodeRuntime
@testable import Waymark

/// Files that are written completely or not at all.
struct DurableFileTests {
  /// The results of successive system calls: a number of bytes, or an error.
  enum Step: Sendable {
    case bytes(Int)
    case error(Int32)
  }

  static let writing: [(steps: [Step], expected: Int32)] = [
    ([.bytes(10)], 0), ([.bytes(1), .bytes(2), .bytes(7)], 0), ([.error(EINTR), .bytes(10)], 0),
    ([.bytes(4), .error(EINTR), .error(EINTR), .bytes(6)], 0), ([.bytes(4), .error(ENOSPC)], ENOSPC),
    ([.error(EIO)], EIO), ([.bytes(9), .bytes(0)], EIO), ([.bytes(9), .error(EDQUOT)], EDQUOT),
  ]

  @Test(arguments: writing)
  func `writing continues until everything is written or an error occurs`(_ steps: [Step], _ expected: Int32)
  {
    let content: [UInt8] = Array(0..<10)
    var (taken, next): ([UInt8], Int) = ([], 0)
    var code: Int32 = 0
    content.withUnsafeBytes { content in
      do {
        try DurableFile.writeAll(content) { bytes, count in
          defer { next += 1 }
          switch next < steps.count ? steps[next] : .error(EPIPE) {
          case .bytes(let most):
            let part = UnsafeRawBufferPointer(start: bytes, count: min(most, count))
            taken += part
            return part.count
          case .error(let error):
            errno = error
            return -1
          }
        }
      } catch {
        code = (error as? DurableFile.Trouble)?.code ?? -1
      }
    }
    #expect(code == expected)
    #expect(taken == Array(content.prefix(taken.count)))
    #expect(expected != 0 || taken == content)
  }

  @Test func `reading continues until the end of the file`() throws {
    var room = [UInt8](repeating: 0, count: 8)
    var next = 0
    let count = try room.withUnsafeMutableBytes { room in
      try DurableFile.readAll(room) { bytes, count in
        next += 1
        if next == 1 || next == 3 {
          errno = EINTR
          return -1
        }
        guard next < 6, count > 0 else { return 0 }
        bytes.storeBytes(of: UInt8(next), as: UInt8.self)
        return 1
      }
    }
    #expect(Array(room[..<count]) == [2, 4, 5])
  }

  @Test func `a link is replaced, and its target is left alone`() throws {
    let folder = try Folder()
    let elsewhere = try folder.write([1, 2, 3], "elsewhere")
    symlink(elsewhere, folder.file("settings.json"))
    try Files.replace(folder.file("settings.json"), with: [4])
    #expect(try bytes(elsewhere) == [1, 2, 3])
    #expect(try bytes(folder.file("settings.json")) == [4])
  }

  @Test func `another file of the user in the same folder is left alone`() throws {
    let folder = try Folder()
    let theirs = try folder.write([1, 2, 3], "export.json.new")
    try Files.replace(folder.file("export.json"), with: [4])
    #expect(try bytes(theirs) == [1, 2, 3])
    #expect(folder.names == ["export.json", "export.json.new"])
  }

  @Test func `shared files are readable by others, and private ones are not`() throws {
    let folder = try Folder()
    let before = umask(0o077)
    defer { umask(before) }
    try Files.replace(folder.file("open"), with: [1], mode: 0o644)
    try Files.replace(folder.file("private"), with: [1])
    #expect(mode(folder.file("open")) == 0o644)
    #expect(mode(folder.file("private")) == 0o600)
  }

  @Test func `only leftovers of a killed writer are removed`() throws {
    let folder = try Folder()
    let kept = [
      "device.key", "device.key.new", "device.key.new-", "device.key.new-0123456789ABCDEF",
      "device.key.new-0123456789abcde", "new-0123456789abcdef", "device.key.new-0123456789abcdef.txt",
    ]
    for name in kept + ["device.key.new-0123456789abcdef", "settings.json.new-ffffffffffffffff"] {
      _ = try folder.write([1], name)
    }
    DurableFile.sweep(folder.path)
    #expect(folder.names == kept.sorted())
  }
}
