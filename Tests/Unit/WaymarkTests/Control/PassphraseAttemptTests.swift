import Foundation
import JSONDocument
import Synchronization
import Testing
import WaymarkCare
import Wire

@testable import Control
@testable import Home
@testable import Waymark

/// The passphrase that a running node needs, and that its client asks the person for.
struct PassphraseAttemptTests {
  /// Asks a node that accepts only one passphrase. Returns the answer, the attempts that a person was asked
  /// for, and the number of requests.
  private func ask(
    _ texts: [String], nodeWants right: String
  ) async throws -> (answer: Result<JSON, WaymarkError>, attempts: [Int], requests: Int) {
    let folder = try Folder()
    let attempts = Heard<Int>()
    let source = PassphraseSource { _, attempt in
      attempts.note(attempt)
      return attempt < texts.count ? try words(texts[attempt]) : nil
    }
    let home = Home(path: folder.path, passphrases: source)
    let requests = Mutex(0)
    let server = try ControlServer(at: try .toServe(home)) { request, call in
      guard request.command != Ping.name else { return .result("ping") }
      let count = requests.withLock { count -> Int in
        count += 1
        return count
      }
      guard count < 10 else { return .failure(.usage("asked too often")) }
      guard let given = call.passphrase else {
        return .failure(.failed(.passphraseNeeded, "The key is sealed.", next: "try again"))
      }
      let isRight = (try? words(right)).map { $0 == given } ?? false
      return isRight
        ? .result("done") : .failure(.failed(.wrongPassphrase, "The words are wrong.", next: "try again"))
    }
    server.start()
    defer { server.stop() }
    let socket = try #require(try ControlClient.connect(home))
    let request = ControlRequest(command: "hello", arguments: [:])
    let result: Result<JSON, WaymarkError>
    do {
      result = .success(try await ControlClient.ask(socket, request, home, keyFile: nil, nil) { _ in })
    } catch let failure as WaymarkError {
      result = .failure(failure)
    }
    return (result, attempts.all, requests.withLock { $0 })
  }

  @Test func `after a wrong passphrase the next one is asked for, until it is right`() async throws {
    let asked = try await ask(
      ["words of Bob", "words of Carol", "words of Alice"], nodeWants: "words of Alice")
    #expect(try asked.answer.get() == "done")
    #expect(asked.attempts == [0, 1, 2])
    #expect(asked.requests == 4, "the first one is without a passphrase")
  }

  @Test func `a person who has no other passphrase is told that the last one was wrong`() async throws {
    let asked = try await ask(["words of Bob"], nodeWants: "words of Alice")
    let failure = #expect(throws: WaymarkError.self) { try asked.answer.get() }
    #expect(failure?.reason == .wrongPassphrase)
    #expect(asked.attempts == [0, 1])
  }
}
