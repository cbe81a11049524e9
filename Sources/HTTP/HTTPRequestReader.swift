// Reading a request, in pieces of any size:
//
//     head  ── CR LF CR LF ──▶  body  ── Content-Length bytes ──▶  done
//       │                        │
//       └────── refused ◀────────┘     a status code; nothing that arrives later changes it
//
// The bytes of the head are checked as they arrive, so a client that sends another protocol is refused at its first
// wrong byte. The rest of the head is parsed once it is complete. The result does not depend on how the bytes were
// divided.
//
// What is refused, although some servers accept it, because proxies and servers that disagreed on it let requests be
// smuggled or addresses be forged:
// - Transfer-Encoding in any form; the length of a body is Content-Length and nothing else
// - a field that occurs twice, whether or not the values agree
// - a line feed without a carriage return or the reverse, a folded line, a space before the colon
// - bytes outside of printable ASCII, except a tab in the value of a field
// - targets in absolute form, with a query, an encoded byte, a dot segment or an empty segment
// - other versions than HTTP/1.1, and a request without Host

import Wire

/// Reads one request; what follows it on the connection is ignored, because the server closes the connection.
package struct HTTPRequestReader: Sendable {
  package enum Outcome: Hashable, Sendable {
    case incomplete
    case request(HTTPRequest)
    case refused(HTTPStatus)
  }

  private enum State {
    case head([UInt8])
    case body(HTTPRequest, byteCount: Int)
    case done(Outcome)
  }

  private var state = State.head([])

  package init() {}

  /// Whether no byte has arrived.
  package var isUntouched: Bool {
    if case .head(let head) = state { head.isEmpty } else { false }
  }

  /// Adds bytes and returns what is known by now. Once a request or a refusal was returned, further bytes are ignored.
  package mutating func receive(_ bytes: some Sequence<UInt8>) -> Outcome {
    for byte in bytes {
      if case .done = state { break }
      take(byte)
    }
    if case .done(let outcome) = state { return outcome }
    return .incomplete
  }

  private mutating func take(_ byte: UInt8) {
    switch state {
    case .done: break
    case .head(var head):
      // Without this, the array would be copied for every byte.
      state = .done(.incomplete)
      head.append(byte)
      state = Self.afterByte(of: head)
    case .body(var request, let count):
      state = .done(.incomplete)
      request.body.append(byte)
      state = request.body.count == count ? .done(.request(request)) : .body(request, byteCount: count)
    }
  }

  /// The state after the last byte of an incomplete head.
  private static func afterByte(of head: [UInt8]) -> State {
    guard isAllowed(head) else { return .done(.refused(.badRequest)) }
    guard head.count <= Limits.pageHeadBytesMax else { return .done(.refused(.headerTooLarge)) }
    guard head.suffix(4).elementsEqual([cr, lf, cr, lf]) else { return .head(head) }
    do throws(Refusal) {
      let request = try RequestHead(head.dropLast(4)).request
      let count = request.byteCount
      return count == 0 ? .done(.request(request.request)) : .body(request.request, byteCount: count)
    } catch {
      return .done(.refused(error.status))
    }
  }

  /// Whether the last byte may follow the ones before it.
  private static func isAllowed(_ head: [UInt8]) -> Bool {
    guard let byte = head.last else { return true }
    let isAfterCR = head.count > 1 && head[head.count - 2] == cr
    switch byte {
    case lf: return isAfterCR
    case cr: return !isAfterCR && head.count > 1
    case tab, 0x20...0x7e: return !isAfterCR
    default: return false
    }
  }
}

private let cr = UInt8(ascii: "\r")
private let lf = UInt8(ascii: "\n")
private let tab = UInt8(ascii: "\t")

private struct Refusal: Error {
  let status: HTTPStatus

  init(_ status: HTTPStatus) { self.status = status }
}

/// A request whose body has not arrived yet.
private struct RequestHead {
  let request: (request: HTTPRequest, byteCount: Int)

