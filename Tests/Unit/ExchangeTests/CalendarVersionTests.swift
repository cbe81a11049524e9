import Exchange
import Foundation
import Records
import Replication
import Testing
import Wire

/// What a calendar shows of a hidden place, and which version of an event counts.
struct CalendarVersionTests {
  private func plan(_ events: String...) throws -> ImportPlan {
    try Importer.plan(Array("BEGIN:VCALENDAR\nX-WR-CALNAME:Rome\n\(events.joined())END:VCALENDAR\n".utf8))
  }

  private func event(_ name: String, _ lines: String...) -> String {
    "BEGIN:VEVENT\nUID:a\nSUMMARY:\(name)\nDTSTART:20260503T150000Z\n" + lines.map { "\($0)\n" }.joined()
      + "END:VEVENT\n"
  }

  @Test func `a hidden place is not a location in other programs, and comes back hidden`() throws {
    let trip = RecordID(Bytes16(0, 1))
    let start = Value.array([.integer(1_777_813_200_000), .text("Europe/Rome")])
    func place(_ kind: Kind, _ number: UInt64, _ name: String, isHidden: Bool) -> RecordDraft {
      RecordDraft(
        kind, RecordID(Bytes16(0, number)),
        [
          kind.number("trip"): .bytes(trip.bytes), kind.number("name"): .text("Item \(number)"),
          kind.number("start"): start, kind.number("customLocationName"): .text(name),
          kind.number("hideLocation"): .bool(isHidden),
        ])
    }
    let items = [
      place(Kind.lodging, 2, "Via Rosa", isHidden: true),
      place(Kind.lodging, 3, "Via Appia", isHidden: false),
      place(Kind.activity, 4, "Forum", isHidden: false), place(Kind.activity, 5, "Home", isHidden: true),
    ]
    let day = Value.integer(1_777_766_400_000)
    let held = RecordDraft(
      Kind.trip, trip, [Kind.trip.number("name"): .text("Rome"), Kind.trip.number("startDate"): day])
    let file = Exporter.file(.ics, from: ExportSource([held] + items), now: 0)
    let lines = String(decoding: file.bytes, as: UTF8.self).components(separatedBy: "\r\n")
    #expect(lines.filter { $0.hasPrefix("LOCATION") }.sorted() == ["LOCATION:Forum", "LOCATION:Via Appia"])
    #expect(!lines.contains { $0.hasPrefix("DESCRIPTION") && ($0.contains("Rosa") || $0.contains("Home")) })
    let read = try Importer.plan(file.bytes)
    for item in items {
      let found = try #require(read.drafts.first { $0.key == item.key })
      for name in ["customLocationName", "hideLocation"] {
        #expect(found[item.kind.number(name)] == item[item.kind.number(name)], "\(name)")
      }
    }
  }

  @Test
  func `the newer version of an event has the higher number, then the later date, then the later place`()
    throws
  {
    let table: [(older: [String], newer: [String])] = [
      // As text, 9 would be after 10.
      (["SEQUENCE:9"], ["SEQUENCE:10"]), ([], ["SEQUENCE:1"]),
      (["SEQUENCE:2", "LAST-MODIFIED:20260901T100000Z"], ["SEQUENCE:3", "LAST-MODIFIED:20260101T100000Z"]),
      (["DTSTAMP:20260101T100000Z"], ["DTSTAMP:20260301T100000Z"]),
      // LAST-MODIFIED counts, and DTSTAMP only without it.
      (
        ["LAST-MODIFIED:20260101T100000Z", "DTSTAMP:20260901T100000Z"],
        ["LAST-MODIFIED:20260201T100000Z", "DTSTAMP:20260101T100000Z"]
      ),
    ]
    for (older, newer) in table {
      let old = event("Old", older.joined(separator: "\n"))
      let new = event("New", newer.joined(separator: "\n"))
      for both in [try plan(old, new), try plan(new, old)] {
        #expect(both.drafts(Kind.activity).compactMap { $0.text("name") } == ["New"], "\(newer)")
        #expect(both.skipped.count == 1)
      }
    }
    let equal = try plan(event("First", "SEQUENCE:1"), event("Second", "SEQUENCE:1"))
    #expect(equal.drafts(Kind.activity).compactMap { $0.text("name") } == ["Second"])
  }

  @Test func `the trip of a calendar has the days of its events in their zones`() throws {
    // In UTC, the first begins on 2 May and the last ends on 4 May.
    let first = event("A").replacing(
      "DTSTART:20260503T150000Z", with: "DTSTART;TZID=Asia/Tokyo:20260503T003000")
    let last = event("B", "DTEND;TZID=Asia/Tokyo:20260505T003000").replacing("UID:a", with: "UID:b")
    let trip = try #require(try plan(last, first).drafts(Kind.trip).first)
    #expect(trip.text("name") == "Rome")
    #expect(trip.integer("startDate") == 1_777_766_400_000)
    #expect(trip.integer("endDate") == 1_777_939_200_000)
  }
}
