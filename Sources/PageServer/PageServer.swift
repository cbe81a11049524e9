// The server of the live page (Sources/page.md).
//
//   accept thread ──▶ one thread per connection, at most eight
//                       read the request ─▶ gate ─▶ answer ─▶ close        one request per connection
//                                             └──▶ events: wait for a wake, a heartbeat, or the browser's end
//
//   changes of the node ──▶ one task ──▶ marks each open page as changed, and wakes its thread
//
// A page that does not read has one mark, however many changes there were, and is closed when an event can't be written
// within some seconds. While no page is open, nothing is watched and there is no thread but the one that accepts.

import Dispatch
import Platform
import HTTP
import JSONDocument
import Sodium
import Synchronization
package import Transport
import Wire

/// The times of a page server. They come from `Limits` unless a test sets others.
package struct PageServerTimes: Sendable {
  package var request = Limits.pageRequestMillisecondsMax
  package var response = Limits.pageResponseMillisecondsMax
  package var event = Limits.pageEventMillisecondsMax
  package var linger = Limits.pageLingerMilliseconds
  package var heartbeat = Limits.pageHeartbeatMilliseconds
  package var change = Limits.pageChangeMilliseconds
  /// How long the page stays open without a session in use; nil to keep it open.
  package var idle: Int64?

  package init(idle: Int64? = nil) { self.idle = idle }
}

