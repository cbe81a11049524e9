import Foundation
import Testing
import Wire

@testable import Home
@testable import Waymark

/// The token that keeps two copies of a directory from writing the same log.
struct IncarnationTokenTests {
  private let folder: Folder
  private let home: Home
  private let first = Incarnation(random: Bytes16(1, 2), number: 1)

  init() throws {
    folder = try Folder()
    home = Home(path: folder.file("home"))
    try home.prepare()
    try Files.create(home.store, [1, 2, 3], mode: 0o600)
  }

  @Test func `a token names one incarnation, and the newest one that was written`() throws {
    let token = IncarnationToken(home)
    let second = Incarnation(random: Bytes16(1, 2), number: 2)
    #expect(!token.names(first))
    try token.write(first)
    #expect(token.names(first) && !token.names(second))
    try token.write(second)
    #expect(!token.names(first) && token.names(second))
    #expect(mode(home.path + "/incarnation") == 0o600)
  }

  @Test func `a directory that was renamed keeps its incarnation, and a copy of it has none`() throws {
    try IncarnationToken(home).write(first)
    let copy = Home(path: folder.file("copy"))
    try FileManager.default.copyItem(atPath: home.path, toPath: copy.path)
    #expect(try bytes(copy.path + "/incarnation") == bytes(home.path + "/incarnation"))
    #expect(!IncarnationToken(copy).names(first))
    let moved = Home(path: folder.file("moved"))
    try FileManager.default.moveItem(atPath: home.path, toPath: moved.path)
    #expect(IncarnationToken(moved).names(first))
  }

  @Test func `a store that was put back from a copy has no incarnation`() throws {
    try IncarnationToken(home).write(first)
    // The store stays under another name, so that the copy can't get its number on the disk.
    try FileManager.default.moveItem(atPath: home.store, toPath: home.store + ".away")
    #expect(!IncarnationToken(home).names(first))
    try FileManager.default.copyItem(atPath: home.store + ".away", toPath: home.store)
    #expect(!IncarnationToken(home).names(first))
    try FileManager.default.removeItem(atPath: home.store)
    try FileManager.default.moveItem(atPath: home.store + ".away", toPath: home.store)
    #expect(IncarnationToken(home).names(first))
  }

  @Test func `a token that is damaged names no incarnation`() throws {
    let token = IncarnationToken(home)
    try token.write(first)
    let whole = try bytes(home.path + "/incarnation")
    let wrong: [[UInt8]] = [[], Array(whole.dropLast()), whole + [0x0a], whole + whole]
    for damaged in wrong {
      try Files.replace(home.path + "/incarnation", with: damaged)
      #expect(!token.names(first), "\(damaged.count) bytes")
    }
    try Files.replace(home.path + "/incarnation", with: whole)
    #expect(token.names(first))
  }
}
