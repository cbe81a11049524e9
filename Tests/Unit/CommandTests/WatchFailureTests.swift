import Foundation
import Home
import JSONDocument
import Processes
import Synchronization
import Testing
import Waymark
import WaymarkCare

@testable import Control

/// `--watch` next to a node that fails now and then.
struct WatchFailureTests {
  @Test func `failures between answers do not add up until the watch gives up`() async throws {
    try await Workshop.with { workshop in
      let alice = workshop.device("alice")
      try FileManager.default.createDirectory(
        atPath: alice.home, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
      let node = try Node.inMemory(name: "alice")
      let looks = Mutex(0)
      // Hangs up on every other look. The node says that it does not serve, so that the watch, which finds that one
      // runs, looks again at once.
      let server = try ControlServer(at: try .toServe(Home(path: alice.home))) { request, call in
        if request.command == ShowStatus.name {
          let isFailure = looks.withLock { looks in
            looks += 1
            return looks % 2 == 1
          }
          if isFailure { return .failure(.hungUp) }
        }
        switch await node.answer(to: request, call) {
        case .success(let answer): return .result(answer)
        case .failure(let failure): return .failure(failure)
        }
      }
      server.start()
      defer { server.stop() }
      let (output, errors) = (workshop.path("watch"), workshop.path("errors"))
      let watch = try alice.begin("exec $W status --watch", output, errors)
      // Twenty failures in a row would end it.
      try await until("the watch has looked 60 times") { looks.withLock { $0 } >= 60 || watch.code != nil }
      watch.signal(SIGINT)
      let code = try await watch.wait(seconds: 20, for: "the watch after Ctrl-C")
      let trouble = try String(contentsOfFile: errors, encoding: .utf8)
      #expect(code == 130, "\(trouble)")
      let line = try String(contentsOfFile: output, encoding: .utf8).split(separator: "\n").first
      #expect(try JSON.parse(String(try #require(line)))["running"] == false)
      await node.close()
    }
  }
}
