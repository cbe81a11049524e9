import Platform
import SecureChannel
import Testing

@testable import Transport

/// The reason that a person is told for the end of a connection.
struct LinkEndTests {
  @Test(
    arguments: [
      (ECONNREFUSED, .refused), (ECONNRESET, .handshakeFailed), (ETIMEDOUT, .timeout),
      (ENETUNREACH, .noRoute), (EHOSTUNREACH, .noRoute), (ENETDOWN, .noRoute), (EADDRNOTAVAIL, .noRoute),
      (EAFNOSUPPORT, .noRoute), (EACCES, .failed(SystemError(call: "connect", code: EACCES))),
      (EMFILE, .failed(SystemError(call: "connect", code: EMFILE))),
    ] as [(Int32, LinkEnd)])
  func `an attempt to connect ends with the reason that the system gives`(code: Int32, end: LinkEnd) {
    #expect(LinkEnd(connecting: SystemError(call: "connect", code: code)) == end)
  }

  @Test(
    arguments: [
      (.handshakeFailed, .handshakeFailed), (.messageTooLarge, .handshakeFailed),
      (.noKeys, .handshakeFailed), (.versionMismatch(theirs: 7), .versionMismatch(theirs: 7)),
      (.refused, .notAuthorized), (.violation, .violation), (.exhausted, .violation),
    ] as [(ChannelError, LinkEnd)])
  func `a channel that fails ends its link with the reason`(error: ChannelError, end: LinkEnd) {
    #expect(LinkEnd(error) == end)
  }
}
