import Foundation
import JSONDocument
import Processes
import Synchronization
import Testing
import Waymark
import WaymarkCare

@testable import Control
@testable import WaymarkCommand

/// What scripts rely on: errors and lists as documents, times in UTC, ids, exit codes.
@Suite(.serialized) struct ScriptTests {
  private func founder(_ workshop: Workshop) async throws -> TestDevice {
    let alice = workshop.device("alice")
    try #require(try await alice.run("init", "--name", "alice").code == 0)
    return alice
  }

  @Test func `under json an error is one document on standard output and nothing else`() async throws {
    try await Workshop.with { workshop in
      let alice = try await founder(workshop)
      for name in ["Rome 1", "Rome 2"] { try await alice.run("trip", "add", "name=\(name)") }
      let cases: [(words: [String], code: Int32, reason: String)] = [
        (["trip", "show", "Oslo"], 8, "not_found"), (["conflicts", "show", "12345678"], 8, "not_found"),
        (["peers", "pause", "nobody"], 8, "not_found"), (["settings", "get", "nothing"], 8, "not_found"),
        (["trip", "show", "Rome"], 2, "ambiguous"), (["trip", "lst"], 2, "usage"),
        (["trip", "show"], 2, "usage"), (["help", "nothing"], 2, "usage"),
        (["trip", "list", "--foo"], 2, "usage"), (["settings", "set", "x", ""], 2, "bad_value"),
        (["run", "--listen", "nonsense"], 2, "bad_value"),
      ]
      for (words, code, reason) in cases {
        let outcome = try await alice.run(arguments: words + ["--json"])
        #expect(outcome.code == code, "\(words): \(outcome)")
        #expect(outcome.output.filter { $0 == "\n" }.count == 1, "\(words): \(outcome.output)")
        #expect(outcome.json["schema"] == "waymark.error/1" && outcome.json["type"] == "error", "\(words)")
        #expect(outcome.json["code"]?.string == reason, "\(words): \(outcome.output)")
        #expect(outcome.json["message"]?.string?.isEmpty == false && outcome.json["next"] != nil, "\(words)")
        #expect(outcome.errors.isEmpty || words[0] == "run", "\(words): \(outcome.errors)")
      }
      let ambiguous = try await alice.run("trip", "show", "Rome", "--json").json
      #expect(ambiguous["candidates"]?.array?.count == 2)
      #expect(try await alice.run("trip", "show", "Oslo", "--json").json["candidates"] == nil)
      // After `--`, the word is a name.
      #expect(try await alice.run("trip", "show", "--", "--json").output.isEmpty)
    }
  }

  @Test func `an error ends a stream as its last line`() async throws {
    try await Workshop.with { workshop in
      let alice = try await founder(workshop)
      try await alice.run("trip", "add", "name=Rome")
      let file = workshop.path("a.waymark")
      #expect(try await alice.run("backup", file, "--json").code == 0)
      let again = try await alice.run("backup", file, "--json")
      #expect(again.code == 7 && again.errors.isEmpty, "\(again)")
      let last = try #require(again.output.split(separator: "\n").last)
      #expect(try JSON.parse(Array(last.utf8))["code"] == "needs_yes")
    }
  }

