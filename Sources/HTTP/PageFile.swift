/// A page with everything inside, as a server sends it.
package struct PageFile: Hashable, Sendable {
  package let html: [UInt8]
  /// The value of the field Content-Security-Policy.
  package let policy: String

  /// - Parameters:
  ///   - html: the document in UTF-8.
  ///   - policy: what the page may do.
  package init(html: [UInt8], policy: ContentPolicy) {
    self.html = html
    self.policy = policy.ofServer
  }

  package var response: HTTPResponse {
    HTTPResponse(
      .ok, [.init("Content-Type", "text/html; charset=utf-8"), .init(HTTPResponse.policyName, policy)],
      body: html)
  }
}
