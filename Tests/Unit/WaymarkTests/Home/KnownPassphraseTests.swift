import Sodium
import Testing
import WaymarkTesting

@testable import Home
@testable import NodeOperations
@testable import Waymark

/// The passphrase that a node knows since it opened its keys: where it is tried first, and what it seals.
struct KnownPassphraseTests {
  @Test func `after the known passphrase all those of the next source are tried, beginning with the first`()
    throws
  {
    let source = PassphraseSource.first(
      try words("words of Alice"), then: giving("words of Bob", "words of Carol"))
    let tried = try (0..<4).map { try source.passphrase("root.key", $0) }
    #expect(
      tried == [try words("words of Alice"), try words("words of Bob"), try words("words of Carol"), nil])
    let unknown = PassphraseSource.first(nil, then: giving("words of Bob"))
    #expect(try unknown.passphrase("root.key", 0) == words("words of Bob"))
    #expect(try unknown.passphrase("root.key", 1) == nil)
  }

  @Test func `a key with a passphrase of its own is opened although another passphrase is known`() throws {
    let folder = try Folder()
    let file = folder.file("root.key")
    try KeyFile.create(try secret(.root), .root, at: file)
    let keys = try KeyPassphrases(Home(path: folder.path), file: file, cost: cheap)
    _ = try keys.set { try words("words of the root") }
    let known = try words("words of Alice")
    let isSame = try KeyFile.secrets(.root, at: file, .first(known, then: giving("words of the root")))
      .equals(try secret(.root))
    #expect(isSame)
    #expect(
      code { _ = try KeyFile.secrets(.root, at: file, .first(known, then: .none)) } == .wrongPassphrase)
  }

  @Test func `a new issuer's key is sealed like the device's key, although the root key is plain`()
    async throws
  {
    let test = try TestHome()
    _ = try Node.initialize(home: test.home, name: "alice", wall: TestNode.morning)
    // The founder keeps a plain copy of the root key elsewhere, and seals the keys of the home.
    let folder = try Folder()
    let rootKey = folder.file("root.key")
    try KeyFile.keepCopy(of: test.home.rootKey, at: rootKey)
    _ = try KeyPassphrases(test.home, file: nil, cost: cheap).set { try words("words of Alice") }
    let home = Home(path: test.home.path, passphrases: giving("words of Alice"))
    let node = try Node(home: home, wall: { TestNode.morning })
    let premium = try await node.withCore { try OwnPremiumIssue($0).issue(rootKey: rootKey) }
    #expect(premium.issued && premium.trusted)
    #expect(home.keyStates == KeyStates(device: .sealed, root: .sealed, issuer: .sealed))
    await node.close()
  }
}
