import Foundation
import JSONDocument
import Processes
import Testing
import Wire

/// The live page of real nodes, as browsers and strangers on this machine see it.
@Suite(.serialized, .enabled(if: FileManager.default.fileExists(atPath: "/usr/bin/curl"), "needs curl"))
struct PageTests {
  /// A browser: curl with a jar of cookies, which belongs to the address and not to the port.
  private struct Browser {
    let stage: Stage
    var key = ""

    /// The body, then the status code on a line of its own.
    func curl(_ words: [String]) async throws -> (status: String, body: String) {
      let output = stage.folder.appending(path: "curl-\(stage.number())")
      let jar = stage.path("jar")
      let child = try stage.hold(
        "/usr/bin/curl", ["-sS", "--max-time", "10", "-w", "\n%{http_code}", "-b", jar, "-c", jar] + words,
        output)
      _ = try await child.wait(seconds: 20, for: "curl")
      var lines = String(decoding: try Data(contentsOf: output), as: UTF8.self).components(separatedBy: "\n")
      let status = lines.popLast() ?? ""
      return (status, lines.joined(separator: "\n"))
    }

    func get(_ address: String, _ target: String) async throws -> (status: String, body: String) {
      try await curl(["-H", "X-Waymark: \(key)", address + target])
    }

    func post(
      _ address: String, _ target: String, _ body: String, key: String? = nil
    ) async throws -> (status: String, body: String) {
      try await curl([
        "-H", "X-Waymark: \(key ?? self.key)", "-H",
        "Origin: http://\(address.hasPrefix("http://") ? String(address.dropFirst(7)) : address)",
        "-H", "Content-Type: application/json", "-d", body, address + target,
      ])
    }

    mutating func open(_ link: JSON) async throws -> String {
      let address = String((link["address"]?.string ?? "").dropLast())
      let opened = try await post(
        address, "/session", "{\"code\":\"\(link["code"]?.string ?? "")\"}", key: "1")
      guard opened.status == "200" else { throw Failure("no session: \(opened)") }
      key = try JSON.parse(opened.body)["key"]?.string ?? ""
      return address
    }
  }

  private func founder(_ name: String, on stage: Stage) async throws -> Device {
    let device = Device(name, on: stage)
    try await device.text("init", "--name", name)
    return device
  }

