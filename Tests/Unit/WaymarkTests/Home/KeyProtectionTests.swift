import Foundation
import Sodium
import Testing
import WaymarkCare
import Wire

@testable import Home
@testable import Waymark

/// The passphrase of all keys of a home, and what is said about their protection.
struct KeyProtectionTests {
  private let folder: Folder
  private let home: Home

  init() throws {
    folder = try Folder()
    home = Home(path: folder.file("home"), passphrases: giving("words of Alice"))
    try home.prepare()
    try KeyFile.create(try secret(.device), .device, at: home.deviceKey)
    try KeyFile.create(try secret(.root), .root, at: home.rootKey)
    try KeyFile.create(try secret(.issuer), .issuer, at: home.issuerKey)
  }

  private var keys: KeyPassphrases {
    get throws { try KeyPassphrases(home, file: nil, cost: cheap) }
  }

  @Test func `every key of a home is sealed and opened, and every copy that is not sealed is named`() throws {
    #expect(home.keyStates == KeyStates(device: .plain, root: .plain, issuer: .plain))
    let pending = home.moved(to: home.pendingJoin)
    try pending.prepare()
    try KeyFile.create(try secret(.device), .device, at: pending.deviceKey)
    var copies: [String] = []
    for (name, file) in [("before-init-2", home.issuerKey), ("before-join-1", home.deviceKey)] {
      try home.createFolder("\(home.backups)/\(name)")
      copies.append("\(home.backups)/\(name)/\(Files.name(of: file))")
      try KeyFile.keepCopy(of: file, at: copies[copies.count - 1])
    }
    let sealed = try keys.set { try words("words of Alice") }
    #expect(sealed.keys.map(\.file) == [home.deviceKey, home.rootKey, home.issuerKey])
    #expect(sealed.keys.map(\.kind) == ["device", "root", "issuer"])
    #expect(sealed.keys.allSatisfy { $0.isSealed && $0.isChanged })
    #expect(sealed.unsealedCopies == copies + [pending.deviceKey])
    #expect(home.keyStates == KeyStates(device: .sealed, root: .sealed, issuer: .sealed))
    // A home with sealed keys has the key of the issuer only with the passphrase.
    let without = Home(path: home.path, passphrases: .none)
    #expect(code { _ = try without.storage.issuerKey(without.passphrases) } == .passphraseNeeded)
    #expect(try home.storage.issuerKey(home.passphrases).passphrase == words("words of Alice"))
    let opened = try keys.remove()
    #expect(opened.keys.allSatisfy { !$0.isSealed && $0.isChanged } && opened.unsealedCopies == [])
    #expect(home.keyStates == KeyStates(device: .plain, root: .plain, issuer: .plain))
    #expect(try keys.remove().keys.allSatisfy { !$0.isChanged })
  }

  @Test func `a key that is missing or damaged is told apart from one without a passphrase`() throws {
    try FileManager.default.removeItem(atPath: home.issuerKey)
    try Data("no key".utf8).write(to: URL(filePath: home.rootKey))
    #expect(home.keyStates == KeyStates(device: .plain, root: .unreadable, issuer: nil))
    chmod(home.deviceKey, 0o644)
    #expect(home.keyStates.device == .unreadable)
    #expect(!home.storage.hasIssuerKey && home.storage.hasRootKey)
  }

  /// A person who has chosen and typed a passphrase twice is not told only then that there was nothing to seal.
  @Test func `a passphrase is asked for once, and not for a key that is damaged`() throws {
    var asked = 0
    _ = try keys.set {
      asked += 1
      return try words("words of Alice")
    }
    #expect(asked == 1)
    try Data("waymark device key v1\n".utf8).write(to: URL(filePath: home.deviceKey))
    let refused = code {
      _ = try keys.set {
        asked += 1
        return try words("newer words")
      }
    }
    #expect(refused == .keyDamaged && asked == 1)
    #expect(home.keyStates.root == .sealed && home.keyStates.issuer == .sealed)
  }

  @Test func `where there is no home none is created to protect its keys`() throws {
    let none = Home(path: folder.file("none"))
    #expect(code { _ = try KeyPassphrases(none, file: nil) } == .noStore)
    #expect(!Files.exists(none.path))
  }

  @Test func `a second issuer's key does not replace the first, and one that was removed can be replaced`()
    throws
  {
    let first = try bytes(home.issuerKey)
    #expect(code { try home.storage.keepIssuerKey(try SigningKey(), sealedWith: nil) } == .alreadyThere)
    #expect(try bytes(home.issuerKey) == first)
    try home.storage.forgetIssuerKey()
    #expect(!home.storage.hasIssuerKey)
    #expect(code { _ = try home.storage.issuerKey(.none) } == .keyMissing)
    let key = try SigningKey()
    try home.storage.keepIssuerKey(key, sealedWith: nil)
    #expect(try home.storage.issuerKey(.none).key.publicKey == key.publicKey)
    #expect(mode(home.issuerKey) == 0o600)
  }
}
