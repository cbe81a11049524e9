import HTTP
import Testing
import Wire

/// Sources/page.md, “The gate”: what is answered before a session, and what a session may ask for.
struct PageGateTests {
  /// A gate at a fixed address, and the secrets of one session.
  private struct Setup {
    var gate = PageGate(host: "127.0.0.1:7434", port: 7434)
    var cookie = ""
    var key = ""
    private var counter: UInt8 = 0

    init(hasSession: Bool = true) {
      if hasSession { open(now: 0) }
    }

    mutating func random(_ count: Int) -> [UInt8] {
      counter += 1
      return [UInt8](repeating: counter, count: count)
    }

    mutating func code(now: Int64) -> String {
      gate.makeCode(random: random(PageGate.codeBytes), now: now)
    }

    @discardableResult
    mutating func exchange(_ code: String, now: Int64) -> PageGate.Opening? {
      gate.openSession(code: code, random: random(2 * PageGate.secretBytes), now: now)
    }

    @discardableResult
    mutating func open(now: Int64) -> PageGate.Opening? {
      let opening = exchange(code(now: now), now: now)
      cookie = opening.map { String($0.cookie.prefix { $0 != ";" }) } ?? ""
      key = opening?.key ?? ""
      return opening
    }

    /// A request as the page's own script makes it.
    func request(_ method: String, _ target: String, _ changes: [String: String?] = [:]) -> HTTPRequest {
      var fields = ["host": "127.0.0.1:7434", "cookie": cookie, "x-waymark": key]
      if method == "POST" {
        fields["origin"] = "http://127.0.0.1:7434"
        fields["content-type"] = "application/json"
      }
      for (name, value) in changes { fields[name] = value }
      return Self.parsed(method, target, fields)
    }

    static func parsed(_ method: String, _ target: String, _ fields: [String: String]) -> HTTPRequest {
      var text = "\(method) \(target) HTTP/1.1\r\n"
      for (name, value) in fields { text += "\(name): \(value)\r\n" }
      if method == "POST" { text += "content-length: 0\r\n" }
      var reader = HTTPRequestReader()
      guard case .request(let request) = reader.receive((text + "\r\n").utf8) else {
        preconditionFailure("a request of the test is not valid: \(text)")
      }
      return request
    }

    /// The route that is allowed, or the status that refuses.
    mutating func decide(_ request: HTTPRequest, now: Int64 = 0) -> Outcome {
      switch gate.decide(request, now: now) {
      case .allowed(let route, let session): .allowed(route, session != nil)
      case .refused(let response): .refused(response.status)
      }
    }
  }

  enum Outcome: Equatable {
    case allowed(PageRoute, _ hasSession: Bool)
    case refused(HTTPStatus)
  }

  private static let routes: [(String, String, PageRoute)] = [
    ("GET", "/", .page), ("GET", "/document", .document), ("GET", "/events", .events),
    ("POST", "/action", .action), ("POST", "/leave", .leave),
  ]

  @Test func `a session reaches every route, by its method only`() {
    var setup = Setup()
    for (method, target, route) in Self.routes {
      #expect(setup.decide(setup.request(method, target)) == .allowed(route, true))
    }
    for target in ["/document", "/events"] {
      #expect(setup.decide(setup.request("POST", target)) == .refused(.methodNotAllowed))
    }
    for target in ["/action", "/leave", "/session"] {
      #expect(setup.decide(setup.request("GET", target)) == .refused(.methodNotAllowed))
    }
    #expect(setup.decide(setup.request("GET", "/favicon.ico")) == .refused(.notFound))
  }

