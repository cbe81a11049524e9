import Foundation
import JSONDocument
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Waymark

extension SocketCircle {
  /// Premium devices, with sync on for the given ones, or for all.
  static func premium(_ names: [String], syncing: [String]? = nil) async throws -> SocketCircle {
    RealData.putOutOfBounds()
    let circle = try await SocketCircle.make(names)
    let folder = circle[names[0]].home.path
    let key = folder + "/issuer"
    _ = try Issuer.create(key)
    let id = try #require(try await circle.run(names[0], "status")["circle"]?.string)
    let order = Issuer.EntitlementRequest(keyFile: key, circle: id, devices: [], until: "2100-01-01")
    let certificate = try Issuer.issue(order, now: systemWall()).text
    try certificate.write(toFile: folder + "/entitlement", atomically: true, encoding: .utf8)
    try await circle.run(names[0], "issuer.trust", ["file": .string(key + ".pub")])
    try await circle.run(names[0], "entitlement.install", ["file": .string(folder + "/entitlement")])
    for name in names.dropFirst() {
      try await circle.until("the entitlement reaches \(name)") {
        try await circle.run(name, "status")["premium"]?["active"] == true
      }
      try await circle.waitForSync(name)
    }
    for name in syncing ?? names { try await circle.run(name, "sync.on") }
    // A peer that is queried at once must know of that.
    if syncing == nil { for name in names { try await circle.inSync(name) } }
    return circle
  }

  @discardableResult
  func run(_ name: String, _ command: String, _ arguments: JSON = [:]) async throws -> JSON {
    try await self[name].run(command, arguments)
  }

  /// Waits until both lanes of some devices, or of Alice and Bob, are open and equal to those of their peers.
  func inSync(_ names: String...) async throws {
    for name in names.isEmpty ? ["alice", "bob"] : names {
      for lane in ["records", "settings"] {
        try await run(name, "wait", ["lane": .string(lane), "timeoutMilliseconds": 20_000])
      }
    }
  }

  /// Lets Alice and Bob change things while they are disconnected, then reconnects them.
  func apart(_ body: () async throws -> Void) async throws {
    try await inSync()
    try await run("alice", "peers.pause", ["peer": "bob"])
    try await body()
    try await run("alice", "peers.resume", ["peer": "bob"])
    try await inSync()
  }

  /// Polls until the condition holds; otherwise fails with a description of it.
  func until(_ what: Comment, _ holds: () async throws -> Bool) async throws {
    for _ in 0..<400 {
      if try await holds() { return }
      try await Task.sleep(for: .milliseconds(50))
    }
    Issue.record(what)
  }
}
