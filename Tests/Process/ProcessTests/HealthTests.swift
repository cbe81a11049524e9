import Foundation
import JSONDocument
import Processes
import Testing
import Wire

/// What a node reports to machines and to helpers, and which data only exists on its disk.
@Suite(.serialized) struct HealthTests {
  @Test func `changes that no other device has acknowledged are at risk, also after restarts`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await TestCircle.make(["alice", "bob", "carol"], on: stage, isPremium: true)
    let (alice, bob, carol) = (circle["alice"], circle["bob"], circle["carol"])
    func loss() async throws -> JSON { try await alice.status().document["loss"] ?? .null }
    try await alice.text("trip", "add", "name=Rome")
    #expect(try await loss()["changeSets"] == 1)
    #expect(try await alice.text("status").contains("No other device has reported yet what it holds"))
    try await bob.start()
    try await bob.waitForSync(with: alice)
    try await alice.wait(until: "Bob has acknowledged it") { $0.document["loss"]?["holders"] == ["bob"] }
    #expect(try await alice.text("status").contains("nothing would be lost: bob has everything."))

    try await bob.stop()
    try await alice.text("trip", "add", "name=Oslo")
    try await alice.text("trip", "edit", "Oslo", "notes=cold")
    for step in ["while it runs", "without a node", "after a restart"] {
      let loss = try await loss()
      #expect(loss["changeSets"] == 2, "\(step): \(loss)")
      #expect(
        loss["newest"]?["verb"] == "trip.edit" && loss["newest"]?["record"]?["name"] == "Oslo", "\(step)")
      let devices = loss["devices"]?.array ?? []
      #expect(devices.map { $0["name"]?.string } == ["bob", "carol"])
      #expect(
        devices.first?["lacking"] == 2 && devices.last?["lacking"]?.isNull == true,
        "carol never acknowledged anything")
      let page = try await alice.text("status")
      #expect(page.contains("2 change sets would be lost; the newest: trip edit · Oslo"), "\(page)")
      if step == "while it runs" { try await alice.stop() }
      if step == "without a node" { try await alice.start() }
    }
    // A set that one peer has is not required of another.
    try await carol.start()
    try await carol.waitForSync(with: alice)
    try await alice.wait(until: "nothing is only here") { $0.document["loss"]?["changeSets"] == 0 }
    try await carol.stop()
    // A second later everything that peers acknowledged is stored, even if the node is killed.
    try await Task.sleep(for: .milliseconds(1_500))
    try await alice.stop(SIGKILL)
    try await alice.start()
    let page = try await alice.text("status")
    #expect(page.contains("nothing would be lost: carol has everything (as of"), "\(page)")
    #expect(try await loss()["devices"]?[0]?["lacking"] == 2)
  }

  @Test func `a node whose peers are quiet lets the machine sleep`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await TestCircle.make(
      ["alice", "bob", "carol", "dave", "erin"], on: stage, isPremium: true)
    let alice = circle["alice"]
    let others = ["bob", "carol", "dave", "erin"].map { circle[$0] }
    for other in others { try await other.start() }
    for other in others { try await alice.waitForSync(with: other) }
    let node = Footprint(try #require(alice.nodeID))
    var wakes = 0
    // What follows a start happens first: addresses, the disk, the neighbours' beacons.
    try await eventually("it is rarely woken up; it was \(wakes) times in five seconds") {
      wakes = try await node.wakes(5)
      // One beat of each of four peers, and a few threads for each. A sanitizer has a thread of its own.
      return wakes <= 50 * Child.patience
    }
  }

  @Test func `stored acknowledgements of a peer count only as far as they match this very log`() async throws
  {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await TestCircle.make(["alice", "bob"], on: stage, isPremium: true)
    let (alice, bob) = (circle["alice"], circle["bob"])
    try await bob.start()
    for name in ["Rome", "Oslo", "Bern"] { try await alice.text("trip", "add", "name=\(name)") }
    try await bob.waitForSync(with: alice)
    try await alice.wait(until: "Bob has acknowledged it") { $0.document["loss"]?["holders"] == ["bob"] }
    try await bob.stop()
    try await alice.stop()
    func lost() async throws -> JSON? { try await alice.status().document["loss"]?["changeSets"] }
    #expect(try await lost() == 0)
    let kept = try await alice.status().changeSets("records")
    #expect(kept == 3)
    for (what, sequence, id) in [
      ("another branch further on", "99", String(repeating: "ab", count: 32)),
      ("another branch of the same length", "3", String(repeating: "ab", count: 32)),
      ("another branch behind", "2", String(repeating: "ab", count: 32)),
      ("no number", "many", ""), ("nothing of an id", "3", "abc"),
    ] {
      let script = """
        import sqlite3, sys
        store = sqlite3.connect(sys.argv[1])
        for key, value in store.execute("SELECT key, value FROM meta WHERE key LIKE 'node.holds.%'").fetchall():
            lines = [line.split(" ") for line in bytes(value).decode().split("\\n")]
            for line in lines:
                if line[0] == "head":
                    line[4:] = sys.argv[2:4]
            value = "\\n".join(" ".join(line) for line in lines).encode()
            store.execute("UPDATE meta SET value = ? WHERE key = ?", (value, key))
        store.commit()
        """
      let child = try stage.python(script, [alice.home + "/store.db", sequence, id])
      #expect(try await child.wait(seconds: 20, for: "sqlite") == 0)
      #expect(try await lost() == 3, "\(what)")
    }
    // Bob's next acknowledgement corrects it.
    try await alice.start()
    try await bob.start()
    try await alice.wait(until: "Bob has acknowledged it again") { $0.document["loss"]?["changeSets"] == 0 }
  }

  @Test func `metrics are valid for Prometheus, and a metrics file is complete and readable`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await TestCircle.make(["alice", "bob"], on: stage, isPremium: true)
    let (alice, bob) = (circle["alice"], circle["bob"])
    try await bob.start()
    try await alice.text("trip", "add", "name=Rome")
    try await bob.waitForSync(with: alice)
    try await alice.text("peers", "rename", "bob", "Bob's \"box\" \\ 箱")
    let file = stage.path("waymark.prom")
    try await alice.text("metrics", "--write", file)
    let text = try String(contentsOfFile: file, encoding: .utf8)
    let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
    #expect(mode.map { $0 & 0o444 } == 0o444, "the collector is another user")
    #expect(text.contains(#"peer="Bob's \"box\" \\ 箱""#))
    for name in [
      "build_info", "uptime_seconds", "start_time_seconds", "peer_connected", "peer_behind_change_sets",
      "peer_last_sync_timestamp_seconds", "change_sets_applied_total", "change_sets_rejected_total",
      "conflicts",
      "network_received_bytes_total", "network_sent_bytes_total", "store_size_bytes", "parked_change_sets",
    ] {
      #expect(text.contains("# TYPE waymark_\(name) "), "\(name) is missing")
      #expect(text.contains("\nwaymark_\(name)"), "\(name) has no sample")
    }
    #expect(text.contains("waymark_change_sets_applied_total{lane=\"records\"} 1\n"))
    try await checkWithPromtool(text, stage)
    try await alice.stop()
    try await checkWithPromtool(try await alice.run(["metrics"]).output, stage)
    #expect(try await alice.text("metrics").contains("waymark_running 0"))
    let refused = try await alice.run(["metrics", "--write", stage.path("nowhere/x.prom")])
    #expect(refused.code == 1)
    expectPlainWords(refused.errors, ["nowhere/x.prom"], "metrics --write")
  }

  private func checkWithPromtool(_ text: String, _ stage: Stage) async throws {
    let places = ["/usr/bin/promtool", ProcessInfo.processInfo.environment["PROMTOOL"] ?? ""]
    guard let tool = places.first(where: FileManager.default.isExecutableFile) else {
      return print("skipped: promtool is missing (Debian: apt install prometheus; or PROMTOOL=FILE)")
    }
    let input = URL(filePath: try stage.write(Array(text.utf8), "metrics-\(stage.number())"))
    let said = stage.folder.appending(path: "promtool-\(stage.number())")
    let child = try Child(
      URL(filePath: tool), ["check", "metrics"], environment: [:], input: input, output: said, errors: said)
    let code = try await child.wait(seconds: 20, for: "promtool")
    let words = try String(contentsOf: said, encoding: .utf8)
    #expect(code == 0 && words.isEmpty, "\(words)")
  }

  @Test func `doctor finds what is wrong, and its report contains no trips, habits or settings`() async throws
  {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await TestCircle.make(["alice", "bob"], on: stage, isPremium: true)
    let (alice, bob) = (circle["alice"], circle["bob"])
    try await bob.start()
    try await alice.text("trip", "add", "name=MARKER-trip", "notes=MARKER-notes")
    try await alice.text("habit", "add", "name=MARKER-habit")
    try await alice.text("settings", "set", "MARKER-key", "MARKER-value")
    try await alice.text("profile", "set", "name=MARKER-person")
    try await bob.waitForSync(with: alice)
    let report = stage.path("report.json")
    let well = try await alice.run(["doctor", "--report", report])
    // The only finding: a circle with one admin.
    #expect(well.code == 0 && well.output.contains("the circle's only admin"), "\(well.output)")
    #expect(well.output.components(separatedBy: "warning  ").count == 2, "\(well.output)")

    // Conflicts, a mass deletion and a change that only exists here: everything that could name a record.
    try await bob.stop()
    try await alice.text("trip", "edit", "MARKER-trip", "name=MARKER-other")
    try await alice.stop()
    try await bob.text("trip", "edit", "MARKER-trip", "name=MARKER-third")
    try await alice.start()
    try await bob.start()
    try await bob.waitForSync(with: alice)
    try await bob.stop()
    try await alice.text("habit", "delete", "MARKER-habit")
    let alone = try await alice.run(["doctor", "--report", report, "--yes"])
    // A node of another test may listen by now where bob did.
    #expect(alone.code == 0 || alone.output.contains("is not a member of this circle"), "\(alone.output)")
    let text = try String(contentsOfFile: report, encoding: .utf8)
    #expect(!text.contains("MARKER"), "\(text)")
    let document = try JSON.parse(text)
    #expect(document["schema"] == "waymark.doctor.report/1")
    #expect(document["status"]?["unreplicatedChangeSets"] == 1)
    #expect(text.contains("\"conflicts\""))
    let mode = try FileManager.default.attributesOfItem(atPath: report)[.posixPermissions] as? Int
    #expect(mode == 0o600)

    // Faults are found without a node, each with a remedy, and nothing is changed.
    try await alice.stop()
    try "{\"listen\": 7}".write(toFile: alice.home + "/config.json", atomically: true, encoding: .utf8)
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o644], ofItemAtPath: alice.home + "/keys/device.key")
    let ill = try await alice.run(["doctor", "--json"])
    #expect(ill.code == 1 && ill.json["ok"] == false)
    let findings = ill.json["findings"]?.array ?? []
    for check in ["configuration", "permissions"] {
      let finding = findings.first { $0["check"]?.string == check }
      #expect(finding?["severity"] == "error" && finding?["next"]?.string != nil, "\(check): \(findings)")
    }
    let next = findings.first { $0["code"] == "wrong_mode" }?["next"]?.string ?? ""
    #expect(next.hasPrefix("chmod 600 "), "\(next)")
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o600], ofItemAtPath: alice.home + "/keys/device.key")
    try FileManager.default.removeItem(atPath: alice.home + "/config.json")
    #expect(try await alice.run(["doctor"]).code == 0)
    #expect(try await Device("nobody", on: stage).run(["doctor"]).code == 10)
  }

  @Test func `peers can be pinged and renamed, and the log level can be raised at run time`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await TestCircle.make(["alice", "bob"], on: stage, isPremium: false)
    let (alice, bob) = (circle["alice"], circle["bob"])
    #expect(try await bob.run(["peers", "ping", "alice"]).code == 3)
    #expect(try await bob.run(["logging", "level", "debug"]).code == 3)
    let absent = try await alice.run(["peers", "ping", "bob"])
    #expect(absent.code == 1)
    expectPlainWords(absent.errors, ["bob"], "peers ping")
    try await bob.start()
    try await bob.waitForSync(with: alice)
    let ping = try await alice.json("peers", "ping", "bob", "--count", "4")
    #expect(ping["roundTripsMilliseconds"]?.array?.count == 4)
    #expect(ping["least"]?.float ?? 0 > 0)
    #expect(try await alice.run(["peers", "ping", "bob", "--count", "0"]).code == 2)

    try await alice.text("peers", "rename", "bob", "the box")
    for words in [["status"], ["peers"], ["members"], ["why", "the box"]] {
      #expect(try await alice.run(words).output.contains("the box"), "\(words)")
    }
    #expect(try await bob.text("members").contains("the box") == false, "the name is alice's alone")
    #expect(try await alice.run(["peers", "rename", "the box", "alice"]).code == 2)
    try await alice.stop()
    #expect(try await alice.text("peers").contains("the box"))
    try await alice.text("peers", "rename", "bob")
    #expect(try await alice.text("peers").contains("the box") == false)

    #expect(try await bob.text("logging", "level") == "debug")
    #expect(try await bob.json("logging", "level", "error")["before"] == "debug")
    #expect(try await bob.text("logging", "level") == "error")
    #expect(try await bob.run(["logging", "level", "loud"]).code == 2)
    #expect(bob.log.contains("log level set to error"))
  }

  @Test func `why shows where each value of a record comes from, and what it won against`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await TestCircle.make(["alice", "bob"], on: stage, isPremium: true)
    let (alice, bob) = (circle["alice"], circle["bob"])
    try await bob.start()
    try await alice.text("trip", "add", "name=Rome")
    try await bob.waitForSync(with: alice, lane: "records")
    try await bob.stop()
    try await alice.text("trip", "edit", "Rome", "name=Roma")
    try await alice.stop()
    try await bob.text("trip", "edit", "Rome", "name=Rom")
    try await bob.text("trip", "edit", "Rom", "notes=later")
    try await alice.start()
    try await bob.start()
    try await bob.waitForSync(with: alice)
    for device in [alice, bob] {
      let why = try await device.json("why", "Rom")
      #expect(why["subject"] == "record" && why["record"]?["kind"] == "trip")
      let name = why["values"]?.array?.first { $0["field"] == "name" }
      #expect(name?["written"]?["value"] == "Rom" && name?["written"]?["deviceName"] == "bob")
      let beaten = name?["wonAgainst"]?.array ?? []
      #expect(beaten.map { $0["value"]?.string } == ["Roma", "Rome"])
      #expect(beaten.map { $0["how"]?.string } == ["concurrent", "earlier"])
      let page = try await device.text("why", "Rom")
      #expect(page.contains("lost then: Roma") && page.contains("replaced: Rome"), "\(page)")
    }
    // A record with the name of a peer: the command guesses neither.
    try await alice.text("trip", "add", "name=bob")
    let both = try await alice.run(["why", "bob"])
    #expect(both.code == 2)
    expectPlainWords(both.errors, ["peer bob", "trip bob"], "why")
    #expect(try await alice.run(["why", "nothing-of-that-name"]).code == 8)
  }
}
