import JSONDocument
import Model
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Control
@testable import Waymark

/// What a person is told while a command is performed.
struct CommandEventTests {
  @Test func `a code is told at once, and is the answer of a command that does not wait for a device`()
    async throws
  {
    let circle = try await SocketCircle.make(["alice"])
    defer { circle.end() }
    let heard = Heard<CommandEvent>()
    // If the command waited, it would fail when the offer ends.
    let arguments: JSON = ["code": true, "expiresMilliseconds": 2_000]
    let answer = try await circle["alice"].run("invite", arguments) { heard.note($0) }
    let code = try #require(answer["code"]?.string)
    #expect(answer["ticket"] == nil || answer["ticket"] == .null)
    #expect(answer["joined"] == nil)
    #expect(heard.all.count == 1)
    guard case .code(let told, _, let address) = try #require(heard.all.first) else {
      Issue.record("\(heard.all)")
      return
    }
    let digits = code.filter(\.isNumber)
    #expect(told == code && digits.count == 6)
    #expect(address?.hasPrefix("127.0.0.1:") == true)
  }

  @Test func `a file that is fetched is reported with what has arrived, and only while it arrives`() {
    let heard = Heard<CommandEvent>()
    let tell = CommandCall(tell: { heard.note($0) }).tellFetching("ticket.pdf")
    let states: [FileState] = [
      .nowhere, .elsewhere(on: []), .partly(received: 10, size: 50, from: []),
      .partly(received: 40, size: 50, from: []), .here,
    ]
    for state in states { tell(state) }
    let expected: [CommandEvent] = [10, 40].map { done in
      .progress(WorkProgress(stage: "fetching", done: done, total: 50), file: "ticket.pdf")
    }
    #expect(heard.all == expected)
  }

  #if !MockPurchases
    @Test(arguments: ["entitlement.buy", "entitlement.cancel"])
    func `a build without mock purchases says so, with and without the option`(command: String) async throws {
      let alice = try await TestNode.founder("alice")
      let none: JSON = [:]
      for arguments in [none, ["mock": true], ["mock": true, "until": "2001-01-01"]] {
        let refused = try await failure(alice, command, arguments)
        let next = refused?.next?.description
        #expect(refused?.code == .usage, "\(arguments.text())")
        #expect(next == "waymark entitlement install FILE", "\(arguments.text())")
      }
      await alice.close()
    }
  #endif
}
