import Foundation
import JSONDocument
import Model
import Sodium


// The page is one HTML file with its style and its script. A page that is written to a file also contains its
// document, as JSON; a page that is served live reads the document from the server. All text reaches the page as text
// nodes, and the policy allows only this style and this script, by their hashes. So a name can't become markup, and if
// it did, it could neither run nor load anything.

extension PageDocument {
  /// The document as JSON, as the script of the page reads it.
  ///
  /// - Throws: `EncodingError`, which does not happen with documents of ``Node/pageDocument()``.
  public func json() throws -> [UInt8] { try DocumentCoding.encode(self).bytes() }

  /// The page as one file of HTML, which makes no request. It is UTF-8.
  public func html() throws -> [UInt8] { PageFile.html(document: try json()) }
}

/// The page without its document, for a server.
package enum PageFile {
  /// How a file begins that ``PageDocument/html()`` made.
  package static let beginning = "<!doctype html><!-- waymark page -->"

  /// The page that reads its document from the server, with `GET /document`.
  package static let live = html(document: [])
  /// The policy of the live page, as the value of the header `Content-Security-Policy`.
  package static let livePolicy = policy + "; connect-src 'self'; frame-ancestors 'none'"

  /// What a page may do: use this style and this script, and nothing else.
  private static let policy =
    "default-src 'none'; style-src \(source(of: PackageResources.page_css)); "
    + "script-src \(source(of: PackageResources.page_js)); img-src data:; base-uri 'none'; form-action 'none'"

  /// - Parameter document: the document as JSON; empty for the live page.
  static func html(document: [UInt8]) -> [UInt8] {
    var page: [UInt8] = []
    page.reserveCapacity(PackageResources.page_js.count + document.count + 65_536)
    var rest = String(decoding: PackageResources.page_html, as: UTF8.self)[...]
    while let begin = rest.range(of: "{{"), let end = rest.range(of: "}}") {
      page += Array(rest[..<begin.lowerBound].utf8)
      switch rest[begin.upperBound..<end.lowerBound] {
      case "beginning": page += Array(beginning.utf8)
      case "policy": page += Array((document.isEmpty ? livePolicyInPage : policy).utf8)
      case "style": page += PackageResources.page_css
      case "script": page += PackageResources.page_js
      case "document": page += inScript(document)
      case let name: preconditionFailure("page.html has no part \(name)")
      }
      rest = rest[end.upperBound...]
    }
    return page + Array(rest.utf8)
  }

  /// `frame-ancestors` is valid only in the header.
  private static var livePolicyInPage: String { policy + "; connect-src 'self'" }

  /// The hash of a style or script, as a source in a Content-Security-Policy.
  private static func source(of content: [UInt8]) -> String {
    "'sha256-\(Data(SHA256.hash(content)).base64EncodedString())'"
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
