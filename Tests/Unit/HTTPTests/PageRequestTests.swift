import HTTP
import Testing
import Wire

/// What a browser sends when a person opens the page, and the bytes of the answers.
struct PageRequestTests {
  private static let host = "127.0.0.1:7434"

  private static func request(
    _ method: String, _ target: String, _ fields: [String: String]
  ) throws -> HTTPRequest {
    var text = "\(method) \(target) HTTP/1.1\r\nhost: \(host)\r\n"
    for (name, value) in fields { text += "\(name): \(value)\r\n" }
    if method == "POST" { text += "content-length: 0\r\n" }
    var reader = HTTPRequestReader()
    let outcome = reader.receive((text + "\r\n").utf8)
    guard case .request(let request) = outcome else {
      Issue.record("a request of the test is not valid: \(outcome)")
      throw CancellationError()
    }
    return request
  }

  private static func random(_ byte: UInt8, _ count: Int) -> [UInt8] {
    [UInt8](repeating: byte, count: count)
  }

  /// Opens a session, and returns its cookie and its key.
  private static func open(
    _ gate: inout PageGate, _ byte: UInt8 = 1, now: Int64 = 0
  ) throws -> (cookie: String, key: String) {
    let code = gate.makeCode(random: random(byte, PageGate.codeBytes), now: now)
    let opening = gate.openSession(code: code, random: random(byte, 2 * PageGate.secretBytes), now: now)
    let opened = try #require(opening)
    return (String(opened.cookie.prefix { $0 != ";" }), opened.key)
  }

  private static let script = [
    "origin": "http://\(host)", "content-type": "application/json", "sec-fetch-site": "same-origin",
  ]

  @Test func `a browser that says that the page itself asks is answered`() throws {
    var gate = PageGate(host: Self.host, port: 7434)
    let exchange = try Self.request("POST", "/session", Self.script.merging(["x-waymark": "1"]) { $1 })
    let before = gate.decide(exchange, now: 0)
    #expect(before == .allowed(.openSession, nil))
    let (cookie, key) = try Self.open(&gate)
    let session = ["cookie": cookie, "x-waymark": key, "sec-fetch-site": "same-origin"]
    for (target, route) in [("/document", PageRoute.document), ("/events", .events), ("/", .page)] {
      let decision = gate.decide(try Self.request("GET", target, session), now: 0)
      #expect(decision == .allowed(route, 1))
    }
    for (target, route) in [("/action", PageRoute.action), ("/leave", .leave)] {
      let post = try Self.request("POST", target, Self.script.merging(session) { $1 })
      let decision = gate.decide(post, now: 0)
      #expect(decision == .allowed(route, 1))
    }
    // A link in another program opens the page itself, which holds no data.
    let linked = gate.decide(
      try Self.request("GET", "/", ["cookie": cookie, "sec-fetch-site": "none"]), now: 0)
    #expect(linked == .allowed(.page, 1))
  }

  @Test
  func `a browser that has a session may open another one, with a code and not with the key of the first`()
    throws
  {
    var gate = PageGate(host: Self.host, port: 7434)
    let (cookie, key) = try Self.open(&gate)
    let fields = Self.script.merging(["cookie": cookie]) { $1 }
    let again = gate.decide(
      try Self.request("POST", "/session", fields.merging(["x-waymark": "1"]) { $1 }), now: 0)
    #expect(again == .allowed(.openSession, 1))
    let byKey = gate.decide(
      try Self.request("POST", "/session", fields.merging(["x-waymark": key]) { $1 }), now: 0)
    guard case .refused(let refusal) = byKey else {
      Issue.record("the key of a session is no sign of the login page")
      return
    }
    #expect(refusal.status == .forbidden)
    // The second session does not end the first, and leaving ends only the one that leaves.
    let (other, otherKey) = try Self.open(&gate, 2)
    gate.endSession(1)
    let left = gate.decide(
      try Self.request("GET", "/document", ["cookie": cookie, "x-waymark": key]), now: 0)
    let stays = gate.decide(
      try Self.request("GET", "/document", ["cookie": other, "x-waymark": otherKey]), now: 0)
    #expect(left != .allowed(.document, 1) && stays == .allowed(.document, 2))
    #expect(!gate.isOpen(1, now: 0) && gate.isOpen(2, now: Limits.pageSessionMilliseconds - 1))
    #expect(!gate.isOpen(2, now: Limits.pageSessionMilliseconds))
  }

