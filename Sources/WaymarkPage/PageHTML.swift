package import HTTP
import JSONDocument
import Model

// The page is one HTML file with its style and its script. A page that is written to a file also contains its
// document, as JSON; a page that is served live reads the document from the server. All text reaches the page as text
// nodes, and the policy allows only this style and this script, by their hashes. So a name can't become markup, and if
// it did, it could neither run nor load anything.

extension PageDocument {
  /// The document as JSON, as the script of the page reads it. It is UTF-8.
  ///
  /// - Throws: `EncodingError`, which does not happen with documents that a node has made.
  public func json() throws -> [UInt8] { try DocumentCoding.encode(self).bytes() }

  /// The page as one file of HTML, which makes no request. It is UTF-8.
  public func html() throws -> [UInt8] { PageHTML.filled(document: try json()) }
}

/// The page as HTML.
package enum PageHTML {
  /// How a file begins that ``PageDocument/html()`` made.
  package static let beginning = "<!doctype html><!-- waymark page -->"

  /// The page that holds no document; it asks its server for one, with `GET /document`.
  package static let live = PageFile(html: filled(document: []), policy: policy)

  /// The icon is an image from a `data:` URL.
  private static let policy = ContentPolicy(
    scripts: [PackageResources.page_js], styles: [PackageResources.page_css], hasDataImages: true)

  /// - Parameter document: the document as JSON; empty for the live page, whose policy is in the header of the answer.
  static func filled(document: [UInt8]) -> [UInt8] {
    var page: [UInt8] = []
    page.reserveCapacity(PackageResources.page_js.count + document.count + 65_536)
    var rest = String(decoding: PackageResources.page_html, as: UTF8.self)[...]
    while let begin = rest.firstRange(of: "{{"), let end = rest.firstRange(of: "}}") {
      page += Array(rest[..<begin.lowerBound].utf8)
      switch rest[begin.upperBound..<end.lowerBound] {
      case "beginning": page += Array(beginning.utf8)
      case "policy": page += document.isEmpty ? [] : Array(policyElement.utf8)
      case "style": page += PackageResources.page_css
      case "script": page += PackageResources.page_js
      case "document": page += inScript(document)
      case let name: preconditionFailure("page.html has no part \(name)")
      }
      rest = rest[end.upperBound...]
    }
    return page + Array(rest.utf8)
  }

  private static var policyElement: String {
    #"<meta http-equiv="Content-Security-Policy" content="\#(policy.ofFile)">"#
  }

  /// JSON that is safe in a script element: `<` could begin an end tag or a comment, so it is escaped. JSON has no `<`
  /// outside of strings.
  private static func inScript(_ json: [UInt8]) -> [UInt8] {
    var safe: [UInt8] = []
    safe.reserveCapacity(json.count + json.count / 64)
    for byte in json {
      if byte == UInt8(ascii: "<") { safe += Array(#"\u003c"#.utf8) } else { safe.append(byte) }
    }
    return safe
  }
}