/// Serves one page on loopback.
package final class PageServer: Sendable {
  private struct State {
    var gate: PageGate
    /// The connections, oldest first.
    var clients: [PageClient] = []
    var isStopped = false
    /// When a session or a new code was last used.
    var lastUse: Int64
    /// Watches the content while a page is open.
    var watching: Task<Void, Never>?
  }

  /// The address and port at which the page is served, as a browser writes them: `127.0.0.1:1234`.
  package let host: String

  private let listener: LoopbackListener
  private let content: any PageContent
  private let times: PageServerTimes
  private let whenStopped: @Sendable () -> Void
  private let state: Mutex<State>

  /// Binds at once; answers from `start()` until `stop()`.
  ///
  /// - Parameters:
  ///   - endpoint: `127.0.0.1` or `::1`; port 0 means any free port.
  ///   - whenStopped: called once after the server has stopped, on one of its threads.
  package init(
    on endpoint: Endpoint, content: any PageContent, times: PageServerTimes = PageServerTimes(),
    whenStopped: @escaping @Sendable () -> Void = {}
  ) throws(ListenError) {
    let listener = try LoopbackListener(on: endpoint)
    let host = listener.address.description
    self.listener = listener
    self.host = host
    self.content = content
    self.times = times
    self.whenStopped = whenStopped
    state = Mutex(
      State(
        gate: PageGate(host: host, port: listener.address.port), lastUse: monotonicMilliseconds()))
  }

  package func start() { startThread { [self] in accept() } }

  /// Stops listening and ends every connection.
  package func stop() {
    let (clients, task) = state.withLock { state in
      state.isStopped = true
      defer { state.watching = nil }
      return (state.clients, state.watching)
    }
    task?.cancel()
    for client in clients { client.connection.interrupt() }
    listener.wake()
  }

  /// Whether the server was stopped, or has stopped because no session was in use.
  package var isStopped: Bool { state.withLock { $0.isStopped } }

  /// Makes a code that opens one session; nil if the server has stopped.
  package func makeCode() -> String? {
    state.withLock { state in
      guard !state.isStopped else { return nil }
      state.lastUse = monotonicMilliseconds()
      return state.gate.makeCode(random: randomBytes(PageGate.codeBytes), now: state.lastUse)
    }
  }

  // MARK: Connections

  private func accept() {
    while !isOver() {
      // Without a deadline, the wait is split only because a poll takes a limited time.
      let deadline = times.idle.map { idle in state.withLock { $0.lastUse } + idle }
      let latest = monotonicMilliseconds() + 3_600_000
      if let connection = listener.accept(until: min(deadline ?? latest, latest)) { admit(connection) }
    }
    listener.close()
    stop()
    whenStopped()
  }

  /// Whether the server was stopped, or no session has been used for too long.
  private func isOver() -> Bool {
    state.withLock { state in
      if let idle = times.idle {
        if state.clients.contains(where: \.isOpenPage) { state.lastUse = monotonicMilliseconds() }
        if monotonicMilliseconds() - state.lastUse >= idle { state.isStopped = true }
      }
      return state.isStopped
    }
  }

  private func admit(_ connection: LoopbackConnection) {
    let client = PageClient(connection)
    let (hasRoom, evicted) = state.withLock { state -> (Bool, PageClient?) in
      guard !state.isStopped else { return (false, nil) }
      var evicted: PageClient?
      if state.clients.count >= Limits.pageConnectionsMax {
        // Other users of this machine can connect too, and must not keep the owner out.
        let least = state.clients.map(\.standing).min() ?? .key
        guard least < .key, let index = state.clients.firstIndex(where: { $0.standing == least }) else {
          return (false, nil)
        }
        evicted = state.clients.remove(at: index)
      }
      state.clients.append(client)
      return (true, evicted)
    }
    evicted?.connection.interrupt()
    guard hasRoom else {
      // Don't wait for this browser: all others depend on this thread.
      _ = connection.write(HTTPResponse(.serviceUnavailable).bytes, until: 0)
      connection.finish(until: 0)
      return
    }
    startThread { [self] in
      serve(client)
      leave(client)
    }
  }

  private func leave(_ client: PageClient) {
    let task = state.withLock { state -> Task<Void, Never>? in
      state.clients.removeAll { $0 === client }
      if client.isOpenPage { state.lastUse = monotonicMilliseconds() }
      guard !state.clients.contains(where: \.isOpenPage) else { return nil }
      defer { state.watching = nil }
      return state.watching
    }
    task?.cancel()
  }

  private func serve(_ client: PageClient) {
    guard let response = answer(client) else { return }
    let deadline = monotonicMilliseconds() + times.response
    guard client.connection.write(response.bytes, until: deadline) else { return }
    client.standing = .unknown
    client.connection.finish(until: monotonicMilliseconds() + times.linger)
  }

  /// Reads the request and returns the response; nil if the connection ends without one.
  private func answer(_ client: PageClient) -> HTTPResponse? {
    var reader = HTTPRequestReader()
    let deadline = monotonicMilliseconds() + times.request
    while true {
      switch client.connection.read(atMost: 16 * 1024, until: deadline) {
      case .end: return nil
      case .late: return reader.isUntouched ? nil : HTTPResponse(.requestTimeout)
      case .bytes(let bytes):
        switch reader.receive(bytes) {
        case .incomplete: continue
        case .refused(let status): return HTTPResponse(status)
        case .request(let request): return answer(request, client)
        }
      }
    }
  }

  private func answer(_ request: HTTPRequest, _ client: PageClient) -> HTTPResponse? {
    let decision = state.withLock { state in
      let now = monotonicMilliseconds()
      let decision = state.gate.decide(request, now: now)
      // A request with the cookie alone may come from another user: browsers send cookies to every port.
      if case .allowed(let route, .some) = decision {
        client.standing = route.needsKey ? .key : .cookie
        if route.needsKey { state.lastUse = now }
      }
      return decision
    }
    switch decision {
    case .refused(let response): return response
    case .allowed(.login, _): return LoginPage.file.response
    case .allowed(.openSession, _): return openSession(request)
    case .allowed(.page, _): return content.page.response
    case .allowed(.document, _): return document(client)
    case .allowed(.action, _): return perform(request, client)
    case .allowed(.leave, let session): return leave(session)
    case .allowed(.events, let session):
      if let session { stream(client, session) }
      return nil
    }
  }

  // MARK: Routes

  private func openSession(_ request: HTTPRequest) -> HTTPResponse {
    guard let json = try? JSON.parse(request.body, depthMax: 2), json.members?.count == 1,
      let code = json["code"]?.string
    else { return HTTPResponse(.badRequest) }
    let opening = state.withLock { state in
      state.gate.openSession(
        code: code, random: randomBytes(2 * PageGate.secretBytes), now: monotonicMilliseconds())
    }
    guard let opening else { return HTTPResponse(.forbidden) }
    let answer: JSON = ["key": .string(opening.key)]
    var response = HTTPResponse.json(answer.bytes())
    response.fields.append(.init("Set-Cookie", opening.cookie))
    return response
  }

  private func leave(_ session: PageGate.Session.ID?) -> HTTPResponse {
    let clients = state.withLock { state in
      if let session { state.gate.endSession(session) }
      return state.clients.filter(\.isOpenPage)
    }
    // Open pages of this session find that it has ended.
    for client in clients { client.connection.wake() }
    return HTTPResponse(.noContent)
  }

  private func document(_ client: PageClient) -> HTTPResponse {
    let content = content
    // The reason is in the node's status and log, not in an answer to a browser.
    let bytes = waiting(for: client) { try? await content.document() }
    return bytes.map { .json($0) } ?? HTTPResponse(.internalServerError)
  }

  private func perform(_ request: HTTPRequest, _ client: PageClient) -> HTTPResponse {
    do throws(PageActionError) {
      let (action, confirmation) = try PageAction.read(request.body)
      let content = content
      switch waiting(for: client, { await content.perform(action, confirmation: confirmation) }) {
      case .answer(let bytes), .question(let bytes): return .json(bytes)
      case .failure(let bytes): return .json(bytes, .unprocessableContent)
      }
    } catch {
      let document: JSON = ["type": "error", "code": "usage", "message": .string(error.message)]
      return .json(document.bytes(), .unprocessableContent)
    }
  }

  /// Waits on this thread, which belongs to the connection, for the result. If the browser hangs up, the task is
  /// cancelled; the connection counts until the task has ended, which limits the number of actions in progress.
  private func waiting<Value: Sendable>(
    for client: PageClient, _ body: @escaping @Sendable () async -> Value
  ) -> Value {
    let promise = Promise<Value>()
    let task = Task { promise.keep(await body()) }
    while true {
      if let value = promise.value(within: Limits.controlLookMilliseconds) { return value }
      if client.connection.hasHungUp { task.cancel() }
    }
  }

  // MARK: Events

  /// Tells an open page of changes until it is closed, its session ends, or it stops reading.
  private func stream(_ client: PageClient, _ session: PageGate.Session.ID) {
    let head = HTTPResponse.events.bytes + ServerSentEvent.retry(milliseconds: Limits.pageRetryMilliseconds)
    guard send(head, to: client), open(client) else { return }
    var beat = monotonicMilliseconds() + times.heartbeat
    while true {
      let event = client.connection.waitForWake(until: beat)
      let now = monotonicMilliseconds()
      guard event != .end, state.withLock({ !$0.isStopped && $0.gate.isOpen(session, now: now) }) else {
        return
      }
      if client.takeChange() {
        guard send(ServerSentEvent.event("changed"), to: client) else { return }
      } else if event == .late {
        guard send(ServerSentEvent.heartbeat, to: client) else { return }
        beat = now + times.heartbeat
      }
    }
  }

  private func send(_ bytes: [UInt8], to client: PageClient) -> Bool {
    client.connection.write(bytes, until: monotonicMilliseconds() + times.event)
  }

  /// Counts a page as open, and watches the content if it is the first one. Either way, the page soon gets its first
  /// event: it then loads what it shows, and misses no change. Returns false if the server has stopped.
  private func open(_ client: PageClient) -> Bool {
    state.withLock { state in
      guard !state.isStopped, state.clients.contains(where: { $0 === client }) else { return false }
      client.isOpenPage = true
      if state.watching == nil {
        state.watching = Task { [weak self, content, times] in
          for await _ in content.changes() {
            self?.markChanged()
            // The stream keeps one change meanwhile, so that a busy node costs an open page little.
            try? await Task.sleep(for: .milliseconds(times.change))
          }
        }
      } else {
        client.markChanged()
      }
      return true
    }
  }

  private func markChanged() {
    let pages = state.withLock { $0.clients.filter(\.isOpenPage) }
    for page in pages { page.markChanged() }
  }
}