  @Test func `codes that have expired don't push out those that have not`() throws {
    var gate = PageGate(host: Self.host, port: 7434)
    let early = gate.makeCode(random: Self.random(100, PageGate.codeBytes), now: 1_000)
    // These are older by their end than the first one.
    let codes = (1..<UInt8(Limits.pageCodesMax)).map { byte in
      gate.makeCode(random: Self.random(byte, PageGate.codeBytes), now: 0)
    }
    #expect(codes.count + 1 == Limits.pageCodesMax)
    let now = Limits.pageCodeMilliseconds
    _ = gate.makeCode(random: Self.random(101, PageGate.codeBytes), now: now)
    let opening = gate.openSession(
      code: early, random: Self.random(1, 2 * PageGate.secretBytes), now: now)
    #expect(opening != nil)
  }

  @Test func `the answer to a method that a path does not have names those that it has`() throws {
    var gate = PageGate(host: Self.host, port: 7434)
    let (cookie, key) = try Self.open(&gate)
    let session = ["cookie": cookie, "x-waymark": key]
    for (method, target, allowed) in [("GET", "/action", "POST"), ("POST", "/document", "GET")] {
      guard case .refused(let response) = gate.decide(try Self.request(method, target, session), now: 0)
      else {
        Issue.record("\(method) \(target) was allowed")
        continue
      }
      #expect(response.status == .methodNotAllowed && response.fields == [.init("Allow", allowed)])
    }
  }

  // MARK: Bytes

  private static func lines(_ response: HTTPResponse) -> [String] {
    String(decoding: response.bytes, as: UTF8.self).split(separator: "\r\n", omittingEmptySubsequences: false)
      .map(String.init)
  }

  @Test func `a response states the length of its body, unless it has none or it follows in pieces`() {
    let body = Array("{\"name\":\"é\"}".utf8)
    let json = Self.lines(.json(body, .unprocessableContent))
    #expect(json.first == "HTTP/1.1 422 Unprocessable Content")
    #expect(json.contains("Content-Length: 13") && json.contains("Content-Type: application/json"))
    #expect(json.suffix(3) == ["Connection: close", "", "{\"name\":\"é\"}"])
    #expect(Self.lines(HTTPResponse(.forbidden)).contains("Content-Length: 0"))
    for response in [HTTPResponse(.noContent), .events] {
      let lines = Self.lines(response)
      #expect(!lines.contains { $0.hasPrefix("Content-Length") })
      #expect(lines.suffix(3) == ["Connection: close", "", ""])
    }
    #expect(Self.lines(.events).contains("Content-Type: text/event-stream"))
  }

  @Test func `a page in a file may ask for nothing, a page of the server for its own server only`() {
    let (script, style) = (Array("alert(1)".utf8), Array("p {}".utf8))
    let policy = ContentPolicy(scripts: [script, style], styles: [style], hasDataImages: true)
    let directives = policy.ofFile.split(separator: "; ").map(String.init)
    #expect(directives.first == "default-src 'none'")
    #expect(directives.contains("img-src data:") && directives.contains("form-action 'none'"))
    #expect(!policy.ofFile.contains("connect-src") && !policy.ofFile.contains("frame-ancestors"))
    let hashes = directives.first { $0.hasPrefix("script-src ") }?.split(separator: " ") ?? []
    #expect(hashes.count == 3 && Set(hashes).count == 3, "each script has a hash of its own")
    #expect(hashes.contains("'sha256-bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI='"))
    #expect(
      policy.ofServer.contains("connect-src 'self'") && policy.ofServer.contains("frame-ancestors 'none'"))
    #expect(!ContentPolicy(scripts: [], styles: []).ofServer.contains("img-src"))
  }

  @Test func `what goes over a stream of events is what a browser reads as one`() {
    #expect(ServerSentEvent.retry(milliseconds: 2_000) == Array("retry: 2000\n\n".utf8))
    // A line that begins with a colon is a comment: it wakes no script.
    #expect(ServerSentEvent.heartbeat.first == UInt8(ascii: ":"))
    #expect(ServerSentEvent.heartbeat.suffix(2) == [0x0a, 0x0a])
  }
}
