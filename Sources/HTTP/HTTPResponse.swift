/// A response. Every response closes its connection, so that no second request can hide behind the first.
package struct HTTPResponse: Hashable, Sendable {
  package var status: HTTPStatus
  /// Additional fields of the header, in order.
  package var fields: [Field]
  /// The body; nil for a response whose body follows in pieces, until the connection ends.
  package var body: [UInt8]?

  package struct Field: Hashable, Sendable {
    package let name: String
    package let value: String

    /// - Precondition: both are printable ASCII. The values come from this program, never from a request or a peer.
    package init(_ name: String, _ value: String) {
      precondition(
        (name + value).utf8.allSatisfy { (0x20...0x7e).contains($0) } && !name.contains(":"),
        "a header field must be printable ASCII")
      self.name = name
      self.value = value
    }
  }

  package init(_ status: HTTPStatus, _ fields: [Field] = [], body: [UInt8]? = []) {
    self.status = status
    self.fields = fields
    self.body = body
  }

  /// Returns the response as bytes.
  ///
  /// The fields that every response has keep a browser from guessing the type, from caching, from telling other sites
  /// where a link was, from showing the page in a frame, and from sharing it with other origins or windows.
  package var bytes: [UInt8] {
    let hasPolicy = fields.contains { $0.name == Self.policyName }
    var head = "HTTP/1.1 \(status.rawValue) \(status.phrase)\r\n"
    for field in Self.always + (hasPolicy ? [] : [Self.strictPolicy]) + fields {
      head += "\(field.name): \(field.value)\r\n"
    }
    if let body, status != .noContent { head += "Content-Length: \(body.count)\r\n" }
    head += "Connection: close\r\n\r\n"
    return Array(head.utf8) + (body ?? [])
  }

  static let policyName = "Content-Security-Policy"
  private static let strictPolicy = Field(policyName, "default-src 'none'; frame-ancestors 'none'")

  private static let always = [
    Field("Cache-Control", "no-store"),
    Field("Referrer-Policy", "no-referrer"),
    Field("X-Content-Type-Options", "nosniff"),
    Field("Cross-Origin-Resource-Policy", "same-origin"),
    Field("Cross-Origin-Opener-Policy", "same-origin"),
  ]
}

extension HTTPResponse {
  package static func json(_ bytes: [UInt8], _ status: HTTPStatus = .ok) -> HTTPResponse {
    HTTPResponse(status, [.init("Content-Type", "application/json")], body: bytes)
  }

  /// The header of a stream of server-sent events.
  package static let events = HTTPResponse(.ok, [.init("Content-Type", "text/event-stream")], body: nil)
}

/// Server-sent events, as in the HTML standard, section 9.2.
package enum ServerSentEvent {
  /// Returns an event with a name. A browser drops events without data, so the data is never empty.
  package static func event(_ name: String) -> [UInt8] {
    precondition(
      name.utf8.allSatisfy { (0x21...0x7e).contains($0) }, "the name of an event is one ASCII word")
    return Array("event: \(name)\ndata: {}\n\n".utf8)
  }

  /// A comment, which keeps the connection from looking idle and shows the server whether the browser still reads.
  package static let heartbeat = Array(": \n\n".utf8)

  /// Tells the browser how long to wait before it connects again.
  package static func retry(milliseconds: Int64) -> [UInt8] { Array("retry: \(milliseconds)\n\n".utf8) }
}
