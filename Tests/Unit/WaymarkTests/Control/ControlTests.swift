import Foundation
import JSONDocument
import Platform
import Synchronization
import Testing
import WaymarkCare
import WaymarkTesting
import Wire

@testable import Control
@testable import Home
@testable import NodeRuntime
@testable import Waymark

/// The control socket with misbehaving clients. The node behind it is replaced by a function.
@Suite(.serialized) struct ControlTests {
  private static let echo: ControlServer.Handler = { request, _ in
    .result(.string(request.command))
  }

  /// A server in a folder of its own, until the body ends.
  private func serving(
    _ handler: @escaping ControlServer.Handler = echo, patience: Int64 = 120_000,
    isAlive: @escaping @Sendable () -> Bool = { true }, _ body: (Home) async throws -> Void
  ) async throws {
    let folder = try Folder()
    let home = Home(path: folder.path)
    let server = try ControlServer(
      at: try .toServe(home), patience: patience, isAlive: isAlive, handler: handler)
    server.start()
    defer { server.stop() }
    try await body(home)
  }

  private func connected(_ home: Home) throws -> LineSocket {
    guard let socket = try ControlSocketPath.all(of: home).first.flatMap({ try LineSocket.connect(to: $0) })
    else {
      throw Missing("nobody listens")
    }
    return socket
  }

