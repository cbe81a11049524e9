import JSONDocument
import Model
import SQLite
import Testing
import WaymarkTesting
import Wire

@testable import Engine
@testable import NodeRuntime
@testable import Waymark

/// The background check of the whole store by the running node.
struct StoreCheckTests {
  @Test func `an altered set is found within a day without being read, and a peer sends it again`()
    async throws
  {
    let circle = try await TestCircle("alice", "bob", storage: .directories)
    for number in 1...70 { _ = try await circle["alice"].save(Trip(name: "Trip \(number)")) }
    try await circle.settle()
    let bob = circle["bob"]
    do {
      try Connection(.file(bob.home.store)).execute(
        """
        UPDATE change_sets
        SET field_values = CAST(substr(field_values, 1, length(field_values) - 1) || x'a7' AS BLOB)
        WHERE number = (SELECT max(number) FROM change_sets)
        """)
    }
    let before = try await bob.run("verify", ["deep": true])
    #expect(before["ok"] == false)
    // The query reported the damage to the node: a second device is altered without any query.
    try await circle.settle()
    #expect(try await bob.run("verify", ["deep": true])["ok"] == true)
    let alice = circle["alice"]
    do {
      try Connection(.file(alice.home.store)).execute(
        "UPDATE change_sets SET signature = zeroblob(64) WHERE number = (SELECT max(number) FROM change_sets)"
      )
    }
    let status = try await alice.run("status")
    #expect(status["storeCheck"]?["damaged"] == 0)
    #expect(status["storeCheck"]?["completed"] == .null)
    try await circle.clock.advance(by: .seconds(25 * 3_600))
    let after = try await alice.run("status")
    #expect(after["storeCheck"]?["completed"]?.string != nil, "\(after["storeCheck"] ?? .null)")
    #expect(after["storeCheck"]?["damaged"] == 0)
    #expect(try await alice.run("verify", ["deep": true])["ok"] == true)
    await circle.close()
  }

  @Test func `the position of the check is stored as text, and an invalid one restarts the check`() {
    var check = StoreCheck()
    #expect(StoreCheck(bytes: check.bytes) == check)
    (check.last, check.checkedAt, check.completedAt) = (17, 1_000, nil)
    #expect(StoreCheck(bytes: check.bytes) == check)
    check.completedAt = 2_000
    #expect(StoreCheck(bytes: check.bytes) == check)
    for text in ["", "x", "1", "x 2 3"] { #expect(StoreCheck(bytes: Array(text.utf8)) == StoreCheck()) }
  }
}
