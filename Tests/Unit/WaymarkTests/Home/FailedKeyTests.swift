import Foundation
import Reasons
import Sodium
import Synchronization
import Testing
import WaymarkCare
import Wire

@testable import Home
@testable import Waymark

/// Keys that can't be opened or kept: which file an error names, what stays as it was, and whether a repeat works.
struct FailedKeyTests {
  private let folder: Folder

  init() throws { folder = try Folder() }

  /// The error of an operation; nil if it succeeds.
  private func failure(_ body: () throws -> Void) -> WaymarkError? {
    do {
      try body()
      return nil
    } catch {
      return error as? WaymarkError
    }
  }

  // MARK: Passphrases

  private func passphrases(_ source: PassphraseSource, file: String? = nil) throws -> KeyPassphrases {
    try KeyPassphrases(Home(path: folder.path, passphrases: source), file: file, cost: cheap)
  }

  @Test func `of two keys with different passphrases the one that stays closed is named, and both stay`()
    throws
  {
    let home = Home(path: folder.path)
    try home.prepare()
    try KeyFile.create(try secret(.device), .device, at: home.deviceKey)
    try KeyFile.create(try secret(.root), .root, at: home.rootKey)
    _ = try passphrases(.none, file: home.deviceKey).set { try words("words of Alice") }
    _ = try passphrases(.none, file: home.rootKey).set { try words("words of Bob") }
    let before = [try bytes(home.deviceKey), try bytes(home.rootKey)]
    for (source, closed, other, reason) in [
      (giving("words of Alice"), home.rootKey, home.deviceKey, .wrongPassphrase),
      (giving("words of Bob"), home.deviceKey, home.rootKey, .wrongPassphrase),
      (.none, home.deviceKey, home.rootKey, .passphraseNeeded),
    ] as [(PassphraseSource, String, String, Reason)] {
      let keys = try passphrases(source)
      let set = failure { _ = try keys.set { try words("newer words") } }
      let removed = failure { _ = try keys.remove() }
      for refused in [set, removed] {
        #expect(refused?.reason == reason)
        #expect(refused?.message.description.contains(closed) == true, "\(closed)")
        #expect(refused?.message.description.contains(other) == false, "\(closed)")
      }
      #expect(try bytes(home.deviceKey) == before[0] && bytes(home.rootKey) == before[1])
    }
    let both = try passphrases(giving("words of Alice", "words of Bob"))
    let sealed = try both.set { try words("newer words") }
    #expect(sealed.keys.count == 2 && sealed.keys.allSatisfy { $0.isSealed && $0.isChanged })
    let plain = try passphrases(giving("newer words")).remove()
    #expect(plain.keys.count == 2 && plain.keys.allSatisfy { !$0.isSealed && $0.isChanged })
    let device = try KeyFile.secrets(.device, at: home.deviceKey, .none)
    let isSame = device.equals(try secret(.device))
    #expect(isSame)
  }

  // MARK: Founding

  @Test func `a founding whose keys can't be kept leaves the keys of an earlier circle where they are`()
    async throws
  {
    let keys = LimitedKeys()
    let home = Home(path: folder.file("home"), keys: keys)
    try home.prepare()
    try Files.create(home.rootKey, Array("earlier".utf8), mode: 0o600)
    // The device key is kept, and the root key is not.
    keys.countMax = 1
    #expect(code { _ = try Node.initialize(home: home, name: "alice") } == .unwritable)
    #expect(keys.names.count == 1)
    #expect(!home.hasStore && !home.isReplacing && !Files.exists(home.deviceKey))
    #expect(!Files.exists(home.staging) && !Files.exists(home.backups))
    #expect(try bytes(home.rootKey) == Array("earlier".utf8))
    keys.countMax = 10
    let made = try Node.initialize(home: home, name: "alice")
    let kept = try #require(made.formerKeys)
    #expect(try bytes(kept + "/root.key") == Array("earlier".utf8))
    #expect(try FileManager.default.contentsOfDirectory(atPath: kept) == ["root.key"])
    #expect(try Identity.load(from: home).device == made.device)
    let node = try Node(home: home)
    #expect(try await node.status().name == "alice")
    await node.close()
  }

  @Test(
    arguments: [
      ("b", nil), (String(repeating: "b", count: 64), nil), (String(repeating: "b", count: 65), .badValue),
      (String(repeating: "ä", count: 33), .badValue), ("", .badValue),
    ] as [(String, Reason?)])
  func `a name that no circle accepts is refused before the folder of the home exists`(
    name: String, expected: Reason?
  ) throws {
    let home = Home(path: folder.file("home"))
    #expect(code { _ = try Node.initialize(home: home, name: name) } == expected)
    #expect(Files.exists(home.path) == (expected == nil))
  }
}

/// A key store in memory that keeps a limited number of keys.
private final class LimitedKeys: KeyStore {
  private struct Failure: Error {}

  private let kept = Mutex<[String: [UInt8]]>([:])
  private let limit = Mutex(0)

  var names: [String] { kept.withLock { $0.keys.sorted() } }

  var countMax: Int {
    get { limit.withLock { $0 } }
    set { limit.withLock { $0 = newValue } }
  }

  func save(_ secret: UnsafeRawBufferPointer, as name: String) throws {
    let countMax = countMax
    let bytes = Array(secret)
    let isKept = kept.withLock { kept in
      guard kept.count < countMax else { return false }
      kept[name] = bytes
      return true
    }
    guard isKept else { throw Failure() }
  }

  func read(_ name: String, _ body: (UnsafeRawBufferPointer) throws -> Void) throws -> Bool {
    guard let secret = kept.withLock({ $0[name] }) else { return false }
    try secret.withUnsafeBytes(body)
    return true
  }
}
