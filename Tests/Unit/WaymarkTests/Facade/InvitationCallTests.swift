import Foundation
import Testing
import WaymarkCare
import WaymarkTesting
import Wire

@testable import Waymark

/// Open invitations: their limits, their list, and how a wait for a device ends.
struct InvitationCallTests {
  /// The only device of a circle, which serves.
  private func alone() async throws -> (circle: TestCircle, alice: Node) {
    let circle = try await TestCircle("alice", premium: .nobody, isSyncing: false)
    return (circle, circle["alice"])
  }

  @Test func `an invitation lasts up to ten years, a code up to ten minutes, and no longer`() async throws {
    let (circle, alice) = try await alone()
    let now = circle.clock.now.milliseconds
    let (tickets, codes) = (Limits.ticketMillisecondsMax, Limits.codeMillisecondsMax)
    #expect(try await alice.invite(for: .milliseconds(tickets)).expires.milliseconds == now + tickets)
    #expect(try await alice.invite(for: .milliseconds(1)).expires.milliseconds == now + 1)
    #expect(try await alice.inviteByCode(for: .milliseconds(codes)).expires.milliseconds == now + codes)
    for lifetime in [0, tickets + 1] {
      #expect(
        try await refusal { _ = try await alice.invite(for: .milliseconds(lifetime)) } == "bad_value",
        "\(lifetime)")
    }
    for lifetime in [0, codes + 1] {
      #expect(
        try await refusal { _ = try await alice.inviteByCode(for: .milliseconds(lifetime)) } == "bad_value",
        "\(lifetime)")
    }
    // What was refused has opened nothing, and has not ended the offer of the code.
    #expect(await alice.openInvitations.map(\.triesLeft) == [nil, Limits.codeTriesMax, nil])
    await circle.close()
  }

  @Test func `open invitations are listed until they end, are cancelled, or another code replaces them`()
    async throws
  {
    let (circle, alice) = try await alone()
    let long = try await alice.invite(for: .seconds(600))
    let short = try await alice.invite(as: .admin, for: .seconds(60))
    let replaced = try await alice.inviteByCode(for: .seconds(300))
    var listed = await alice.openInvitations
    #expect(listed.map(\.id) == [short.id, replaced.id, long.id])
    #expect(listed.map(\.kind) == [.ticket, .code, .ticket])
    #expect(listed.map(\.role) == [.admin, .member, .member])
    #expect(listed.map(\.expires) == [short.expires, replaced.expires, long.expires])
    let code = try await alice.inviteByCode(as: .admin, for: .seconds(120))
    listed = await alice.openInvitations
    #expect(listed.map(\.id) == [short.id, code.id, long.id])
    #expect(listed.map(\.role) == [.admin, .admin, .member])

    #expect(try await alice.cancel(String(short.id.prefix(10)).uppercased()).id == short.id)
    // No text means all of them, and none means a cancelled one.
    for text in ["", "zz", short.id] {
      #expect(try await refusal { _ = try await alice.cancel(text) } == "not_found", "\(text)")
    }
    #expect(await alice.openInvitations.map(\.id) == [code.id, long.id])
    try await circle.clock.advance(to: code.expires - 0.001)
    #expect(await alice.openInvitations.map(\.id) == [code.id, long.id])
    try await circle.clock.advance(to: code.expires)
    #expect(await alice.openInvitations.map(\.id) == [long.id])
    await circle.close()
  }

  @Test func `as many invitations are open as the limit says, and a cancelled one makes room`() async throws {
    let (circle, alice) = try await alone()
    for _ in 0..<Limits.ticketsMax { _ = try await alice.invite() }
    #expect(try await refusal { _ = try await alice.invite() } == "too_many_tickets")
    let open = await alice.openInvitations
    #expect(open.count == Limits.ticketsMax)
    // Of sixteen random ids, two begin with the same digit, except once in a million runs.
    let digits = Dictionary(grouping: open) { String($0.id.prefix(1)) }
    if let shared = digits.first(where: { $0.value.count > 1 })?.key {
      #expect(try await refusal { _ = try await alice.cancel(shared) } == "ambiguous")
    }
    #expect(await alice.openInvitations == open)
    _ = try await alice.cancel(open[3].id)
    let new = try await alice.invite()
    let ids = await alice.openInvitations.map(\.id)
    #expect(Set(ids) == Set(open.map(\.id)).subtracting([open[3].id]).union([new.id]))
    await circle.close()
  }

  @Test func `a wait for a device tells an invitation that has expired from one that was cancelled`()
    async throws
  {
    let (circle, alice) = try await alone()
    let short = try await alice.invite(for: .seconds(60))
    try await circle.clock.advance(by: .seconds(60))
    #expect(try await refusal { _ = try await alice.joiner(of: short.id, within: 0) } == "ticket_expired")
    let open = try await alice.invite(for: .seconds(600))
    _ = try await alice.cancel(open.id)
    let cancelled = try await refusal {
      try await within("the cancelled invitation") {
        _ = try await alice.joiner(of: open.id, within: 600_000)
      }
    }
    #expect(cancelled == "invitation_cancelled")
    #expect(try await refusal { _ = try await alice.joiner(of: "zz", within: 1_000) } == "not_found")
    await circle.close()
  }
}

extension Node {
  fileprivate var openInvitations: [OpenInvitation] { InvitationOperations(core).invitations }

  fileprivate func cancel(_ id: String) throws -> OpenInvitation {
    try InvitationOperations(core).cancelInvitation(id)
  }

  fileprivate func joiner(of id: String, within milliseconds: Int64) async throws -> DeviceReference {
    try await InvitationOperations(core).joiner(of: id, within: milliseconds)
  }
}
