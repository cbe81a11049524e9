/// The system's responder of multicast DNS can't be reached, or refused a request.
package struct ServiceError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The error code of DNS service discovery.
  package let code: Int32

  package var description: String {
    "the responder of multicast DNS (Avahi or Bonjour) can't be reached or refused a request (code \(code))"
  }
}
