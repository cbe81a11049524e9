import Foundation
import JSONDocument
import Testing
import Waymark
import WaymarkCare

/// The gate, build by build: what gives premium, what `status` reports, and what sync does.
@Suite(.serialized)
struct GateTableTests {
  /// One row: a build and the steps before the check.
  struct Row: CustomTestStringConvertible {
    var build: Build
    var name: String
    var prepare: [[String]] = []
    /// Seconds from now during which an entitlement is valid; nil for none.
    var entitlement: Range<Double>?
    var isPremium: Bool
    var source: String
    var reason: String?
    var syncOnExit: Int32

    var testDescription: String { "\(build.rawValue), \(name)" }
  }

  static let year: Double = 365 * 86_400

  static let rows: [Row] = [
    Row(
      build: .standard, name: "free", isPremium: false, source: "none", reason: "free_tier", syncOnExit: 4),
    Row(
      build: .standard, name: "with a certificate", entitlement: -60..<year, isPremium: true,
      source: "certificate", syncOnExit: 0),
    Row(
      build: .standard, name: "with a certificate that has expired", entitlement: -60 ..< -1,
      isPremium: false,
      source: "none", reason: "entitlement_expired", syncOnExit: 4),
    Row(
      build: .standard, name: "with a certificate that has not begun", entitlement: 3_600..<year,
      isPremium: false, source: "none", reason: "entitlement_not_yet_valid", syncOnExit: 4),
    Row(
      build: .standard, name: "where mock purchases do not exist",
      prepare: [["entitlement", "buy", "--mock"]], isPremium: false, source: "none", reason: "free_tier",
      syncOnExit: 4),
    Row(
      build: .allFeatures, name: "free", isPremium: true, source: "all-features", syncOnExit: 0),
    Row(
      build: .allFeatures, name: "with a certificate that has expired", entitlement: -60 ..< -1,
      isPremium: true, source: "all-features", syncOnExit: 0),
    Row(
      build: .mockPurchases, name: "free", isPremium: false, source: "none", reason: "free_tier",
      syncOnExit: 4),
    Row(
      build: .mockPurchases, name: "after a mock purchase", prepare: [["entitlement", "buy", "--mock"]],
      isPremium: true, source: "mock", syncOnExit: 0),
    Row(
      build: .mockPurchases, name: "after a mock purchase was cancelled",
      prepare: [["entitlement", "buy", "--mock"], ["entitlement", "cancel", "--mock"]], isPremium: false,
      source: "none", reason: "free_tier", syncOnExit: 4),
    Row(
      build: .mockPurchases, name: "with a certificate", entitlement: -60..<year, isPremium: true,
      source: "certificate", syncOnExit: 0),
  ]

  @Test(arguments: rows)
  func `premium, its source and sync match the table`(row: Row) async throws {
    guard row.build.isThere else { return print("skipped: \(row.build.program.path) is not built") }
    try await Workshop.with { workshop in
      let alice = try await founder(workshop, row.build)
      if let range = row.entitlement { try await entitle(alice, range) }
      for command in row.prepare { try await alice.run(arguments: command) }
      let premium = try await alice.status()["premium"]
      #expect(premium?["active"] == .bool(row.isPremium))
      #expect(premium?["source"]?.string == row.source)
      #expect(premium?["reason"]?.string == row.reason)
      let sync = try await alice.run("sync", "on")
      #expect(sync.code == row.syncOnExit, "\(sync.errors)")
      #expect(row.syncOnExit != 4 || sync.errors.contains("premium self"))
      #expect(try await alice.status()["sync"]?["preference"] == .bool(row.syncOnExit == 0))
      #expect(try await alice.run("sync", "off").code == 0)
      let node = try await alice.start()
      let log = try String(contentsOfFile: node.log, encoding: .utf8)
      let word = row.isPremium ? "premium active (source \(row.source)" : "premium inactive"
      #expect(log.contains(word), "\(log)")
      #expect(try await node.stop() == 0)
    }
  }

