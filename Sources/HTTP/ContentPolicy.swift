import Sodium
import Wire

/// A Content-Security-Policy for a page that has its scripts and styles inside: it allows these, by their hashes, and
/// neither other ones nor other requests.
package struct ContentPolicy: Hashable, Sendable {
  private let scripts: String
  private let styles: String
  private let hasDataImages: Bool

  /// - Parameters:
  ///   - scripts: the content of each `script` element, exactly as in the document.
  ///   - styles: the content of each `style` element.
  ///   - hasDataImages: whether the page shows images from `data:` URLs.
  package init(scripts: [[UInt8]], styles: [[UInt8]], hasDataImages: Bool = false) {
    (self.scripts, self.styles) = (Self.sources(scripts), Self.sources(styles))
    self.hasDataImages = hasDataImages
  }

  /// Returns the sources of a directive: the hash of each text, so that nothing else runs or applies.
  private static func sources(_ texts: [[UInt8]]) -> String {
    texts.isEmpty
      ? "'none'" : texts.map { "'sha256-\(Base64.encode(SHA256.hash($0)))'" }.joined(separator: " ")
  }

  /// The policy of a page in a file, for its `meta` element: the page can't ask for anything, send a form, or change what
  /// its links are relative to.
  package var ofFile: String { (directives + closing).joined(separator: "; ") }

  /// The policy of a page that a server sends, as the value of the field Content-Security-Policy: the page talks to its
  /// own server only, and can't be framed.
  package var ofServer: String {
    (directives + ["connect-src 'self'"] + closing + ["frame-ancestors 'none'"]).joined(separator: "; ")
  }

  private var directives: [String] {
    ["default-src 'none'", "script-src \(scripts)", "style-src \(styles)"]
      + (hasDataImages ? ["img-src data:"] : [])
  }

  private var closing: [String] { ["base-uri 'none'", "form-action 'none'"] }
}
