import Foundation
import HTTP
import PageServer
import Platform
import Synchronization
import Transport
import Wire

/// A content whose state is a number.
final class Counter: PageContent {
  private struct State {
    var number = 0
    var watchers: [Int: AsyncStream<Void>.Continuation] = [:]
    var next = 0
    var performed: [PageAction] = []
    var documents = 0
  }

  private let state = Mutex(State())
  let padding: Int
  /// Whether `changes()` reports changes all the time.
  let isBusy: Bool

  init(padding: Int = 0, isBusy: Bool = false) {
    self.padding = padding
    self.isBusy = isBusy
  }

  struct Secret: Error, CustomStringConvertible {
    let description = "/home/alice/secret"
  }

  var page: PageFile { PageFile(html: Array("<p>page".utf8), policy: ContentPolicy(scripts: [], styles: [])) }
  var watchers: Int { state.withLock { $0.watchers.count } }
  var performed: [PageAction] { state.withLock { $0.performed } }

  /// The number of documents that were asked for.
  var documents: Int { state.withLock { $0.documents } }

  func document() async throws -> [UInt8] {
    let number = state.withLock { state in
      state.documents += 1
      return state.number
    }
    guard number >= 0 else { throw Secret() }
    return Array("{\"number\":\(number)}".utf8) + [UInt8](repeating: UInt8(ascii: " "), count: padding)
  }

  func set(_ number: Int) {
    let watchers = state.withLock { state in
      state.number = number
      return Array(state.watchers.values)
    }
    for watcher in watchers { watcher.yield() }
  }

  func perform(_ action: PageAction, confirmation: String?) async -> PageActionResult {
    state.withLock { $0.performed.append(action) }
    return confirmation == nil ? .question(Array("{}".utf8)) : .answer(Array("{}".utf8))
  }

  func changes() -> AsyncStream<Void> {
    guard !isBusy else { return AsyncStream { () } }
    return AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      let id = state.withLock { state in
        state.next += 1
        state.watchers[state.next] = continuation
        return state.next
      }
      continuation.onTermination = { _ in _ = self.state.withLock { $0.watchers.removeValue(forKey: id) } }
      continuation.yield()
    }
  }
}

/// A client that sends any bytes. Its calls block, so they run on threads of their own.
final class RawClient: Sendable {
  private let descriptor: Int32

  convenience init(_ server: PageServer, receiveBuffer: Int32? = nil) throws {
    guard let port = UInt16(server.host.split(separator: ":").last ?? "") else { throw Missing("no port") }
    try self.init(port: port, receiveBuffer: receiveBuffer)
  }

  init(port: UInt16, receiveBuffer: Int32? = nil) throws {
    descriptor = openSocket(AF_INET, .stream)
    if var size = receiveBuffer {
      setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    let code = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard code == 0 else { throw Missing("no connection: \(errno)") }
  }

  deinit { close(descriptor) }

  struct Missing: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
  }

  /// Returns whether the bytes could be sent.
  @discardableResult
  func send(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    return Platform.send(descriptor, bytes, bytes.count, quietSend) == bytes.count
  }

  /// Reads until the text contains a mark or the connection ends, for at most some seconds.
  func read(until mark: String? = nil, seconds: Int = 20) async -> (text: String, hasEnded: Bool) {
    await apart { [self] in
      var all: [UInt8] = []
      let deadline = monotonicMilliseconds() + Int64(seconds) * 1_000
      while true {
        let text = String(decoding: all, as: UTF8.self)
        if let mark, text.contains(mark) { return (text, false) }
        let left = deadline - monotonicMilliseconds()
        var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard left > 0, poll(&watched, 1, Int32(clamping: left)) > 0 else { return (text, false) }
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        guard count > 0 else { return (text, true) }
        all += buffer.prefix(count)
      }
    }
  }

  /// The status code of the next response, and its body; nil if the connection ended without one.
  func response() async -> (status: Int, head: String, body: String)? {
    let (text, _) = await read()
    guard let end = text.range(of: "\r\n\r\n"), text.hasPrefix("HTTP/1.1 ") else { return nil }
    let status = Int(text.dropFirst(9).prefix(3)) ?? 0
    return (status, String(text[..<end.lowerBound]), String(text[end.upperBound...]))
  }
}

/// Runs blocking work on a thread of its own.
func apart<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
  await withCheckedContinuation { continuation in
    Thread.detachNewThread { continuation.resume(returning: body()) }
  }
}

/// Waits until the condition holds; returns whether it did within some seconds.
func holds(seconds: Int = 20, _ condition: () -> Bool) async -> Bool {
  let deadline = ContinuousClock.now + .seconds(seconds)
  while !condition() {
    guard ContinuousClock.now < deadline else { return false }
    try? await Task.sleep(for: .milliseconds(5))
  }
  return true
}

/// A browser with a session.
struct Browser {
  let server: PageServer
  let cookie: String
  let key: String

  init(_ server: PageServer) async throws {
    let code = server.makeCode() ?? ""
    let client = try RawClient(server)
    client.send(Self.exchange(code, server))
    guard let response = await client.response(), response.status == 200,
      let cookie = response.head.firstMatch(of: /Set-Cookie: ([^;]+);/)?.output.1,
      let key = response.body.firstMatch(of: /"key":"([0-9a-f]+)"/)?.output.1
    else { throw RawClient.Missing("no session") }
    self.server = server
    self.cookie = String(cookie)
    self.key = String(key)
  }

  static func exchange(_ code: String, _ server: PageServer) -> String {
    let body = "{\"code\":\"\(code)\"}"
    return """
      POST /session HTTP/1.1\r\nHost: \(server.host)\r\nOrigin: http://\(server.host)\r\nX-Waymark: 1\r\n\
      Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)
      """
  }

  func get(_ target: String) -> String {
    "GET \(target) HTTP/1.1\r\nHost: \(server.host)\r\nCookie: \(cookie)\r\nX-Waymark: \(key)\r\n\r\n"
  }

  func post(_ target: String, _ body: String = "{}") -> String {
    """
    POST \(target) HTTP/1.1\r\nHost: \(server.host)\r\nCookie: \(cookie)\r\nX-Waymark: \(key)\r\n\
    Origin: http://\(server.host)\r\nContent-Type: application/json\r\n\
    Content-Length: \(body.utf8.count)\r\n\r\n\(body)
    """
  }

  func response(to request: String) async throws -> (status: Int, head: String, body: String)? {
    let client = try RawClient(server)
    client.send(request)
    return await client.response()
  }

  /// Opens a stream of events, and waits for the first one.
  func open() async throws -> RawClient {
    let client = try RawClient(server)
    client.send(get("/events"))
    guard await client.read(until: "event: changed").text.contains("event: changed") else {
      throw RawClient.Missing("no first event within 20 seconds")
    }
    return client
  }
}
