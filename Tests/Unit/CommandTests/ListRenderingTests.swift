import Platform
import Console
import Control
import Foundation
import JSONDocument
import Testing

@testable import Waymark
@testable import WaymarkCommand

/// Lists, records and today's page, on a terminal and for programs.
struct ListRenderingTests {
  private func rendered<Shown: TerminalCommand>(
    _ type: Shown.Type, _ words: [String], _ arguments: JSON = [:], _ answer: JSON, width: Int = 80,
    isPiped: Bool = false
  ) throws -> Rendering {
    let request = ControlRequest(command: words.joined(separator: "."), arguments: arguments)
    var rendering = Rendering(
      width: width, hasColor: false, isPiped: isPiped, notesWidth: width, notesHaveColor: false,
      time: TimeText(
        now: try #require(TimeText.moment("2026-11-21T12:00:00Z")),
        zone: try #require(Zone(named: "Europe/Berlin"))))
    try request.command(as: type)
      .render(try AnswerCoding.decode(Shown.Answer.self, from: answer), into: &rendering)
    if !isPiped, arguments["ndjson"] == nil {
      for line in rendering.data.lines { #expect(line.displayWidth <= width, "\(line)") }
    }
    return rendering
  }

  private let lodging: JSON = [
    "total": 3,
    "lodgings": [
      [
        "id": "01A219BC-462C-788F-AA31-43B18E0B2D03", "shortId": "8E0B2D03",
        "name": "A very long name that goes on and on until nobody reads it any more",
        "tripName": "São Paulo and Rio", "start": "2026-06-07T15:00:00+02:00", "startTZId": "Europe/Rome",
        "end": "2026-06-11T10:00:00+02:00", "cost": ["amount": "1234567998.12", "currency": "EUR"],
      ],
      [
        "id": "01A219BC-462C-788F-AA31-43B18E0B2D04", "shortId": "8E0B2D04", "name": "Day room",
        "tripName": "Rome", "start": "2026-06-07T15:00:00+02:00", "end": "2026-06-07T18:00:00+02:00",
        "cost": nil,
      ],
    ],
  ]

  @Test func `a list fits 80 columns and cuts names instead of amounts`() throws {
    let lines = try rendered(ListRecords.self, ["lodging", "list"], [:], lodging).data.lines
    #expect(lines[0].hasPrefix("ID        NAME"))
    #expect(lines[1].hasPrefix("8E0B2D03"))
    #expect(lines[1].contains("…"))
    #expect(lines[1].hasSuffix("1234567998.12 EUR"))
    // An end is shown without what it has in common with the start.
    #expect(lines[1].contains("2026-06-07 15:00  06-11 10:00"))
    #expect(lines[2].hasSuffix("2026-06-07 15:00  18:00"))
  }

  @Test func `the column of a trip is left out in the list of that trip`() throws {
    let lines = try rendered(ListRecords.self, ["lodging", "list"], ["trip": "Rome"], lodging).data.lines
    #expect(!lines[0].contains("TRIP"))
  }

  @Test func `a list says how many records a limit left out`() throws {
    let notes = try rendered(ListRecords.self, ["lodging", "list"], [:], lodging).notes.lines
    #expect(notes == ["2 of 3 are shown; --limit N shows more."])
  }

  @Test func `a program gets lines with tabs, whole ids and nothing cut`() throws {
    let lines = try rendered(ListRecords.self, ["lodging", "list"], [:], lodging, isPiped: true).data.lines
    #expect(lines.count == 2)
    #expect(
      lines[0].split(separator: "\t") == [
        "01A219BC-462C-788F-AA31-43B18E0B2D03",
        "A very long name that goes on and on until nobody reads it any more", "São Paulo and Rio",
        "2026-06-07 15:00", "2026-06-11 10:00", "1234567998.12 EUR",
      ])
    #expect(lines[1].hasSuffix("\t2026-06-07 18:00\t"))
  }

  @Test func `each record is a line of JSON on request`() throws {
    let lines = try rendered(ListRecords.self, ["lodging", "list"], ["ndjson": true], lodging).data.lines
    #expect(try lines.map { try JSON.parse($0)["shortId"] } == ["8E0B2D03", "8E0B2D04"])
  }

  @Test func `the sums of several currencies continue on the next line`() throws {
    let trips: JSON = [
      "total": 1,
      "trips": [
        [
          "id": "01A219BC-462C-788F-AA31-43B18E0B2D03", "shortId": "8E0B2D03",
          "name": "A very long name that goes on and on until nobody reads it any more", "activities": 3,
          "startDate": "2026-06-07T00:00:00Z", "endDate": "2026-06-12T00:00:00Z",
          "totals": [
            ["amount": "1234567998.12", "currency": "EUR"], ["amount": "80912345.20", "currency": "JPY"],
            ["amount": "10", "currency": "USD"],
          ],
        ]
      ],
    ]
    let text = try rendered(ListRecords.self, ["trip", "list"], [:], trips).data.text
    for amount in ["1234567998.12 EUR", "80912345.20 JPY", "10 USD"] { #expect(text.contains(amount)) }
    let piped = try rendered(ListRecords.self, ["trip", "list"], [:], trips, isPiped: true).data.lines
    #expect(piped[0].hasSuffix("\t1234567998.12 EUR + 80912345.20 JPY + 10 USD"))
  }

  @Test func `an added record is a sentence for a person and an id for a program`() throws {
    let answer: JSON = ["id": "01A219BC-462C-788F-AA31-43B18E0B2D03", "ids": nil, "name": "Rome"]
    #expect(
      try rendered(AddRecord.self, ["trip", "add"], [:], answer).data.lines == ["Added trip Rome (8E0B2D03)"])
    #expect(
      try rendered(AddRecord.self, ["trip", "add"], [:], answer, isPiped: true).data.lines
        == ["01A219BC-462C-788F-AA31-43B18E0B2D03"])
  }

  // MARK: Times

  @Test func `a stay is shown in its own zone, and a day as a day`() throws {
    let stay: JSON = [
      "id": "01A219BC-462C-788F-AA31-43B18E0B2D03", "name": "Casa", "start": "2026-05-03T00:00:00+02:00",
      "startTZId": "Europe/Rome",
    ]
    let lines = try rendered(ShowRecord.self, ["lodging", "show"], ["id": "Casa"], stay).data.lines
    #expect(lines.contains("start  2026-05-03 00:00 Europe/Rome"))
    #expect(!lines.joined().contains("startTZId"))
    let trip: JSON = [
      "id": "01A219BC-462C-788F-AA31-43B18E0B2D03", "startDate": "2026-05-03T00:00:00Z",
      "createdDate": "2026-11-24T15:47:14Z",
    ]
    let shown = try rendered(ShowRecord.self, ["trip", "show"], ["id": "Rome"], trip).data.lines
    #expect(shown.contains("startDate    2026-05-03"))
    #expect(shown.contains("createdDate  2026-11-24 16:47"))
    #expect(shown.last == "Times without a zone are in Europe/Berlin.")
  }

  @Test func `a habit is shown with its streaks and a month whose marks need no colour`() throws {
    let days = (1...30).map { day -> JSON in
      [
        "day": .string("2026-11-" + (day < 10 ? "0" : "") + "\(day)"), "due": .bool(day != 3),
        "done": .bool(day < 20 && day != 3 && day != 7), "value": 1,
      ]
    }
    let habit: JSON = [
      "id": "01A219BC-462C-788F-AA31-43B18E0B2D03", "name": "Read", "streak": 12, "bestStreak": 40,
      "today": "2026-11-21", "month": .array(days),
    ]
    let lines = try rendered(ShowRecord.self, ["habit", "show"], ["id": "Read"], habit).data.lines
    #expect(lines.contains("Streak: 12 days; best: 40 days"))
    #expect(lines.contains("  Mon  Tue  Wed  Thu  Fri  Sat  Sun"))
    #expect(lines.contains("  2✓   3    4✓   5✓   6✓   7·   8✓ "))
    #expect(lines.contains { $0.contains("20·  21!  22 ") })
  }

  @Test func `today is one page of habits, entries and the trip`() throws {
    let today: JSON = [
      "day": "2026-05-04",
      "habits": [
        [
          "id": "01A219BC-462C-788F-AA31-43B18E0B2D03", "name": "Water", "emoji": "", "due": true,
          "done": false,
          "value": 6, "target": 8, "unit": "glasses", "streak": 3, "bestStreak": 9,
        ]
      ],
      "entries": [
        [
          "id": "01A219BC-462C-788F-AA31-43B18E0B2D05", "habitId": "01A219BC-462C-788F-AA31-43B18E0B2D03",
          "habitName": "Water", "date": "2026-05-04T07:00:00Z", "zone": "Europe/Rome", "value": 6,
        ]
      ],
      "trip": [
        "id": "01A219BC-462C-788F-AA31-43B18E0B2D06", "name": "Rome", "firstDay": "2026-05-02",
        "lastDay": "2026-05-06", "daysToGo": 0, "dayNumber": 3,
        "items": [
          [
            "kind": "lodging", "id": "01A219BC-462C-788F-AA31-43B18E0B2D07", "name": "Casa",
            "start": "2026-05-02T13:00:00Z", "startZone": "Europe/Rome", "end": "2026-05-06T08:00:00Z",
            "endZone": "Europe/Rome",
          ],
          [
            "kind": "activity", "id": "01A219BC-462C-788F-AA31-43B18E0B2D08", "name": "Forum",
            "start": "2026-05-04T08:00:00Z", "startZone": "Europe/Rome", "end": "2026-05-04T10:30:00Z",
            "endZone": "Europe/Rome",
          ],
          [
            "kind": "transportation", "id": "01A219BC-462C-788F-AA31-43B18E0B2D09", "name": "AZ 8",
            "start": "2026-05-04T12:00:00Z", "startZone": "Europe/Rome", "end": "2026-05-04T20:30:00Z",
            "endZone": "America/New_York",
          ],
          [
            "kind": "transportation", "id": "01A219BC-462C-788F-AA31-43B18E0B2D0A", "name": "AZ 9",
            "start": "2026-05-03T20:00:00Z", "startZone": "Europe/Rome", "end": "2026-05-05T02:00:00Z",
            "endZone": "America/New_York",
          ],
          [
            "kind": "transportation", "id": "01A219BC-462C-788F-AA31-43B18E0B2D0B", "name": "AZ 7",
            "start": "2026-05-04T16:00:00Z", "startZone": "Europe/Rome", "end": "2026-05-04T18:00:00Z",
            "endZone": "Asia/Tokyo",
          ],
        ],
      ],
    ]
    let lines = try rendered(ShowToday.self, ["today"], [:], today).data.lines
    #expect(lines[0] == "Monday, 2026-05-04")
    #expect(lines.contains("  ·  Water  not done  6 of 8 glasses  streak 3 days, best 9"))
    #expect(lines.contains("  09:00  Water  6"))
    #expect(lines.contains("On trip: Rome  day 3 of 5  2026-05-02 – 2026-05-06"))
    #expect(lines.contains("  all day      lodging         Casa   Europe/Rome"))
    #expect(lines.contains("  10:00–12:30  activity        Forum  Europe/Rome"))
    // Each time as the clocks show it there.
    #expect(lines.contains("  14:00–16:30  transportation  AZ 8   Europe/Rome"))
    // Whether it ends today follows from the clocks where it ends.
    #expect(lines.contains("  until 22:00  transportation  AZ 9   Europe/Rome"))
    #expect(lines.contains("  from 18:00   transportation  AZ 7   Europe/Rome"))
  }

  @Test func `finding nothing is a sentence and exit code 1`() throws {
    let answer: JSON = ["text": "xyz", "total": 0, "items": []]
    #expect(
      try rendered(FindRecords.self, ["find"], ["text": "xyz"], answer).notes.lines == [
        "Nothing contains “xyz”."
      ])
    let command = try ControlRequest(command: "find", arguments: ["text": "xyz"]).command(
      as: FindRecords.self)
    #expect(command.exitCode(for: try AnswerCoding.decode(SearchResult.self, from: answer)) == 1)
  }

