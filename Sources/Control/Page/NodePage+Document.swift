import HTTP
import PageServer
import Waymark
import WaymarkPage

// The page, and the document that it shows.

extension NodePage {
  var page: PageFile { PageHTML.live }

  func document() async throws -> [UInt8] {
    guard let node else { throw WaymarkError.hungUp }
    return try await node.pageDocument().json()
  }
}
