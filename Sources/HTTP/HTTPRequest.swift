// A strict small subset of HTTP/1.1 (RFC 9112) for a server whose only clients are browsers on this machine.
//
// Whatever two programs could read differently is refused instead of interpreted: see `HTTPRequestReader`. The subset
// is described in Sources/page.md.

/// The methods that are understood.
package enum HTTPMethod: String, Hashable, Sendable {
  case get = "GET"
  case post = "POST"
}

/// A complete request.
package struct HTTPRequest: Hashable, Sendable {
  package let method: HTTPMethod
  /// The target in origin form, such as `/document`: letters, digits, and `/ . - _` only.
  package let target: String
  /// The fields of the header, by their names in lower case. No name occurs twice.
  package let fields: [String: String]
  package internal(set) var body: [UInt8] = []

  /// The value of a field of the header; nil if the field is absent.
  ///
  /// - Parameter name: in lower case.
  package subscript(name: String) -> String? { fields[name] }
}

/// The status codes that the server sends.
package enum HTTPStatus: Int, Hashable, CaseIterable, Sendable {
  case ok = 200
  case noContent = 204
  case badRequest = 400
  case forbidden = 403
  case notFound = 404
  case methodNotAllowed = 405
  case requestTimeout = 408
  case lengthRequired = 411
  case contentTooLarge = 413
  case targetTooLong = 414
  case unsupportedMediaType = 415
  case expectationFailed = 417
  case misdirectedRequest = 421
  case unprocessableContent = 422
  case headerTooLarge = 431
  case internalServerError = 500
  case notImplemented = 501
  case serviceUnavailable = 503
  case versionNotSupported = 505

  /// The reason phrase of the status line.
  var phrase: String {
    switch self {
    case .ok: "OK"
    case .noContent: "No Content"
    case .badRequest: "Bad Request"
    case .forbidden: "Forbidden"
    case .notFound: "Not Found"
    case .methodNotAllowed: "Method Not Allowed"
    case .requestTimeout: "Request Timeout"
    case .lengthRequired: "Length Required"
    case .contentTooLarge: "Content Too Large"
    case .targetTooLong: "URI Too Long"
    case .unsupportedMediaType: "Unsupported Media Type"
    case .expectationFailed: "Expectation Failed"
    case .misdirectedRequest: "Misdirected Request"
    case .unprocessableContent: "Unprocessable Content"
    case .headerTooLarge: "Request Header Fields Too Large"
    case .internalServerError: "Internal Server Error"
    case .notImplemented: "Not Implemented"
    case .serviceUnavailable: "Service Unavailable"
    case .versionNotSupported: "HTTP Version Not Supported"
    }
  }
}
