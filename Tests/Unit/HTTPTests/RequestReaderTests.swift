import HTTP
import Testing
import Wire

/// Sources/page.md, “Requests”: what is accepted, and what is refused although other servers accept it.
struct RequestReaderTests {
  private static func read(_ text: String, pieces: Int? = nil) -> HTTPRequestReader.Outcome {
    read(Array(text.utf8), pieces: pieces)
  }

  private static func read(_ bytes: [UInt8], pieces: Int? = nil) -> HTTPRequestReader.Outcome {
    var reader = HTTPRequestReader()
    var outcome = HTTPRequestReader.Outcome.incomplete
    let size = pieces ?? max(bytes.count, 1)
    for start in stride(from: 0, to: bytes.count, by: size) {
      outcome = reader.receive(bytes[start..<min(start + size, bytes.count)])
    }
    return outcome
  }

  static let get = "GET /document HTTP/1.1\r\nHost: 127.0.0.1:80\r\n\r\n"
  static let post = "POST /action HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}"

  @Test func `a request is read with its fields in lower case and its body`() throws {
    let text =
      "POST /a/b-c_d.e HTTP/1.1\r\nHOST:  127.0.0.1:80 \r\nX-Waymark:\t1\r\nEmpty:\r\nContent-Length: 3\r\n\r\nabc"
    guard case .request(let request) = Self.read(text) else {
      Issue.record("\(Self.read(text))")
      return
    }
    #expect(request.method == .post)
    #expect(request.target == "/a/b-c_d.e")
    #expect(
      request.fields == ["host": "127.0.0.1:80", "x-waymark": "1", "empty": "", "content-length": "3"])
    #expect(request.body == Array("abc".utf8))
  }

  @Test(arguments: [
    get, post, get + "GET / HTTP/1.1\r\n", "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n",
  ])
  func `a request is the same in pieces of any size, and ends when it is complete`(text: String) {
    let whole = Self.read(text)
    guard case .request = whole else {
      Issue.record("\(whole)")
      return
    }
    for size in 1...20 { #expect(Self.read(text, pieces: size) == whole) }
  }

  @Test func `an incomplete request has no outcome`() {
    for text in [Self.get, Self.post] {
      for end in 0..<text.utf8.count {
        #expect(Self.read(Array(text.utf8.prefix(end))) == .incomplete)
      }
    }
  }

  @Test(
    arguments: [
      // Line ends.
      ("GET / HTTP/1.1\nHost: h\n\n", .badRequest),
      ("GET / HTTP/1.1\r\nHost: h\n\r\n", .badRequest),
      ("GET / HTTP/1.1\r\nHost: h\rX: y\r\n\r\n", .badRequest),
      ("GET / HTTP/1.1\r\r\nHost: h\r\n\r\n", .badRequest),
      ("\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", .badRequest),
      // The request line.
      ("GET  / HTTP/1.1\r\nHost: h\r\n\r\n", .badRequest),
      ("GET\t/ HTTP/1.1\r\nHost: h\r\n\r\n", .badRequest),
      ("GET / HTTP/1.1 \r\nHost: h\r\n\r\n", .badRequest),
      ("GET /\r\nHost: h\r\n\r\n", .badRequest),
      ("GET / HTTP/1.0\r\nHost: h\r\n\r\n", .versionNotSupported),
      ("GET / HTTP/2.0\r\nHost: h\r\n\r\n", .versionNotSupported),
      ("GET / http/1.1\r\nHost: h\r\n\r\n", .badRequest),
      ("get / HTTP/1.1\r\nHost: h\r\n\r\n", .notImplemented),
      ("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n", .notImplemented),
      ("OPTIONS / HTTP/1.1\r\nHost: h\r\n\r\n", .notImplemented),
      ("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n", .notImplemented),
      ("G{T / HTTP/1.1\r\nHost: h\r\n\r\n", .badRequest),
      ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", .versionNotSupported),
      // Targets that two programs could read differently.
      ("GET http://127.0.0.1/ HTTP/1.1\r\nHost: h\r\n\r\n", .badRequest),
      ("GET * HTTP/1.1\r\nHost: h\r\n\r\n", .badRequest),
      ("GET document HTTP/1.1\r\nHost: h\r\n\r\n", .badRequest),
      ("GET //document HTTP/1.1\r\nHost: h\r\n\r\n", .badRequest),
      ("GET /document/ HTTP/1.1\r\nHost: h\r\n\r\n", .badRequest),
      ("GET /a/../document HTTP/1.1\r\nHost: h\r\n\r\n", .badRequest),
      ("GET /./document HTTP/1.1\r\nHost: h\r\n\r\n", .badRequest),
      ("GET /%64ocument HTTP/1.1\r\nHost: h\r\n\r\n", .badRequest),
      ("GET /document?x=1 HTTP/1.1\r\nHost: h\r\n\r\n", .badRequest),
      ("GET /#x HTTP/1.1\r\nHost: h\r\n\r\n", .badRequest),
      ("GET /a\\b HTTP/1.1\r\nHost: h\r\n\r\n", .badRequest),
      ("GET /\u{e9} HTTP/1.1\r\nHost: h\r\n\r\n", .badRequest),
      // Fields.
      ("GET / HTTP/1.1\r\n\r\n", .badRequest),
      ("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", .badRequest),
      ("GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n", .badRequest),
      ("GET / HTTP/1.1\r\nHost: h\r\nX: a\r\nx: a\r\n\r\n", .badRequest),
      ("GET / HTTP/1.1\r\nHost : h\r\n\r\n", .badRequest),
      ("GET / HTTP/1.1\r\nHost: h\r\n X: folded\r\n\r\n", .badRequest),
      ("GET / HTTP/1.1\r\nHost: h\r\nX: a\r\n\tb\r\n\r\n", .badRequest),
      ("GET / HTTP/1.1\r\nHost: h\r\n: x\r\n\r\n", .badRequest),
      ("GET / HTTP/1.1\r\nHost: h\r\nX\r\n\r\n", .badRequest),
      ("GET / HTTP/1.1\r\nHost: h\r\nX: a\u{0}b\r\n\r\n", .badRequest),
      ("GET / HTTP/1.1\r\nHost: h\r\nX: a\u{7f}b\r\n\r\n", .badRequest),
      ("GET / HTTP/1.1\r\nHost: h\r\nX: \u{e9}\r\n\r\n", .badRequest),
      // Bodies.
      ("POST / HTTP/1.1\r\nHost: h\r\n\r\n", .lengthRequired),
      ("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", .notImplemented),
      (
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nTransfer-Encoding: identity\r\n\r\n{}",
        .notImplemented
      ),
      ("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}", .badRequest),
      ("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2, 2\r\n\r\n{}", .badRequest),
      ("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: +2\r\n\r\n{}", .badRequest),
      ("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: -2\r\n\r\n{}", .badRequest),
      ("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 02\r\n\r\n{}", .badRequest),
      ("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0x2\r\n\r\n{}", .badRequest),
      ("POST / HTTP/1.1\r\nHost: h\r\nContent-Length:\r\n\r\n{}", .badRequest),
      ("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 65537\r\n\r\n", .contentTooLarge),
      (
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999999999999999999\r\n\r\n", .contentTooLarge
      ),
      ("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n", .expectationFailed),
      ("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}", .badRequest),
    ] as [(String, HTTPStatus)])
  func `a request outside of the subset is refused, in pieces too`(text: String, status: HTTPStatus) {
    for size in [nil, 1, 3] { #expect(Self.read(text, pieces: size) == .refused(status)) }
    var reader = HTTPRequestReader()
    _ = reader.receive(text.utf8)
    #expect(reader.receive(Self.get.utf8) == .refused(status), "nothing changes a refusal")
  }

  @Test func `what exceeds a limit is refused as soon as it has arrived, and what reaches it is not`() {
    func head(_ fields: String) -> String { "GET / HTTP/1.1\r\nHost: h\r\n\(fields)\r\n" }
    let room = Limits.pageHeadBytesMax - head("X: \r\n").utf8.count
    guard case .request = Self.read(head("X: \(String(repeating: "a", count: room))\r\n")) else {
      Issue.record("a head of the largest size was refused")
      return
    }
    #expect(
      Self.read(head("X: \(String(repeating: "a", count: room + 1))\r\n")) == .refused(.headerTooLarge))
    #expect(Self.read(String(repeating: "a", count: 1_000_000)) == .refused(.headerTooLarge))
    func fields(_ count: Int) -> String { (0..<count).map { "X\($0): y\r\n" }.joined() }
    guard case .request = Self.read(head(fields(Limits.pageFieldsMax - 1))) else {
      Issue.record("the largest number of fields was refused")
      return
    }
    #expect(Self.read(head(fields(Limits.pageFieldsMax))) == .refused(.headerTooLarge))
    func target(_ count: Int) -> String {
      "GET /\(String(repeating: "a", count: count - 1)) HTTP/1.1\r\nHost: h\r\n\r\n"
    }
    guard case .request = Self.read(target(Limits.pageTargetBytesMax)) else {
      Issue.record("the longest target was refused")
      return
    }
    #expect(Self.read(target(Limits.pageTargetBytesMax + 1)) == .refused(.targetTooLong))
    let body = String(repeating: "a", count: Limits.pageBodyBytesMax)
    let large = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: \(body.utf8.count)\r\n\r\n" + body
    guard case .request(let request) = Self.read(large, pieces: 1_000) else {
      Issue.record("the largest body was refused")
      return
    }
    #expect(request.body.count == Limits.pageBodyBytesMax)
  }

  @Test func `the first byte that no request has is refused at once`() {
    for byte in [UInt8(0x16), 0x00, 0x0a, 0x0d, 0x7f, 0x80, 0xff] {
      #expect(Self.read([byte]) == .refused(.badRequest))
    }
  }
}
