import Testing
import WaymarkCare
import WaymarkTesting

@testable import Control
@testable import Home
@testable import Waymark

/// Commands of a device that is no admin, and signs with the circle's root key from a file.
struct RootKeyCommandTests {
  private func reason<Answer>(_ result: Result<Answer, WaymarkError>) -> Reason? {
    switch result {
    case .success: nil
    case .failure(let failure): failure.reason
    }
  }

  @Test func `a device that is no admin renames and promotes with the root key and its passphrase`()
    async throws
  {
    let circle = try await SocketCircle.make(["alice", "bob"])
    defer { circle.end() }
    let (bob, home) = (circle["bob"], circle.home("alice"))
    let key = home.rootKey
    let sealing = try KeyPassphrases(home, file: key, cost: cheap)
    _ = try sealing.set { try words("four words for Alice") }
    let call = CommandCall(passphrase: try words("four words for Alice"))

    let rename = RenameDevice(name: "tower", device: "alice", rootKey: key)
    let plainRename = await bob.answer(RenameDevice(name: "tower", device: "alice"), call)
    #expect(reason(plainRename) == .notAdmin)
    let closedRename = await bob.answer(rename)
    #expect(reason(closedRename) == .passphraseNeeded)
    let renamed = try await bob.answer(rename, call).get()
    #expect(renamed.name == "tower" && renamed.previousName == "alice" && renamed.isChanged)

    let promotion = PromoteMember(device: "bob", rootKey: key)
    let plainPromotion = await bob.answer(PromoteMember(device: "bob"), call)
    #expect(reason(plainPromotion) == .notAdmin)
    let closedPromotion = await bob.answer(promotion)
    #expect(reason(closedPromotion) == .passphraseNeeded)
    let promoted = try await bob.answer(promotion, call).get()
    #expect(promoted.role == .admin && promoted.isChanged)
    let role = try await bob.members().first { $0.name == "bob" }?.role
    #expect(role == .admin)
  }
}
