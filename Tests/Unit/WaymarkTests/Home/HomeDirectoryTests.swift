import Foundation
import Testing
import WaymarkCare

@testable import Waymark

/// Ownership and content of a node's directory.
struct HomeDirectoryTests {
  private func code(_ home: Home) -> Reason? { WaymarkTests.code { try home.prepare() } }

  /// The error for a home that is refused.
  private func sentence(_ home: Home) -> String {
    do {
      try home.prepare()
      return ""
    } catch {
      return (error as? WaymarkError)?.message.description ?? "\(error)"
    }
  }

  /// What is at the path of a home before a node starts.
  enum Before: String, CaseIterable, Sendable {
    case nothing, parentsMissing, emptyOpen, emptyKeysOpen, full, fullOpen, fullOpenToGroup, keysOpen, file,
      link
    case ofOther, keysOfOther, storeOfOther, storeLink, storeOpen, walLink, tokenPipe, settingsOfOther
  }

  static let expected: [Before: Reason] = [
    .fullOpen: .wrongMode, .fullOpenToGroup: .wrongMode, .keysOpen: .wrongMode, .file: .unwritable,
    .link: .unwritable, .ofOther: .wrongOwner, .keysOfOther: .wrongOwner, .storeOfOther: .wrongOwner,
    .storeLink: .unwritable, .walLink: .unwritable, .tokenPipe: .unwritable, .settingsOfOther: .wrongOwner,
  ]

  @Test(arguments: Before.allCases)
  func `a directory is accepted only if it is private to this user`(_ before: Before) throws {
    let folder = try Folder()
    var home = Home(path: folder.file("home"))
    if before == .parentsMissing { home = Home(path: folder.file("some/where/home")) }
    if ![.nothing, .parentsMissing, .file, .link].contains(before) { mkdir(home.path, 0o700) }
    switch before {
    case .nothing, .parentsMissing: break
    case .emptyOpen: chmod(home.path, 0o777)
    case .emptyKeysOpen:
      mkdir(home.keys, 0o700)
      chmod(home.keys, 0o755)
    case .full: _ = try folder.write([], "home/notes")
    case .fullOpen, .fullOpenToGroup:
      _ = try folder.write([], "home/notes")
      chmod(home.path, before == .fullOpen ? 0o701 : 0o710)
    case .keysOpen:
      mkdir(home.keys, 0o700)
      _ = try folder.write([], "home/keys/device.key")
      chmod(home.keys, 0o750)
    case .file: _ = try folder.write([], "home")
    case .link:
      mkdir(folder.file("real"), 0o700)
      symlink(folder.file("real"), home.path)
    case .ofOther, .keysOfOther, .storeOfOther, .settingsOfOther:
      guard geteuid() == 0 else { return print("skipped: only root can change the owner of a file") }
      let place =
        [.ofOther: home.path, .keysOfOther: home.keys, .storeOfOther: home.store][before] ?? home.settings
      if before == .keysOfOther { mkdir(place, 0o700) }
      if [.storeOfOther, .settingsOfOther].contains(before) { try Data().write(to: URL(filePath: place)) }
      chown(place, 65_534, 65_534)
    case .storeLink, .walLink:
      let elsewhere = try folder.write([1], "elsewhere")
      symlink(elsewhere, before == .storeLink ? home.store : home.store + "-wal")
    case .storeOpen:
      try Data().write(to: URL(filePath: home.store))
      chmod(home.store, 0o666)
    case .tokenPipe: mkfifo(home.path + "/incarnation", 0o600)
    }
    #expect(code(home) == Self.expected[before])
    if before == .link { #expect(sentence(home).contains("is a link")) }
    guard Self.expected[before] == nil else { return }
    #expect(mode(home.path) == 0o700)
    #expect(mode(home.keys) == 0o700)
    if before == .storeOpen { #expect(mode(home.store) == 0o600) }
  }
}
