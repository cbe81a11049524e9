import Foundation
import HTTP
import PageServer
import Processes
import Testing
import Transport
import Wire

/// Sources/page.md, “Connections”: the server with real sockets, and with clients that misbehave.
@Suite(.serialized) struct PageServerTests {
  /// A server on a free port, until the body ends.
  private func serving(
    _ content: Counter = Counter(), times: PageServerTimes = PageServerTimes(),
    _ body: (PageServer, Counter) async throws -> Void
  ) async throws {
    let server = try PageServer(on: Endpoint(host: "127.0.0.1", port: 0), content: content, times: times)
    server.start()
    defer { server.stop() }
    try await body(server, content)
  }

  @Test func `a session reads the page and its state, performs an action, and leaves`() async throws {
    try await serving { server, content in
      let browser = try await Browser(server)
      let page = try await browser.response(to: browser.get("/"))
      #expect(page?.status == 200 && page?.body == "<p>page")
      content.set(7)
      let document = try await browser.response(to: browser.get("/document"))
      #expect(document?.status == 200 && document?.body == "{\"number\":7}")
      let asked = try await browser.response(to: browser.post("/action", "{\"action\":\"syncOn\"}"))
      #expect(asked?.status == 200)
      #expect(content.performed == [.syncOn])
      #expect(try await browser.response(to: browser.post("/leave"))?.status == 204)
      #expect(try await browser.response(to: browser.get("/document"))?.status == 403)
      #expect(try await browser.response(to: browser.get("/"))?.body.contains("JavaScript") == true)
    }
  }

  @Test func `a code is exchanged once, and no wrong body is a code`() async throws {
    try await serving { server, _ in
      let code = try #require(server.makeCode())
      func status(_ request: String) async throws -> Int? {
        let client = try RawClient(server)
        client.send(request)
        return await client.response()?.status
      }
      let exchange = Browser.exchange(code, server)
      for (body, expected) in [("[]", 400), ("{\"code\":1}", 400), ("{\"code\":\"\"}", 403), ("{\"", 400)] {
        let other = exchange.replacing("{\"code\":\"\(code)\"}", with: body)
          .replacing("Content-Length: 43", with: "Content-Length: \(body.utf8.count)")
        #expect(try await status(other) == expected, "\(body)")
      }
      let more = "{\"code\":\"\(code)\",\"x\":1}"
      let other = exchange.replacing("{\"code\":\"\(code)\"}", with: more)
        .replacing("Content-Length: 43", with: "Content-Length: \(more.utf8.count)")
      #expect(try await status(other) == 400)
      #expect(try await status(exchange) == 200)
      #expect(try await status(exchange) == 403)
    }
  }

  @Test func `a request may arrive byte by byte`() async throws {
    try await serving { server, _ in
      let browser = try await Browser(server)
      let client = try RawClient(server)
      for byte in browser.post("/action", "{\"action\":\"syncOff\"}") {
        client.send(String(byte))
        try await Task.sleep(for: .milliseconds(1))
      }
      #expect(await client.response()?.status == 200)
    }
  }

  @Test func `a second request on the same connection is not read`() async throws {
    try await serving { server, content in
      let browser = try await Browser(server)
      let client = try RawClient(server)
      client.send(browser.get("/") + browser.post("/action", "{\"action\":\"syncOff\"}"))
      let (text, hasEnded) = await client.read()
      #expect(hasEnded && text.components(separatedBy: "HTTP/1.1 ").count == 2)
      #expect(content.performed == [])
    }
  }

  @Test func `a request that is not complete in time is refused, and a silent connection ends`() async throws
  {
    var times = PageServerTimes()
    (times.request, times.linger) = (300, 300)
    try await serving(times: times) { server, _ in
      let (slow, silent) = (try RawClient(server), try RawClient(server))
      slow.send("GET / HTTP/1.1\r\n")
      let began = monotonicMilliseconds()
      let answered = Task { (status: await slow.response()?.status, at: monotonicMilliseconds() - began) }
      // More bytes give no more time.
      for _ in 0..<150 {
        slow.send("X")
        try await Task.sleep(for: .milliseconds(20))
      }
      let answer = await answered.value
      #expect(answer.status == 408 && answer.at < 2_500, "\(answer)")
      let (text, hasEnded) = await silent.read(seconds: 10)
      #expect(text == "" && hasEnded)
    }
  }

