import Membership
import Platform
import Reasons
import Replication
import Synchronization
import Testing
import WaymarkCare
import WaymarkTesting
import Wire

@testable import NodeRuntime
@testable import Transport
@testable import Waymark

/// What a node makes of the events of its network.
struct ScriptedNetworkTests {
  private static let own = "192.0.2.1:7433"

  @Test(
    arguments: [
      (.refused, .dialRefused), (.timeout, .dialTimeout), (.noRoute, .noRoute), (.unresolved, .noRoute),
      (.versionMismatch(theirs: 9), .newerProtocol), (.notAuthorized, .notAMember),
      (.handshakeFailed, .notAMember), (.truncated, .offline),
      (.failed(SystemError(call: "socket", code: EMFILE)), .offline),
    ] as [(LinkEnd, Reason)])
  func `why an added address can't be reached is told`(end: LinkEnd, reason: Reason) async throws {
    let clock = VirtualClock()
    let transport = try ScriptedTransport(at: Self.own, end: end)
    let node = try transport.node(clock: clock)
    try await node.serve(listen: Self.own)
    try await node.addPeer(at: "198.51.100.7:7433")
    try await clock.quiet()
    let address = try #require(try await node.status().addresses.first)
    #expect(address.failure == reason)
    #expect(address.address == "198.51.100.7:7433" && address.isSaved && address.device == nil)
    #expect(transport.dialled == ["198.51.100.7:7433"])
    await node.close()
  }

  @Test func `a node that can't listen says why, and can serve afterwards`() async throws {
    let endpoint = Endpoint(host: "192.0.2.1", port: 80)
    let refusals: [(ListenError, String, String)] = [
      (.addressInUse(endpoint), "address_in_use", "another port"),
      (.notHere(endpoint), "address_not_here", "[::]:7433"),
      (.failed(endpoint, SystemError(call: "bind", code: EACCES)), "listen", "1024"),
      (.failed(endpoint, SystemError(call: "bind", code: EMFILE)), "listen", "[::]:7433"),
    ]
    let transport = try ScriptedTransport(at: Self.own)
    let node = try transport.node(clock: VirtualClock())
    for (refusal, code, next) in refusals {
      transport.refusal = refusal
      do {
        try await node.serve(listen: "192.0.2.1:80")
        Issue.record("it serves although \(refusal)")
      } catch let error as WaymarkError {
        #expect(error.code.rawValue == code)
        #expect(error.next?.description.contains(next) == true, "\(code): \(error.next?.description ?? "")")
      }
      #expect(try await !node.status().isServing, "\(code)")
    }
    transport.refusal = nil
    try await node.serve(listen: "192.0.2.1:80")
    #expect(try await node.status().isServing)
    await node.close()
  }

  // MARK: Interfaces

  private static let step = Duration.milliseconds(Limits.interfaceMilliseconds)

  @Test func `connections end when this machine's addresses change, and not when the system can't tell them`()
    async throws
  {
    let clock = VirtualClock()
    let transport = try ScriptedTransport(at: Self.own, hosts: ["192.0.2.1"])
    let node = try transport.node(clock: clock)
    try await node.serve(listen: Self.own)
    let link = ScriptedLink()
    _ = await node.adopt(link, from: "192.0.2.9:50000")
    try await clock.advance(by: Self.step)
    #expect(link.hosts.isEmpty, "nothing has changed")
    transport.interfaces = nil
    try await clock.advance(by: Self.step)
    #expect(link.hosts.isEmpty, "the system did not tell")
    let moved = try ScriptedTransport.interface("192.0.2.2")
    transport.interfaces = [moved]
    try await clock.advance(by: Self.step)
    #expect(link.hosts == [["192.0.2.2"]])
    try await clock.advance(by: Self.step)
    #expect(link.hosts.count == 1)
    transport.interfaces = []
    try await clock.advance(by: Self.step)
    #expect(link.hosts == [["192.0.2.2"], []], "it has no address any more")
    await node.close()
  }