  @Test func `every list has its rows under items as well, each with an id`() async throws {
    try await Workshop.with { workshop in
      let alice = try await founder(workshop)
      try await alice.run("trip", "add", "name=Rome")
      try await alice.run("lodging", "add", "trip=Rome", "name=Casa Rosa")
      try await alice.run("habit", "add", "name=Read")
      try await alice.run("habit", "tick", "Read")
      for (words, key) in [
        ("trip list", "trips"), ("lodging list", "lodgings"), ("habit list", "habits"),
        ("entry list", "entries"), ("conflicts", "conflicts"), ("settings list", "settings"),
        ("members", "members"), ("peers", "peers"), ("history", "operations"), ("history Rome", "writes"),
        ("trash", "items"), ("files", "items"), ("trip timeline Rome", "items"),
      ] {
        let document = try await alice.run(
          arguments: words.split(separator: " ").map(String.init) + ["--json"]
        )
        .json
        let rows = try #require(document["items"]?.array, "\(words)")
        #expect(document[key]?.array == rows, "\(words)")
        #expect(rows.allSatisfy { $0["id"]?.string?.isEmpty == false }, "\(words)")
        if !["conflicts", "peers", "trash", "files"].contains(words) { #expect(!rows.isEmpty, "\(words)") }
      }
      #expect(try await alice.run("habit", "tick", "Read", "--json").json["id"]?.string?.count == 36)
    }
  }

  @Test func `a watched list outlasts a node that stops before it has answered`() async throws {
    try await Workshop.with { workshop in
      let alice = try await founder(workshop)
      try await alice.run("trip", "add", "name=Rome")
      let node = Mutex<ControlServer?>(nil)
      let server = try ControlServer(at: try .toServe(Home(path: alice.home))) { request, _ in
        if request.command != Ping.name { node.withLock { $0 }?.stop() }
        return .result(.bool(true))
      }
      node.withLock { $0 = server }
      server.start()
      let output = workshop.path("watch")
      let watch = try alice.begin("exec $W trip list --watch", output)
      try await until("the watch shows the list") {
        (try? String(contentsOfFile: output, encoding: .utf8))?.contains("Rome") == true
      }
      watch.signal(SIGINT)
      #expect(try await watch.wait(seconds: 20, for: "the watch after Ctrl-C") == 130)
    }
  }

  @Test func `next to a time a document has it in UTC and in whole seconds`() async throws {
    try await Workshop.with { workshop in
      let alice = try await founder(workshop)
      // A name that looks like a time is no time.
      try await alice.run("trip", "add", "name=2026-05-03T15:00:00Z", "startDate=2026-05-02")
      try await alice.run(
        "lodging", "add", "trip=2026-05-03T15:00:00Z", "name=A", "start=2026-05-03T15:00",
        "startTZ=Europe/Rome")
      let lodging = try await alice.run("lodging", "show", "A", "--json").json
      #expect(lodging["start"] == "2026-05-03T15:00:00+02:00")
      #expect(lodging["startUTC"] == "2026-05-03T13:00:00Z")
      #expect(lodging["end"] == .null && lodging["endUTC"] == .null)
      let trip = try await alice.run("trip", "list", "--json").json["items"]?[0]
      #expect(trip?["nameUTC"] == nil && trip?["startDateUTC"] == "2026-05-02T00:00:00Z")
      #expect(trip?["firstStartUTC"] == "2026-05-03T13:00:00Z")
      let operation = try await alice.run("history", "--json").json["items"]?[0]
      let time = try #require(operation?["time"]?.string)
      #expect(operation?["timeUTC"]?.string == String(time.prefix(19)) + "Z")
    }
  }

  @Test func `a binary habit is ticked at most once a day`() async throws {
    try await Workshop.with { workshop in
      let alice = try await founder(workshop)
      try await alice.run("habit", "add", "name=Read")
      try await alice.run("habit", "add", "name=Water", "kind=numeric", "unitLabel=glasses")
      for habit in ["Read", "Water"] {
        for _ in 0..<2 { #expect(try await alice.run("habit", "tick", habit).code == 0) }
      }
      #expect(
        try await alice.run("entry", "list", "--habit", "Read", "--json").json["items"]?.array?.count == 1)
      #expect(
        try await alice.run("entry", "list", "--habit", "Water", "--json").json["items"]?.array?.count == 2)
      // Ticking again after it was cleared restores the day's entry.
      try await alice.run("habit", "untick", "Read")
      #expect(try await alice.run("habit", "tick", "Read", "--json").json["done"] == true)
    }
  }
}
