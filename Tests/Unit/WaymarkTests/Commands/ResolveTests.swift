import JSONDocument
import Testing
import WaymarkCare

@testable import Waymark

/// Conflicts between two devices, resolved on one of them.
struct ResolveTests {
  private func conflicts(_ circle: SocketCircle, _ name: String) async throws -> [JSON] {
    try await circle.run(name, "conflicts.list")["conflicts"]?.array ?? []
  }

  /// The one conflict, as listed by both devices.
  private func only(_ circle: SocketCircle) async throws -> JSON {
    let seen = try await conflicts(circle, "alice")
    #expect(try await conflicts(circle, "bob") == seen)
    #expect(seen.count == 1)
    return try #require(seen.first)
  }

  private func resolve(
    _ circle: SocketCircle, _ name: String, _ conflict: JSON, _ take: String
  ) async throws -> JSON {
    let id = try #require(conflict["id"]?.string).prefix(6)
    let answer = try await circle.run(
      name, "conflicts.resolve", ["id": .string(String(id)), "take": .string(take)])
    try await circle.inSync("alice", "bob")
    for device in ["alice", "bob"] {
      #expect(try await conflicts(circle, device) == [], "\(device)")
      #expect(try await circle.run(device, "status")["conflicts"] == 0)
    }
    return answer
  }

  private func circleWithTwoNames() async throws -> SocketCircle {
    let circle = try await SocketCircle.premium(["alice", "bob"])
    try await circle.run("alice", "habit.add", fields("name=Water"))
    try await circle.inSync("alice", "bob")
    try await circle.apart {
      try await circle.run("bob", "habit.edit", fields("name=Wasser", id: "Water"))
      try await circle.run("alice", "habit.edit", fields("name=Eau", id: "Water"))
    }
    return circle
  }

  private func name(_ circle: SocketCircle, _ device: String) async throws -> JSON? {
    try await circle.run(device, "habit.list")["habits"]?[0]?["name"]
  }

  @Test func `resolving in favour of the visible value does not block undoing the edit before it`()
    async throws
  {
    let circle = try await circleWithTwoNames()
    defer { circle.end() }
    try await circle.run("alice", "habit.edit", fields("notes=daily", id: "Eau"))
    try await circle.inSync("alice", "bob")
    _ = try await resolve(circle, "alice", try await only(circle), "winner")
    let undone = try await circle.run("alice", "undo")
    #expect(undone["operation"]?["verb"] == "habit.edit")
    #expect(try await circle.run("alice", "habit.show", ["id": "Eau"])["notes"] == .null)
  }

