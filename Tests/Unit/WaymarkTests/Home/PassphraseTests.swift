import Foundation
import Sodium
import Testing
import Wire

@testable import Home
@testable import Waymark

/// Passphrases, and the commands that set and remove them.
struct PassphraseTests {
  @Test(
    arguments: [
      ("eight ch", "eight ch"), ("eight ch\n", "eight ch"), ("eight ch\r\n", "eight ch"),
      ("first line\nsecond line\n", "first line"), (" blanks count ", " blanks count "), ("seven c\n", nil),
      ("", nil),
      ("\n", nil), ("with a\0zero byte", nil), ("äöüß", "äöüß"),
    ] as [(String, String?)])
  func `a passphrase file gives its first line`(_ content: String, _ expected: String?) throws {
    let folder = try Folder()
    let file = try folder.write(Array(content.utf8), "words")
    if let expected {
      #expect(try Passphrase(file: file) == words(expected))
    } else {
      #expect(code { _ = try Passphrase(file: file) } == .badPassphrase)
    }
  }

  @Test func `a file whose first line is too short for any passphrase has the wrong one`() throws {
    let folder = try Folder()
    let file = try folder.write(Array("short\n".utf8), "words")
    #expect(code { _ = try Passphrase(file: file, isNew: false) } == .wrongPassphrase)
    #expect(code { _ = try Passphrase(file: file) } == .badPassphrase)
  }

  @Test func `the longest passphrase is accepted, a longer one is not`() throws {
    let folder = try Folder()
    let most = [UInt8](repeating: 0x61, count: Limits.passphraseBytesMax)
    let fits = try folder.write(most + [0x0a], "fits")
    #expect(try Passphrase(file: fits).secret.count == Limits.passphraseBytesMax)
    let long = try folder.write(most + [0x61, 0x0a], "long")
    #expect(code { _ = try Passphrase(file: long) } == .badPassphrase)
  }

  @Test func `a passphrase file that all users can read is refused`() throws {
    let folder = try Folder()
    let file = try folder.write(Array("eight characters".utf8), "words", mode: 0o604)
    #expect(code { _ = try Passphrase(file: file) } == .badPassphrase)
    chmod(file, 0o640)
    #expect(code { _ = try Passphrase(file: file) } == nil)
    #expect(code { _ = try Passphrase(file: folder.path) } == .badPassphrase)
    #expect(code { _ = try Passphrase(file: folder.file("none")) } == .badPassphrase)
  }

  // MARK: Setting and removing

  /// A home with keys, and the source of its passphrases.
  private func home(_ folder: Folder, _ passphrases: PassphraseSource) -> Home {
    Home(path: folder.path, passphrases: passphrases)
  }

  private func founded() throws -> Folder {
    let folder = try Folder()
    let home = home(folder, .none)
    try home.prepare()
    try KeyFile.create(try secret(.device), .device, at: home.deviceKey)
    try KeyFile.create(try secret(.root), .root, at: home.rootKey)
    return folder
  }

  @discardableResult
  private func set(
    _ new: String, _ folder: Folder, _ present: PassphraseSource, file: String? = nil
  ) throws -> [Bool] {
    let passphrases = try KeyPassphrases(home(folder, present), file: file, cost: cheap)
    return try passphrases.set { try words(new) }.keys.map(\.isChanged)
  }

  private func opens(_ folder: Folder, _ passphrase: String) -> Bool {
    let home = home(folder, giving(passphrase))
    do {
      return try KeyFile.secrets(.device, at: home.deviceKey, home.passphrases).equals(try secret(.device))
        && KeyFile.secrets(.root, at: home.rootKey, home.passphrases).equals(try secret(.root))
    } catch {
      return false
    }
  }

  @Test func `a passphrase is set, changed and removed, and the keys stay the same`() throws {
    let folder = try founded()
    let plain = try bytes(home(folder, .none).deviceKey)
    #expect(try set("words of Alice", folder, .none) == [true, true])
    #expect(opens(folder, "words of Alice"))
    #expect(try set("newer words", folder, giving("words of Alice")) == [true, true])
    #expect(opens(folder, "newer words") && !opens(folder, "words of Alice"))
    _ = try KeyPassphrases(home(folder, giving("newer words")), file: nil, cost: cheap).remove()
    #expect(try bytes(home(folder, .none).deviceKey) == plain)
    for name in ["device.key", "root.key"] { #expect(mode("\(folder.path)/keys/\(name)") == 0o600) }
  }

  @Test func `without the current passphrase nothing changes`() throws {
    let folder = try founded()
    try set("words of Alice", folder, .none)
    let sealed = try bytes(home(folder, .none).deviceKey)
    #expect(code { try set("words of Bob", folder, .none) } == .passphraseNeeded)
    #expect(code { try set("words of Bob", folder, giving("words of Carol")) } == .wrongPassphrase)
    #expect(
      code { _ = try KeyPassphrases(home(folder, giving("words of Bob")), file: nil).remove() }
        == .wrongPassphrase)
    #expect(try bytes(home(folder, .none).deviceKey) == sealed)
  }

  @Test func `if one key can't be opened all stay unchanged`() throws {
    let folder = try founded()
    try set("words of the root", folder, .none, file: home(folder, .none).rootKey)
    let device = try bytes(home(folder, .none).deviceKey)
    #expect(code { try set("words of Alice", folder, .none) } == .passphraseNeeded)
    #expect(try bytes(home(folder, .none).deviceKey) == device)
  }

  @Test func `an interrupted change can be repeated`() throws {
    let folder = try founded()
    try set("words of Alice", folder, .none)
    // As after an interruption between the two files.
    try set("newer words", folder, giving("words of Alice"), file: home(folder, .none).deviceKey)
    #expect(!opens(folder, "newer words") && !opens(folder, "words of Alice"))
    #expect(try set("newer words", folder, giving("words of Alice")) == [false, true])
    #expect(opens(folder, "newer words"))
    #expect(try set("newer words", folder, .none) == [false, false])
  }

  @Test func `unsealed copies of keys in backups are named`() throws {
    let folder = try founded()
    let home = home(folder, .none)
    let aside = home.backups + "/before-join-20260503T080000Z"
    try home.createFolder(aside)
    try KeyFile.keepCopy(of: home.rootKey, at: aside + "/root.key")
    let copies = try KeyPassphrases(home, file: nil, cost: cheap).set { try words("words of Alice") }
      .unsealedCopies
    #expect(copies == [aside + "/root.key"])
    #expect(mode(aside + "/root.key") == 0o600)
    try set("words of Alice", folder, .none, file: aside + "/root.key")
    #expect(home.unsealedKeyCopies == [])
    // The keys of a join that is not complete.
    let pending = home.moved(to: home.pendingJoin)
    try pending.prepare()
    try KeyFile.create(try secret(.device), .device, at: pending.deviceKey)
    #expect(home.unsealedKeyCopies == [pending.deviceKey])
  }

  @Test func `a device without its key does not get another one`() throws {
    let folder = try founded()
    unlink(home(folder, .none).deviceKey)
    #expect(code { try set("words of Alice", folder, .none) } == .keyMissing)
    #expect(!Files.exists(home(folder, .none).deviceKey))
    let isPlain = try KeyFile.kind(at: home(folder, .none).rootKey)?.isSealed == false
    #expect(isPlain)
  }
}
