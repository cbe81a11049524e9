import Foundation
import JSONDocument
import Model
import SQLite
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Control
@testable import Waymark

/// Opening a home, and the errors that an application gets if that fails.
struct OpeningCallTests {
  @Test func `a new circle trusts the given issuers`() async throws {
    let home = try TestHome()
    let key = URL(filePath: NSTemporaryDirectory() + "issuer-\(UUID().uuidString)")
    defer {
      for file in [key, key.appendingPathExtension("pub")] { try? FileManager.default.removeItem(at: file) }
    }
    let issuer = try Issuer.create(at: key)
    let node = try await Node.open(home.home, name: "alice", issuers: [issuer])
    let entitlement = try Issuer.entitlement(
      keyFile: key, circle: try await node.status().circle, until: .now + 3_600)
    #expect(try await node.install(entitlement: entitlement).premium.source == .certificate)
    await node.close()
  }

  @Test func `a store after a disk failure is verified before it is opened`() async throws {
    let home = try TestHome().home
    let first = try await Node.open(home, name: "alice")
    await first.close()
    home.markSuspect()
    let node = try await Node.open(home, name: "alice")
    #expect(!home.isSuspect)
    #expect(try await node.status().name == "alice")
    await node.close()
  }

  @Test func `a store of a newer version is refused with an explanation, and left unchanged`() async throws {
    let home = try TestHome().home
    let node = try await Node.open(home, name: "alice")
    await node.close()
    do {
      let store = try Connection(.file(home.store))
      try store.execute("UPDATE meta SET value = 99 WHERE key = 'schema'")
    }
    do {
      let opened = try await Node.open(home, name: "alice")
      await opened.close()
      Issue.record("a store of schema 99 was opened")
    } catch let error as WaymarkError {
      #expect(error.code == .newerStore)
      #expect(error.message.description.contains("newer version of Waymark (schema 99, this one reads "))
      #expect(error.next?.description.hasPrefix("update this program") == true)
    }
  }

  @Test func `every failure is an error with a code and a sentence`() async throws {
    let home = try TestHome().home
    let node = try await Node.open(home, name: "alice")
    #expect(
      try await refusal {
        try await JoinOperation(home: home, ticket: try await Self.ticket(), name: "bob").join()
      }
        == "store_held")
    #expect(
      try await refusal {
        _ = try await RestoreOperation(home: home, backup: URL(filePath: "/nowhere"), name: "b").preview()
      }
        == "file")
    #expect(try await refusal { _ = try await Node.open(home, name: "alice") } == "store_held")
    try await node.serve(listen: "127.0.0.1:0")
    #expect(try await refusal { try await node.serve(listen: "127.0.0.1:0") } == "serving")
    await node.close()
    #expect(try await refusal { _ = try await node.records(Trip.all) } == "closed")
    #expect(try await refusal { _ = try await node.save(Trip(name: "Rome")) } == "closed")
    #expect(try await refusal { _ = try await node.syncState() } == "closed")
    #expect(try await refusal { try await node.serve(listen: "127.0.0.1:0") } == "closed")
    #expect(try await refusal { try await node.serveControl() } == "closed")
    #expect(try await refusal { _ = try await node.waitForJoiner(timeout: .seconds(60)) } == "closed")
    try "no key".write(toFile: home.deviceKey, atomically: true, encoding: .utf8)
    chmod(home.deviceKey, 0o600)
    #expect(try await refusal { _ = try await Node.open(home, name: "alice") } == "key_damaged")
    var short = Array("x".utf8)
    #expect(try await refusal { _ = try Passphrase(wiping: &short) } == "bad_passphrase")
  }

  /// A ticket of a circle that no device serves.
  private static func ticket() async throws -> String {
    let circle = try await SocketCircle.make(["carol"])
    defer { circle.end() }
    return try await circle["carol"].invite().ticket
  }
}
