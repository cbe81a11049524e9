import Foundation
import JSONDocument
import Processes
import Testing

/// Files between two real nodes: their states, `wait`, `files`, the keep policy, and fetching.
@Suite(.serialized) struct FileTests {
  private static func content(_ number: UInt8) -> Data {
    Data((0..<5_000_000).map { UInt8(truncatingIfNeeded: $0 / 977) &+ number })
  }

  /// Writes content to a file and attaches it on a device.
  private static func attach(_ number: UInt8, named name: String, on device: Device) async throws -> String {
    let path = device.stage.path(name)
    try content(number).write(to: URL(filePath: path))
    return try await device.text("attachment", "add", "lodging=Casa", "file=\(path)")
  }

  /// The state of an attachment's file in the list of a device.
  private static func state(of id: String, on device: Device) async throws -> JSON? {
    let rows = try await device.json("attachment", "list")["attachments"]?.array ?? []
    return rows.first { $0["id"]?.string == id }?["fileData"]
  }

  @Test func `files are shown, waited for, kept on demand and fetched`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await TestCircle.make(["alice", "bob"], on: stage, isPremium: true)
    let (alice, bob) = (circle["alice"], circle["bob"])
    try await bob.start()
    try await alice.text("trip", "add", "name=Rome")
    try await alice.text("lodging", "add", "trip=Rome", "name=Casa")

    // A device that keeps all files has the file once `wait` returns.
    let first = try await Self.attach(1, named: "first.pdf", on: alice)
    try await eventually("bob has the record", seconds: 20) {
      try await Self.state(of: first, on: bob) != nil
    }
    try await bob.waitForSync(with: alice)
    #expect(try await Self.state(of: first, on: bob)?["state"] == "here")
    let overview = try await bob.json("files")
    #expect(overview["schema"] == "waymark.files.list/1")
    #expect((overview["here"], overview["bytes"], overview["keep"]) == (1, 5_000_000, "all"))
    #expect(overview["items"]?[0]?["records"]?[0]?["name"] == "first.pdf")
    try await eventually("alice knows that bob holds the file", seconds: 20) {
      try await alice.json("status")["files"]?["lastCopies"] == 0
    }

    // A device that keeps files on demand gets the record, and the file when it is asked for.
    #expect(try await bob.text("files", "keep", "on-demand") == "on demand")
    let second = try await Self.attach(2, named: "second.pdf", on: alice)
    try await eventually("bob knows that alice has the file", seconds: 20) {
      let state = try await Self.state(of: second, on: bob)
      return state?["state"] == "elsewhere" && state?["on"]?[0]?["name"] == "alice"
    }
    try await bob.waitForSync(with: alice)
    #expect(try await Self.state(of: second, on: bob)?["state"] == "elsewhere")
    #expect(try await bob.text("attachment", "show", second).contains("5.0 MB · on alice"))
    let output = stage.path("copy.pdf")
    try await bob.text("attachment", "show", second, "--output", output)
    #expect(try Data(contentsOf: URL(filePath: output)) == Self.content(2))
    #expect(try await Self.state(of: second, on: bob)?["state"] == "here")
    #expect(try await bob.json("files", "fetch", "second.pdf")["fetched"] == false)

    // What no connected device has can't be fetched.
    let third = try await Self.attach(3, named: "third.pdf", on: alice)
    try await eventually("bob knows that alice has the file", seconds: 20) {
      try await Self.state(of: third, on: bob)?["state"] == "elsewhere"
    }
    _ = try await alice.stop()
    let refused = try await bob.run(["files", "fetch", "third.pdf"], seconds: 60)
    #expect(refused.code == 1)
    #expect(refused.errors.contains("last seen on alice"))
    #expect(refused.errors.contains("waymark run, on alice"))
  }
}