  @Test func `without a session there is the login page and the exchange of a code, and nothing else`() {
    var setup = Setup(hasSession: false)
    for (method, target, _) in Self.routes where target != "/" {
      #expect(setup.decide(setup.request(method, target)) == .refused(.forbidden))
    }
    for target in ["/favicon.ico", "/unknown", "/session"] {
      #expect(
        setup.decide(setup.request("GET", target)) == .refused(.forbidden), "unknown or not, no difference")
    }
    #expect(setup.decide(setup.request("GET", "/")) == .allowed(.login, false))
    #expect(
      setup.decide(setup.request("POST", "/session", ["x-waymark": "1"])) == .allowed(.openSession, false))
    let login = String(decoding: LoginPage.file.html, as: UTF8.self)
    for name in ["alice", "0.1", "version"] { #expect(!login.contains(name)) }
  }

  @Test(arguments: [
    "evil.example", "evil.example:7434", "127.0.0.1", "127.0.0.1:7435", "localhost:7434", "[::1]:7434",
    "127.0.0.1:7434.evil.example", "127.0.0.1.:7434", "127.1:7434", "0.0.0.0:7434", "127.0.0.1:07434", "",
  ])
  func `another name in Host is refused before anything else, session or not`(host: String) {
    var setup = Setup()
    for (method, target, _) in Self.routes {
      #expect(setup.decide(setup.request(method, target, ["host": host])) == .refused(.misdirectedRequest))
    }
    #expect(
      setup.decide(setup.request("GET", "/", ["host": host, "cookie": nil])) == .refused(.misdirectedRequest))
    let exchange = setup.request("POST", "/session", ["host": host, "x-waymark": "1"])
    #expect(setup.decide(exchange) == .refused(.misdirectedRequest))
  }

  /// Requests that a page of another site, or on another port of this address, can make a browser send.
  @Test(
    arguments: [
      (["origin": "http://evil.example"], .forbidden), (["origin": "http://127.0.0.1:7435"], .forbidden),
      (["origin": "https://127.0.0.1:7434"], .forbidden), (["origin": "null"], .forbidden),
      (["origin": nil], .forbidden), (["x-waymark": nil], .forbidden), (["x-waymark": "1"], .forbidden),
      (["x-waymark": ""], .forbidden), (["sec-fetch-site": "cross-site"], .forbidden),
      (["sec-fetch-site": "same-site"], .forbidden), (["content-type": "text/plain"], .unsupportedMediaType),
      (["content-type": "application/x-www-form-urlencoded"], .unsupportedMediaType),
      (["content-type": nil], .unsupportedMediaType),
    ] as [([String: String?], HTTPStatus)])
  func `a POST that this page's script did not send changes nothing`(
    changes: [String: String?], status: HTTPStatus
  ) {
    var setup = Setup()
    for target in ["/action", "/leave"] {
      #expect(setup.decide(setup.request("POST", target, changes)) == .refused(status))
    }
    // Nor does it open a session; there, the header is `1`.
    guard changes["x-waymark"] != "1" else { return }
    let exchange = ["x-waymark": "1", "cookie": nil].merging(changes) { $1 }
    #expect(setup.decide(setup.request("POST", "/session", exchange)) == .refused(status))
  }

  @Test func `the cookie without the key reads nothing, and the key without the cookie neither`() {
    var setup = Setup()
    var other = Setup()
    other.open(now: 0)
    for key in [nil, "1", "", other.key.uppercased() + "0"] {
      #expect(setup.decide(setup.request("GET", "/document", ["x-waymark": key])) == .refused(.forbidden))
    }
    #expect(setup.decide(setup.request("GET", "/document", ["cookie": nil])) == .refused(.forbidden))
    // A browser can't set a header for a stream of events, which holds no data; but it says who asks.
    #expect(setup.decide(setup.request("GET", "/events", ["x-waymark": nil])) == .allowed(.events, true))
    for site in ["same-site", "cross-site", "none"] {
      for target in ["/events", "/document"] {
        let request = setup.request("GET", target, ["sec-fetch-site": site])
        #expect(setup.decide(request) == .refused(.forbidden))
      }
    }
  }

  @Test func `the key of one session does not go with the cookie of another`() {
    var setup = Setup()
    let (cookie, key) = (setup.cookie, setup.key)
    setup.open(now: 0)
    #expect(setup.decide(setup.request("GET", "/document")) == .allowed(.document, true))
    #expect(setup.decide(setup.request("GET", "/document", ["x-waymark": key])) == .refused(.forbidden))
    #expect(setup.decide(setup.request("GET", "/document", ["cookie": cookie])) == .refused(.forbidden))
  }

  @Test func `a code opens one session and is used up`() {
    var setup = Setup(hasSession: false)
    let code = setup.code(now: 0)
    #expect(code.utf8.count == 32)
    #expect(setup.exchange(code, now: 1) != nil)
    #expect(setup.exchange(code, now: 2) == nil)
    #expect(setup.exchange("", now: 2) == nil)
  }

  @Test func `a code expires at its exact millisecond`() {
    var setup = Setup(hasSession: false)
    let (early, late) = (setup.code(now: 5), setup.code(now: 5))
    #expect(setup.exchange(early, now: 4 + Limits.pageCodeMilliseconds) != nil)
    #expect(setup.exchange(late, now: 5 + Limits.pageCodeMilliseconds) == nil)
  }

  @Test func `the oldest code ends when there are too many`() {
    var setup = Setup(hasSession: false)
    let codes = (0...Limits.pageCodesMax).map { _ in setup.code(now: 0) }
    #expect(setup.exchange(codes[0], now: 0) == nil)
    for code in codes.dropFirst() { #expect(setup.exchange(code, now: 0) != nil) }
  }

  @Test func `a session expires, and the oldest ends when there are too many`() {
    var setup = Setup()
    let request = setup.request("GET", "/document")
    let last = Limits.pageSessionMilliseconds - 1
    #expect(setup.decide(request, now: last) == .allowed(.document, true))
    #expect(setup.decide(request, now: last + 1) == .refused(.forbidden))
    setup.open(now: 0)
    let oldest = setup.request("GET", "/document")
    for _ in 1..<Limits.pageSessionsMax { setup.open(now: 0) }
    #expect(setup.decide(oldest) == .allowed(.document, true))
    setup.open(now: 0)
    #expect(setup.decide(oldest) == .refused(.forbidden))
    #expect(setup.decide(setup.request("GET", "/document")) == .allowed(.document, true))
  }

  @Test func `a session that has left is not known any more`() {
    var setup = Setup()
    guard case .allowed(_, let session?) = setup.gate.decide(setup.request("GET", "/"), now: 0) else {
      Issue.record("no session")
      return
    }
    #expect(setup.gate.isOpen(session, now: 0))
    setup.gate.endSession(session)
    #expect(!setup.gate.isOpen(session, now: 0))
    #expect(setup.decide(setup.request("GET", "/document")) == .refused(.forbidden))
  }

  @Test func `the cookie is for browsers only, for this site only, and named after the port`() {
    var setup = Setup(hasSession: false)
    let code = setup.code(now: 0)
    let opening = setup.exchange(code, now: 0)
    let parts = (opening?.cookie ?? "").split(separator: "; ")
    #expect(parts.dropFirst() == ["HttpOnly", "SameSite=Strict", "Path=/"])
    #expect(parts.first?.hasPrefix("waymark-7434=") == true)
    #expect(parts.first?.utf8.count == "waymark-7434=".utf8.count + 64)
  }

  @Test
  func `the cookies of other servers of this machine do not matter, and two of the same name are refused`() {
    var setup = Setup()
    let own = setup.cookie
    func decide(_ cookie: String) -> Outcome {
      setup.decide(setup.request("GET", "/document", ["cookie": cookie]))
    }
    #expect(
      decide("_xsrf=2|a=b; \(own); waymark-7435=\(String(repeating: "0", count: 64))")
        == .allowed(.document, true))
    #expect(decide(own.replacing("7434", with: "7435")) == .refused(.forbidden), "the cookie of another node")
    #expect(decide("\(own); \(own)") == .refused(.forbidden))
    #expect(decide("waymark-7434=x; \(own)") == .refused(.forbidden))
    #expect(decide("\(own)0") == .refused(.forbidden))
    #expect(decide(";;=;\(own);") == .allowed(.document, true))
  }

  // MARK: Responses

  @Test(arguments: [
    HTTPResponse(.ok), HTTPResponse(.forbidden), HTTPResponse(.noContent), .json([0x7b, 0x7d]), .events,
    LoginPage.file.response, HTTPResponse(.methodNotAllowed, [.init("Allow", "GET")]),
  ])
  func `every response closes the connection and says what browsers must not do`(response: HTTPResponse) {
    let text = String(decoding: response.bytes, as: UTF8.self)
    let head = text.components("\r\n\r\n")[0].components("\r\n")
    for field in [
      "Cache-Control: no-store", "Referrer-Policy: no-referrer", "X-Content-Type-Options: nosniff",
      "Cross-Origin-Resource-Policy: same-origin", "Cross-Origin-Opener-Policy: same-origin",
      "Connection: close",
    ] {
      #expect(head.count { $0 == field } == 1, "\(field) in \(head)")
    }
    let policies = head.filter { $0.hasPrefix("Content-Security-Policy: ") }
    #expect(policies.count == 1)
    #expect(policies[0].contains("default-src 'none'") && policies[0].contains("frame-ancestors 'none'"))
    #expect(!policies[0].contains("unsafe"))
    #expect(
      !head.contains { $0.lowercased().hasPrefix("access-control-") || $0.lowercased().hasPrefix("server") })
  }

  @Test func `nothing inline runs but by its hash`() {
    let file = PageFile(
      html: [], policy: ContentPolicy(scripts: [Array("alert(1)".utf8)], styles: []))
    // echo -n 'alert(1)' | openssl dgst -sha256 -binary | base64
    #expect(
      file.policy == """
        default-src 'none'; script-src 'sha256-bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI='; style-src 'none'; \
        connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'
        """)
  }

  @Test func `an event has a name and data, which browsers need`() {
    #expect(ServerSentEvent.event("changed") == Array("event: changed\ndata: {}\n\n".utf8))
  }
}

extension String {
  fileprivate func components(_ separator: String) -> [String] {
    split(separator: separator).map(String.init)
  }
}
