// The gate of the live page (Sources/page.md): every request passes here, and nothing is answered that it does not
// allow.
//
//   Host is this address ──no──▶ 421
//     │
//   session? ──no──▶ GET /          the login page, which holds no data
//     │              POST /session  exchanges a code for a session
//     │              anything else  403
//     ▼
//   route and method known ──no──▶ 404, 405
//     │
//   asked by this page: Sec-Fetch-Site, and for POST also Origin, Content-Type and X-Waymark ──no──▶ 403, 415
//     ▼
//   allowed
//
// A session has two secrets, because one is not enough on a machine with several users. The cookie travels by itself,
// but a browser sends it to every port of the same address, so also to a server of another user. The key is kept by the
// page's script, in storage that belongs to this port alone, and goes into `X-Waymark` of each request that reads or
// changes data. Either one without the other gives nothing.

import Sodium
import Wire

/// The routes of the live page.
package enum PageRoute: Hashable, Sendable {
  /// The page that exchanges the code in its address.
  case login
  /// The exchange of a code; the body is not checked yet.
  case openSession
  case page
  case document
  case events
  case action
  case leave

  /// Whether a request must show the key of its session, and not only the cookie.
  package var needsKey: Bool { [.document, .action, .leave].contains(self) }
}

/// The sessions and one-time codes of a live page, and the decision about each request.
///
/// Times are milliseconds of a clock that never runs backwards.
package struct PageGate: Sendable {
  /// The decision about a request.
  package enum Decision: Hashable, Sendable {
    case allowed(PageRoute, Session.ID?)
    case refused(HTTPResponse)
  }

  /// Only hashes of its secrets are kept.
  package struct Session: Hashable, Sendable {
    package typealias ID = UInt64
    package let id: ID
    fileprivate let cookie: SecretHash
    fileprivate let key: SecretHash
    fileprivate let expires: Int64
  }

  private struct Code: Sendable {
    let secret: SecretHash
    let expires: Int64
  }

  /// The one value of `Host` that is answered.
  package let host: String
  private let cookieName: String
  private var codes: [Code] = []
  private var sessions: [Session] = []
  private var nextID: Session.ID = 0

  /// - Parameters:
  ///   - host: the address and port as a browser writes them: `127.0.0.1:1234`, `[::1]:1234`.
  ///   - port: names the cookie, because cookies ignore ports: otherwise two nodes would log each other out.
  package init(host: String, port: UInt16) {
    self.host = host
    cookieName = "waymark-\(port)"
  }

  // MARK: Codes and sessions

  /// The bytes of randomness that a code and each secret of a session need.
  package static let codeBytes = 16
  package static let secretBytes = 32

  /// Makes a code that opens one session.
  ///
  /// - Parameter random: `codeBytes` random bytes.
  package mutating func makeCode(random: [UInt8], now: Int64) -> String {
    precondition(random.count == Self.codeBytes, "a code has \(Self.codeBytes) random bytes")
    let code = hexadecimal(random)
    codes.removeAll { $0.expires <= now }
    if codes.count >= Limits.pageCodesMax { codes.removeFirst() }
    codes.append(Code(secret: SecretHash(code), expires: now + Limits.pageCodeMilliseconds))
    return code
  }

  /// The secrets of a session that has just been opened.
  package struct Opening: Hashable, Sendable {
    /// The value of `Set-Cookie`.
    package let cookie: String
    /// The value of `X-Waymark` in later requests.
    package let key: String
  }

  /// Exchanges a code for a session; nil if the code is wrong, used or expired. The oldest session ends if there are
  /// too many.
  ///
  /// - Parameter random: twice `secretBytes` random bytes.
  package mutating func openSession(code: String, random: [UInt8], now: Int64) -> Opening? {
    precondition(random.count == 2 * Self.secretBytes, "a session has \(2 * Self.secretBytes) random bytes")
    codes.removeAll { $0.expires <= now }
    let secret = SecretHash(code)
    guard let index = codes.firstMatch(of: secret, by: \.secret) else { return nil }
    codes.remove(at: index)
    forgetExpired(now)
    if sessions.count >= Limits.pageSessionsMax { sessions.removeFirst() }
    let (cookie, key) = (
      hexadecimal(random.prefix(Self.secretBytes)), hexadecimal(random.dropFirst(Self.secretBytes))
    )
    nextID += 1
    sessions.append(
      Session(
        id: nextID, cookie: SecretHash(cookie), key: SecretHash(key),
        expires: now + Limits.pageSessionMilliseconds))
    return Opening(cookie: "\(cookieName)=\(cookie); HttpOnly; SameSite=Strict; Path=/", key: key)
  }

  package mutating func endSession(_ id: Session.ID) { sessions.removeAll { $0.id == id } }

  /// Whether a session has neither ended nor expired.
  package func isOpen(_ id: Session.ID, now: Int64) -> Bool {
    sessions.contains { $0.id == id && $0.expires > now }
  }

  private mutating func forgetExpired(_ now: Int64) { sessions.removeAll { $0.expires <= now } }

  // MARK: Requests

  package mutating func decide(_ request: HTTPRequest, now: Int64) -> Decision {
    // A page of another site whose name resolves to this machine is the only one that sends another name here.
    guard request["host"] == host else { return .refused(HTTPResponse(.misdirectedRequest)) }
    forgetExpired(now)
    guard let session = session(of: request) else { return decideWithoutSession(request) }
    return decide(request, session)
  }

  private func decideWithoutSession(_ request: HTTPRequest) -> Decision {
    switch (request.method, request.target) {
    case (.get, "/"): return .allowed(.login, nil)
    case (.post, Self.sessionTarget):
      if let refusal = refusal(ofPost: request, key: nil) { return .refused(refusal) }
      return .allowed(.openSession, nil)
    default: return .refused(HTTPResponse(.forbidden))
    }
  }

  private func decide(_ request: HTTPRequest, _ session: Session) -> Decision {
    let known = Self.routes.filter { $0.target == request.target }
    guard !known.isEmpty else { return .refused(HTTPResponse(.notFound)) }
    guard let route = known.first(where: { $0.method == request.method })?.route else {
      let methods = known.map(\.method.rawValue).joined(separator: ", ")
      return .refused(HTTPResponse(.methodNotAllowed, [.init("Allow", methods)]))
    }
    // A person with a session may open another one with a new code.
    let key = route == .openSession ? nil : session.key
    switch request.method {
    case .post:
      if let refusal = refusal(ofPost: request, key: key) { return .refused(refusal) }
    case .get where route != .page:
      guard isFromThisPage(request), route == .events || hasKey(request, key) else {
        return .refused(HTTPResponse(.forbidden))
      }
    case .get: break
    }
    return .allowed(route, session.id)
  }

  private static let sessionTarget = "/session"
  private static let routes: [(method: HTTPMethod, target: String, route: PageRoute)] = [
    (.get, "/", .page), (.post, sessionTarget, .openSession), (.get, "/document", .document),
    (.get, "/events", .events), (.post, "/action", .action), (.post, "/leave", .leave),
  ]

  /// The reason why a POST changes nothing; nil if this page's script sent it.
  ///
  /// A form of another site can't send this type. A script of another site can't set this header without asking first,
  /// and that question, an OPTIONS request, is never answered.
  ///
  /// - Parameter key: of the session; nil before there is one, when the header is `1`.
  private func refusal(ofPost request: HTTPRequest, key: SecretHash?) -> HTTPResponse? {
    guard request["origin"] == "http://\(host)", isFromThisPage(request), hasKey(request, key) else {
      return HTTPResponse(.forbidden)
    }
    guard request["content-type"] == "application/json" else { return HTTPResponse(.unsupportedMediaType) }
    return nil
  }

  private func hasKey(_ request: HTTPRequest, _ key: SecretHash?) -> Bool {
    guard let sent = request["x-waymark"] else { return false }
    guard let key else { return sent == "1" }
    return SecretHash(sent).equals(key)
  }

  /// Whether the browser, if it says so at all, says that a page of this very origin made the request. A page on
  /// another port of this address belongs to another origin, but gets the cookie.
  private func isFromThisPage(_ request: HTTPRequest) -> Bool {
    ["same-origin", nil].contains(request["sec-fetch-site"])
  }

  private func session(of request: HTTPRequest) -> Session? {
    let pairs = (request["cookie"] ?? "").split(separator: ";").map { pair in
      pair.drop { $0 == " " }.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    }
    let own = pairs.filter { $0.count == 2 && $0[0] == cookieName }
    // Two cookies of the same name come from different paths or hosts, so at least one is not ours.
    guard own.count == 1 else { return nil }
    let secret = SecretHash(String(own[0][1]))
    return sessions.firstMatch(of: secret, by: \.cookie).map { sessions[$0] }
  }
}

/// The hash of a random secret, compared in constant time.
private struct SecretHash: Hashable, Sendable {
  private let bytes: [UInt8]

  init(_ secret: String) { bytes = SHA256.hash(Array(secret.utf8)) }

  func equals(_ other: SecretHash) -> Bool {
    zip(bytes, other.bytes).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
  }
}

extension Array {
  /// The index of the element with a secret. Compares with every element, so that the time says nothing about which one
  /// it was.
  fileprivate func firstMatch(of secret: SecretHash, by hash: (Element) -> SecretHash) -> Int? {
    var found: Int?
    for (index, element) in enumerated() where hash(element).equals(secret) { found = index }
    return found
  }
}
