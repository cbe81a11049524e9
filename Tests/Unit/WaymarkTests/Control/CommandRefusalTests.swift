import Foundation
import JSONDocument
import Testing
import WaymarkCare
import WaymarkFiles
import WaymarkTesting

@testable import Control
@testable import Waymark

/// What commands refuse before they do anything, with the code that a script sees.
struct CommandRefusalTests {
  private typealias Row = (command: String, arguments: JSON, code: String)

  private static let missing: [Row] = [
    ("export", [:], "usage"), ("import", [:], "usage"), ("import", ["files": []], "usage"),
    ("conflicts.show", [:], "usage"), ("conflicts.resolve", ["id": "abc"], "usage"),
    ("conflicts.resolve", ["take": "winner"], "usage"), ("entitlement.remove", [:], "usage"),
    ("entitlement.remove", ["ids": []], "usage"), ("entitlement.install", [:], "usage"),
    ("issuer.trust", [:], "usage"), ("erase", [:], "usage"), ("erase", ["records": []], "usage"),
    ("revoke", [:], "usage"), ("mirror", [:], "usage"), ("why", [:], "usage"), ("backup", [:], "usage"),
    ("files.keep", ["policy": "up-to"], "usage"), ("trip.show", [:], "usage"), ("pizza.list", [:], "usage"),
  ]

  private static let contradictory: [Row] = [
    ("conflicts.resolve", ["all": true, "take": "loser"], "usage"),
    ("conflicts.resolve", ["all": true, "take": "winner", "id": "abc"], "usage"),
    ("erase", ["records": ["Rome", "Oslo"], "field": "notes", "yes": true], "usage"),
    ("erase", ["trash": true, "records": ["Rome"], "yes": true], "usage"),
    ("erase", ["trash": true, "field": "notes", "yes": true], "usage"),
    ("erase", ["records": ["Rome"], "olderThanMilliseconds": 1, "yes": true], "usage"),
    ("verify", ["deep": true, "peer": "bob"], "usage"), ("verify", ["repair": true, "peer": "bob"], "usage"),
    ("export", ["format": "ritualist", "trip": "Rome"], "usage"),
    ("export", ["format": "loop-csv", "trip": "Rome"], "usage"), ("export", ["format": "csv"], "usage"),
    ("files.keep", ["policy": "all", "size": "2GB"], "usage"),
    ("trip.add", ["fields": [["name", "Bern"], ["name", "Bonn"]]], "usage"),
  ]

  private static let invalid: [Row] = [
    ("export", ["format": "pdf"], "bad_value"), ("import", ["files": ["/x"], "format": "pdf"], "bad_value"),
    ("invite", ["role": "owner"], "bad_value"), ("files.keep", ["policy": "some"], "bad_value"),
    ("files.keep", ["policy": "up-to", "size": "many"], "bad_value"),
    ("files.list", ["limit": "-1"], "bad_value"), ("history", ["limit": "0"], "bad_value"),
    ("history", ["limit": "ten"], "bad_value"), ("find", ["text": "Rome", "limit": "0"], "bad_value"),
    ("grant", ["device": "alice", "size": "much"], "bad_value"),
    ("settings.set", ["key": "theme", "value": ""], "bad_value"),
    ("settings.get", ["key": "theme"], "not_found"),
    ("habit.tick", ["id": "Read", "value": "inf"], "bad_value"),
    ("habit.set", ["id": "Water", "value": "many"], "bad_value"),
    ("mirror", ["from": "bob"], "not_found"), ("peers.add", ["address": "nowhere"], "bad_value"),
    ("premium.self", ["until": "2001-01-01"], "bad_value"),
  ]

  private static let notServing: [Row] = [
    ("sync.now", [:], "not_running"), ("wait", [:], "not_running"), ("verify", [:], "not_running"),
    ("page.open", [:], "not_running"), ("peers.ping", ["peer": "bob"], "not_running"),
    ("logging.level", [:], "not_running"), ("logging.level", ["level": "debug"], "not_running"),
  ]

  @Test func `what is missing, contradictory or invalid is refused, and nothing is written`() async throws {
    let alice = try await TestNode.founder("alice")
    for trip in ["Rome", "Oslo"] { try await alice.run("trip.add", fields("name=\(trip)")) }
    try await alice.run("habit.add", fields("name=Read"))
    try await alice.run("habit.add", fields("name=Water", "kind=numeric"))
    let before = try await alice.node.history(limit: 100)
    let rows = Self.missing + Self.contradictory + Self.invalid + Self.notServing
    for row in rows {
      let refused = try await failure(alice, row.command, row.arguments)
      #expect(refused?.code.rawValue == row.code, "\(row.command) \(row.arguments.text())")
    }
    #expect(try await alice.node.history(limit: 100) == before)
    #expect(await alice.node.fileKeepPolicy == .all)
    await alice.close()
  }

  @Test func `an export as a folder says that it needs one, and a trip goes into what holds trips`()
    async throws
  {
    let alice = try await TestNode.founder("alice")
    try await alice.run("trip.add", fields("name=Rome"))
    let folder = try await failure(alice, "export", ["format": "csv"])
    #expect(folder?.next?.description == "waymark export --format csv --output FOLDER")
    for format in ["json", "traveling-snails"] {
      let one = try await alice.run("export", ["format": .string(format), "trip": "Rome"])
      #expect(one["content"]?.string?.contains("Rome") == true, "\(format)")
    }
    await alice.close()
  }
}
