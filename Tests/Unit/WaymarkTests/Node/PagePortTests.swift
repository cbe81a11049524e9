import Foundation
import PageServer
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Control
@testable import Waymark

/// Where the live page is served after a suspension.
struct PagePortTests {
  @Test func `a page whose port was taken during a suspension is served at another one`() async throws {
    let (test, other) = (try TestHome(), try TestHome())
    let node = try await Node.open(test.home, name: "alice")
    let taker = try await Node.open(other.home, name: "bob")
    let page = try await node.servePage(at: "127.0.0.1:0")
    let place = String(page.dropFirst("http://".count).dropLast())
    #expect(try await node.servePage(at: "127.0.0.1:0") == page, "it is served already")
    await node.suspend()
    try await eventually("another program has the port") {
      (try? await taker.serve(listen: place)) != nil
    }
    try await node.resume()
    let served = await node.servedPage as? LivePage
    #expect(served?.isServing == true)
    #expect(served?.server.host.hasPrefix("127.0.0.1:") == true && served?.server.host != place)
    await node.close()
    await taker.close()
  }
}