  /// - Parameter head: only printable ASCII, tabs, and pairs of CR and LF, without the empty line at the end.
  init(_ head: ArraySlice<UInt8>) throws(Refusal) {
    var lines: [ArraySlice<UInt8>] = []
    for line in head.split(separator: cr, omittingEmptySubsequences: false) {
      lines.append(lines.isEmpty ? line : line.dropFirst())
    }
    let (method, target) = try Self.requestLine(lines.removeFirst())
    guard lines.count <= Limits.pageFieldsMax else { throw Refusal(.headerTooLarge) }
    var fields: [String: String] = [:]
    for line in lines {
      let (name, value) = try Self.field(line)
      guard fields.updateValue(value, forKey: name) == nil else { throw Refusal(.badRequest) }
    }
    guard fields["host"] != nil else { throw Refusal(.badRequest) }
    guard fields["transfer-encoding"] == nil else { throw Refusal(.notImplemented) }
    guard fields["expect"] == nil else { throw Refusal(.expectationFailed) }
    let request = HTTPRequest(method: method, target: target, fields: fields)
    self.request = (request, try Self.byteCount(of: request))
  }

  private static func requestLine(_ line: ArraySlice<UInt8>) throws(Refusal) -> (HTTPMethod, String) {
    let parts = line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
    guard parts.count == 3, isToken(parts[0]) else { throw Refusal(.badRequest) }
    guard parts[2].elementsEqual("HTTP/1.1".utf8) else {
      let isVersion = parts[2].count == 8 && parts[2].starts(with: "HTTP/".utf8)
      throw Refusal(isVersion ? .versionNotSupported : .badRequest)
    }
    guard parts[1].count <= Limits.pageTargetBytesMax else { throw Refusal(.targetTooLong) }
    guard isTarget(parts[1]) else { throw Refusal(.badRequest) }
    guard let method = HTTPMethod(rawValue: text(parts[0])) else { throw Refusal(.notImplemented) }
    return (method, text(parts[1]))
  }

  /// Whether a target is a path without anything that could be read in two ways.
  private static func isTarget(_ target: ArraySlice<UInt8>) -> Bool {
    guard target.first == UInt8(ascii: "/") else { return false }
    if target.count == 1 { return true }
    let segments = target.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    return segments.allSatisfy { segment in
      !segment.isEmpty && segment.contains { $0 != UInt8(ascii: ".") }
        && segment.allSatisfy { isLetterOrDigit($0) || ".-_".utf8.contains($0) }
    }
  }

  private static func field(_ line: ArraySlice<UInt8>) throws(Refusal) -> (String, String) {
    // A folded line begins with a blank, so its name is no token.
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")), isToken(line[..<colon]) else {
      throw Refusal(.badRequest)
    }
    let value = line[(colon + 1)...].trimmed
    return (text(line[..<colon]).lowercased(), text(value))
  }

  /// Returns the length of the body.
  private static func byteCount(of request: HTTPRequest) throws(Refusal) -> Int {
    guard let digits = request["content-length"] else {
      if request.method == .post { throw Refusal(.lengthRequired) }
      return 0
    }
    let isNumber = digits.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    let hasLeadingZero = digits.utf8.count > 1 && digits.utf8.first == UInt8(ascii: "0")
    guard isNumber, !digits.isEmpty, !hasLeadingZero else { throw Refusal(.badRequest) }
    guard let count = Int(digits), count <= Limits.pageBodyBytesMax else { throw Refusal(.contentTooLarge) }
    guard request.method == .post || count == 0 else { throw Refusal(.badRequest) }
    return count
  }

  private static func isToken(_ bytes: ArraySlice<UInt8>) -> Bool {
    !bytes.isEmpty && bytes.allSatisfy { isLetterOrDigit($0) || "!#$%&'*+-.^_`|~".utf8.contains($0) }
  }

  private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: false
    }
  }

  private static func text(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }
}

extension ArraySlice<UInt8> {
  /// The bytes without spaces and tabs at both ends.
  fileprivate var trimmed: ArraySlice {
    func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == tab }
    guard let first = firstIndex(where: { !isBlank($0) }), let last = lastIndex(where: { !isBlank($0) })
    else { return [] }
    return self[first...last]
  }
}
