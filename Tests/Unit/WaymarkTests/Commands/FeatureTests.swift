import Foundation
import JSONDocument
import Model
import Records
import Replication
import Testing
import WaymarkCare
import WaymarkTesting
import Wire

@testable import Waymark

struct SettingsTests {
  @Test func `a preference is read from the settings, then from the local copy, then as the default`()
    async throws
  {
    let alice = try await TestNode.founder("alice")
    let copy = URL(filePath: alice.home.settings)
    func scheme() async throws -> [JSON?] {
      let reading = try await alice.run("settings.get", ["key": "colorScheme"])
      return [reading["value"], reading["source"]]
    }
    #expect(try await scheme() == ["system", "default"])
    try Data(#"{"colorScheme":"light"}"#.utf8).write(to: copy)
    #expect(try await scheme() == ["light", "copy"])
    try Data(#"{"colorScheme":"pink"}"#.utf8).write(to: copy)
    #expect(try await scheme() == ["system", "default"])
    try await alice.run("settings.set", ["key": "colorScheme", "value": "dark"])
    #expect(try await scheme() == ["dark", "settings"])
    #expect(try JSON.parse(Array(Data(contentsOf: copy)))["colorScheme"] == "dark")
    try await alice.run("settings.unset", ["key": "colorScheme"])
    #expect(try await scheme() == ["system", "default"])
  }

  @Test func `a known preference only accepts valid values`() async throws {
    let alice = try await TestNode.founder("alice")
    for (key, value) in [("colorScheme", "pink"), ("biometricTimeoutMinutes", "soon")] {
      let refused = try await failure(alice, "settings.set", ["key": .string(key), "value": .string(value)])
      #expect(refused?.exitCode == ExitCode.usage)
      #expect(refused?.message.description.contains(value) == true)
    }
    try await alice.run("settings.set", ["key": "biometricTimeoutMinutes", "value": "15"])
    #expect(try await alice.run("settings.get", ["key": "biometricTimeoutMinutes"])["value"] == 15)
    #expect(try await alice.run("status")["counts"]?["settings"] == 1)
  }

  @Test(arguments: [
    (1_024, 100, false), (1_025, 1, true), (16, 60_000, false), (18, 60_000, true),
  ]) func `all settings together have at most 1,024 keys and one mebibyte`(
    _ count: Int, _ bytes: Int, _ isOver: Bool
  ) {
    let value = Value.text(String(repeating: "x", count: bytes))
    #expect(Preferences.isOverLimit((0..<count).map { (key: "key\($0)", value: value) }) == isOver)
  }
}

struct OnboardingTests {
  @Test func `completion is stored here and synced, and a reset clears it here only`() async throws {
    let alice = try await TestNode.founder("alice")
    #expect(try await alice.run("onboarding.show")["flow"] == "new_user")
    let done = try await alice.run("onboarding.complete")
    #expect(done["flow"] == "completed_here")
    #expect(done["flag"] == true)
    let reset = try await alice.run("onboarding.reset")
    #expect(reset["flow"] == "new_user")
    #expect(reset["flag"] == true)
    #expect(reset["flagFromName"] == "alice")
    #expect(try await alice.run("onboarding.reset", ["everywhere": true])["flag"] == false)
  }

  @Test(arguments: [
    (true, true, false, true, true, OnboardingFlow.returningUser),
    (true, true, true, true, true, .completedHere),
    (true, true, false, false, true, .newUser),
    (true, true, false, true, false, .newUser),
    (true, false, false, true, true, .newUser),
    (false, false, false, true, true, .newUser),
    (false, false, true, false, false, .completedHere),
  ]) func `the flow depends on five facts`(
    _ isSet: Bool, _ isFromElsewhere: Bool, _ isHere: Bool, _ isPremium: Bool, _ hasArrived: Bool,
    _ flow: OnboardingFlow
  ) {
    let facts = OnboardingFacts(
      isFlagSet: isSet, isFlagFromElsewhere: isFromElsewhere, isCompletedHere: isHere, isPremium: isPremium,
      haveRecordsArrived: hasArrived)
    #expect(facts.flow == flow)
  }
}

struct EntitlementTests {
  private func issue(_ alice: TestNode, _ key: String, until: String) async throws -> String {
    let circle = try #require(try await alice.run("status")["circle"]?.string)
    let text = try Issuer.issue(
      Issuer.EntitlementRequest(keyFile: key, circle: circle, devices: [], until: until),
      now: TestNode.morning
    ).text
    let path = alice.home.path + "/entitlement"
    try text.write(toFile: path, atomically: true, encoding: .utf8)
    return path
  }

  @Test func `a free user keeps the settings and is told how to get premium`() async throws {
    let alice = try await TestNode.founder("alice")
    try #require(try await alice.run("sync.status")["premium"]?["source"] == "none")
    let refused = try #require(try await failure(alice, "sync.on"))
    #expect(refused.exitCode == ExitCode.needsPremium)
    #expect(refused.code == .freeTier)
    #expect(refused.next?.description.contains("entitlement install") == true)
    #expect(try await alice.run("sync.off")["preference"] == false)
  }

  @Test func `a trusted issuer opens the gate, and sync stays off until it is turned on`() async throws {
    let alice = try await TestNode.founder("alice")
    let key = alice.home.path + "/issuer"
    let publicKey = try Issuer.create(key)
    #expect(try Issuer.readPublicKey(key + ".pub") == publicKey)
    let mode = try FileManager.default.attributesOfItem(atPath: key)[.posixPermissions] as? Int
    #expect(mode == 0o600)
    let path = try await issue(alice, key, until: "2027-03-01")
    let file: JSON = ["file": .string(path)]
    #expect(try await failure(alice, "entitlement.install", file)?.code == .unknownIssuer)
    try await alice.run("issuer.trust", ["file": .string(key + ".pub")])
    let installed = try await alice.run("entitlement.install", file)
    #expect(installed["added"] == true)
    #expect(installed["premium"]?["source"] == "certificate")
    #expect(installed["premium"]?["validUntil"] == "2027-03-02T00:00:00Z")
    #expect(try await alice.run("entitlement.install", file)["added"] == false)
    #expect(try await alice.run("sync.status")["reason"] == "sync_off")
    #expect(try await alice.run("sync.on")["active"] == true)
    #expect(try await alice.run("sync.off")["active"] == false)
  }

  @Test(arguments: ["yesterday", "2027-13-01", "2027-03-01T12:00"])
  func `an ambiguous time is not issued`(_ until: String) async throws {
    let alice = try await TestNode.founder("alice")
    let key = alice.home.path + "/issuer"
    _ = try Issuer.create(key)
    await #expect(throws: WaymarkError.self) { _ = try await issue(alice, key, until: until) }
  }

  @Test func `a key is never overwritten`() async throws {
    let alice = try await TestNode.founder("alice")
    let key = alice.home.path + "/issuer"
    _ = try Issuer.create(key)
    #expect(throws: (any Error).self) { _ = try Issuer.create(key) }
  }
}

struct ProfileTests {
  @Test func `every change of the profile is later than the previous one`() async throws {
    let alice = try await TestNode.founder("alice")
    try await alice.run("profile.set", fields("name=Alice", "appearance=dark"))
    let first = try await alice.run("profile.show")
    #expect(first["id"] == .string(FixedRecords.profile.id.uuid))
    try await alice.run("profile.set", fields("name=Alicia"))
    let second = try await alice.run("profile.show")
    #expect(first["updatedAt"] == "2026-05-03T08:00:00Z")
    #expect(second["updatedAt"] == "2026-05-03T08:00:00.001Z")
    #expect(second["appearance"] == "dark")
    #expect(try await alice.run("profile.set", fields("name=Alicia"))["changed"] == false)
  }
}

struct IsolationTests {
  @Test func `the default data directory is off limits in tests`() throws {
    RealData.putOutOfBounds()
    let home = try Home.resolve(flag: nil)
    #expect(home.path.hasPrefix("/dev/null/"))
    #expect(throws: (any Error).self) { _ = try Node.initialize(home: home, name: "laptop") }
  }
}
