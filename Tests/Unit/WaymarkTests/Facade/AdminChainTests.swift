import Foundation
import Testing
import WaymarkCare
import WaymarkTesting
import Wire

@testable import Waymark

/// Certificates by the last device of the longest chain of admins.
struct AdminChainTests {
  @Test func `an admin at the end of the longest chain certifies nobody, and says why`() async throws {
    let names = ["alice", "bob", "carol", "dora", "erik", "fred", "gina", "hugo"]
    #expect(names.count == Limits.chainLinksMax)
    let circle = try await TestCircle("alice", premium: .nobody, isSyncing: false)
    for (inviter, name) in zip(names, names.dropFirst()) {
      try await circle.add(name, invitedBy: inviter, isAdmin: true)
      try await circle.settle()
    }
    let (gina, hugo) = (circle["gina"], circle["hugo"])
    let last = try await hugo.status().device
    let refused = await #expect(throws: WaymarkError.self) { try await hugo.renameForAll(last, to: "nas") }
    #expect(refused?.code == .notAdmin)
    let message = refused?.message.description ?? ""
    #expect(message.hasPrefix("This device is the last link of the longest possible chain"), "\(message)")
    #expect(try await hugo.status().name == "hugo")
    // The one before it can.
    #expect(try await gina.renameForAll(last, to: "nas").isChanged)
    try await circle.settle()
    #expect(try await hugo.status().name == "nas")
    await circle.close()
  }
}
