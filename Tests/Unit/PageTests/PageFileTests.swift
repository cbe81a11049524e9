import Foundation
import HTTP
import Model
import Sodium
import Testing
import Waymark
import WaymarkTesting

@testable import WaymarkPage

@Suite struct PageFileTests {
  private func html(naming name: String) async throws -> String {
    let node = try Node.inMemory(name: "alice", clock: VirtualClock())
    _ = try await node.save(Trip(name: name))
    return String(decoding: try await node.pageDocument().html(), as: UTF8.self)
  }

  private func between(_ text: String, _ begin: String, _ end: String) throws -> String {
    let first = try #require(text.range(of: begin))
    let last = try #require(text.range(of: end, range: first.upperBound..<text.endIndex))
    return String(text[first.upperBound..<last.lowerBound])
  }

  @Test(arguments: [
    "</script><script>alert(1)</script>", "<!--<script>", "</SCRIPT >", "]]><b>", "\u{2028}", "{{script}}",
  ])
  func `no name can end the element that holds the document`(_ name: String) async throws {
    let html = try await html(naming: name)
    let document = try between(html, #"<script id="document" type="application/json">"#, "</script>")
    #expect(!document.contains("<"))
    #expect(html.components(separatedBy: "<script").count == 3)
    let object = try JSONSerialization.jsonObject(with: Data(document.utf8)) as? [String: Any]
    let trips = object?["trips"] as? [[String: Any]]
    #expect(trips?.first?["name"] as? String == name)
  }

  @Test func `the policy of a file allows its style and its script, and nothing else`() async throws {
    let html = try await html(naming: "Rome")
    #expect(
      try between(html, #"Content-Security-Policy" content=""#, "\"")
        == "default-src 'none'; script-src \(try source(html, "script")); style-src \(try source(html, "style"));"
        + " img-src data:; base-uri 'none'; form-action 'none'")
  }

  @Test func `the policy of the live page also allows its own server, and forbids frames`() throws {
    let html = String(decoding: PageHTML.live.html, as: UTF8.self)
    #expect(!html.contains("Content-Security-Policy"))
    #expect(
      PageHTML.live.policy
        == "default-src 'none'; script-src \(try source(html, "script")); style-src \(try source(html, "style"));"
        + " img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
  }

  /// The hash of the content of an element, as a source in a policy.
  private func source(_ html: String, _ element: String) throws -> String {
    let content = try between(html, "<\(element)>", "</\(element)>")
    return "'sha256-\(Data(SHA256.hash(Array(content.utf8))).base64EncodedString())'"
  }

  @Test func `the live page holds no document`() throws {
    let html = String(decoding: PageHTML.live.html, as: UTF8.self)
    #expect(try between(html, #"<script id="document" type="application/json">"#, "</script>").isEmpty)
  }

  @Test func `a page is recognised as one by how it begins`() async throws {
    #expect(try await html(naming: "Rome").hasPrefix(PageHTML.beginning))
  }

  @Test func `the page loads nothing and has no inline style or handler`() async throws {
    let html = try await html(naming: "Rome")
    for pattern in [
      #"(src|href)="(?!#|data:)"#, #"\sstyle=""#, #"\son[a-z]+=""#, "@import", #"url\("#, "innerHTML",
      "eval\\(",
    ] {
      #expect(html.firstMatch(of: try Regex(pattern)) == nil, "\(pattern)")
    }
  }
}
