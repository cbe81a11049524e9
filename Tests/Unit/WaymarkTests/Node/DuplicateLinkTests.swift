import Foundation
import Synchronization
import Testing
import Waymark
import WaymarkCare

/// Two links between the same two devices, as when both dial at the same time.
struct DuplicateLinkTests {
  @Test func `a second link is not logged as another connection, nor its end as a disconnection`()
    async throws
  {
    let circle = try await SocketCircle.make(["alice", "bob"])
    defer { circle.end() }
    await circle["alice"].close()
    let lines = Mutex<[(level: NodeLog.Level, text: String)]>([])
    let alice = try Node(
      home: circle.home("alice"),
      log: NodeLog { level, area, text in
        if area == "peers" { lines.withLock { $0.append((level, text)) } }
      })
    func hasLogged(_ text: String) -> Bool { lines.withLock { $0.contains { $0.text.contains(text) } } }
    try await alice.serve(listen: "127.0.0.1:0")
    let status = try await circle["bob"].status()
    let port = try #require(status.address?.split(separator: ":").last)
    try await alice.addPeer(at: "127.0.0.1:\(port)")
    try await eventually("Alice is connected to Bob") { hasLogged("connected to bob") }
    // Other addresses of the same device, which Alice dials because she can't know that it is the same. Bob ends the
    // older link. If Alice reads that before his greeting on the newer one, she has had only one link at a time.
    for host in ["localhost", "LOCALHOST", "Localhost", "localHost"] {
      try await alice.addPeer(at: "\(host):\(port)")
      try await eventually("one of the links has ended") {
        hasLogged("one of two connections to bob ended") || hasLogged("disconnected from bob")
      }
      if hasLogged("one of two connections to bob ended") { break }
      // What follows her last disconnection counts.
      lines.withLock { lines in
        lines = Array(
          lines[(lines.lastIndex { $0.text.hasPrefix("disconnected from bob") } ?? 0)...].dropFirst())
      }
      try await eventually("Alice is connected to Bob again") { hasLogged("connected to bob") }
    }
    let told = lines.withLock { $0.filter { $0.level >= .info && $0.text.contains("bob") }.map(\.text) }
    #expect(told == ["connected to bob"])
    #expect(hasLogged("connected to bob, again"))
    await circle["bob"].close()
    try await eventually("the last link has ended") { hasLogged("disconnected from bob") }
    await alice.close()
  }
}
