import PageServer
import Reasons
import Transport
package import Waymark
import Wire

/// The live page that a node serves.
final class LivePage: NodeService {
  let server: PageServer
  private let closesWhenIdle: Bool

  init(_ server: PageServer, closesWhenIdle: Bool) {
    self.server = server
    self.closesWhenIdle = closesWhenIdle
  }

  var isServing: Bool { !server.isStopped }

  func stop() { server.stop() }

  /// Serves at the same port or, if it is taken, at another one. A browser needs a new link, because the sessions have
  /// ended.
  func restart(for node: isolated Node) throws {
    do {
      _ = try node.openPage(on: Endpoint(server.host), closesWhenIdle: closesWhenIdle)
    } catch let error as WaymarkError where error.code == .addressInUse {
      _ = try node.openPage(closesWhenIdle: closesWhenIdle)
    }
  }
}

extension Node {
  /// Serves the live page until the node closes.
  ///
  /// - Parameter place: `127.0.0.1:PORT` or `[::1]:PORT`; port 0 means any free port.
  /// - Returns: the address for a browser, without a code.
  /// - Throws: `WaymarkError`, also with the code `bad_value`.
  package func servePage(at place: String) throws -> String {
    guard let endpoint = Endpoint(place) else {
      throw WaymarkError.badValue("--page", place, allowed: "expected ADDR:PORT, such as 127.0.0.1:7434")
    }
    return "http://\(try openPage(on: endpoint, closesWhenIdle: false).host)/"
  }

  /// Serves the live page, unless the node serves it already.
  ///
  /// - Parameters:
  ///   - endpoint: where; nil for any free port of 127.0.0.1. Ignored if the page is served already.
  ///   - closesWhenIdle: whether the page closes when no session has been in use for some minutes.
  /// - Throws: `WaymarkError` with the code `page_not_local`, `address_in_use`, `address_not_here` or `listen`.
  func openPage(on endpoint: Endpoint? = nil, closesWhenIdle: Bool) throws -> PageServer {
    try core.checkOpen()
    if let page = servedPage as? LivePage, !page.server.isStopped { return page.server }
    let endpoint = endpoint ?? Endpoint(host: "127.0.0.1", port: 0)
    guard LoopbackListener.mayListen(on: endpoint) else { throw WaymarkError.pageNotLocal(endpoint) }
    let server: PageServer
    do {
      server = try PageServer(
        on: endpoint, content: NodePage(self),
        times: PageServerTimes(idle: closesWhenIdle ? Limits.pageIdleMilliseconds : nil),
        whenStopped: { [weak self] in Task { [weak self] in await self?.forgetStoppedPage() } })
    } catch {
      throw WaymarkError.pageCannotListen(error)
    }
    server.start()
    servesPage(LivePage(server, closesWhenIdle: closesWhenIdle))
    core.logger.info("page", "serving the page at http://\(server.host)/")
    return server
  }

  private func forgetStoppedPage() {
    guard let page = servedPage as? LivePage, page.server.isStopped else { return }
    servesPage(nil)
    core.logger.info("page", "the page at http://\(page.server.host)/ is closed")
  }
}

extension WaymarkError {
  fileprivate static func pageNotLocal(_ endpoint: Endpoint) -> WaymarkError {
    WaymarkError(
      exitCode: ExitCode.usage, code: .pageNotLocal,
      message: "The page is for this machine only, at 127.0.0.1 or [::1], and not at \(endpoint.host).",
      next: .waymark("run --page"))
  }

  fileprivate static func pageCannotListen(_ error: ListenError) -> WaymarkError {
    switch error {
    case .addressInUse(let endpoint):
      .failed(
        .addressInUse, "\(endpoint) is in use by another program.",
        next: "\(waymark: "run --page"), which takes any free port")
    case .notHere(let endpoint):
      .failed(
        .addressNotHere, "\(endpoint) is not an address of this machine.", next: .waymark("run --page"))
    case .failed(let endpoint, let reason):
      .failed(
        .listen, "Can't listen at \(endpoint): \(reason).",
        next: "\(waymark: "run --page"), which takes any free port")
    }
  }
}