  private struct Missing: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
  }

  /// Blocking work runs on a thread of its own: the handlers need those that tests run on.
  private func apart<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result
  {
    try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread { continuation.resume(with: Swift.Result { try body() }) }
    }
  }

  private func write(_ line: [UInt8], to socket: LineSocket) async throws -> Bool {
    try await apart { socket.writeLine(line, within: 120_000) }
  }

  private func read(_ socket: LineSocket, bytesMax: Int) async throws -> LineSocket.ReadResult {
    try await apart { socket.readLine(bytesMax: bytesMax, within: 120_000) }
  }

  /// The next answer; fails after two minutes.
  private func answer(_ socket: LineSocket) async throws -> JSON {
    switch try await read(socket, bytesMax: 64 * 1024 * 1024) {
    case .line(let line): return try JSON.parse(line)
    case .end: throw Missing("the node hung up")
    default: throw Missing("no answer within two minutes")
    }
  }

  private func ask(_ socket: LineSocket, _ command: String = "hello") async throws -> String? {
    // A node without room has hung up, and its answer is there.
    _ = try await write(ControlRequest(command: command, arguments: [:]).line(), to: socket)
    return try await answer(socket)["document"]?.string
  }

  private func expectAnswer(
    _ socket: LineSocket, _ expected: String, _ sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let said = try await ask(socket)
    #expect(said == expected, sourceLocation: sourceLocation)
  }

  // MARK: Who may connect

  @Test func `the socket is private to its owner`() async throws {
    try await serving { home in
      #expect(mode(home.controlSocket) == 0o600)
      let said = try await ask(connected(home))
      #expect(said == "hello")
    }
  }

  @Test func `sixteen clients are served, the next is told that there is no room, and a free slot is reused`()
    async throws
  {
    try await serving { home in
      var clients: [LineSocket] = []
      for number in 1...Limits.controlClientsMax {
        clients.append(try connected(home))
        try await expectAnswer(clients[number - 1], "hello")
      }
      let refused = try await answer(connected(home))
      #expect(refused["code"] == "busy" && refused["type"] == "error", "\(refused.text())")
      try await expectAnswer(clients[0], "hello")
      clients.removeLast()
      let deadline = ContinuousClock.now + .seconds(120)
      while try await ask(connected(home)) != "hello" {
        guard ContinuousClock.now < deadline else { throw Missing("no place came free in two minutes") }
      }
    }
  }

  @Test func `a command that finds all slots taken waits a moment for one`() async throws {
    try await serving { home in
      var others = try (0..<Limits.controlClientsMax).map { _ in try connected(home) }
      // It was answered, so it is counted.
      for other in others { try await expectAnswer(other, "hello") }
      let late = Task { try await ControlClient.perform(Ping(), home: home) }
      try await Task.sleep(for: .milliseconds(500))
      others.removeLast().interrupt()
      // The server of these tests answers with the name of the request; that it answers is what matters.
      await #expect { try await late.value } throws: { ($0 as? WaymarkError)?.reason == .unexpectedAnswer }
      for other in others { other.interrupt() }
    }
  }

  @Test func `a command whose client hung up before it was read is not performed`() async throws {
    let folder = try Folder()
    let home = Home(path: folder.path)
    let performed = Mutex<[String]>([])
    let server = try ControlServer(at: try .toServe(home)) { request, _ in
      performed.withLock { $0.append(request.command) }
      return .result(.string(request.command))
    }
    // The server listens and does not accept yet, as when the process is suspended.
    do {
      let gone = try connected(home)
      #expect(try await write(ControlRequest(command: "gone", arguments: [:]).line(), to: gone))
    }
    server.start()
    defer { server.stop() }
    let present = try connected(home)
    for _ in 0..<20 { #expect(try await ask(present, "present") == "present") }
    #expect(!performed.withLock { $0 }.contains("gone"))
  }

  @Test func `the socket of a killed node is replaced, and nothing else is`() async throws {
    let folder = try Folder()
    let home = Home(path: folder.path)
    let place = try ControlSocketPath.toServe(home)
    // As after a kill: bound, and without a listener.
    let dead = openSocket(AF_UNIX, .stream)
    #expect(withSocketAddress(place.path) { bind(dead, $0, $1) } == 0)
    close(dead)
    #expect(!ControlClient.isRunning(home))
    let server = try ControlServer(at: place, handler: Self.echo)
    server.start()
    try await expectAnswer(connected(home), "hello")
    server.stop()
    let other = try folder.write([1], "other")
    let plants: [() -> Void] = [
      { symlink(other, place.path) }, { try? Data([1]).write(to: URL(filePath: place.path)) },
      { mkdir(place.path, 0o700) },
    ]
    for plant in plants {
      plant()
      #expect(throws: WaymarkError.self) { try ControlServer(at: place, handler: Self.echo) }
      var status = stat()
      #expect(lstat(place.path, &status) == 0, "it was removed")
      #expect(try bytes(other) == [1])
      try FileManager.default.removeItem(atPath: place.path)
    }
  }

  @Test func `a command does not follow a link to a socket`() async throws {
    try await serving { home in
      let folder = try Folder()
      symlink(home.controlSocket, folder.file("control.sock"))
      #expect(!ControlClient.isRunning(Home(path: folder.path)))
      #expect(ControlClient.isRunning(home))
    }
  }

  // MARK: The path of the socket

  @Test func `for a path that is too long a checked directory is used`() async throws {
    let folder = try Folder()
    let home = Home(path: folder.file(String(repeating: "long", count: 40)))
    func places(_ runtime: String?) -> [ControlSocketPath] {
      ControlSocketPath.all(of: home, environment: runtime.map { ["XDG_RUNTIME_DIR": $0] } ?? [:])
    }
    #expect(places(nil).map(\.path).allSatisfy { $0.utf8.count < 104 })
    #expect(places(nil).last?.path.hasPrefix("/tmp/waymark-\(geteuid())/") == true)
    #expect(places("relative").first?.path.hasPrefix("/run/user/") == true)
    let other = Home(path: home.path + "r")
    #expect(ControlSocketPath.all(of: other, environment: [:]).last?.path != places(nil).last?.path)
    let runtime = folder.file("runtime")
    mkdir(runtime, 0o700)
    let place = try #require(places(runtime).first)
    #expect(place.path.hasPrefix(runtime + "/waymark-"))
    #expect(throws: Never.self) { try place.check() }
    for open: mode_t in [0o701, 0o710, 0o777, 0o1777] {
      chmod(runtime, open)
      #expect(throws: WaymarkError.self, "\(String(open, radix: 8))") { try place.check() }
      #expect(try LineSocket.connect(to: place) == nil)
    }
    chmod(runtime, 0o700)
    if geteuid() == 0 {
      chown(runtime, 65_534, 65_534)
      #expect(throws: WaymarkError.self) { try place.check() }
    } else {
      print("skipped: only root can change the owner of a directory")
    }
    rmdir(runtime)
    symlink(folder.path, runtime)
    #expect(throws: WaymarkError.self) { try place.check() }
  }

  @Test func `a long home has one socket path, however it is spelled`() throws {
    let folder = try Folder()
    let (parent, name) = (folder.file(String(repeating: "long", count: 30)), "home")
    try FileManager.default.createDirectory(atPath: "\(parent)/\(name)", withIntermediateDirectories: true)
    symlink(parent, folder.file("short"))
    func places(_ path: String) -> [String] { ControlSocketPath.all(of: Home(path: path)).map(\.path) }
    let expected = places("\(parent)/\(name)")
    #expect(!expected.isEmpty)
    for spelling in [
      "\(parent)//\(name)", "\(parent)/./\(name)/", "/\(parent)/\(name)", folder.file("short/home"),
    ] {
      #expect(places(spelling) == expected, "\(spelling)")
    }
  }

  // MARK: Requests

  /// A request of exactly this many bytes.
  private func request(_ count: Int) -> [UInt8] {
    func line(_ text: String) -> [UInt8] {
      ControlRequest(command: "hello", arguments: ["text": .string(text)]).line()
    }
    return line(String(repeating: "x", count: count - line("").count))
  }

  @Test func `a request may have a mebibyte and not one byte more`() async throws {
    try await serving { home in
      let fits = try connected(home)
      #expect(request(Limits.controlBytesMax).count == Limits.controlBytesMax)
      #expect(try await write(request(Limits.controlBytesMax), to: fits))
      #expect(try await answer(fits)["document"] == "hello")
      let long = try connected(home)
      #expect(try await write(request(Limits.controlBytesMax + 1), to: long))
      #expect(try await answer(long)["code"] == "usage")
      #expect(try await read(long, bytesMax: 1) == .end)
      let endless = try connected(home)
      _ = try await write([UInt8](repeating: 0x78, count: 4 * Limits.controlBytesMax), to: endless)
      #expect(try await answer(endless)["code"] == "usage")
      try await expectAnswer(connected(home), "hello")
    }
  }

  static let garbage: [String] = [
    "", " ", "hello", "[1,2]", "7", "null", "\"\"", "{}", "{\"command\":7}", "{\"command\":null}",
    "{\"command\":\"a\",\"arguments\":[]}", "{\"command\":\"a\",\"arguments\":7}", "{\"command\":\"a\"",
    "{\"command\":\"a\",\"command\":\"b\"}", "{\"command\":\"\\ud800\"}", "{\"command\":\"a\"}}",
    "{\"command\":\"a\",\"arguments\":{\"n\":01}}", "{\"arguments\":{}}",
    String(repeating: "[", count: 100_000), String(repeating: "{\"a\":", count: 100_000),
  ]

  @Test func `an invalid request gets an error, and the next is answered`() async throws {
    try await serving { home in
      let client = try connected(home)
      for line in Self.garbage {
        #expect(try await write(Array(line.utf8), to: client))
        #expect(try await answer(client)["type"] == "error", "\(line.prefix(60))")
      }
      #expect(try await write([0xff, 0xfe, 0x00, 0x80], to: client))
      #expect(try await answer(client)["type"] == "error")
      try await expectAnswer(client, "hello")
    }
  }

  @Test func `a passphrase reaches the request that follows it, and no other`() async throws {
    let heard = Mutex<[Bool]>([])
    let handler: ControlServer.Handler = { _, call in
      let expected = try? words("four words for Alice")
      heard.withLock { $0.append(call.passphrase != nil && call.passphrase == expected) }
      return .result("done")
    }
    try await serving(handler) { home in
      let client = try connected(home)
      #expect(client.writeSecret(ControlConnection.passphraseMark, try words("four words for Alice").secret))
      for _ in 1...2 { #expect(try await ask(client) == "done") }
      #expect(heard.withLock { $0 } == [true, false])
      _ = try await write(Array("passphrase short".utf8), to: client)
      #expect(try await answer(client)["code"] == "bad_passphrase")
    }
  }

  // MARK: Timeouts

  @Test func `a client that sends nothing, or only half a request, is told and disconnected`() async throws {
    try await serving(patience: 300) { home in
      for beginning in ["", "{\"command\":"] {
        let client = try connected(home)
        client.write(Array(beginning.utf8))
        let told = try await answer(client)
        #expect(told["code"] == "late")
        let end = try await read(client, bytesMax: 1)
        #expect(end == .end)
      }
    }
  }

  @Test func `half a request is waited for, but not forever`() async throws {
    let (left, right) = try pair()
    right.writeLine(Array("first".utf8))
    #expect(left.readLine(bytesMax: 10, within: 120_000) == .line(Array("first".utf8)))
    #expect(left.readLine(bytesMax: 10, within: 0) == .late)
    send(right, "half")
    #expect(left.readLine(bytesMax: 10, within: 50) == .late)
    send(right, " a line\n")
    #expect(left.readLine(bytesMax: 11, within: 120_000) == .line(Array("half a line".utf8)))
    send(right, "0123456789\n0123456789a\n")
    #expect(left.readLine(bytesMax: 10, within: 120_000) == .line(Array("0123456789".utf8)))
    #expect(left.readLine(bytesMax: 10, within: 120_000) == .tooLong)
  }

  @Test func `a request that drips in does not extend its timeout with every byte`() async throws {
    let (left, right) = try pair()
    let writer = Thread {
      for _ in 0..<100 {
        self.send(right, "x")
        Thread.sleep(forTimeInterval: 0.02)
      }
      self.send(right, "\n")
    }
    writer.start()
    #expect(try await apart { left.readLine(bytesMax: 1_000, within: 500) } == .late)
    #expect(try await read(left, bytesMax: 1_000) != .end)
  }

  @Test func `a client that reads nothing is dropped, one that reads slowly is not`() async throws {
    let (left, right) = try pair()
    let large = [UInt8](repeating: 0x78, count: 4 * 1024 * 1024)
    #expect(!left.writeLine(large, within: 100))
    let (server, client) = try pair()
    let reader = Thread {
      while case .line = client.readLine(bytesMax: large.count, within: 120_000) {}
    }
    reader.start()
    #expect(try await write(large, to: server))
    withExtendedLifetime(right) {}
  }

  @Test func `a client that does not read blocks no other`() async throws {
    let told = Mutex(0)
    let handler: ControlServer.Handler = { request, call in
      guard request.command == "talk" else { return .result("hello") }
      for _ in 0..<500 { call.tell(.warning(file: "x", text: String(repeating: "x", count: 4_096))) }
      told.withLock { $0 += 1 }
      return .result("all told")
    }
    try await serving(handler) { home in
      let deaf = try connected(home)
      deaf.writeLine(ControlRequest(command: "talk", arguments: [:]).line())
      let deadline = ContinuousClock.now + .seconds(120)
      while told.withLock({ $0 }) == 0 {
        guard ContinuousClock.now < deadline else { throw Missing("the node waited for its client") }
        try await Task.sleep(for: .milliseconds(10))
      }
      try await expectAnswer(connected(home), "hello")
      var last = JSON.null
      while last["document"] == nil { last = try await answer(deaf) }
      #expect(last["document"] == "all told")
    }
  }

  @Test func `a client that has hung up occupies no slot by waiting`() async throws {
    let handler: ControlServer.Handler = { request, _ in
      if request.command == "wait" { try? await Task.sleep(for: .seconds(3_600)) }
      return .result("hello")
    }
    try await serving(handler) { home in
      for _ in 0..<Limits.controlClientsMax {
        let waiting = try connected(home)
        waiting.writeLine(ControlRequest(command: "wait", arguments: [:]).line())
      }
      let deadline = ContinuousClock.now + .seconds(120)
      while try await ask(connected(home)) != "hello" {
        guard ContinuousClock.now < deadline else { throw Missing("those who have gone hold every place") }
        try await Task.sleep(for: .milliseconds(100))
      }
    }
  }

  // MARK: Keep-alive

  @Test func `a client that pings is told each second that a long command is running`() async throws {
    let handler: ControlServer.Handler = { request, _ in
      if request.command == "long" { try? await Task.sleep(for: .seconds(5)) }
      return .result(.string(request.command))
    }
    try await serving(handler) { home in
      let plain = try connected(home)
      #expect(try await ask(plain, "long") == "long")
      let client = try connected(home)
      #expect(try await ask(client, "ping") == "ping")
      client.writeLine(ControlRequest(command: "long", arguments: [:]).line())
      var types: [String?] = []
      while types.last != "result" { types.append(try await answer(client)["type"]?.string) }
      #expect(types.count > 2 && types.dropLast().allSatisfy { $0 == "alive" })
    }
  }

  @Test func `a node that does not react is reported as not answering, and gets no command`() async throws {
    let asked = Mutex<[String]>([])
    let handler: ControlServer.Handler = { request, _ in
      asked.withLock { $0.append(request.command) }
      try? await Task.sleep(for: .seconds(3_600))
      return .alive
    }
    try await serving(handler, isAlive: { false }) { home in
      let failure = await #expect(throws: WaymarkError.self) {
        try await ControlClient.run("trip.add", home: home)
      }
      #expect(failure?.reason == .notAnswering && failure?.exitCode == ExitCode.notRunning)
      #expect(
        failure?.message.description.contains("(process \(ProcessInfo.processInfo.processIdentifier))")
          == true)
      #expect(asked.withLock { $0 } == ["ping"])
    }
  }

  @Test func `a command that is scheduled after its client has left is not executed`() async throws {
    let alice = try await TestNode.founder("alice")
    let request = ControlRequest(command: "trip.add", arguments: fields("name=Rome"))
    let outcome = await alice.node.answer(to: request, CommandCall(hasLeft: { true }))
    #expect(throws: WaymarkError.cancelled) { try outcome.get() }
    #expect(try await alice.run("status")["counts"]?["trips"] == 0)
  }

  @Test func `a client that has closed its sending side has not hung up`() async throws {
    let handler: ControlServer.Handler = { _, _ in
      try? await Task.sleep(for: .milliseconds(2 * Limits.controlLookMilliseconds))
      return .result(.bool(Task.isCancelled))
    }
    try await serving(handler) { home in
      let descriptor = openSocket(AF_UNIX, .stream)
      let code = withSocketAddress(home.controlSocket) { connect(descriptor, $0, $1) }
      #expect(code == 0)
      let client = LineSocket(descriptor: descriptor)
      client.writeLine(ControlRequest(command: "wait", arguments: [:]).line())
      shutdown(descriptor, Int32(SHUT_WR))
      let said = try await answer(client)
      #expect(said["document"] == false)
    }
  }

  @Test func `a client that would miss messages is disconnected instead`() {
    let outbox = Outbox(bytesMax: 16)
    outbox.put(Array("123456".utf8))
    outbox.put(Array("123456".utf8))
    #expect(outbox.next(within: 0) == .line(Array("123456".utf8)))
    outbox.put(Array("123456".utf8))
    outbox.put(Array("this is one too many".utf8))
    outbox.put(Array("1".utf8))
    outbox.finish(Array("last".utf8))
    #expect(outbox.next(within: 0) == .end)
    #expect(outbox.hasOverflowed)
  }

  @Test func `messages arrive in order, the answer last`() {
    let outbox = Outbox()
    #expect(outbox.next(within: 0) == .nothingYet)
    for number in 0..<100 { outbox.put(Array("\(number)".utf8)) }
    outbox.finish(Array("end".utf8))
    var heard: [String] = []
    while case .line(let line) = outbox.next(within: 0) {
      heard.append(String(decoding: line, as: UTF8.self))
    }
    #expect(heard == (0..<100).map { "\($0)" } + ["end"])
    #expect(!outbox.hasOverflowed)
  }

  // MARK: Sockets without a server

  private func pair() throws -> (LineSocket, LineSocket) {
    var ends: [Int32] = [-1, -1]
    guard socketpair(AF_UNIX, SocketKind.stream.number, 0, &ends) == 0 else { throw Missing("no sockets") }
    return (LineSocket(descriptor: ends[0]), LineSocket(descriptor: ends[1]))
  }

  /// Without a line break at the end.
  private func send(_ socket: LineSocket, _ text: String) {
    socket.write(Array(text.utf8))
  }
}