  @Test func `the preference survives expiry, and renewal resumes sync at once`() async throws {
    try await Workshop.with { workshop in
      let alice = try await founder(workshop, .standard)
      try await entitle(alice, -60..<4)
      #expect(try await alice.run("sync", "on").code == 0)
      let node = try await alice.start()
      let trip = try await alice.run("trip", "add", "name=Rome").output
      try await until("premium has ended") { try await alice.status()["premium"]?["active"] == false }
      let expired = try await alice.status()
      #expect(expired["premium"]?["reason"] == "entitlement_expired")
      #expect(expired["sync"] == ["preference": true, "active": false, "reason": "entitlement_expired"])
      #expect(expired["counts"]?["trips"] == 1)
      #expect(try await alice.run("sync", "on").code == 4)
      try await entitle(alice, -1..<Self.year)
      #expect(try await alice.status()["sync"]?["active"] == true)
      #expect(try await alice.run("trip", "show", trip.trimmingCharacters(in: .newlines)).code == 0)
      #expect(try await node.stop() == 0)
    }
  }

  @Test(arguments: [Build.standard, .allFeatures])
  func `records sync between two devices if both are premium, settings always`(build: Build) async throws {
    guard build.isThere else { return print("skipped: \(build.program.path) is not built") }
    try await Workshop.with { workshop in
      let alice = try await founder(workshop, build)
      let node = try await alice.start()
      let bob = workshop.device("bob", build)
      let ticket = try await alice.run("invite").output
      #expect(try await bob.run("join", "-", "--name", "bob", input: ticket).code == 0)
      let other = try await bob.start()
      #expect(try await alice.run("onboarding", "complete").code == 0)
      #expect(try await bob.run("wait", "--lane", "settings", "--timeout", "20s").code == 0)
      for device in [alice, bob] { try await device.run("sync", "on") }
      try await alice.run("habit", "add", "name=Read", "kind=binary")
      let isOpen = build == .allFeatures
      let wait = try await bob.run("wait", "--lane", "records", "--timeout", isOpen ? "20s" : "1s")
      #expect(wait.code == (isOpen ? 0 : 5), "\(wait.errors)")
      let status = try await bob.status()
      #expect(status["counts"]?["habits"] == (isOpen ? 1 : 0))
      #expect(status["lanes"]?["records"]?["open"] == .bool(isOpen))
      let onboarding = try await bob.run("onboarding", "--json").json
      #expect(onboarding["flag"] == true)
      #expect(onboarding["flow"]?.string == (isOpen ? "returning_user" : "new_user"))
      #expect(try await node.stop() == 0)
      #expect(try await other.stop() == 0)
    }
  }

  // MARK: Scenes

  /// A circle that trusts the issuer in the workshop's folder.
  private func founder(_ workshop: Workshop, _ build: Build) async throws -> TestDevice {
    let alice = workshop.device("alice", build)
    #expect(try await alice.run("issuer", "init", workshop.path("issuer")).code == 0)
    let made = try await alice.run("init", "--name", "alice", "--issuer", workshop.path("issuer.pub"))
    #expect(made.code == 0, "\(made.errors)")
    return alice
  }

  private func entitle(_ device: TestDevice, _ range: Range<Double>) async throws {
    func time(_ seconds: Double) -> String {
      ISO8601DateFormatter().string(from: Date().addingTimeInterval(seconds))
    }
    let file = device.workshop.path("certificate-\(UUID().uuidString)")
    let circle = try await device.status()["circle"]?.string ?? ""
    let issued = try await device.run(
      "issuer", "issue", "--key", device.workshop.path("issuer"), "--circle", circle, "--from",
      time(range.lowerBound), "--until", time(range.upperBound), "--output", file)
    #expect(issued.code == 0, "\(issued.errors)")
    let installed = try await device.run("entitlement", "install", file)
    #expect(installed.code == 0, "\(installed.errors)")
  }
}
