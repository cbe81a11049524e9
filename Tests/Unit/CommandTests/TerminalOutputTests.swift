import Console
import Control
import Foundation
import JSONDocument
import Platform
import Testing
import Waymark
import WaymarkCare

@testable import WaymarkCommand

/// What reaches the terminal, a pipe or a pager: pages, tables, progress, the log and the alternate screen.
struct TerminalOutputTests {
  /// Returns what the body writes to the standard output of a terminal.
  private func written(_ body: (Terminal) throws -> Void) throws -> String {
    var ends: [Int32] = [-1, -1]
    try #require(pipe(&ends) == 0)
    let (reader, writer) = (ends[0], ends[1])
    defer {
      close(reader)
      close(writer)
    }
    _ = fcntl(reader, F_SETFL, O_NONBLOCK)
    var terminal = Terminal(noColor: true, environment: [:])
    terminal.output.descriptor = writer
    try body(terminal)
    var text: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4_096)
    while true {
      let count = read(reader, &buffer, buffer.count)
      guard count > 0 else { return String(decoding: text, as: UTF8.self) }
      text += buffer[..<count]
    }
  }

  private func scratchFile() -> String {
    FileManager.default.temporaryDirectory.appending(path: "waymark-test-\(UUID().uuidString)").path
  }

  // MARK: The terminal

  @Test func `colours are forced or turned off by the environment and by the flag, wherever output goes`() {
    let isTerminal = Terminal(noColor: true, environment: [:]).output.isTerminal
    func hasColor(_ environment: [String: String], noColor: Bool = false) -> Bool {
      Terminal(noColor: noColor, environment: environment).output.hasColor
    }
    for value in ["1", "yes"] { #expect(hasColor(["CLICOLOR_FORCE": value]), "\(value)") }
    #expect(!hasColor(["CLICOLOR_FORCE": "1"], noColor: true))
    for value in ["0", ""] {
      #expect(!hasColor(["CLICOLOR_FORCE": value, "NO_COLOR": "1"]), "\(value): not forced")
    }
    #expect(!hasColor(["NO_COLOR": "0"]), "any value turns colours off")
    #expect(!hasColor(["TERM": "dumb"]))
    #expect(hasColor(["NO_COLOR": ""]) == isTerminal, "an empty variable is as good as none")
  }

  @Test func `a pipe looks like a terminal if the environment gives it enough columns`() {
    let plain = Terminal(noColor: true, environment: [:])
    #expect(plain.output.isShown == plain.output.isTerminal)
    for columns in [20, 60] {
      let output = Terminal(noColor: true, environment: ["WAYMARK_FORCE_TTY": "\(columns)"]).output
      #expect(output.isShown)
      #expect(output.isTerminal == plain.output.isTerminal, "it is still a pipe")
      if !plain.output.isTerminal { #expect(output.width == columns) }
    }
    for columns in ["19", "-80", "wide", ""] {
      let output = Terminal(noColor: true, environment: ["WAYMARK_FORCE_TTY": columns]).output
      #expect(output.isShown == plain.output.isTerminal, "\(columns)")
      if !plain.output.isTerminal { #expect(output.width == 100, "\(columns)") }
    }
  }

  @Test func `the alternate screen is entered and left once, and drawn on only in between`() throws {
    let enter = "\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l\u{1B}[H\u{1B}[2J"
    let leave = "\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l"
    let shown = try written { terminal in
      let screen = Screen(terminal, isShown: true)
      screen.draw(["a", "b"])
      screen.leave()
      screen.leave()
      screen.draw(["c"])
    }
    #expect(shown == enter + "\u{1B}[Ha\u{1B}[K\r\nb\u{1B}[K\u{1B}[J" + leave)
    let hidden = try written { terminal in
      let screen = Screen(terminal, isShown: false)
      screen.draw(["a"])
      screen.leave()
    }
    #expect(hidden.isEmpty)
  }

  @Test func `events are lines for a program only, and their stage is known in either case`() throws {
    for printsJSON in [true, false] {
      let text = try written { terminal in
        let events = EventPrinter(terminal, printsJSON: printsJSON)
        #expect(events.stage == nil)
        events.handle(.progress(WorkProgress(stage: "reading", done: 0, total: 3), file: "/a.json"))
        #expect(events.stage == "reading")
        events.handle(.singleAdmin)
        #expect(events.stage == "reading", "only progress has a stage")
        events.handle(.progress(WorkProgress(stage: "writing", done: 1, total: 3)))
        #expect(events.stage == "writing")
        events.finish()
      }
      let lines = text.split(separator: "\n").map(String.init)
      let documents = try lines.map { try JSON.parse($0) }
      guard printsJSON else {
        #expect(text.isEmpty, "\(text)")
        continue
      }
      try #require(documents.count == 3, "\(text)")
      #expect(documents[0]["type"] == "progress" && documents[0]["stage"] == "reading")
      #expect(documents[0]["file"] == "/a.json" && documents[0]["total"] == 3)
      #expect(documents[1]["type"] == "single_admin")
      #expect(documents[2]["stage"] == "writing" && documents[2]["done"] == 1)
    }
  }

  // MARK: Pages

  @Test func `prose has at most 100 columns, and a message for a program has one line`() {
    let words = (1...60).map { "word\($0)" }.joined(separator: " ")
    for (width, columns) in [(200, 100), (100, 100), (60, 60)] {
      var page = Page(width: width, hasColor: false)
      page.paragraph(words)
      #expect(page.lines.count > 1)
      for line in page.lines { #expect(line.displayWidth <= columns, "\(width): \(line)") }
      #expect(page.lines.joined(separator: " ") == words)
    }
    var page = Page(width: .max, hasColor: false)
    page.paragraph(words)
    #expect(page.lines == [words])
  }

  @Test func `an empty line separates two parts, and is never the first one or doubled`() {
    var page = Page(width: 80, hasColor: false)
    page.gap()
    page.line("a")
    page.gap()
    page.gap()
    page.line("b")
    #expect(page.lines == ["a", "", "b"])
    #expect(page.text == "a\n\nb\n")
  }

  @Test func `the values of pairs begin in one column, and continue in it`() {
    var page = Page(width: 30, hasColor: false)
    page.pairs([("a", "one two three four five six"), ("東京", "x")])
    #expect(page.lines == ["a     one two three four five", "      six", "東京  x"])
  }

  @Test func `help joins lines of prose, keeps examples, and continues a second column`() {
    var page = Page(width: 30, hasColor: false)
    page.explain(
      """
      The first
      paragraph.

        waymark init
        waymark run

      --name   what this option
               means to you
      """)
    #expect(
      page.lines == [
        "The first paragraph.", "", "  waymark init", "  waymark run", "", "--name   what this option",
        "         means to you",
      ])
    var wide = Page(width: 80, hasColor: false)
    wide.explain("--name   what this option\n         means to you\n--json   a document", lead: 2)
    #expect(wide.lines == ["  --name   what this option means to you", "  --json   a document"])
  }

  @Test func `only a terminal cuts a table, and only a list loses its headings in a pipe`() {
    let name = String(repeating: "x", count: 150)
    var table = TextTable([.init("NAME", widthMin: 8), .init("COST", isRight: true)])
    table.rows = [[.init(name), "9.50"]]
    var page = Page(width: 80, hasColor: false)
    let shown = table.lines(in: page)
    #expect(shown.count == 2 && shown[1].displayWidth == 80 && shown[1].hasSuffix("…  9.50"))
    page.isPiped = true
    let piped = table.lines(in: page)
    #expect(piped.count == 2 && piped[0].hasPrefix("NAME") && piped[1] == name + "  9.50")
    table.isList = true
    #expect(table.lines(in: page) == [name + "\t9.50"])
  }

  @Test func `a short id never ends in a dash, and differs from both of its neighbours`() {
    let prefixes = distinctPrefixes(["0196F0A2-AAAA-1", "0196F0A2X", "0196F0A2X"])
    #expect(prefixes == ["0196F0A2-AAAA-1": "0196F0A2-A", "0196F0A2X": "0196F0A2X"])
    let three = distinctPrefixes(["aaaaaaaa2y", "aaaaaaaa1z", "aaaaaaaa2x"])
    #expect(three["aaaaaaaa1z"] == "aaaaaaaa1")
    #expect(three["aaaaaaaa2x"] == "aaaaaaaa2x" && three["aaaaaaaa2y"] == "aaaaaaaa2y")
    #expect(distinctPrefixes(["ab"]) == ["ab": "ab"])
  }

  @Test func `messages about rows with other quoted names are one message, in the order of the first`() {
    var groups = MessageGroups("skipped row")
    for name in ["Rome", "Oslo", "Lima 2", "Bern"] { groups.add("trip “\(name)” has no start") }
    groups.add("habit “Read” has no start")
    #expect(
      groups.lines == ["trip “Rome” has no start (and 3 more like this)", "habit “Read” has no start"])
  }

  // MARK: Progress

  @Test func `a bar is full at most, says what is left only of unfinished work, and needs room`() {
    func bar(_ done: Int64, of total: Int64, _ seconds: Double, width: Int = 60) -> String {
      ProgressLine.text("logs", done: done, total: total, seconds: seconds, width: width)
    }
    func blocks(_ full: Int, _ empty: Int) -> String {
      String(repeating: "█", count: full) + String(repeating: "░", count: empty)
    }
    #expect(bar(20_000, of: 20_000, 2) == "logs  \(blocks(25, 0))  20,000 of 20,000  10,000/s")
    // A file can grow while it is read.
    #expect(bar(30, of: 20, 2) == "logs  \(blocks(30, 0))  30 of 20  15/s")
    #expect(bar(0, of: 0, 2) == "logs  \(blocks(0, 30))  0 of 0")
    // A speed that was measured for a moment only would be wrong.
    #expect(bar(5, of: 20, 0.4) == "logs  \(blocks(7, 23))  5 of 20")
    #expect(bar(5, of: 20, 0.4, width: 20) == "logs    5 of 20")
    #expect(bar(5, of: 20, 0.4, width: 12).displayWidth < 12)
  }

  // MARK: The log

  @Test func `a line of the log has the offset of its zone, with its minutes`() throws {
    let noon: Int64 = 1_777_820_400_000
    func line(_ zone: Zone) -> String {
      LogFormat.text.line("info", priority: 6, "peers", "hi", now: noon, zone: zone)
    }
    let west = try #require(Zone(named: "GMT-0330"))
    let east = try #require(Zone(named: "GMT+0545"))
    #expect(line(.utc) == "2026-05-03T15:00:00Z info    peers     hi")
    #expect(line(west) == "2026-05-03T11:30:00-03:30 info    peers     hi")
    #expect(line(east) == "2026-05-03T20:45:00+05:45 info    peers     hi")
    let json = LogFormat.json.line("info", priority: 6, "peers", "a\nb", now: noon, zone: .utc)
    #expect(!json.contains("\n"))
    #expect(try JSON.parse(json)["message"] == "a\nb")
  }

  @Test func `an empty format of the log is as good as none`() throws {
    let file = FileNumber(device: 9, number: 17)
    let environment = ["WAYMARK_LOG_FORMAT": "", "JOURNAL_STREAM": "9:17"]
    #expect(try LogFormat.chosen(flag: nil, environment: environment, standardError: file) == .journal)
    #expect(try LogFormat.chosen(flag: nil, environment: environment, standardError: nil) == .text)
  }

  // MARK: The pager

  @Test func `an empty or dumb pager is none, and the own variable comes first`() {
    #expect(Pager(["TERM": "dumb"], isOff: false) == nil)
    #expect(Pager(["WAYMARK_PAGER": "", "PAGER": "more"], isOff: false) == nil)
    #expect(Pager(["WAYMARK_PAGER": "more", "PAGER": "cat"], isOff: false)?.command == "more")
    #expect(Pager(["PAGER": " less -R "], isOff: false)?.command == "less -R")
    #expect(Pager(["PAGER": " cat "], isOff: false) == nil)
  }

  @Test func `less keeps the options that the user has set, and gets some where there are none`() throws {
    // As the program does when it starts.
    signal(SIGPIPE, SIG_IGN)
    func options(_ own: [String: String]) throws -> String {
      let path = scratchFile()
      defer { try? FileManager.default.removeItem(atPath: path) }
      let command = "cat > /dev/null; printf %s \"$LESS\" > '\(path)'"
      let environment = ["PAGER": command, "PATH": "/usr/bin:/bin"].merging(own) { $1 }
      let pager = try #require(Pager(environment, isOff: false))
      #expect(pager.show("text"))
      return try String(contentsOfFile: path, encoding: .utf8)
    }
    #expect(try options([:]) == "FRX")
    #expect(try options(["LESS": "-S"]) == "-S")
  }

  @Test func `a pager that the shell can't run has not shown the text`() throws {
    signal(SIGPIPE, SIG_IGN)
    for command in ["'/no/such/pager' -x 2> /dev/null", "'/' 2> /dev/null"] {
      let pager = try #require(Pager(["PAGER": command, "PATH": "/usr/bin:/bin"], isOff: false))
      #expect(!pager.show("text"), "\(command)")
    }
  }
}