  @Test func `connections make room for one more, those without a session first, and those with a key never`()
    async throws
  {
    try await serving(Counter(padding: 16 * 1024 * 1024)) { server, content in
      let browser = try await Browser(server)
      var silent: [RawClient] = []
      for _ in 0..<Limits.pageConnectionsMax { silent.append(try RawClient(server)) }
      // The request of the ninth connection is answered, because the oldest was closed for it.
      #expect(try await browser.response(to: browser.get("/document"))?.status == 200)
      #expect(await silent[0].read(seconds: 10).hasEnded)
      silent = []
      // With the cookie alone, another user can hold streams of events, but not keep the owner out.
      var pages: [RawClient] = []
      for _ in 0..<Limits.pageConnectionsMax { pages.append(try await browser.open()) }
      #expect(try await browser.response(to: browser.get("/document"))?.status == 200)
      #expect(await pages[0].read(seconds: 10).hasEnded)
      pages = []
      let answered = content.documents
      var slow: [RawClient] = []
      for number in 1...Limits.pageConnectionsMax {
        slow.append(try RawClient(server, receiveBuffer: 4_096))
        slow.last?.send(browser.get("/document"))
        // Until the server has read the request, the connection could make room for the next one.
        for _ in 0..<200 where content.documents < answered + number {
          try await Task.sleep(for: .milliseconds(20))
        }
      }
      let busy = try await browser.response(to: browser.get("/document"))?.status
      #expect(busy == 503)
      slow.removeLast()
      var status: Int?
      for _ in 0..<100 where status != 200 {
        status = try await browser.response(to: browser.get("/document"))?.status
      }
      #expect(status == 200, "a connection that was closed leaves room")
    }
  }

  @Test func `a response that is not read ends its connection`() async throws {
    var times = PageServerTimes()
    times.response = 300
    try await serving(Counter(padding: 16 * 1024 * 1024), times: times) { server, _ in
      let browser = try await Browser(server)
      let client = try RawClient(server, receiveBuffer: 4_096)
      client.send(browser.get("/document"))
      try await Task.sleep(for: .milliseconds(1_000))
      let (text, hasEnded) = await client.read(seconds: 10)
      #expect(hasEnded && text.utf8.count < 16 * 1024 * 1024)
    }
  }

  @Test func `a client that never stops sending gets no more time`() async throws {
    var times = PageServerTimes()
    times.linger = 200
    try await serving(times: times) { server, _ in
      let client = try RawClient(server)
      client.send("GET / HTTP/1.1\r\nHost: \(server.host)\r\n\r\n")
      let hasEnded = await apart {
        // Large, so that the server always finds something to read.
        let much = String(repeating: "x", count: 16 * 1024 * 1024)
        let deadline = monotonicMilliseconds() + 3_000
        while monotonicMilliseconds() < deadline {
          if !client.send(much) { return monotonicMilliseconds() < deadline }
        }
        return false
      }
      #expect(hasEnded)
    }
  }

  @Test func `a wait that is over reads nothing more, whatever has arrived`() async throws {
    let listener = try LoopbackListener(on: Endpoint(host: "127.0.0.1", port: 0))
    let client = try RawClient(port: listener.address.port)
    let connection = try #require(listener.accept(until: monotonicMilliseconds() + 5_000))
    client.send("late")
    try await Task.sleep(for: .milliseconds(100))
    #expect(connection.waitForWake(until: monotonicMilliseconds()) == .late)
    let read = connection.read(atMost: 4, until: monotonicMilliseconds() + 1_000)
    #expect(read == .bytes(Array("late".utf8)))
  }

  @Test func `an open page gets one event for many changes, and watches only while it is open`() async throws
  {
    var times = PageServerTimes()
    times.change = 300
    try await serving(times: times) { server, content in
      let browser = try await Browser(server)
      #expect(content.watchers == 0)
      let page = try await browser.open()
      #expect(content.watchers == 1)
      for number in 1...100 {
        content.set(number)
        try await Task.sleep(for: .milliseconds(5))
      }
      let (text, _) = await page.read(seconds: 1)
      let count = text.components(separatedBy: "event: changed\ndata: {}\n\n").count - 1
      #expect((1...20).contains(count), "\(count) events")
      let other = try await browser.open()
      #expect(content.watchers == 1, "two pages share a watch")
      withExtendedLifetime(other) {}
    }
  }

  @Test func `each page gets an event when it is opened, also while another browser has one open`()
    async throws
  {
    try await serving { server, content in
      let pages = [try await Browser(server).open(), try await Browser(server).open()]
      #expect(content.watchers == 1)
      withExtendedLifetime(pages) {}
    }
  }

  @Test func `an open page gets events after another one has been closed`() async throws {
    try await serving { server, content in
      let browser = try await Browser(server)
      let page = try await browser.open()
      do {
        let other = try await browser.open()
        withExtendedLifetime(other) {}
      }
      // By then, the server has noticed the end of the other page, and this one has had its first event.
      _ = await page.read(seconds: 1)
      content.set(7)
      let (text, _) = await page.read(seconds: 1)
      #expect(text.contains("event: changed"))
      #expect(content.watchers == 1)
    }
  }

  @Test func `nothing is watched once the last page is closed, until another one is opened`() async throws {
    try await serving { server, content in
      let browser = try await Browser(server)
      do {
        let page = try await browser.open()
        #expect(content.watchers == 1)
        withExtendedLifetime(page) {}
      }
      let isQuiet = await holds { content.watchers == 0 }
      #expect(isQuiet)
      // A page that is opened afterwards is told of changes again.
      let page = try await browser.open()
      _ = await page.read(seconds: 1)
      content.set(7)
      #expect(await page.read(seconds: 1).0.contains("event: changed"))
    }
  }

