import Foundation
import JSONDocument
import Model
import Records
import Replication
import Testing
import WaymarkCare
import WaymarkTesting
import Wire

@testable import NodeRuntime
@testable import Waymark

/// Values that a person can only have typed by mistake: they are refused with what to type instead. Files and other
/// devices may contain them.
struct TypedValueTests {
  private func home() async throws -> TestNode {
    let alice = try await TestNode.founder("alice")
    try await alice.run("trip.add", fields("name=Rome", "startDate=2026-05-02", "endDate=2026-05-06"))
    try await alice.run("habit.add", fields("name=Read"))
    return alice
  }

  @Test(arguments: [
    ("trip", ["name=   "], "visible character"), ("trip", ["name=a\nb"], "one line"),
    (
      "trip", ["name=A", "startDate=2026-05-02", "endDate=2026-05-01"],
      "it is before startDate, which is 2026-05-02"
    ),
    ("trip", ["name=A", "startDate=2026-02-30"], "there is no 30 February 2026"),
    ("trip", ["name=A", "startDate=soon"], "use a day such as 2026-05-02"),
    (
      "lodging", ["trip=Rome", "name=A", "start=2026-05-03T15:00Z", "end=2026-05-03T14:00Z"],
      "it is before start"
    ),
    ("lodging", ["trip=Rome", "name=A", "cost=12,50"], "use a point: 12.50"),
    ("lodging", ["trip=Rome", "name=A", "cost=5€"], "5 and EUR"),
    ("lodging", ["trip=Rome", "name=A", "cost=.5"], "write 0.5"),
    ("lodging", ["trip=Rome", "name=A", "cost=-12.50"], "0 or more"),
    ("lodging", ["trip=Rome", "name=A", "cost=1", "currency=XYZ"], "ISO 4217"),
    (
      "lodging", ["trip=Rome", "name=A", "start=2026-05-03T15:00", "startTZ=europe/rome"],
      "did you mean Europe/Rome?"
    ),
    (
      "lodging", ["trip=Rome", "name=A", "start=2026-05-03T15:00", "startTZ=new york"],
      "did you mean America/New_York?"
    ),
    (
      "lodging", ["trip=Rome", "name=A", "start=2026-03-29T02:30", "startTZ=Europe/Rome"],
      "use 2026-03-29T03:30"
    ),
    (
      "lodging", ["trip=Rome", "name=A", "start=2026-05-03T15:00+09:00", "startTZ=Europe/Rome"],
      "use 2026-05-03T08:00:00+02:00"
    ),
    ("entry", ["habit=Read", "date=2099-01-01"], "in the future"),
    ("habit", ["name=A", "kind=foo"], "one of binary, numeric"),
  ])
  func `a value that can only be a mistake is refused, with what to type`(
    _ kind: String, _ typed: [String], _ advice: String
  ) async throws {
    let alice = try await home()
    let arguments = JSON.object([
      .init(
        "fields",
        .array(
          typed.map { pair in
            let parts = pair.split(separator: "=", maxSplits: 1).map(String.init)
            return [.string(parts[0]), .string(parts[1])]
          })),
      .init("zone", "Etc/UTC"),
    ])
    let refused = try #require(try await failure(alice, "\(kind).add", arguments))
    #expect(
      refused.exitCode == ExitCode.usage && refused.message.description.contains(advice), "\(refused.message)"
    )
    #expect(refused.next?.description == "waymark help fields \(kind)")
  }

  @Test func `a time in UTC goes with every zone, and an offset that fits is accepted`() async throws {
    let alice = try await home()
    for start in ["2026-05-03T13:00:00Z", "2026-05-03T15:00:00+02:00", "2026-05-03T15:00"] {
      try await alice.run(
        "lodging.add", fields("trip=Rome", "name=\(start)", "start=\(start)", "startTZ=Europe/Rome"))
      #expect(
        try await alice.run("lodging.show", ["id": .string(start)])["start"] == "2026-05-03T15:00:00+02:00")
    }
    // The first of the two hours in October.
    try await alice.run(
      "activity.add", fields("trip=Rome", "name=A", "start=2026-10-25T02:30", "startTZ=Europe/Rome"))
    #expect(try await alice.run("activity.show", ["id": "A"])["start"] == "2026-10-25T02:30:00+02:00")
  }

  @Test func `an edit may not end a trip before it starts, but may change what else is wrong`() async throws {
    let alice = try await home()
    let early = try await failure(alice, "trip.edit", fields("endDate=2026-05-01", id: "Rome"))
    #expect(early?.message.description.contains("before startDate") == true)
    let late = try await failure(alice, "trip.edit", fields("startDate=2026-05-07", id: "Rome"))
    #expect(late?.message.description.contains("it is after endDate, which is 2026-05-06") == true)
    // A program, an import or another device may have written one; its other fields can still be edited.
    try await alice.node.change { $0.save(Trip(name: "Odd", startDate: .now, endDate: .distantPast)) }
    try await alice.run("trip.edit", fields("notes=x", id: "Odd"))
  }

  @Test func `zones of the profile must exist`() async throws {
    let alice = try await home()
    let refused = try await failure(alice, "profile.set", fields("name=A", "homeTimezone=Mars/Phobos"))
    #expect(refused?.message.description.contains("use a time zone such as Europe/Rome") == true)
    try await alice.run("profile.set", fields("name=A", "homeTimezone=Europe/Rome"))
  }

  @Test func `a habit can't be ticked in the future, but a day in the future can be cleared`() async throws {
    let alice = try await home()
    for command in ["habit.tick", "habit.set"] {
      let refused = try await failure(alice, command, ["id": "Read", "date": "2099-01-01", "value": "1"])
      #expect(refused?.code == .badValue, "\(command)")
    }
    try await alice.run("habit.untick", ["id": "Read", "date": "2099-01-01"])
  }

  @Test func `the organization None can't be changed in any field`() async throws {
    let alice = try await home()
    let refused = try await failure(alice, "organization.edit", fields("phone=1", id: "None"))
    #expect(refused?.message.description.contains("can't be changed") == true)
  }

  // MARK: Deleting

  @Test func `a category in use is deleted only by force`() async throws {
    let alice = try await home()
    try await alice.run("category.add", fields("name=Sport"))
    try await alice.run("habit.edit", fields("category=Sport", id: "Read"))
    let refused = try #require(try await failure(alice, "category.delete", ["id": "Sport"]))
    #expect(refused.exitCode == ExitCode.needsYes && refused.candidates == ["habit Read"])
    try await alice.run("category.delete", ["id": "Sport", "force": true])
    try await alice.run("category.restore", ["id": "Sport"])
    #expect(try await alice.run("habit.show", ["id": "Read"])["categoryName"] == "Sport")
  }

  @Test func `a delete by a part of the name asks, and says what goes with the trip`() async throws {
    let alice = try await home()
    try await alice.run("lodging.add", fields("trip=Rome", "name=Casa"))
    let refused = try #require(try await failure(alice, "trip.delete", ["id": "R"]))
    #expect(
      refused.code == .needsYes
        && refused.message.description.contains("“Rome”, which will be deleted with 1 lodging"),
      "\(refused.message)")
    #expect(try await failure(alice, "trip.delete", ["id": "R", "yes": true]) == nil)
    let gone = try #require(try await failure(alice, "trip.show", ["id": "Rome"]))
    #expect(
      gone.code == .notFound && gone.message.description.contains("“Rome” is in the trash since 20"),
      "\(gone.message)")
    #expect(gone.next?.description == "waymark trip restore Rome")
    let inside = try #require(try await failure(alice, "lodging.show", ["id": "Casa"]))
    #expect(inside.message.description.contains("in the trash with the trip “Rome”"), "\(inside.message)")
    try await alice.run("trip.restore", ["id": "Rome"])
    // The name in other letters, and the id, are whole.
    let done = try await alice.run("trip.delete", ["id": "rome"])
    #expect(done["contents"]?[0]?["count"] == 1)
    #expect(done["operation"]?.string?.count == 32)
  }

  @Test func `a protected trip is deleted only after a yes`() async throws {
    let alice = try await home()
    try await alice.run("trip.edit", fields("isProtected=yes", id: "Rome"))
    let refused = try #require(try await failure(alice, "trip.delete", ["id": "Rome"]))
    #expect(refused.code == .needsYes && refused.message.description.contains("is protected"))
    try await alice.run("trip.delete", ["id": "Rome", "yes": true])
  }

  // MARK: Large undos

  @Test func `an undo of many records asks, and agreeing does not force what was changed since`() async throws
  {
    let alice = try await home()
    try await alice.node.change("many") { changes in
      for number in 1...101 { changes.save(Trip(name: "Trip \(number)")) }
    }
    let operation = try #require(try await alice.node.history(limit: 1).first).id.description
    try await alice.run("trip.edit", fields("notes=kept", id: "Trip 7"))
    let refused = try #require(try await failure(alice, "undo", ["operation": .string(operation)]))
    #expect(refused.reason == .largeUndo && refused.exitCode == ExitCode.needsYes)
    #expect(
      refused.message.description.contains("101 records")
        && refused.message.description.contains("101 trips deleted"),
      "\(refused.message)")
    let done = try await alice.run("undo", ["operation": .string(operation), "agreed": true])
    #expect(done["undo"]?.isNull == false)
    #expect(try await alice.run("status")["counts"]?["trips"] == 1)
    // A small one does not ask.
    try await alice.run("trip.edit", fields("notes=x", id: "Rome"))
    try await alice.run("undo")
  }

  // MARK: Help

  @Test func `every example of a field is accepted`() throws {
    struct AnyRecord: ReferenceResolver {
      func record(_ kind: KindNumber, named name: String) throws -> RecordID { RecordID(.zero) }
      func key(_ kind: KindNumber, named name: String) throws -> String { "key" }
    }
    for kind in Schema.builtIn.listed + [Kind.profile] {
      #expect(!kind.fieldGuides(.builtIn).isEmpty)
      for guide in kind.fieldGuides(.builtIn) {
        #expect(!guide.type.isEmpty && !guide.values.isEmpty, "\(kind.name) \(guide.name)")
        guard let field = kind.field(named: guide.name), field.parts.count == 1, field.type != .blob else {
          continue
        }
        let example = guide.example.filter { $0 != "'" }
        let assignments = Assignments(
          kind: kind,
          zones: ZoneOffsets { _, zone in ["Etc/UTC", "Europe/Rome", "Asia/Tokyo"].contains(zone) ? 0 : nil },
          zone: "Etc/UTC", resolver: AnyRecord())
        #expect(throws: Never.self, "\(kind.name) \(guide.name)=\(example)") {
          try assignments.values([(guide.name, example)]) { _ in nil }
        }
        #expect(kind.fieldGuides(.builtIn).filter { $0.name == guide.name }.count == 1)
      }
    }
    let names = Set(Kind.habit.assignableNames)
    #expect(names.isSuperset(of: ["name", "category", "kind"]))
    #expect(names.isDisjoint(with: ["lastTriggerDate", "displayOrder", "categoryId"]))
    #expect(
      Kind.lodging.assignableNames.contains("startTZ")
        && Kind.organization.assignableNames.contains("street"))
  }

  @Test func `the examples of a kind suit it`() {
    func example(_ kind: Kind, _ field: String) -> String? {
      kind.fieldGuides(.builtIn).first { $0.name == field }?.example
    }
    #expect(
      Schema.builtIn.listed.map { example($0, "name") }
        == Schema.builtIn.listed.map {
          $0.field(named: "name") == nil ? nil : $0.listing?.example.id
        })
    #expect(example(Kind.habit, "name") == "'Drink water'" && example(Kind.profile, "name") == "Ada")
    for kind in Schema.builtIn.listed where kind.field(named: "notes") != nil {
      #expect(example(kind, "notes") != "text", "\(kind.name)")
    }
    for kind in Schema.builtIn.listed where kind.field(named: "organization") != nil {
      #expect(example(kind, "organization")?.isEmpty == false, "\(kind.name)")
    }
  }
}