  // MARK: Command line

  @Test(arguments: [
    ("trips", "trip list"), ("trips --upcoming", "trip list --upcoming"), ("trips rome", "trip list rome"),
    ("trips show Rome", "trip show Rome"), ("trip ls", "trip list"), ("trip rm Rome", "trip delete Rome"),
    ("categories ls", "category list"), ("members ls", "members list"), ("help trips", "help trip list"),
    ("trip add Rome", "trip add name=Rome"),
  ])
  func `a short form means the same command`(short: String, long: String) throws {
    let parser = CommandParser(directory: "/here")
    func words(_ line: String) -> [String] { line.split(separator: " ").map(String.init) }
    #expect(try parser.parse(words(short)) == parser.parse(words(long)))
  }

  @Test func `only a kind with names takes a bare word`() {
    let parser = CommandParser(directory: "/here")
    #expect(throws: WaymarkError.self) { try parser.parse(["entry", "add", "Rome"]) }
    #expect(throws: WaymarkError.self) { try parser.parse(["trip", "edit", "Rome", "Roma"]) }
    #expect(throws: WaymarkError.self) { try parser.parse(["trip", "add", "=Rome"]) }
  }

  // MARK: Pager

  @Test func `the pager is the one that the user chose, and may be missing`() throws {
    #expect(Pager(["WAYMARK_PAGER": "most", "PAGER": "more"], isOff: false)?.command == "most")
    #expect(Pager(["PAGER": "more"], isOff: false)?.command == "more")
    #expect(Pager([:], isOff: false)?.command == "less")
    #expect(Pager(["PAGER": "cat"], isOff: false) == nil)
    #expect(Pager(["PAGER": ""], isOff: false) == nil)
    #expect(Pager([:], isOff: true) == nil)
    #expect(try #require(Pager(["PAGER": "no-such-pager-here"], isOff: false)).show("text") == false)
    #expect(try #require(Pager(["PAGER": "/no/such/pager -x"], isOff: false)).show("text") == false)
  }

  @Test func `the pager receives the whole text`() throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "waymark-pager-\(UUID().uuidString)")
      .path
    defer { try? FileManager.default.removeItem(atPath: path) }
    let pager = try #require(Pager(["PAGER": "cat > \(path)", "PATH": "/usr/bin:/bin"], isOff: false))
    let text = String(repeating: "a line of text\n", count: 20_000)
    #expect(pager.show(text))
    #expect(try String(contentsOfFile: path, encoding: .utf8) == text)
  }

  @Test func `a reader that leaves early is no error`() throws {
    // As the program does when it starts.
    signal(SIGPIPE, SIG_IGN)
    let pager = try #require(Pager(["PAGER": "head -1 > /dev/null", "PATH": "/usr/bin:/bin"], isOff: false))
    #expect(pager.show(String(repeating: "a line of text\n", count: 200_000)))
  }
}
