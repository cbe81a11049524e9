import Exchange
import Foundation
import JSONDocument
import Processes
import Testing
import Waymark
import WaymarkCare

/// Invalid input and unusable places: one clear error with the next step, the right exit code, nothing written.
@Suite(.serialized)
struct RefusalTests {
  private func expect(
    _ outcome: TestDevice.Outcome, exits code: Int32, saying words: String...,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #expect(outcome.code == code, "\(outcome.errors)", sourceLocation: sourceLocation)
    // Each suggested step contains the home; only the step matters here.
    let said = outcome.errors.replacing(#/ --home /\S+/#, with: "")
    for text in words {
      #expect(said.contains(text), "\(outcome.errors)", sourceLocation: sourceLocation)
    }
    #expect(outcome.output.isEmpty, sourceLocation: sourceLocation)
    #expect(!outcome.errors.contains("Error("), "\(outcome.errors)", sourceLocation: sourceLocation)
  }

  @Test func `a home without a store says how to create one`() async throws {
    try await Workshop.with { workshop in
      let alice = workshop.device("alice")
      for command in [["status"], ["trip", "list"], ["run"], ["invite"]] {
        expect(try await alice.run(arguments: command), exits: 10, saying: "no Waymark store", "waymark init")
      }
      #expect(!FileManager.default.fileExists(atPath: alice.home))
    }
  }

  @Test func `places that can't be written to are named`() async throws {
    try await Workshop.with { workshop in
      let file = workshop.path("file")
      try Data().write(to: URL(filePath: file))
      let nowhere = TestDevice(workshop: workshop, name: "file/home", build: .standard)
      expect(try await nowhere.run("init"), exits: 1, saying: "file/home", "can't be created")
      let alice = workshop.device("alice")
      try await alice.run("init")
      let export = try await alice.run("export", "--format", "ritualist", "--output", file + "/export")
      expect(export, exits: 1, saying: file + "/export:")
      #expect(try await alice.run("issuer", "init", workshop.path("issuer")).code == 0)
      expect(
        try await alice.run(
          "issuer", "issue", "--key", workshop.path("issuer"), "--circle",
          alice.status()["circle"]?.string ?? "", "--until", "2099-01-01", "--output", file + "/certificate"),
        exits: 1, saying: file + "/certificate:")
    }
  }

  @Test func `no output overwrites a key or a store`() async throws {
    try await Workshop.with { workshop in
      let alice = workshop.device("alice")
      try await alice.run("init")
      let (issuer, circle) = (workshop.path("iss"), try await alice.status()["circle"]?.string ?? "")
      try await alice.run("issuer", "init", issuer)
      let kept = [issuer, alice.home + "/keys/root.key", alice.home + "/store.db"]
      let before = try kept.map { try Data(contentsOf: URL(filePath: $0)) }
      let issue = ["issuer", "issue", "--key", issuer, "--circle", circle, "--until", "2099-01-01"]
      for words in [
        issue + ["--output", issuer], ["export", "--format", "json", "--output", kept[1]],
        ["backup", "--yes", issuer], ["backup", "--yes", kept[2]], ["doctor", "--report", kept[1]],
        ["metrics", "--write", issuer],
      ] {
        expect(try await alice.run(arguments: words), exits: 1, saying: "nothing was written", "Next: use a")
      }
      #expect(try kept.map { try Data(contentsOf: URL(filePath: $0)) } == before)
    }
  }

  @Test func `a backup in the place of a store is recognised as a backup`() async throws {
    try await Workshop.with { workshop in
      let alice = workshop.device("alice")
      try await alice.run("init")
      try await alice.run("trip", "add", "name=Rome")
      let (backup, store) = (workshop.path("a.waymark"), alice.home + "/store.db")
      #expect(try await alice.run("backup", backup).code == 0)
      try FileManager.default.removeItem(atPath: store)
      try FileManager.default.copyItem(atPath: backup, toPath: store)
      let outcome = try await alice.run("status")
      expect(outcome, exits: 1, saying: "is a backup file", "waymark restore")
      #expect(outcome.errors.count < 600)
    }
  }

  @Test func `a home of another user is not reported as a home without a store`() async throws {
    guard geteuid() == 0 else { return print("skipped: only root can change the user") }
    try await Workshop.with { workshop in
      let alice = workshop.device("alice")
      try await alice.run("init")
      chmod(workshop.folder.path, 0o755)
      let copy = workshop.path("program")
      try FileManager.default.copyItem(atPath: alice.build.program.path, toPath: copy)
      chmod(copy, 0o755)
      let outcome = try await alice.shell("setpriv --reuid=65534 --clear-groups \(copy) --home $H status")
      guard outcome.code < 126 else { return print("skipped: \(outcome.errors)") }
      expect(outcome, exits: 1, saying: "is not accessible", "use another one with --home")
    }
  }

  @Test func `steps within a sentence name the given home, too`() async throws {
    try await Workshop.with { workshop in
      let alice = workshop.device("alice")
      try await alice.run("init")
      try await alice.run("trip", "add", "name=Rome")
      let undone = try await alice.run("undo")
      #expect(
        undone.errors.contains("To reverse that: waymark --home \(alice.home) undo"), "\(undone.errors)")
      #expect(try await alice.run("doctor").output.contains("waymark --home"))
    }
  }

