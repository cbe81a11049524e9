import Foundation
import JSONDocument
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Control
@testable import Waymark

/// What an examination of a home finds, and how severe each finding is.
struct ExaminationTests {
  private func findings(_ node: Node, _ check: Diagnosis.Check) async throws -> [Diagnosis.Finding] {
    try await node.examine().findings.filter { $0.check == check }
  }

  private func write(_ text: String, to path: String) throws {
    try Data(text.utf8).write(to: URL(filePath: path))
    chmod(path, 0o600)
  }

  // MARK: Files

  @Test func `each file that other users can read is named with the mode that it needs`() async throws {
    let alice = try await TestNode.founder("alice")
    let home = alice.home
    let parts: [(path: String, open: mode_t, own: mode_t)] = [
      (home.path, 0o755, 0o700), (home.keys, 0o710, 0o700), (home.deviceKey, 0o640, 0o600),
      (home.rootKey, 0o604, 0o600), (home.store, 0o620, 0o600),
    ]
    #expect(try await findings(alice.node, .permissions).map(\.code) == [.ok])
    for part in parts {
      chmod(part.path, part.open)
      let diagnosis = try await alice.node.examine()
      chmod(part.path, part.own)
      let found = diagnosis.findings.filter { $0.check == .permissions }
      #expect(found.map(\.code) == [.wrongMode], "\(part.path)")
      #expect(found.map(\.severity) == [.error] && !diagnosis.isSound, "\(part.path)")
      #expect(found.first?.text == "\(part.path) is open to other users.")
      #expect(found.first?.next?.description == "chmod \(String(part.own, radix: 8)) \(part.path)")
    }
    #expect(try await findings(alice.node, .permissions).map(\.code) == [.ok])
    await alice.close()
  }

  @Test func `a link in place of a key is reported as a link, and its mode is not judged`() async throws {
    let alice = try await TestNode.founder("alice")
    let (key, elsewhere) = (alice.home.rootKey, alice.home.path + "/elsewhere")
    try FileManager.default.moveItem(atPath: key, toPath: elsewhere)
    try FileManager.default.createSymbolicLink(atPath: key, withDestinationPath: elsewhere)
    let diagnosis = try await alice.node.examine()
    let found = diagnosis.findings.filter { $0.check == .permissions }
    #expect(found.map(\.code) == [.unwritable] && found.map(\.severity) == [.error])
    #expect(found.first?.text.hasPrefix("\(key) is a link") == true)
    #expect(found.first?.next?.description.hasSuffix("readlink -f \(key)") == true)
    #expect(!diagnosis.isSound)
    await alice.close()
  }

  @Test func `a key that is damaged or missing is named, and only that of the device is an error`()
    async throws
  {
    let alice = try await TestNode.founder("alice")
    func keys() async throws -> [Reason] { try await findings(alice.node, .keys).map(\.code) }
    #expect(try await keys() == [.ok, .rootKeyHere])
    try await alice.run("premium.self")
    #expect(try await keys() == [.ok, .rootKeyHere, .ok])
    try write("no key", to: alice.home.issuerKey)
    #expect(try await keys() == [.ok, .rootKeyHere, .keyDamaged])
    #expect(try await findings(alice.node, .keys).last?.severity == .warning)
    #expect(try await alice.node.examine().isSound)
    try FileManager.default.removeItem(atPath: alice.home.rootKey)
    #expect(try await keys() == [.ok, .keyDamaged])
    try write("no key", to: alice.home.deviceKey)
    #expect(try await keys() == [.keyDamaged, .keyDamaged])
    let damaged = try await alice.node.examine()
    #expect(damaged.findings.first { $0.check == .keys }?.severity == .error && !damaged.isSound)
    try FileManager.default.removeItem(atPath: alice.home.deviceKey)
    #expect(try await keys() == [.keyMissing, .keyDamaged])
    #expect(try await !alice.node.examine().isSound)
    await alice.close()
  }

  // MARK: Configuration

  @Test func `an address in the configuration that can't be used is an error, and another name is told`()
    async throws
  {
    let alice = try await TestNode.founder("alice")
    func configured(_ text: String) async throws -> [Diagnosis.Finding] {
      try write(text, to: alice.home.configuration)
      return try await findings(alice.node, .configuration)
    }
    for text in [#"{"peers": ["192.168.1.20:7433", "nowhere"]}"#, #"{"listen": "nowhere"}"#] {
      let found = try await configured(text)
      #expect(found.map(\.code) == [.badAddress] && found.map(\.severity) == [.error], "\(text)")
      #expect(found.first?.text.contains("“nowhere”") == true, "\(text)")
    }
    let named = try await configured(#"{"name": "tower", "peers": ["192.168.1.20:7433"]}"#)
    #expect(named.map(\.code) == [.ok, .configuration] && named.map(\.severity) == [.ok, .info])
    #expect(named.last?.next?.description == "waymark rename tower")
    let same = try await configured(#"{"name": "alice"}"#)
    #expect(same.map(\.code) == [.ok])
    #expect(same.first?.text == "\(alice.home.configuration) is valid.")
    await alice.close()
  }

  @Test func `a port that another program has is reported, and one that only this machine reaches`()
    async throws
  {
    let alice = try await TestNode.founder("alice")
    let bob = try await TestNode.founder("bob")
    let address = try await bob.node.serve(listen: "127.0.0.1:0")
    let served = try await findings(bob.node, .port)
    #expect(served.map(\.code) == [.loopbackOnly] && served.map(\.severity) == [.info])
    #expect(served.first?.text.contains(address) == true)
    try write(#"{"listen": "\#(address)"}"#, to: alice.home.configuration)
    let diagnosis = try await alice.node.examine()
    let taken = diagnosis.findings.filter { $0.check == .port }
    #expect(taken.map(\.code) == [.portTaken] && taken.map(\.severity) == [.warning])
    #expect(taken.first?.next?.description == "waymark run --listen [::]:0")
    #expect(diagnosis.isSound, "another port can be used")
    await alice.close()
    await bob.close()
  }

  // MARK: Copies

  @Test func `the safety of the data is judged by what other devices hold`() async throws {
    let founder = try await TestNode.founder("carol")
    let alone = try await findings(founder.node, .safety)
    #expect(alone.map(\.code) == [.onlyDevice] && alone.map(\.severity) == [.info])
    await founder.close()

    let circle = try await TestCircle("alice", "bob", storage: .directories)
    let alice = circle["alice"]
    _ = try await alice.save(Trip(name: "Rome"))
    try await circle.settle()
    // Before it there is a finding about the only admin.
    let safe = try await findings(alice, .safety).last
    #expect(safe?.code == .ok && safe?.text == "Other devices have copies of everything here.")
    let peers = try await findings(alice, .peers)
    #expect(peers.map(\.text) == ["In sync with the other device."])
    await circle.disconnect("alice", "bob")
    try await circle.settle()
    _ = try await alice.save(Trip(name: "Oslo"))
    let diagnosis = try await alice.examine()
    let risky = diagnosis.findings.last { $0.check == .safety }
    #expect(risky?.code == .unreplicated && risky?.severity == .warning)
    #expect(risky?.text == "1 change set would be lost if this disk died now.")
    #expect(!diagnosis.findings.contains { $0.check == .peers && $0.code == .ok })
    #expect(diagnosis.isSound, "a warning breaks nothing")
    await circle.close()
  }
}