  @Test func `a page that does not read its events is closed`() async throws {
    var times = PageServerTimes()
    (times.change, times.event) = (0, 300)
    try await serving(Counter(isBusy: true), times: times) { server, _ in
      let browser = try await Browser(server)
      let page = try await browser.open()
      // The room for what is not read is bounded, so it fills up.
      try await Task.sleep(for: .seconds(1))
      var hasEnded = false
      for _ in 0..<40 where !hasEnded {
        try await Task.sleep(for: .milliseconds(500))
        hasEnded = !page.send("x")
      }
      #expect(hasEnded)
    }
  }

  @Test func `an open page gets heartbeats`() async throws {
    var times = PageServerTimes()
    times.heartbeat = 50
    try await serving(times: times) { server, _ in
      let page = try await Browser(server).open()
      let (text, hasEnded) = await page.read(until: ": \n\n: \n\n", seconds: 10)
      #expect(!hasEnded && text.contains(": \n\n: \n\n"))
    }
  }

  @Test func `an open page ends with its session`() async throws {
    try await serving { server, _ in
      let browser = try await Browser(server)
      let page = try await browser.open()
      #expect(try await browser.response(to: browser.post("/leave"))?.status == 204)
      #expect(await page.read(seconds: 10).hasEnded)
    }
  }

  @Test func `the reason of a failure stays inside`() async throws {
    try await serving { server, content in
      let browser = try await Browser(server)
      content.set(-1)
      let failed = try await browser.response(to: browser.get("/document"))
      #expect(failed?.status == 500 && failed?.body == "")
      let wrong = try await browser.response(to: browser.post("/action", "{\"action\":\"format\"}"))
      #expect(wrong?.status == 422 && content.performed == [])
    }
  }

  @Test func `a server on demand stops when no session was in use for long, and not while a page is open`()
    async throws
  {
    try await serving(times: PageServerTimes(idle: 400)) { server, _ in
      let browser = try await Browser(server)
      do {
        let page = try await browser.open()
        try await Task.sleep(for: .milliseconds(1_200))
        #expect(!server.isStopped)
        withExtendedLifetime(page) {}
      }
      let hasStopped = await holds { server.isStopped }
      #expect(hasStopped)
      #expect(server.makeCode() == nil)
      let isClosed = await holds(seconds: 2) { (try? RawClient(server)) == nil }
      #expect(isClosed, "the port is free again")
    }
  }

  @Test(arguments: ["0.0.0.0", "::", "127.0.0.2", "192.168.1.4", "localhost", "127.1", "::ffff:127.0.0.1"])
  func `no other address than loopback is served`(host: String) {
    #expect(!LoopbackListener.mayListen(on: Endpoint(host: host, port: 0)))
    #expect(throws: ListenError.self) {
      try PageServer(on: Endpoint(host: host, port: 0), content: Counter())
    }
  }

  @Test func `IPv6 is served too, and Host has brackets`() throws {
    let server = try PageServer(on: Endpoint(host: "::1", port: 0), content: Counter())
    #expect(server.host.hasPrefix("[::1]:"))
  }

  @Test(.enabled(if: FileManager.default.fileExists(atPath: "/usr/bin/curl"), "needs curl"))
  func `curl gets a session, the state and the events`() async throws {
    try await serving { server, content in
      content.set(5)
      let folder = FileManager.default.temporaryDirectory.appending(path: "page-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      func curl(_ words: String...) async throws -> String {
        let output = folder.appending(path: UUID().uuidString)
        let child = try Child(
          URL(filePath: "/usr/bin/curl"),
          ["-sS", "--max-time", "5", "-c", "\(folder.path)/jar", "-b", "\(folder.path)/jar"] + words,
          environment: [:], input: nil, output: output, errors: output)
        _ = try await child.wait(seconds: 20, for: "curl")
        return String(decoding: try Data(contentsOf: output), as: UTF8.self)
      }
      let address = "http://\(server.host)"
      let code = try #require(server.makeCode())
      let post = ["-H", "Origin: \(address)", "-H", "Content-Type: application/json"]
      let opened = try await curl(
        post[0], post[1], post[2], post[3], "-H", "X-Waymark: 1", "-d", "{\"code\":\"\(code)\"}",
        "\(address)/session")
      let key = try #require(opened.firstMatch(of: /[0-9a-f]{64}/)?.output)
      #expect(try await curl("-H", "X-Waymark: \(key)", "\(address)/document") == "{\"number\":5}")
      #expect(try await curl("\(address)/") == "<p>page")
      let events = try await curl("-N", "--max-time", "1", "\(address)/events")
      #expect(events.contains("retry: 2000") && events.contains("event: changed\ndata: {}"))
      #expect(
        try await curl("-o", "/dev/null", "-w", "%{http_code}", "-H", "Host: evil.example", address) == "421")
      #expect(try await curl("-o", "/dev/null", "-w", "%{http_code}", "-X", "OPTIONS", address) == "501")
      #expect(try await curl("-o", "/dev/null", "-w", "%{http_code}", "\(address)/action") == "405")
    }
  }
}
