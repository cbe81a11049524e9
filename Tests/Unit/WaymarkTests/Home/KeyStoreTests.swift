import Foundation
import Model
import Synchronization
import Testing
import WaymarkCare
import WaymarkTesting
import Wire

@testable import Home
@testable import Waymark

/// Keys that an app keeps outside of the home.
struct KeyStoreTests {
  @Test func `keys are in the key store, and the home has their names only`() async throws {
    let test = try TestHome()
    let keys = MemoryKeys()
    let home = Home(URL(filePath: test.home.path), keys: keys)
    let node = try await Node.open(home, name: "alice")
    let device = try await node.status().device
    await node.close()
    #expect(keys.names == ["device-\(device)", "root-\(try await root(of: home))"])
    for file in [home.deviceKey, home.rootKey] {
      let text = try String(contentsOfFile: file, encoding: .utf8)
      #expect(text.hasPrefix("waymark kept "))
      for secret in keys.secrets { #expect(!text.contains(hexadecimal(secret.prefix(32)))) }
    }
    #expect(home.keyStates.device == .kept)
    let again = try await Node.open(home, name: "alice")
    #expect(try await again.status().device == device)
    await again.suspend()
    try await again.resume()
    _ = try await again.save(Trip(name: "Rome"))
    await again.close()
  }

  @Test func `a home without its key store, or with another one, is refused by name`() async throws {
    let test = try TestHome()
    let keys = MemoryKeys()
    let home = Home(URL(filePath: test.home.path), keys: keys)
    await (try Node.open(home, name: "alice")).close()
    #expect(try await refusal { _ = try await Node.open(test.home, name: "alice") } == "key_not_here")
    let restored = Home(URL(filePath: test.home.path), keys: MemoryKeys())
    #expect(try await refusal { _ = try await Node.open(restored, name: "alice") } == "key_not_here")
    var passphrase = Array("four words of mine".utf8)
    let secret = try Passphrase(wiping: &passphrase)
    #expect(try await refusal { try home.protectKeys(with: secret) } == "key")
    // A key store that confuses its keys is noticed, and so is one that fails.
    keys.swap()
    #expect(try await refusal { _ = try await Node.open(home, name: "alice") } == "key_damaged")
    keys.fails = true
    #expect(try await refusal { _ = try await Node.open(home, name: "alice") } == "key_store_failed")
    let other = try TestHome()
    let failing = Home(URL(filePath: other.home.path), keys: keys)
    #expect(try await refusal { _ = try await Node.open(failing, name: "bob") } == "unwritable")
    #expect(!failing.hasStore)
  }

  @Test func `a phone that was restored without its keys joins again, keeps all records and syncs`()
    async throws
  {
    let circle = try await SocketCircle.premium(["alice", "bob"])
    defer { circle.end() }
    let test = try TestHome()
    let phone = Home(URL(filePath: test.home.path), keys: MemoryKeys())
    try await JoinOperation(home: phone, ticket: try await circle["alice"].invite().ticket, name: "phone")
      .join()
    var node = try await Node.open(phone, name: "phone")
    let former = try await node.status().device
    try await node.serve(listen: "127.0.0.1:0")
    try await node.turnSyncOn(isConfirmed: true)
    let rome = try await node.save(Trip(name: "Rome"))
    _ = try await circle["alice"].save(Trip(name: "Oslo"))
    try await eventually("the phone has both trips") { try await node.count(Trip.all) == 2 }
    try await eventually("Alice has both trips") { try await circle["alice"].count(Trip.all) == 2 }
    await node.suspend()
    // No other device has this record when the keys are lost.
    try await node.resume()
    try await circle["alice"].pause(former)
    try await circle["bob"].pause(former)
    _ = try await node.save(Trip(name: "Paris"))
    await node.close()

    let keys = MemoryKeys()
    let restored = Home(URL(filePath: test.home.path), keys: keys)
    #expect(try await refusal { _ = try await Node.open(restored, name: "phone") } == "key_not_here")
    let ticket = try await circle["alice"].invite().ticket
    let joined = try await JoinOperation(home: restored, ticket: ticket, name: "phone").join()
    #expect(joined.device != former)
    #expect(keys.names == ["device-\(joined.device)"])
    node = try await Node.open(restored, name: "phone")
    let all = ["Oslo", "Paris", "Rome"]
    #expect(try await node.records(Trip.all.sorted(by: \.name)).map(\.name) == all)
    try await node.serve(listen: "127.0.0.1:0")
    try await node.turnSyncOn(isConfirmed: true)
    try await node.update(rome.id) { $0.name = "Roma" }
    try await eventually("Alice has everything") {
      try await circle["alice"].records(Trip.all.sorted(by: \.name)).map(\.name) == ["Oslo", "Paris", "Roma"]
    }
    try await circle["alice"].revoke([former])
    try await eventually("the phone knows that its former keys are revoked") {
      try await node.members().contains { $0.device == former && $0.state == "revoked" }
    }
    #expect(try await node.records(Trip.all.sorted(by: \.name)).map(\.name) == ["Oslo", "Paris", "Roma"])
    #expect(try await node.verifyStore().isSound)
    await node.close()
  }

  @Test func `a join does not replace keys that can't be read only now or only here`() async throws {
    let circle = try await SocketCircle.premium(["alice", "bob"])
    defer { circle.end() }
    let test = try TestHome()
    let keys = MemoryKeys()
    let home = Home(URL(filePath: test.home.path), keys: keys)
    let ticket = try await circle["alice"].invite().ticket
    try await JoinOperation(home: home, ticket: ticket, name: "phone").join()
    let file = try Data(contentsOf: URL(filePath: home.deviceKey))
    let next = try await circle["alice"].invite().ticket
    // The command line knows no key store.
    #expect(
      try await refusal { try await JoinOperation(home: test.home, ticket: next, name: "phone").join() }
        == "key_not_here")
    keys.fails = true
    #expect(
      try await refusal { try await JoinOperation(home: home, ticket: next, name: "phone").join() }
        == "key_store_failed")
    #expect(try Data(contentsOf: URL(filePath: home.deviceKey)) == file)
    #expect(try await circle["alice"].members().count == 3)
  }

  private func root(of home: Home) async throws -> String {
    let lines = try String(contentsOfFile: home.rootKey, encoding: .utf8).split(separator: "\n")
    return String(try #require(lines.last).dropFirst("root-".count))
  }
}

/// A key store in memory.
private final class MemoryKeys: KeyStore {
  private struct Failure: Error {}

  private let kept = Mutex<[String: [UInt8]]>([:])
  private let failing = Mutex(false)

  var names: [String] { kept.withLock { $0.keys.sorted() } }
  var secrets: [[UInt8]] { kept.withLock { Array($0.values) } }

  var fails: Bool {
    get { failing.withLock { $0 } }
    set { failing.withLock { $0 = newValue } }
  }

  /// Changes all secrets.
  func swap() { kept.withLock { $0 = $0.mapValues { $0.map { ~$0 } } } }

  func save(_ secret: UnsafeRawBufferPointer, as name: String) throws {
    if fails { throw Failure() }
    let isNew = kept.withLock { $0.updateValue(Array(secret), forKey: name) == nil }
    #expect(isNew && name.count <= 100)
  }

  func read(_ name: String, _ body: (UnsafeRawBufferPointer) throws -> Void) throws -> Bool {
    if fails { throw Failure() }
    guard let secret = kept.withLock({ $0[name] }) else { return false }
    try secret.withUnsafeBytes(body)
    return true
  }
}
