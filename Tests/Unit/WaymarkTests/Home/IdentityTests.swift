import Foundation
import Testing
import WaymarkCare

@testable import Home
@testable import Waymark

/// The keys of a device in their file, and whether the file still has them.
struct IdentityTests {
  private let folder: Folder
  private let home: Home

  init() throws {
    folder = try Folder()
    home = Home(path: folder.file("home"), passphrases: giving())
    try home.prepare()
  }

  @Test func `keys are the same after they were saved, and are never replaced by saving`() throws {
    let identity = try Identity.generate()
    try identity.save(in: home)
    let loaded = try Identity.open(in: home)
    #expect(loaded.identity.device == identity.device && loaded.passphrase == nil)
    #expect(loaded.identity.transportKey == identity.transportKey)
    #expect(code { try Identity.generate().save(in: home) } == .alreadyThere)
    #expect(try Identity.load(from: home).device == identity.device)
    let other = try Identity.generate()
    #expect(other.device != identity.device && other.transportKey != identity.transportKey)
  }

  @Test func `a home differs once its file has other keys, however the file is written`() throws {
    let identity = try Identity.generate()
    try identity.save(in: home)
    let hash = try #require(home.keyFileHash)
    #expect(try !identity.differs(from: home, unlessFileHas: hash))
    #expect(try !identity.differs(from: home, unlessFileHas: nil))
    // Sealed, the file has the same keys.
    _ = try KeyPassphrases(home, file: nil, cost: cheap).set { try words("words of Alice") }
    #expect(home.keyFileHash != hash)
    let opened = Home(path: home.path, passphrases: giving("words of Alice"))
    #expect(try !identity.differs(from: opened, unlessFileHas: hash))
    #expect(try Identity.open(in: opened).passphrase == words("words of Alice"))
    // A file that has not changed since is not opened, which would need the passphrase.
    let sealed = try #require(home.keyFileHash)
    #expect(try !identity.differs(from: home, unlessFileHas: sealed))
    #expect(code { _ = try identity.differs(from: home, unlessFileHas: hash) } == .passphraseNeeded)
    try FileManager.default.removeItem(atPath: home.deviceKey)
    #expect(code { _ = try identity.differs(from: home, unlessFileHas: sealed) } == .keyMissing)
    #expect(home.keyFileHash == nil)
    try Identity.generate().save(in: home)
    #expect(try identity.differs(from: home, unlessFileHas: sealed))
  }

  @Test func `the transport key alone makes a home differ too`() throws {
    let (first, second) = (try Identity.generate(), try Identity.generate())
    try Identity(signing: first.signing, transport: second.transport).save(in: home)
    #expect(try first.differs(from: home, unlessFileHas: nil))
    #expect(try second.differs(from: home, unlessFileHas: nil))
  }
}