  @Test func `new addresses are announced once they have lasted, and only once`() async throws {
    let clock = VirtualClock()
    let transport = try ScriptedTransport(at: Self.own, hosts: ["192.0.2.1"])
    let node = try transport.node(clock: clock)
    func move(to host: String) throws {
      transport.address = try ScriptedTransport.address("\(host):7433")
      transport.interfaces = [try ScriptedTransport.interface(host)]
    }
    try await node.serve(listen: Self.own)
    #expect(await node.announced == [Self.own])
    // A loose plug: neither address lasts from one look to the next.
    for host in ["192.0.2.2", "192.0.2.3"] {
      try move(to: host)
      try await clock.advance(by: Self.step)
      #expect(await node.announced == [Self.own], "\(host)")
    }
    try await clock.advance(by: Self.step)
    #expect(await node.announced == ["192.0.2.3:7433"])
    let statements = await node.statements
    for _ in 0..<5 { try await clock.advance(by: Self.step) }
    #expect(await node.statements == statements)
    await node.close()
  }

  // MARK: Refused connections

  @Test func `a refused stranger is logged at once, more of them as a number after a minute`() async throws {
    let clock = VirtualClock()
    let lines = Mutex<[String]>([])
    let log = NodeLog(least: .warning) { _, area, text in
      if area == "peers" { lines.withLock { $0.append(text) } }
    }
    let node = try ScriptedTransport(at: Self.own).node(clock: clock, log: log)
    try await node.serve(listen: Self.own)
    let why = "not a member of this circle"
    for number in 1...3 { await node.end(ScriptedLink(), from: "192.0.2.\(number):50000", .notAMember) }
    #expect(lines.withLock { $0 } == ["192.0.2.1:50000: \(why)"])
    try await clock.advance(by: .milliseconds(StrangerLog.milliseconds))
    let summary = "2 more connections refused in the last minute, the last from 192.0.2.3:50000: \(why)"
    #expect(lines.withLock { $0 } == ["192.0.2.1:50000: \(why)", summary])
    // A minute without any is not worth a line, and after it the next one is.
    try await clock.advance(by: .milliseconds(2 * StrangerLog.milliseconds))
    #expect(lines.withLock { $0.count } == 2)
    await node.end(ScriptedLink(), from: "192.0.2.7:50000", .notAMember)
    #expect(lines.withLock { $0.last } == "192.0.2.7:50000: \(why)")
    await node.close()
  }

  @Test func `only a revoked peer gets nothing of what is queued, and refused connections are counted`()
    async throws
  {
    let node = try ScriptedTransport(at: Self.own).node(clock: VirtualClock())
    try await node.serve(listen: Self.own)
    let causes: [(CloseCause, String)] = [
      (.notAMember, "close"), (.misbehaved("it lied"), "close"), (.excluded, "close"),
      (.duplicate, "close"), (.shuttingDown, "close"), (.revoked, "closeAtOnce"), (.revoked, "closeAtOnce"),
    ]
    for (cause, ending) in causes {
      let link = ScriptedLink()
      await node.end(link, from: "192.0.2.9:50000", cause)
      #expect(link.endings == [ending], "\(cause)")
    }
    let metrics = try await node.metrics()
    for (reason, count) in [("misbehaved", 1), ("not_a_member", 1), ("revoked", 2)] {
      let line = "\nwaymark_connections_refused_total{reason=\"\(reason)\"} \(count)\n"
      #expect(metrics.contains(line), "\(reason)")
    }
    await node.close()
  }
}

extension Node {
  /// Adds an incoming link whose peer is not identified.
  fileprivate func adopt(_ link: ScriptedLink, from remote: String) -> LinkID? {
    core.connections.serving?.add(
      ServingState.ActiveLink(link: link, dialled: nil, remoteAddress: remote))
  }

  /// Adds a link, and closes it for a cause.
  fileprivate func end(_ link: ScriptedLink, from remote: String, _ cause: CloseCause) {
    guard let id = adopt(link, from: remote) else { return }
    core.connections.close(id, cause)
  }

  /// The addresses that the node has announced to the circle.
  fileprivate var announced: [String] { core.circle.addresses(of: core.identity.device) }

  /// The hash of the statements of the circle.
  fileprivate var statements: Bytes32 { core.circle.setHash }
}