  @Test func `page opens the page of the running node, and a change elsewhere arrives as an event`()
    async throws
  {
    let stage = try Stage()
    defer { stage.end() }
    let alice = try await founder("alice", on: stage)
    let none = try await alice.run(["page", "--live"])
    #expect(
      none.code == 3 && none.errors.contains("Next: waymark --home \(alice.home) run"), "\(none.errors)")
    try await alice.start()
    let link = try await alice.json("page", "--live")
    #expect(link["opened"] == false)
    #expect(link["link"]?.string == "\(link["address"]?.string ?? "")#\(link["code"]?.string ?? "")")
    var browser = Browser(stage: stage)
    let address = try await browser.open(link)
    #expect(try await browser.get(address, "/document").body.contains("\"name\":\"alice\""))
    let events = stage.folder.appending(path: "events")
    _ = try stage.hold("/usr/bin/curl", ["-sN", "-b", stage.path("jar"), address + "/events"], events)
    func count() -> Int {
      ((try? String(contentsOf: events, encoding: .utf8)) ?? "").components(separatedBy: "event: changed")
        .count - 1
    }
    try await eventually("the first event arrives") { count() > 0 }
    let before = count()
    try await alice.text("trip", "add", "name=Rome")
    try await eventually("an event for the change arrives") { count() > before }
    #expect(try await browser.get(address, "/document").body.contains("\"trips\":1"))
    // The code is used up, for this browser and any other.
    let again = try await browser.post(
      address, "/session", "{\"code\":\"\(link["code"]?.string ?? "")\"}", key: "1")
    #expect(again.status == "403")
    #expect(!alice.log.contains(link["code"]?.string ?? "?"), "no code is logged")
  }

  @Test func `without a desktop the command prints the link, and with one it is in no command line`()
    async throws
  {
    let stage = try Stage()
    defer { stage.end() }
    let alice = try await founder("alice", on: stage)
    try await alice.start()
    let printed = try await alice.run(["page", "--live"])
    #expect(
      printed.output.wholeMatch(of: /http:\/\/127\.0\.0\.1:\d+\/#[0-9a-f]{32}\n/) != nil, "\(printed.output)")
    #expect(printed.errors.contains("ssh -L "))
    // The browser is a script that writes down its command line, and what the file says.
    let seen = stage.path("seen")
    _ = try stage.write(Array("#!/bin/sh\necho \"$@\" >\(seen)\ncat \"$1\" >>\(seen)\n".utf8), "xdg-open")
    chmod(stage.path("xdg-open"), 0o700)
    let opened = try await alice.run(
      ["page", "--live"], environment: ["DISPLAY": ":9", "PATH": "\(stage.folder.path):/usr/bin:/bin"])
    #expect(opened.code == 0 && opened.errors.contains("opens in your browser"), "\(opened.errors)")
    try await eventually("the browser was started") {
      ((try? String(contentsOfFile: seen, encoding: .utf8)) ?? "").contains("location.replace")
    }
    let lines = try String(contentsOfFile: seen, encoding: .utf8).components(separatedBy: "\n")
    #expect(lines[0] == "\(alice.home)/open-page.html", "the command line has no code")
    let link = opened.output.trimmingCharacters(in: .newlines)
    #expect(lines.contains { $0.contains("location.replace(\"\(link)\")") })
    let mode = try FileManager.default.attributesOfItem(atPath: lines[0])[.posixPermissions] as? Int
    #expect(mode == 0o600)
  }

  @Test func `run serves the page with --page, on loopback only, and tells no code`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let alice = try await founder("alice", on: stage)
    for (place, code) in [
      ("0.0.0.0:0", "page_not_local"), ("192.168.1.4:80", "page_not_local"), ("x", "bad_value"),
    ] {
      let refused = try await alice.run(
        ["run", "--no-discovery", "--listen", "127.0.0.1:0", "--page=\(place)", "--json"])
      #expect(refused.code == 2 && refused.json["code"]?.string == code, "\(refused)")
    }
    let (child, output, _) = try alice.begin([
      "run", "--no-discovery", "--listen", "127.0.0.1:0", "--page", "--json",
    ])
    func lines() -> [JSON] {
      ((try? String(contentsOf: output, encoding: .utf8)) ?? "").split(separator: "\n")
        .compactMap { try? JSON.parse(String($0)) }
    }
    try await eventually("the node serves its page") { lines().count == 2 }
    #expect(lines().map { $0["type"]?.string } == ["ready", "page"])
    #expect(lines()[1].members?.map(\.key) == ["schema", "type", "address"])
    let link = try await alice.json("page", "--live")
    #expect(link["address"] == lines()[1]["address"], "the page that is open already")
    child.signal(SIGTERM)
    #expect(try await child.wait(seconds: 10, for: "the node") == 0)
  }

  @Test
  func `the pages of two nodes do not log each other out, and a cookie of one opens nothing at the other`()
    async throws
  {
    let stage = try Stage()
    defer { stage.end() }
    let alice = try await founder("alice", on: stage)
    let bob = try await founder("bob", on: stage)
    for device in [alice, bob] { try await device.start() }
    var (first, second) = (Browser(stage: stage), Browser(stage: stage))
    let one = try await first.open(try await alice.json("page", "--live"))
    // The same jar of cookies: a browser sends it to both ports.
    #expect(
      try await first.get(try await bob.json("page", "--live")["address"]?.string ?? "", "document").status
        == "403")
    let two = try await second.open(try await bob.json("page", "--live"))
    #expect(try await first.get(one, "/document").body.contains("\"name\":\"alice\""))
    #expect(try await second.get(two, "/document").body.contains("\"name\":\"bob\""))
    #expect(try await first.get(two, "/document").status == "403")
  }

  /// CVE-2022-41925: a daemon whose port for peers also answered HTTP.
  @Test func `the sync port never answers HTTP`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let alice = try await founder("alice", on: stage)
    try await alice.start()
    let link = try await alice.json("page", "--live")
    var browser = Browser(stage: stage)
    _ = try await browser.open(link)
    for words in [
      ["http://\(alice.address)/"], ["-H", "X-Waymark: \(browser.key)", "http://\(alice.address)/document"],
      ["--http2-prior-knowledge", "http://\(alice.address)/"],
      ["-X", "POST", "-d", "{}", "http://\(alice.address)/session"],
      ["-H", "Host: \((link["address"]?.string ?? "").dropFirst(7).dropLast())", "http://\(alice.address)/"],
    ] {
      let answer = try await browser.curl(words)
      #expect(answer.status == "000", "\(words): \(answer)")
      #expect(!answer.body.contains("HTTP/1.1"), "\(answer)")
    }
  }
}
