import HTTP
import Wire

/// Requests to the live page, as anyone on this machine may send them: the result does not depend on how the bytes were
/// divided, what is accepted is in the subset, and the gate allows nothing without a session.
func fuzzHTTP(_ input: [UInt8]) throws {
  var choices = Choices(input)
  let hasPreface = choices.flag()
  let sizes = (0..<4).map { _ in 1 + choices.below(64) }
  // Half of the inputs begin well, because few random bytes are a request.
  let bytes = (hasPreface ? Array("GET / HTTP/1.1\r\nHost: 127.0.0.1:7434\r\n".utf8) : []) + choices.rest()
  var whole = HTTPRequestReader()
  let outcome = whole.receive(bytes)
  var divided = HTTPRequestReader()
  var (last, start, step) = (HTTPRequestReader.Outcome.incomplete, 0, 0)
  while start < bytes.count {
    let end = min(start + sizes[step % sizes.count], bytes.count)
    last = divided.receive(bytes[start..<end])
    (start, step) = (end, step + 1)
  }
  try require(last == outcome, "a request in pieces is read differently")
  guard case .request(let request) = outcome else { return }
  try require(request.body.count <= Limits.pageBodyBytesMax, "a body is too long")
  let segments = request.target.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
  let isPlain = segments.allSatisfy { !["", ".", ".."].contains($0) } || request.target == "/"
  try require(request.target.hasPrefix("/") && isPlain, "a target is not a plain path")
  try require(request.fields.count <= Limits.pageFieldsMax, "a header has too many fields")
  let isASCII = request.fields.allSatisfy { name, value in
    (name + value).utf8.allSatisfy { $0 == 0x09 || (0x20...0x7e).contains($0) }
  }
  try require(isASCII, "a field is not ASCII")
  var gate = PageGate(host: "127.0.0.1:7434", port: 7434)
  _ = gate.makeCode(random: [UInt8](repeating: 1, count: PageGate.codeBytes), now: 0)
  switch gate.decide(request, now: 0) {
  case .refused: break
  case .allowed(let route, let session):
    try require(
      session == nil && [.login, .openSession].contains(route), "a route is open without a session")
    try require(request["host"] == "127.0.0.1:7434", "another name is answered")
  }
}

extension Seeds {
  @Sendable static func requests() -> [[UInt8]] {
    let address = "127.0.0.1:7434"
    let body = "{\"code\":\"\(String(repeating: "0", count: 32))\"}"
    let texts = [
      "GET /events HTTP/1.1\r\nHost: \(address)\r\nCookie: a=b; waymark-7434=00\r\nSec-Fetch-Site: none\r\n\r\n",
      "POST /session HTTP/1.1\r\nHost: \(address)\r\nOrigin: http://\(address)\r\nX-Waymark: 1\r\n"
        + "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)",
      "POST /action HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "GET /a%2e HTTP/1.1\nHost : h\r\n folded\r\nContent-Length: +1\r\nContent-Length: 2\r\n\r\n",
    ]
    // The first bytes are choices: no preface, then sizes.
    let whole = texts.map { [0, 3, 9, 1, 40] + Array($0.utf8) }
    let fields = ["Cookie: waymark-7434=\r\n\r\n", "Content-Length: 0\r\n\r\n", "X:\ty\r\nx: z\r\n\r\n"]
    return whole + fields.map { [1, 3, 9, 1, 40] + Array($0.utf8) }
  }
}