  @Test func `a second circle in one home is refused`() async throws {
    try await Workshop.with { workshop in
      let alice = workshop.device("alice")
      try await alice.run("init")
      expect(try await alice.run("init"), exits: 1, saying: "already")
    }
  }

  @Test func `a store is held by one process, and a second one is told which`() async throws {
    try await Workshop.with { workshop in
      let alice = workshop.device("alice")
      try await alice.run("init")
      let node = try await alice.start()
      let second = try await alice.run("run", "--listen", "127.0.0.1:0")
      expect(second, exits: 11, saying: "\(node.child.id)")
      #expect(try await node.stop(SIGINT) == 130)
    }
  }

  @Test func `a port in use is named`() async throws {
    try await Workshop.with { workshop in
      let (alice, bob) = (workshop.device("alice"), workshop.device("bob"))
      for device in [alice, bob] { try await device.run("init") }
      let node = try await alice.start()
      expect(try await bob.run("run", "--listen", node.address), exits: 1, saying: node.address, "in use")
      #expect(try await node.stop() == 0)
    }
  }

  @Test func `with a missing or damaged key file nothing is written`() async throws {
    try await Workshop.with { workshop in
      let alice = workshop.device("alice")
      try await alice.run("init")
      let key = alice.home + "/keys/device.key"
      let content = try String(contentsOfFile: key, encoding: .utf8)
      try FileManager.default.removeItem(atPath: key)
      expect(try await alice.run("status"), exits: 12, saying: "device.key")
      try String(content.reversed()).write(toFile: key, atomically: false, encoding: .utf8)
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: key)
      expect(try await alice.run("status"), exits: 12, saying: "device.key")
      try content.write(toFile: key, atomically: false, encoding: .utf8)
      #expect(try await alice.run("status").code == 0)
    }
  }

  @Test func `tickets are for one device, complete, and for one circle`() async throws {
    try await Workshop.with { workshop in
      let alice = workshop.device("alice")
      try await alice.run("init")
      let node = try await alice.start()
      let ticket = try await alice.run("invite").output.trimmingCharacters(in: .newlines)
      let (bob, carol) = (workshop.device("bob"), workshop.device("carol"))
      expect(try await bob.run("join", "hello"), exits: 2, saying: "not a Waymark ticket")
      expect(try await bob.run("join", String(ticket.dropLast(5))), exits: 2, saying: "ticket")
      expect(try await bob.run("join", "-"), exits: 2, saying: "standard input")
      #expect(!FileManager.default.fileExists(atPath: bob.home + "/store.db"))
      #expect(try await bob.run("join", ticket).code == 0)
      expect(try await carol.run("join", ticket), exits: 1, saying: "ticket", "waymark invite")
      #expect(!FileManager.default.fileExists(atPath: carol.home + "/store.db"))
      #expect(try await node.stop() == 0)
      let late = try await workshop.device("dave").run("join", ticket)
      expect(late, exits: 1, saying: "can't be reached")
    }
  }

  @Test func `joining with existing data needs a yes and brings the data along`() async throws {
    try await Workshop.with { workshop in
      let (alice, bob) = (workshop.device("alice"), workshop.device("bob"))
      for device in [alice, bob] { try await device.run("init") }
      try await bob.run("trip", "add", "name=Rome")
      let node = try await alice.start()
      let ticket = try await alice.run("invite").output
      let before = try await bob.status()["circle"]
      expect(try await bob.run("join", "-", input: ticket), exits: 7, saying: "1 trip", "--yes")
      #expect(try await bob.status()["circle"] == before)
      #expect(try await bob.run("join", "-", "--yes", input: ticket).code == 0)
      #expect(try await bob.status()["circle"] == alice.status()["circle"])
      #expect(try await bob.run("trip", "list", "--json").json["trips"]?[0]?["name"] == "Rome")
      #expect(try await node.stop() == 0)
    }
  }

  @Test func `commands that need a running node or a peer say so`() async throws {
    try await Workshop.with { workshop in
      let alice = workshop.device("alice")
      try await alice.run("init")
      expect(try await alice.run("wait"), exits: 3, saying: "waymark run")
      expect(try await alice.run("sync", "now"), exits: 3, saying: "waymark run")
      let node = try await alice.start()
      expect(try await alice.run("wait"), exits: 3, saying: "no other device", "waymark invite")
      #expect(try await node.stop() == 0)
    }
  }

  @Test func `invalid values, fields and names are refused by name`() async throws {
    try await Workshop.with { workshop in
      let alice = workshop.device("alice")
      try await alice.run("init")
      for name in ["Rome 1", "Rome 2"] { try await alice.run("trip", "add", "name=\(name)") }
      expect(try await alice.run("trip", "show", "Rome"), exits: 2, saying: "Rome 1", "Rome 2")
      expect(try await alice.run("trip", "show", "Oslo"), exits: 8, saying: "Oslo")
      expect(
        try await alice.run("trip", "add", "nmae=Oslo"), exits: 2, saying: "nmae", "name",
        "waymark help fields trip")
      expect(
        try await alice.run("trip", "add", "name=Oslo", "startDate=soon"), exits: 2, saying: "startDate",
        "soon")
      expect(
        try await alice.run("habit", "add", "name=Read", "colorHex=red"), exits: 2, saying: "colorHex", "red")
      expect(
        try await alice.run("lodging", "add", "trip=Rome 1", "name=A", "cost=1,5"), exits: 2, saying: "cost")
      let long = try await alice.run("trip", "add", "name=" + String(repeating: "x", count: 120_000))
      expect(long, exits: 2, saying: "name", "at most 1000 characters")
      expect(try await alice.run("settings", "set", "colorScheme", "pink"), exits: 2, saying: "pink", "dark")
      #expect(try await alice.status()["counts"]?["trips"] == 2)
      #expect(try await alice.status()["counts"]?["lodging"] == 0)
    }
  }

  @Test func `a broken export writes nothing and names the position`() async throws {
    try await Workshop.with { workshop in
      let alice = workshop.device("alice")
      try await alice.run("init")
      var size = SampleData.Size()
      (size.habits, size.logs) = (3, 30)
      let whole = SampleData.ritualist(seed: 1, size: size)
      let file = workshop.path("export.json")
      var flipped = whole
      flipped[whole.count / 2] ^= 0x80
      for bytes in [Array(whole.dropLast(40)), flipped, [], Array("[1,2]".utf8)] {
        try Data(bytes).write(to: URL(filePath: file))
        expect(try await alice.run("import", file), exits: 1, saying: "export.json")
      }
      expect(try await alice.run("import", workshop.path("nowhere.json")), exits: 1, saying: "nowhere.json")
      #expect(try await alice.status()["lanes"]?["records"]?["changeSets"] == 0)
      try Data(whole).write(to: URL(filePath: file))
      let preview = try await alice.run("import", file, "--preview", "--json")
      #expect(preview.output.split(separator: "\n").last?.contains("\"type\":\"summary\"") == true)
      #expect(try await alice.status()["lanes"]?["records"]?["changeSets"] == 0)
      #expect(try await alice.run("import", file).code == 0)
      #expect(try await alice.status()["counts"]?["habitEntries"] == 30)
    }
  }
}
