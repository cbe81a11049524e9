import Sodium
import Wire

/// A page with everything inside, and the hashes of its scripts and styles.
package struct PageFile: Hashable, Sendable {
  package let html: [UInt8]
  /// The value of the field Content-Security-Policy.
  package let policy: String

  /// - Parameters:
  ///   - html: the document in UTF-8.
  ///   - scripts: the content of each `script` element, exactly as in the document.
  ///   - styles: the content of each `style` element.
  ///   - hasDataImages: whether the page shows images from `data:` URLs.
  package init(html: String, scripts: [String], styles: [String], hasDataImages: Bool = false) {
    self.html = Array(html.utf8)
    var directives = ["default-src 'none'"]
    directives.append("script-src " + Self.sources(scripts))
    directives.append("style-src " + Self.sources(styles))
    if hasDataImages { directives.append("img-src data:") }
    // The page talks to its own node only; it can't be framed, send a form, or change what its links are relative to.
    directives += ["connect-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"]
    policy = directives.joined(separator: "; ")
  }

  /// Returns the sources of a directive: the hash of each text, so that nothing else runs or applies.
  private static func sources(_ texts: [String]) -> String {
    texts.isEmpty
      ? "'none'"
      : texts.map { "'sha256-\(Base64.encode(SHA256.hash(Array($0.utf8))))'" }.joined(separator: " ")
  }

  package var response: HTTPResponse {
    HTTPResponse(
      .ok, [.init("Content-Type", "text/html; charset=utf-8"), .init(HTTPResponse.policyName, policy)],
      body: html)
  }
}