/// A connection, and what the server knows about it.
private final class PageClient: Sendable {
  /// What a request has shown. The less it is, the sooner its connection makes room for another one.
  enum Standing: UInt8, Comparable {
    case unknown
    case cookie
    case key

    static func < (left: Standing, right: Standing) -> Bool { left.rawValue < right.rawValue }
  }

  let connection: LoopbackConnection
  private let shown = Atomic(Standing.unknown.rawValue)
  private let page = Atomic(false)
  private let changed = Atomic(false)

  init(_ connection: LoopbackConnection) { self.connection = connection }

  /// What its request has shown, until it is answered.
  var standing: Standing {
    get { Standing(rawValue: shown.load(ordering: .acquiring)) ?? .unknown }
    set { shown.store(newValue.rawValue, ordering: .releasing) }
  }

  /// Whether it is a stream of events.
  var isOpenPage: Bool {
    get { page.load(ordering: .acquiring) }
    set { page.store(newValue, ordering: .releasing) }
  }

  func markChanged() {
    // One mark is enough for any number of changes.
    if !changed.exchange(true, ordering: .acquiringAndReleasing) { connection.wake() }
  }

  func takeChange() -> Bool { changed.exchange(false, ordering: .acquiringAndReleasing) }
}

/// A value that a task delivers to a thread.
private final class Promise<Value: Sendable>: Sendable {
  private let delivered = Mutex<Value?>(nil)
  private let ended = DispatchSemaphore(value: 0)

  func keep(_ value: Value) {
    delivered.withLock { $0 = value }
    ended.signal()
  }

  /// Waits some milliseconds for the value.
  func value(within milliseconds: Int) -> Value? {
    guard ended.wait(timeout: .now() + .milliseconds(milliseconds)) == .success else { return nil }
    return delivered.withLock { $0 }
  }
}
