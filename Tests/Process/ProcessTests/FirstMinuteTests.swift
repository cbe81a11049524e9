import Foundation
import JSONDocument
import Testing

/// The story of the guide, “Pair two devices”, as a person types it: from nothing to a trip on the second device.
@Suite struct FirstMinuteTests {
  /// The commands typed so far on one device. `waymark run` counts, like `service install` in the guide.
  private final class Typist {
    let device: Device
    private(set) var count = 0

    init(_ device: Device) { self.device = device }

    /// Runs a command without a terminal and without `--yes`.
    @discardableResult
    func type(_ words: String..., input: String? = nil) async throws -> Outcome {
      count += 1
      let outcome = try await device.run(words, input: input, seconds: 60)
      #expect(outcome.code == 0, "waymark \(words.joined(separator: " ")): \(outcome.errors)")
      return outcome
    }

    func startNode(environment: [String: String] = [:]) async throws {
      count += 1
      try await device.start(environment: environment)
    }
  }

  @Test func `a trip is on the second device after five commands on the first and three on the second`()
    async throws
  {
    let stage = try Stage()
    defer { stage.end() }
    let laptop = Typist(Device("laptop", on: stage))
    let phone = Typist(Device("phone", on: stage))
    try await laptop.type("init", "--name", "laptop", "--premium")
    try await laptop.startNode()
    try await laptop.type("sync", "on", "--everywhere")
    let ticket = try await laptop.type("invite").output
    try await phone.type("join", "-", "--name", "phone", input: ticket)
    try await phone.startNode()
    try await phone.device.wait(until: "asks whether to sync") { !$0.notices("sync_invited").isEmpty }
    let asked = try await phone.device.text("sync", "--json")
    #expect(asked.contains("\"invited\": true"))
    #expect(try await phone.device.status().preference == false, "nothing turns on by itself")
    try await phone.type("sync", "on")
    try await laptop.type(
      "trip", "add", "name=Rome", "startDate=2026-05-02", "endDate=2026-05-06")
    try await phone.device.wait(until: "has the trip") { $0.count("trips") == 1 }
    #expect(try await phone.device.status().notices("sync_invited").isEmpty)
    #expect(laptop.count == 5 && phone.count == 3)
  }

  @Test func `a headless device that follows needs no command after it has started`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let laptop = Typist(Device("laptop", on: stage))
    let box = Typist(Device("box", on: stage))
    try await laptop.type("init", "--name", "laptop")
    try await laptop.startNode()
    let ticket = try await laptop.type("invite").output
    try await box.type("join", "-", "--name", "box", input: ticket)
    try await box.startNode(environment: ["WAYMARK_FOLLOW_SYNC": "on"])
    try await laptop.type("premium", "self")
    try await laptop.type("sync", "on", "--everywhere")
    try await laptop.device.text("trip", "add", "name=Rome")
    try await box.device.wait(until: "has the trip") { $0.count("trips") == 1 }
    #expect(box.device.log.contains("turned on, as laptop asked for"))
    #expect(laptop.count == 5 && box.count == 2)
  }

  @Test func `premium for oneself keeps working with sealed keys, and is renewed by the node that runs`()
    async throws
  {
    let stage = try Stage()
    defer { stage.end() }
    let alice = Device("alice", on: stage)
    try await alice.text("init", "--name", "alice")
    let words = "four words of Alice"
    let set = try await alice.run(
      ["keys", "passphrase", "set", "--file", "-"], input: words + "\n", seconds: 120)
    #expect(set.code == 0, "\(set.errors)")
    let file = stage.path("passphrase")
    try Data((words + "\n").utf8).write(to: URL(filePath: file))
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
    let passphrase = ["WAYMARK_PASSPHRASE_FILE": file]
    try await alice.start(environment: passphrase)
    let made = try await alice.run(["premium", "self", "--json"], seconds: 120, environment: passphrase)
    #expect(made.json["issued"] == true, "\(made.errors)")
    let keys = try await alice.status().document["keys"]
    #expect(keys == ["device": "sealed", "root": "sealed", "issuer": "sealed"])
    // The running node keeps the passphrase it was started with, so this one needs none.
    let later = try await alice.run(["premium", "self", "--until", "2031-12-31", "--json"], seconds: 120)
    #expect(later.json["until"] == "2032-01-01T00:00:00Z", "\(later.errors)")
    try await alice.stop()
    let removed = try await alice.run(
      ["keys", "passphrase", "remove", "--file", "-", "--json"], input: words, seconds: 120)
    #expect(removed.json["keys"]?.array?.map { $0["kind"] } == ["device", "root", "issuer"])
  }

  @Test func `an entitlement is piped from the issuer to the device, and a missing option is named`()
    async throws
  {
    let stage = try Stage()
    defer { stage.end() }
    let alice = Device("alice", on: stage)
    try await alice.text("init", "--name", "alice")
    try await alice.text("issuer", "init", stage.path("issuer"))
    try await alice.text("issuer", "trust", stage.path("issuer.pub"))
    let bare = try await alice.run(["issuer", "issue"])
    #expect(bare.code == 2 && bare.errors.contains("needs --key FILE and --until TIME"), "\(bare.errors)")
    let issue = ["issuer", "issue", "--key", stage.path("issuer"), "--until", "2031-12-31"]
    let issued = try await alice.run(issue)
    #expect(issued.code == 0, "\(issued.errors)")
    let installed = try await alice.text("entitlement", "install", "-", input: issued.output)
    #expect(installed == "premium until 2031-12-31 UTC")
    let written = try await alice.run(issue + ["--output", stage.path("entitlement")])
    let errors = written.errors.replacing("\n", with: " ")
    #expect(
      errors.hasPrefix("Wrote entitlement: this circle, all devices, until 2031-12-31 UTC."), "\(errors)")
    let shown = try await alice.text("premium")
    #expect(shown.hasPrefix("premium until 2031-12-31 UTC"))
    #expect(try await alice.text("entitlement", "show") == shown, "the former name")
    #expect(try await alice.text("status").contains("premium until 2031-12-31 UTC"))
    #expect(try await alice.json("issuer", "list")["items"]?.array?.map { $0["entitlements"] } == [1])
  }
}
