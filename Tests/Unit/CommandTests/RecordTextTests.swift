import Console
import Control
import JSONDocument
import Model
import NodeOperations
import Platform
import Testing
import Waymark
import WaymarkCare

@testable import WaymarkCommand

/// What a person reads about records: today's page, timelines, lists, undo and habits, in their less usual cases.
struct RecordTextTests {
  private static let id: JSON = "01A219BC-462C-788F-AA31-43B18E0B2D03"

  // MARK: Today

  private func today(_ more: JSON) throws -> String {
    let document = Answers.completed(
      more, by: ["day": "2026-05-10", "habits": [], "entries": [], "trip": nil])
    return try answerText(ShowToday.self, "today", [:], document).data
  }

  private func trip(_ daysToGo: Int64, day: Int64?, _ items: JSON = []) -> JSON {
    [
      "id": Self.id, "name": "Rome", "firstDay": "2026-05-10", "lastDay": "2026-05-10",
      "daysToGo": .integer(daysToGo), "dayNumber": day.map { .integer($0) } ?? nil, "items": items,
    ]
  }

  @Test func `a day without plans says so, and a trip to come says when it begins`() throws {
    #expect(try today([:]) == "Sunday, 2026-05-10 No habit is due today. No trip is planned.")
    let head = "Sunday, 2026-05-10 No habit is due today. "
    let days = "2026-05-10 – 2026-05-10"
    #expect(try today(["trip": trip(1, day: nil)]) == head + "Next trip: Rome begins tomorrow " + days)
    #expect(try today(["trip": trip(2, day: nil)]) == head + "Next trip: Rome begins in 2 days " + days)
    // The only day of a trip is both its first and its last.
    #expect(
      try today(["trip": trip(0, day: 1)])
        == head + "On trip: Rome day 1 of 1 \(days) Nothing is planned for today.")
  }

  @Test func `an item of today without an end or a zone shows only what is known`() throws {
    func item(_ start: String, _ zone: JSON, end: JSON) -> JSON {
      [
        "kind": "activity", "id": Self.id, "name": "Forum", "start": .string(start), "startZone": zone,
        "end": end, "endZone": nil,
      ]
    }
    let items: JSON = [
      item("2026-05-10T08:00:00Z", "Europe/Rome", end: nil), item("2026-05-10T08:00:00Z", nil, end: nil),
      // An end without a zone is in that of the start: ten past midnight of the next day in Rome.
      item("2026-05-10T20:00:00Z", "Europe/Rome", end: "2026-05-10T22:10:00Z"),
    ]
    #expect(
      try today(["trip": trip(0, day: 1, items)]).hasSuffix(
        "10:00 activity Forum Europe/Rome 08:00 activity Forum UTC from 22:00 activity Forum Europe/Rome"))
  }

  @Test func `a habit of today shows its amount, unit and streak only if it has them`() throws {
    func habit(_ more: JSON) -> JSON {
      Answers.completed(
        more,
        by: [
          "id": Self.id, "name": "Read", "emoji": "", "due": true, "done": true, "value": 3, "target": nil,
          "unit": "", "streak": 0, "bestStreak": 9,
        ])
    }
    func line(_ more: JSON) throws -> String {
      let text = try today(["habits": [habit(more)]])
      let (head, tail) = ("Sunday, 2026-05-10 Habits: 1 of 1 done ", " No trip is planned.")
      #expect(text.hasPrefix(head) && text.hasSuffix(tail), "\(text)")
      return String(text.dropFirst(head.count).dropLast(tail.count))
    }
    #expect(try line([:]) == "✓ Read done")
    #expect(try line(["emoji": "📖"]) == "✓ 📖 Read done")
    #expect(try line(["unit": "pages"]) == "✓ Read done 3 pages")
    #expect(try line(["target": 2.5]) == "✓ Read done 3 of 2.5")
    #expect(try line(["streak": 1, "bestStreak": 1]) == "✓ Read done streak 1 day, best 1")
    let two: JSON = [habit([:]), habit(["done": false, "name": "Run"])]
    #expect(try today(["habits": two]).contains("Habits: 1 of 2 done ✓ Read done · Run not done No trip"))
  }

  // MARK: Timelines

  private func stop(_ zone: String?, _ start: String, end: String?) -> JSON {
    [
      "kind": "activity", "id": Self.id, "name": "Forum", "start": .string(start), "startTZId": .text(zone),
      "end": .text(end), "endTZId": .text(zone), "cost": nil,
    ]
  }

  private func timeline(_ items: JSON, isPiped: Bool = false) throws -> (data: [String], notes: [String]) {
    let document: JSON = ["id": Self.id, "name": "Rome", "items": items]
    let command = try ControlRequest(command: "trip.timeline", arguments: ["id": "Rome"])
      .command(as: ShowTimeline.self)
    var rendering = Rendering(
      width: 120, hasColor: false, isPiped: isPiped, notesWidth: 120, notesHaveColor: false,
      time: TimeText(now: 0, zone: .utc))
    command.render(try AnswerCoding.decode(ShowTimeline.Answer.self, from: document), into: &rendering)
    return (rendering.data.lines, rendering.notes.lines)
  }

  @Test func `a timeline names its zone once, or that of each item if they differ`() throws {
    let rome = stop("Europe/Rome", "2026-05-04T10:00:00+02:00", end: "2026-05-04T12:30:00+02:00")
    let tokyo = stop("Asia/Tokyo", "2026-05-05T10:00:00+09:00", end: nil)
    let none = stop(nil, "2026-05-06T10:00:00Z", end: "2026-05-07T09:00:00Z")
    let one = try timeline([rome, rome]).data
    #expect(one[0] == "Rome  times in Europe/Rome" && one[1].hasPrefix("START             END"))
    #expect(oneLine([one[2]]) == "2026-05-04 10:00 12:30 activity Forum")
    let two = try timeline([rome, tokyo]).data
    #expect(two[0] == "Rome" && two[1].hasPrefix("START             ZONE"))
    #expect(oneLine([two[3]]) == "2026-05-05 10:00 Asia/Tokyo – activity Forum")
    // Times without a zone are not in that of another item.
    let mixed = try timeline([rome, none]).data
    #expect(mixed[0] == "Rome" && oneLine([mixed[3]]) == "2026-05-06 10:00 05-07 09:00 activity Forum")
    // A flight lands by the clocks of its destination.
    var flight = stop("Europe/Rome", "2026-05-04T14:00:00+02:00", end: "2026-05-04T18:00:00-04:00")
    flight["endTZId"] = "America/New_York"
    #expect(
      try oneLine([timeline([rome, flight]).data[3]])
        == "2026-05-04 14:00 Europe/Rome 18:00 America/New_York activity Forum")
    let piped = try timeline([rome], isPiped: true).data
    #expect(piped == ["2026-05-04 10:00\tEurope/Rome\t2026-05-04 12:30\tactivity\tForum\t"])
    let empty = try timeline([])
    #expect(empty.data == ["Rome"] && empty.notes == ["Nothing in this trip yet."])
  }

  @Test func `an end has its year only if that of the start is another one`() throws {
    let rendering = Rendering(
      width: 80, hasColor: false, notesWidth: 80, notesHaveColor: false, time: TimeText(now: 0, zone: .utc))
    let start = "2026-12-31T22:00:00+01:00"
    #expect(rendering.endText("2026-12-31T23:00:00+01:00", start: start) == "23:00")
    #expect(rendering.endText("2027-01-01T02:00:00+01:00", start: start) == "2027-01-01 02:00")
    #expect(rendering.endText("2026-01-31T23:00:00+01:00", start: start) == "01-31 23:00")
    #expect(rendering.endText("2026-12-31T23:00:00+01:00", start: nil) == "2026-12-31 23:00")
    #expect(rendering.endText(nil, start: start) == "–")
  }

  // MARK: Lists

  @Test func `an empty list says whether there are no records, none that match, or none in the trash`() throws
  {
    func note(_ arguments: JSON) throws -> String {
      try answerText(ListRecords.self, "category.list", arguments, ["total": 0, "categories": []]).notes
    }
    #expect(try note([:]) == "No categories yet.")
    #expect(try note(["text": "x"]) == "No categories match.")
    #expect(try note(["limit": "5", "sort": "name"]) == "No categories yet.")
    #expect(try note(["deleted": true]) == "No categories in the trash.")
  }

  @Test func `a search says how many matches it leaves out, and exits with 0`() throws {
    let match: JSON = [
      "kind": "lodging", "id": Self.id, "shortId": "8E0B2D03", "name": "Casa", "field": "notes",
      "excerpt": "by the café", "parent": nil,
    ]
    func found(_ total: Int64) -> JSON { ["text": "cafe", "total": .integer(total), "items": [match]] }
    let arguments: JSON = ["text": "cafe"]
    #expect(
      try answerText(FindRecords.self, "find", arguments, found(1_200)).notes
        == "1 of 1,200 are shown; --limit N shows more.")
    #expect(try answerText(FindRecords.self, "find", arguments, found(1)).notes.isEmpty)
    let command = try ControlRequest(command: "find", arguments: arguments).command(as: FindRecords.self)
    #expect(command.exitCode(for: try AnswerCoding.decode(SearchResult.self, from: found(1))) == 0)
  }

  @Test func `a deletion names what goes with it, and a restored record what still hides it`() throws {
    let contents: JSON = [
      ["kind": "lodging", "many": "lodgings", "count": 1],
      ["kind": "activity", "many": "activities", "count": 2],
    ]
    func deleted(_ name: JSON, _ contents: JSON, _ operation: JSON) throws -> String {
      let answer: JSON = [
        "id": Self.id, "name": name, "contents": contents, "operation": operation,
      ]
      return try answerText(DeleteRecord.self, "trip.delete", ["id": "Rome"], answer).notes
    }
    let operation: JSON = .string("77ab01cd" + String(repeating: "0", count: 24))
    #expect(
      try deleted("Rome", contents, operation)
        == "Deleted trip “Rome” with 1 lodging, 2 activities. To undo this: waymark undo 77ab01cd")
    #expect(
      try deleted(nil, [], nil) == "Deleted trip “01A219BC-462C-788F-AA31-43B18E0B2D03”.")
    func restored(_ above: JSON) throws -> String {
      let answer: JSON = ["id": Self.id, "name": "Casa", "visible": .bool(above.isNull), "hiddenBy": above]
      return try answerText(RestoreRecord.self, "lodging.restore", ["id": "Casa"], answer).notes
    }
    #expect(try restored(nil) == "Restored lodging “Casa”.")
    let trip: JSON = ["kind": "trip", "id": "01A219BC-462C-788F-AA31-43B18E0B2D99", "name": "Rome"]
    #expect(
      try restored(trip)
        == "Restored lodging “Casa”. Hidden until trip “Rome” is restored: waymark trip restore 8E0B2D99")
  }

  @Test func `several added records are counted for a person, and each has a line for a program`() throws {
    let answer: JSON = ["id": Self.id, "ids": [Self.id, "B"], "name": "a.pdf"]
    #expect(
      try answerText(AddRecord.self, "attachment.add", [:], answer).data == "Added 2 attachments")
    let command = try ControlRequest(command: "attachment.add", arguments: [:]).command(as: AddRecord.self)
    var rendering = Rendering(
      width: 80, hasColor: false, isPiped: true, notesWidth: 80, notesHaveColor: false,
      time: TimeText(now: 0, zone: .utc))
    command.render(try AnswerCoding.decode(AddRecord.Answer.self, from: answer), into: &rendering)
    #expect(rendering.data.lines == ["01A219BC-462C-788F-AA31-43B18E0B2D03", "B"])
  }

  @Test func `a habit's day is done, has a total, or is not done`() throws {
    func day(_ isDone: Bool, _ value: JSON) throws -> String {
      let answer: JSON = [
        "id": Self.id, "habit": Self.id, "name": "Water", "day": "2026-05-10", "done": .bool(isDone),
        "value": value, "entries": [],
      ]
      return try answerText(TickHabit.self, "habit.tick", ["id": "Water"], answer).notes
    }
    #expect(try day(true, nil) == "Water on 2026-05-10: done")
    #expect(try day(true, 2.5) == "Water on 2026-05-10: 2.5 in total")
    #expect(try day(false, 0) == "Water on 2026-05-10: not done")
    #expect(try day(false, nil) == "Water on 2026-05-10: not done")
  }

  // MARK: Undo

  private func undo(_ more: JSON) throws -> (data: String, notes: String) {
    let device: JSON = .string(String(repeating: "0", count: 64))
    let operation: JSON = [
      "id": .string("77ab01cd" + String(repeating: "0", count: 24)), "verb": "import",
      "time": "2026-11-21T11:00:00Z", "device": device, "deviceName": "phone", "own": false, "undoes": nil,
      "undoneBy": nil, "counts": [], "record": nil, "fields": [],
    ]
    let document = Answers.completed(
      more,
      by: [
        "undo": nil, "preview": true, "operation": operation, "changes": [], "left": [],
        "resolvedConflicts": [],
      ])
    return try answerText(Undo.self, "undo", [:], document)
  }

  private func left(_ name: String, _ reason: String, users: [JSON] = []) -> JSON {
    [
      "kind": "habit", "id": Self.id, "name": .string(name), "reason": .string(reason), "fields": [],
      "users": .array(users), "by": nil, "byName": nil, "time": nil,
    ]
  }

  @Test func `an undo counts what it does to each kind, and an undo without effect says so`() throws {
    let head = "Would undo 77ab01cd (import, by phone, 2026-11-21 11:00): "
    let empty = try undo([:])
    #expect(empty.data == head + "nothing would change.")
    #expect(empty.notes == "Nothing was changed. Next: waymark undo 77ab01cd")
    let changes: JSON = [
      ["kind": "entry", "added": 1, "changed": 0, "deleted": 0, "restored": 1_200],
      ["kind": "category", "added": 2, "changed": 1, "deleted": 2, "restored": 1],
      // An address is a part of its organization for people.
      ["kind": "address", "added": 5, "changed": 5, "deleted": 5, "restored": 5],
    ]
    #expect(
      try undo(["changes": changes]).data
        == head + "1 entry, 2 categories added; 1 category changed; 2 categories deleted; "
        + "1,200 entries, 1 category restored.")
  }

  @Test func `what an undo leaves alone is listed up to twenty, each with at most three users`() throws {
    func users(_ count: Int) -> [JSON] {
      (1...count).map { ["kind": "entry", "id": Self.id, "name": .string("e\($0)")] }
    }
    #expect(
      try undo(["left": [left("Run", "in_use", users: users(3))]]).data.hasSuffix(
        "Left unchanged, unless you add --yes: habit Run used by entry e1, entry e2, entry e3"))
    #expect(
      try undo(["left": [left("Run", "in_use", users: users(5))]]).data.hasSuffix(
        "used by entry e1, entry e2, entry e3 and 2 more"))
    // Erased values can't be forced; if only some of them are, the others can.
    let erased = left("Read", "erased")
    #expect(
      try undo(["left": [erased]]).data.hasSuffix(
        "Left unchanged: habit Read its values not on this device"))
    #expect(
      try undo(["left": [erased, left("Run", "in_use", users: users(1))]]).data.contains(
        "Left unchanged, unless you add --yes: habit Read"))
    func many(_ count: Int) -> JSON { .array((1...count).map { left("h\($0)", "erased") }) }
    #expect(try undo(["left": many(20)]).data.hasSuffix("habit h20 its values not on this device"))
    let cut = try undo(["left": many(22)]).data
    #expect(cut.hasSuffix("and 2 more") && !cut.contains("h21"))
  }

  @Test func `one conflict that stays resolved is singular, before and after the undo`() throws {
    func data(isPreview: Bool) throws -> String {
      let deleted: JSON = [
        "value": "deleted", "device": nil, "deviceName": nil, "next": "waymark trip delete 01",
      ]
      let conflict: JSON = [
        "kind": "trip", "id": Self.id, "name": "Oslo", "field": "life", "current": "alive",
        "others": [deleted],
      ]
      return try undo(["preview": .bool(isPreview), "resolvedConflicts": [conflict]]).data
    }
    let end = "To delete it: waymark trip delete 01"
    let after = try data(isPreview: false)
    #expect(after.contains("The conflict stays resolved: trip · Oslo is now alive") && after.hasSuffix(end))
    let before = try data(isPreview: true)
    #expect(before.contains("The conflict would stay resolved: trip · Oslo would be alive"))
  }
}
