import Foundation
import HTTP
import PageServer
import Synchronization
import Testing
import Transport

/// Sources/page.md: what an action reaches of the node, and how sessions and the server end.
@Suite(.serialized) struct PageSessionTests {
  /// A content that notes what it is asked to do.
  private final class Desk: PageContent {
    struct Asked: Equatable {
      let action: PageAction
      let confirmation: String?
    }

    private let state = Mutex((asked: [Asked](), wasCancelled: false))
    private let result: PageActionResult
    private let waits: Bool

    /// - Parameter waits: whether an action takes until it is cancelled.
    init(_ result: PageActionResult, waits: Bool = false) {
      self.result = result
      self.waits = waits
    }

    var page: PageFile { PageFile(html: Array("<p>".utf8), policy: ContentPolicy(scripts: [], styles: [])) }
    var asked: [Asked] { state.withLock { $0.asked } }
    var wasCancelled: Bool { state.withLock { $0.wasCancelled } }

    func document() async throws -> [UInt8] { Array("{}".utf8) }

    func perform(_ action: PageAction, confirmation: String?) async -> PageActionResult {
      state.withLock { $0.asked.append(Asked(action: action, confirmation: confirmation)) }
      if waits {
        do { try await Task.sleep(for: .seconds(60)) } catch { state.withLock { $0.wasCancelled = true } }
      }
      return result
    }

    func changes() -> AsyncStream<Void> { AsyncStream { $0.finish() } }
  }

  private func serving(
    _ content: any PageContent, times: PageServerTimes = PageServerTimes(),
    _ body: (PageServer) async throws -> Void
  ) async throws {
    let server = try PageServer(on: Endpoint(host: "127.0.0.1", port: 0), content: content, times: times)
    server.start()
    defer { server.stop() }
    try await body(server)
  }

  @Test(
    arguments: [
      (.answer(Array("{\"a\":1}".utf8)), 200, "{\"a\":1}"),
      (.question(Array("{\"q\":1}".utf8)), 200, "{\"q\":1}"),
      (.failure(Array("{\"f\":1}".utf8)), 422, "{\"f\":1}"),
    ] as [(PageActionResult, Int, String)])
  func `an action reaches the node with its confirmation, and the browser gets the document that answers it`(
    result: PageActionResult, status: Int, body: String
  ) async throws {
    let content = Desk(result)
    try await serving(content) { server in
      let browser = try await Browser(server)
      for more in ["", ",\"confirmation\":\"c0ffee\""] {
        let response = try await browser.response(
          to: browser.post("/action", "{\"action\":\"undo\",\"operation\":\"3f\"\(more)}"))
        #expect(response?.status == status && response?.body == body)
        #expect(response?.head.contains("Content-Type: application/json") == true)
      }
      let action = PageAction.undo(operation: "3f")
      #expect(
        content.asked == [
          .init(action: action, confirmation: nil), .init(action: action, confirmation: "c0ffee"),
        ])
    }
  }

  @Test func `an action whose browser has hung up is cancelled`() async throws {
    let content = Desk(.answer([]), waits: true)
    try await serving(content) { server in
      let browser = try await Browser(server)
      do {
        let client = try RawClient(server)
        client.send(browser.post("/action", "{\"action\":\"syncOn\"}"))
        let hasBegun = await holds { !content.asked.isEmpty }
        #expect(hasBegun && !content.wasCancelled)
        withExtendedLifetime(client) {}
      }
      let wasCancelled = await holds { content.wasCancelled }
      #expect(wasCancelled)
    }
  }

  @Test func `a session that leaves ends its own open pages, and no other session`() async throws {
    let content = Counter()
    try await serving(content) { server in
      let (first, second) = (try await Browser(server), try await Browser(server))
      let (left, kept) = (try await first.open(), try await second.open())
      #expect(try await first.response(to: first.post("/leave"))?.status == 204)
      let hasEnded = await left.read(seconds: 10).hasEnded
      #expect(hasEnded)
      #expect(try await first.response(to: first.get("/document"))?.status == 403)
      content.set(7)
      let (text, isOver) = await kept.read(until: "event: changed", seconds: 10)
      #expect(text.contains("event: changed") && !isOver)
      #expect(try await second.response(to: second.get("/document"))?.body == "{\"number\":7}")
      #expect(content.watchers == 1)
    }
  }

  @Test func `requests that show only a cookie do not keep a server on demand open`() async throws {
    try await serving(Counter(), times: PageServerTimes(idle: 1_000)) { server in
      let browser = try await Browser(server)
      // Browsers send the cookie to every port of this machine, so other users can get it.
      let hasStopped = await holds {
        (try? RawClient(server))?.send(browser.get("/"))
        return server.isStopped
      }
      #expect(hasStopped)
    }
  }

  @Test func `a server that is stopped ends its open pages, frees its port, and says so once`() async throws {
    let stops = Mutex(0)
    let content = Counter()
    let server = try PageServer(
      on: Endpoint(host: "127.0.0.1", port: 0), content: content,
      whenStopped: { stops.withLock { $0 += 1 } })
    server.start()
    let page = try await Browser(server).open()
    #expect(!server.isStopped)
    #expect(stops.withLock { $0 } == 0)
    for _ in 1...2 { server.stop() }
    #expect(server.isStopped && server.makeCode() == nil)
    let hasEnded = await page.read(seconds: 10).hasEnded
    #expect(hasEnded)
    let isClosed = await holds { (try? RawClient(server)) == nil }
    #expect(isClosed)
    let isTold = await holds { stops.withLock { $0 } > 0 && content.watchers == 0 }
    #expect(isTold)
    #expect(stops.withLock { $0 } == 1)
  }
}
