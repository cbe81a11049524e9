import HTTP
import PageServer
import Synchronization
import Transport
import Waymark
import WaymarkPage

// The page, and the document that it shows.

extension NodePage {
  var page: PageFile { PageHTML.live }

  func document() async throws -> [UInt8] {
    guard let node else { throw WaymarkError.hungUp }
    let begin = monotonicMilliseconds()
    let document = try await node.pageDocument().json()
    cost.store(Int(clamping: monotonicMilliseconds() - begin), ordering: .releasing)
    return document
  }
}