  @Test func `conflicts of settings and of entries have names too`() async throws {
    let circle = try await SocketCircle.premium(["alice", "bob"])
    defer { circle.end() }
    try await circle.run("alice", "habit.add", fields("name=Water", "kind=numeric"))
    try await circle.run(
      "alice", "habit.set", ["id": "Water", "value": "1", "date": "2026-05-03", "zone": "UTC"])
    try await circle.run("alice", "settings.set", ["key": "colorScheme", "value": "dark"])
    try await circle.inSync("alice", "bob")
    try await circle.apart {
      for (name, value, scheme) in [("alice", "2", "light"), ("bob", "3", "system")] {
        try await circle.run(
          name, "habit.set", ["id": "Water", "value": .string(value), "date": "2026-05-03", "zone": "UTC"])
        try await circle.run(name, "settings.set", ["key": "colorScheme", "value": .string(scheme)])
      }
    }
    #expect(
      Set(try await conflicts(circle, "alice").map { $0["name"] }) == ["Water 2026-05-03", "colorScheme"])
  }

  @Test(arguments: [("winner", "Eau"), ("loser", "Wasser"), ("bob", "Wasser"), ("alice", "Eau")])
  func `resolving a field on one device resolves it on both`(take: String, name: String) async throws {
    let circle = try await circleWithTwoNames()
    defer { circle.end() }
    let conflict = try await only(circle)
    let answer = try await resolve(circle, "bob", conflict, take)
    #expect(answer["resolved"] == [conflict["id"] ?? nil])
    #expect(answer["remaining"] == 0)
    for device in ["alice", "bob"] {
      #expect(try await self.name(circle, device) == .string(name))
      let history = try await circle.run(device, "history", ["record": .string(name)]).text()
      #expect(history.contains("Eau") && history.contains("Wasser") && history.contains("resolve"))
    }
  }

  @Test func `a conflict is shown with both values and the commands to resolve it`() async throws {
    let circle = try await circleWithTwoNames()
    defer { circle.end() }
    let conflict = try await only(circle)
    let shown = try await circle.run("alice", "conflicts.show", ["id": conflict["id"] ?? nil])
    #expect(shown["winner"]?["value"] == "Eau")
    #expect(shown["losers"]?[0]?["value"] == "Wasser")
    #expect(shown["choices"]?.array?.compactMap { $0["take"]?.string } == ["winner", "loser"])
    #expect(try await circle.failure("alice", "conflicts.show", ["id": "zz"])?.code == .notFound)
    let wrong = try await circle.failure(
      "alice", "conflicts.resolve", ["id": conflict["id"] ?? nil, "take": "carol"])
    #expect(wrong?.exitCode == ExitCode.notFound)
    #expect(wrong?.candidates.count == 2)
    #expect(try await conflicts(circle, "alice").count == 1)
  }

  @Test func `with two losers the chosen one has to be named`() async throws {
    let circle = try await SocketCircle.premium(["alice", "bob", "carol"])
    defer { circle.end() }
    try await circle.run("alice", "habit.add", fields("name=Water"))
    try await circle.inSync("alice", "bob", "carol")
    for peer in ["bob", "carol"] { try await circle.run("alice", "peers.pause", ["peer": .string(peer)]) }
    try await circle.run("bob", "peers.pause", ["peer": "carol"])
    try await circle.run("bob", "habit.edit", fields("name=Wasser", id: "Water"))
    try await circle.run("carol", "habit.edit", fields("name=Acqua", id: "Water"))
    try await circle.run("alice", "habit.edit", fields("name=Eau", id: "Water"))
    for peer in ["bob", "carol"] { try await circle.run("alice", "peers.resume", ["peer": .string(peer)]) }
    try await circle.run("bob", "peers.resume", ["peer": "carol"])
    try await circle.inSync("alice", "bob", "carol")
    let conflict = try #require(try await conflicts(circle, "carol").first)
    let refused = try await circle.failure(
      "carol", "conflicts.resolve", ["id": conflict["id"] ?? nil, "take": "loser"])
    #expect(refused?.exitCode == ExitCode.usage)
    #expect(refused?.code == .ambiguous)
    #expect(refused?.candidates.count == 2)
    try await circle.run("carol", "conflicts.resolve", ["id": conflict["id"] ?? nil, "take": "bob"])
    try await circle.inSync("alice", "bob", "carol")
    for device in ["alice", "bob", "carol"] {
      #expect(try await conflicts(circle, device) == [], "\(device)")
      #expect(try await name(circle, device) == "Wasser", "\(device)")
    }
  }

  @Test(arguments: [("winner", "Alice"), ("loser", "Bob")])
  func `a resolved profile is complete, and wins`(take: String, name: String) async throws {
    let circle = try await SocketCircle.premium(["alice", "bob"])
    defer { circle.end() }
    try await circle.apart {
      try await circle.run("bob", "profile.set", fields("name=Bob", "appearance=dark"))
      try await circle.run("alice", "profile.set", fields("name=Alice"))
    }
    let conflict = try await only(circle)
    #expect(conflict["reason"] == "profile")
    _ = try await resolve(circle, "bob", conflict, take)
    for device in ["alice", "bob"] {
      let profile = try await circle.run(device, "profile.show")
      #expect(profile["name"] == .string(name), "\(device)")
      #expect(profile["appearance"] == (take == "loser" ? "dark" : .null), "\(device)")
    }
  }

  @Test func `equal profiles written on both sides are not a conflict`() async throws {
    let circle = try await SocketCircle.premium(["alice", "bob"])
    defer { circle.end() }
    try await circle.apart {
      for device in ["bob", "alice"] { try await circle.run(device, "profile.set", fields("name=Ada")) }
    }
    for device in ["alice", "bob"] { #expect(try await conflicts(circle, device) == []) }
  }

  @Test(arguments: ["winner", "loser"])
  func `an edit lost to a delete is deleted again or restored`(take: String) async throws {
    let circle = try await SocketCircle.premium(["alice", "bob"])
    defer { circle.end() }
    try await circle.run("alice", "trip.add", fields("name=Rome"))
    try await circle.inSync("alice", "bob")
    try await circle.apart {
      try await circle.run("alice", "trip.delete", ["id": "Rome"])
      try await circle.run("bob", "trip.edit", fields("notes=sunny", id: "Rome"))
    }
    let conflict = try await only(circle)
    #expect(conflict["reason"] == "edit-lost-to-delete")
    #expect(conflict["losers"]?[0]?["fields"]?["notes"] == "sunny")
    _ = try await resolve(circle, "alice", conflict, take)
    for device in ["alice", "bob"] {
      let trips = try await circle.run(device, "trip.list")["trips"]?.array ?? []
      #expect(trips.map { $0["name"] } == (take == "winner" ? [] : ["Rome"]), "\(device)")
      if take == "loser" {
        #expect(try await circle.run(device, "trip.show", ["id": "Rome"])["notes"] == "sunny")
      }
    }
  }

  @Test(arguments: ["winner", "loser"])
  func `records hidden by a deleted trip, two levels down, are deleted or restored with it`(take: String)
    async throws
  {
    let circle = try await SocketCircle.premium(["alice", "bob"])
    defer { circle.end() }
    try await circle.run("alice", "trip.add", fields("name=Rome"))
    let lodging = try await circle.run("alice", "lodging.add", fields("trip=Rome", "name=Casa"))
    try await circle.run("alice", "activity.add", fields("trip=Rome", "name=Forum"))
    try await circle.inSync("alice", "bob")
    let picture = circle["bob"].home.path + "/ticket.txt"
    try Files.replace(picture, with: Array("ticket".utf8))
    try await circle.apart {
      try await circle.run("alice", "trip.delete", ["id": "Rome"])
      let owner = try #require(lodging["id"]?.string)
      try await circle.run("bob", "attachment.add", fields("lodging=\(owner)", "file=\(picture)"))
      try await circle.run("bob", "activity.edit", fields("notes=early", id: "Forum"))
    }
    let seen = try await conflicts(circle, "bob")
    #expect(seen.map { $0["reason"] } == ["hidden-by-parent", "hidden-by-parent"])
    #expect(seen.map { $0["kind"] } == ["activity", "attachment"])
    #expect(seen.map { $0["hiddenBy"]?["name"] } == ["Rome", "Rome"])
    let answer = try await resolve(circle, "bob", seen[1], take)
    // Resolving the trip resolves what it hid.
    #expect(answer["resolved"]?.array?.count == 2)
    for device in ["alice", "bob"] {
      let attachments = try await circle.run(device, "attachment.list")["attachments"]?.array ?? []
      #expect(attachments.count == (take == "winner" ? 0 : 1), "\(device)")
    }
  }

  @Test func `an edited record is restored with all deleted records that it belongs to`() async throws {
    let circle = try await SocketCircle.premium(["alice", "bob"])
    defer { circle.end() }
    try await circle.run("alice", "trip.add", fields("name=Rome"))
    let lodging = try await circle.run("alice", "lodging.add", fields("trip=Rome", "name=Casa"))
    let owner = try #require(lodging["id"]?.string)
    try await circle.inSync("alice", "bob")
    let picture = circle["bob"].home.path + "/ticket.txt"
    try Files.replace(picture, with: Array("ticket".utf8))
    try await circle.apart {
      try await circle.run("alice", "lodging.delete", ["id": "Casa"])
      try await circle.run("alice", "trip.delete", ["id": "Rome"])
      try await circle.run("bob", "attachment.add", fields("lodging=\(owner)", "file=\(picture)"))
    }
    _ = try await resolve(circle, "bob", try await only(circle), "loser")
    for device in ["alice", "bob"] {
      let attachments = try await circle.run(device, "attachment.list")["attachments"]
      #expect(attachments?.array?.count == 1, "\(device)")
    }
  }

  @Test func `all conflicts can be resolved with the visible values at once`() async throws {
    let circle = try await circleWithTwoNames()
    defer { circle.end() }
    try await circle.apart {
      for device in ["bob", "alice"] {
        try await circle.run(device, "profile.set", fields("name=\(device)"))
        try await circle.run(device, "habit.edit", fields("notes=\(device)", id: "Eau"))
        try await circle.run(
          device, "settings.set", ["key": "colorScheme", "value": device == "bob" ? "dark" : "light"])
      }
    }
    #expect(try await conflicts(circle, "bob").count == 4)
    let refused = try await circle.failure("bob", "conflicts.resolve", ["all": true, "take": "loser"])
    #expect(refused?.exitCode == ExitCode.usage)
    let answer = try await circle.run("bob", "conflicts.resolve", ["all": true, "take": "winner"])
    #expect(answer["resolved"]?.array?.count == 4)
    try await circle.inSync("alice", "bob")
    for device in ["alice", "bob"] {
      #expect(try await conflicts(circle, device) == [], "\(device)")
      #expect(try await circle.run(device, "profile.show")["name"] == "alice", "\(device)")
    }
  }

  // MARK: Undo

  /// The only conflict that an undo lists as resolved.
  private func stillResolved(_ undone: JSON) throws -> JSON {
    let resolved = try #require(undone["resolvedConflicts"]?.array)
    #expect(resolved.count == 1)
    return try #require(resolved.first)
  }

  @Test func `undoing a resolution does not reopen the conflict, but says how to take the other value`()
    async throws
  {
    let circle = try await circleWithTwoNames()
    defer { circle.end() }
    let conflict = try await only(circle)
    let resolution = try await resolve(circle, "bob", conflict, "loser")["operation"] ?? nil
    let preview = try await circle.run("bob", "undo", ["operation": resolution, "preview": true])
    #expect(try stillResolved(preview)["current"] == "Eau")
    #expect(try await name(circle, "bob") == "Wasser")
    let undone = try await circle.run("bob", "undo", ["operation": resolution])
    let resolved = try stillResolved(undone)
    #expect(resolved["kind"] == "habit" && resolved["name"] == "Eau" && resolved["field"] == "name")
    #expect(resolved["current"] == "Eau")
    let id = try #require(conflict["record"]?.string)
    #expect(resolved["others"]?.array?.count == 1)
    let other = try #require(resolved["others"]?[0])
    #expect(other["value"] == "Wasser" && other["deviceName"] == "bob")
    #expect(other["next"] == .string("waymark habit edit \(id) name=Wasser"))
    try await circle.inSync("alice", "bob")
    for device in ["alice", "bob"] {
      #expect(try await name(circle, device) == "Eau", "\(device)")
      #expect(try await conflicts(circle, device) == [], "\(device)")
    }
    try await circle.run("bob", "habit.edit", fields("name=Wasser", id: id))
    #expect(try await name(circle, "bob") == "Wasser")
    // An undo of anything else lists none, even of a change to the same field.
    #expect(try await circle.run("bob", "undo")["resolvedConflicts"] == [])
  }

  @Test func `undoing a resolution that kept the displayed value names the other one`() async throws {
    let circle = try await circleWithTwoNames()
    defer { circle.end() }
    let conflict = try await only(circle)
    let resolution = try await resolve(circle, "alice", conflict, "winner")["operation"] ?? nil
    let preview = try await circle.run("alice", "undo", ["operation": resolution, "preview": true])
    #expect(try stillResolved(preview)["others"]?[0]?["value"] == "Wasser")
    let refused = try #require(try await circle.failure("alice", "undo", ["operation": resolution]))
    #expect(refused.code == .nothingToUndo)
    #expect(
      refused.message.description.contains(
        "it kept the current value, and a resolved conflict stays resolved"))
    let id = try #require(conflict["record"]?.string)
    #expect(refused.next?.description == "waymark habit edit \(id) name=Wasser")
    #expect(refused.candidates.first?.contains("Wasser, from bob") == true)
  }

  @Test
  func
    `undoing the resolutions of a profile, a setting and a deletion names the commands for the other sides`()
    async throws
  {
    let circle = try await SocketCircle.premium(["alice", "bob"])
    defer { circle.end() }
    let rome = try #require(try await circle.run("alice", "trip.add", fields("name=Rome"))["id"]?.string)
    try await circle.inSync("alice", "bob")
    try await circle.apart {
      try await circle.run("alice", "trip.delete", ["id": "Rome"])
      try await circle.run("bob", "trip.edit", fields("notes=sunny", id: "Rome"))
      try await circle.run("bob", "profile.set", fields("name=Bob B", "homeTimezone=Europe/Rome"))
      try await circle.run("alice", "profile.set", fields("name=Alice"))
      try await circle.run("bob", "settings.set", ["key": "colorScheme", "value": "dark"])
      try await circle.run("alice", "settings.set", ["key": "colorScheme", "value": "light"])
    }
    let seen = try await conflicts(circle, "alice")
    #expect(seen.count == 3)
    var steps: [String: String] = [:]
    for conflict in seen {
      let answer = try await circle.run(
        "alice", "conflicts.resolve", ["id": conflict["id"] ?? nil, "take": "loser"])
      let undone = try await circle.run("alice", "undo", ["operation": answer["operation"] ?? nil])
      let resolved = try stillResolved(undone)
      steps[resolved["kind"]?.string ?? ""] = resolved["others"]?[0]?["next"]?.string
      if conflict["kind"] == "trip" { #expect(resolved["current"] == "deleted") }
    }
    #expect(
      steps == [
        "trip": "waymark trip restore \(rome)",
        "profile": "waymark profile set name='Bob B' homeTimezone=Europe/Rome",
        "setting": "waymark settings set colorScheme dark",
      ])
  }
}
