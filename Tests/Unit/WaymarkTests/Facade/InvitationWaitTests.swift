import Enrolment
import NodeOperations
import NodeRuntime
import Reasons
import Testing
import Transport
import WaymarkCare
import WaymarkTesting
import Wire

@testable import SecureChannel
@testable import Waymark

/// How the wait for a device that joins ends while other invitations are open.
struct InvitationWaitTests {
  @Test func `a wait ends at once when its own invitation is cancelled, and not with another one`()
    async throws
  {
    let circle = try await TestCircle("alice", premium: .nobody, isSyncing: false)
    let alice = circle["alice"]
    let other = try await alice.invite()
    let awaited = try await alice.invite()
    _ = try await alice.invite()
    let (id, heard) = (awaited.id, Heard<String>())
    let wait = Task { await alice.awaitJoiner(of: id, heard) }
    try await eventually("the wait has begun") { !heard.all.isEmpty }
    try await circle.clock.quiet()
    #expect(heard.all == ["begun"], "the invitation is open")
    try await alice.cancelOpen(other.id)
    try await circle.clock.quiet()
    #expect(heard.all == ["begun"], "another invitation was cancelled")
    // A third invitation stays open, and no time passes.
    try await alice.cancelOpen(id)
    try await circle.clock.quiet()
    #expect(heard.all == ["begun", "invitation_cancelled"])
    wait.cancel()
    await wait.value
    await circle.close()
  }

  @Test func `a wait tells that all tries of the code have failed`() async throws {
    let circle = try await TestCircle("alice", premium: .nobody, isSyncing: false)
    let alice = circle["alice"]
    let invitation = try await alice.inviteByCode(for: .seconds(600))
    #expect(try await alice.tryCode(Limits.codeTriesMax))
    // The last try may still succeed until then.
    try await circle.clock.advance(by: .milliseconds(Limits.handshakeMillisecondsMax + 1))
    let (id, heard) = (invitation.id, Heard<String>())
    try await within("the end of the wait") { await alice.awaitJoiner(of: id, heard) }
    #expect(heard.all == ["begun", "code_ended"])
    await circle.close()
  }
}

extension Node {
  fileprivate func cancelOpen(_ id: String) throws {
    _ = try InvitationOperations(core).cancelInvitation(id)
  }

  /// Waits for a device for ten minutes. Notes on the node's queue when the wait begins, and how it ends.
  fileprivate func awaitJoiner(of id: String, _ heard: Heard<String>) async {
    heard.note("begun")
    do {
      _ = try await InvitationOperations(core).joiner(of: id, within: 600_000)
      heard.note("joined")
    } catch let error as WaymarkError {
      heard.note(error.code.rawValue)
    } catch {
      heard.note("\(error)")
    }
  }

  /// Begins tries of the offered code from nearby, and says whether each of them was allowed.
  fileprivate func tryCode(_ count: Int) throws -> Bool {
    let address = try #require(SocketAddress.numeric("192.168.1.20", port: 7_433))
    let preamble = Preamble(nonce: Bytes16(7, 8), key: CodeExchange.preambleKey)
    var begun = 0
    for number in 1...count {
      let access = core.connections.credentials.access(by: preamble, from: address)
      if access?.code?.begin(Bytes16(9, UInt64(number))) != nil { begun += 1 }
    }
    return begun == count
  }
}
